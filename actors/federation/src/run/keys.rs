//! Keys that a join has found on its first side, and that narrow what a source is asked for on its other side.
//!
//! They are bound by the places of columns. What the engine offers by itself goes by their names, and where two
//! columns have one name it loses rows (apache/datafusion #25244).

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, DynamicFilterPhysicalExpr, InListExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use serde_json::value::RawValue;

use crate::push::{Select, type_of};
use crate::values;
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_sources::pushdown::Type;

/// The keys of one join for one column of a leaf.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// The leaf's column.
    pub(crate) place: usize,
    filter: Arc<DynamicFilterPhysicalExpr>,
    /// The join's own expression for the column.
    key: Arc<dyn PhysicalExpr>,
}

impl Keys {
    /// The keys that `filter` will have for the leaf's column at `place`, by the join's own expression.
    pub(crate) fn new(place: usize, filter: Arc<DynamicFilterPhysicalExpr>, key: Arc<dyn PhysicalExpr>) -> Self {
        Self { place, filter, key }
    }

    /// What the join fills in.
    pub(crate) fn filter(&self) -> Arc<dyn PhysicalExpr> {
        Arc::clone(&self.filter) as Arc<dyn PhysicalExpr>
    }
}

/// What is known of a column: values that it may have, or bounds.
#[derive(Debug, Default)]
struct Known {
    among: Option<Vec<ScalarValue>>,
    least: Option<ScalarValue>,
    most: Option<ScalarValue>,
}

/// Lists of keys that one statement is sent at most: sources have bounds of their own.
const MOST_LISTS: usize = 64;

/// The statement as far as its rows may find a partner, and the values of its parameters.
pub(crate) fn narrowed(select: Select, keys: &[Keys]) -> Result<(Select, Vec<Argument>)> {
    let (mut select, mut arguments) = (select, Vec::new());
    for each in keys {
        let current = each.filter.current().map_err(Error::internal)?;
        let mut known = Known::default();
        read(&current, &each.key, &mut known);
        let Some(type_) = select.type_at(each.place) else { continue };
        if let Some(values) = known.among {
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
    Ok((select, arguments))
}

/// Reads what `filter` says of `key`.
fn read(filter: &Arc<dyn PhysicalExpr>, key: &Arc<dyn PhysicalExpr>, known: &mut Known) {
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::And => {
                read(binary.left(), key, known);
                read(binary.right(), key, known);
            }
            Operator::GtEq if binary.left() == key => known.least = literal(binary.right()),
            Operator::LtEq if binary.left() == key => known.most = literal(binary.right()),
            _ => {}
        }
        return;
    }
    let Some(list) = filter.downcast_ref::<InListExpr>().filter(|list| !list.negated()) else { return };
    if list.expr() == key {
        known.among = list.list().iter().map(literal).collect();
        return;
    }
    // Keys of several columns: a list of structs, of which each column has its own list.
    let Some(call) = list.expr().downcast_ref::<ScalarFunctionExpr>().filter(|call| call.fun().name() == "struct")
    else {
        return;
    };
    let Some(place) = call.args().iter().position(|argument| argument == key) else { return };
    let member = |value: &Arc<dyn PhysicalExpr>| match literal(value)? {
        ScalarValue::Struct(row) => ScalarValue::try_from_array(row.columns().get(place)?, 0).ok(),
        _ => None,
    };
    known.among = list.list().iter().map(member).collect();
}

fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    expr.downcast_ref::<Literal>().map(|literal| literal.value().clone())
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

/// The distinct keys as a JSON array; `None` where they cannot be compared with the column.
fn list(values: &[ScalarValue], column: Type) -> Option<Box<RawValue>> {
    let mut texts = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let keys = type_of(&value.data_type())?;
        let text = values::text_of(value)?;
        match (keys, column) {
            // What is no UUID has no partner.
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
