//! Keys that a join has found on its first side, and that narrow the query to the source of its other side.
//!
//! They are bound by the positions of columns. The engine's own dynamic filters go by names, and lose rows if two
//! columns have one name (apache/datafusion #25244).

use std::sync::Arc;

use datafusion::common::ScalarValue;
use serde_json::value::RawValue;

use crate::push::{Select, type_of};
use crate::run::joins::key_values::{KeyValues, Known};
use crate::values;
use portico_core::call::Argument;
use portico_sources::pushdown::Type;

/// The keys of one join for one column of a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// The leaf's column.
    pub(crate) place: usize,
    pub(crate) values: Arc<KeyValues>,
}

/// The maximal number of key lists in one statement: sources have limits of their own.
const MOST_LISTS: usize = 64;

/// The statement as far as its rows may find a partner, and the values of its parameters.
pub(crate) fn narrowed(select: Select, keys: &[Keys]) -> (Select, Vec<Argument>) {
    let (mut select, mut arguments) = (select, Vec::new());
    for each in keys {
        let known = each.values.known();
        let Some(type_) = select.type_at(each.place) else { continue };
        if let Known { among: Some(values), .. } = known {
            let Some(list) = list(&values, type_).filter(|_| arguments.len() < MOST_LISTS) else { continue };
            let name = format!("keys{}", arguments.len());
            if let Some(narrower) = select.clone().among(each.place, &format!("@{name}"), type_of_keys(&values, type_))
            {
                select = narrower;
                arguments.push(Argument { name, value: list, data_type: None });
            }
        } else {
            let bound = |value: &Option<ScalarValue>| {
                let value = value.as_ref()?;
                searchable(type_of(&value.data_type())?, type_).then(|| values::text_of(value))?
            };
            let (least, most) = (bound(&known.least), bound(&known.most));
            if let Some(narrower) = select.clone().between(each.place, least.as_deref(), most.as_deref()) {
                select = narrower;
            }
        }
    }
    (select, arguments)
}

/// Whether keys of one type can be looked for among values of the other.
fn searchable(keys: Type, column: Type) -> bool {
    keys.compares_with(column) || (keys.is_whole() && column.is_whole())
}

/// The type in which keys are sent: their own where they may be wider than the column.
fn type_of_keys(values: &[ScalarValue], column: Type) -> Type {
    let keys = values.first().and_then(|value| type_of(&value.data_type()));
    keys.filter(|keys| keys.is_whole()).unwrap_or(column)
}

/// Returns the distinct keys as a JSON array; `None` if they cannot be compared with the column.
fn list(values: &[ScalarValue], column: Type) -> Option<Box<RawValue>> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let keys = type_of(&value.data_type())?;
        let text = values::text_of(value)?;
        match (keys, column) {
            // A text that is not a UUID has no partner.
            (Type::Text, Type::Uuid) if !is_uuid(&text) => {}
            (Type::Text, Type::Uuid) => texts.push(text),
            // A source that takes text without it cannot hold one either.
            (Type::Text, Type::Text) if text.contains('\0') => {}
            _ => texts.push(searchable(keys, column).then_some(text)?),
        }
    }
    texts.sort_unstable();
    texts.dedup();
    let plain = column.is_whole() || column == Type::Boolean;
    let json = if plain { format!("[{}]", texts.join(",")) } else { serde_json::to_string(&texts).ok()? };
    RawValue::from_string(json).ok()
}

/// Whether it is a UUID as results show it.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, octet)| match place {
            8 | 13 | 18 | 23 => octet == b'-',
            _ => octet.is_ascii_digit() || (b'a'..=b'f').contains(&octet),
        })
}
