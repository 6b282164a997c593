//! "Did you mean …?" for a table, a routine or a schema that a statement names and the source does not have:
//! the caller's next attempt should succeed. Columns are in `columns`.

use super::nearby::{Nearby, offered};
use portico_core::call::{MetadataFilter, MetadataKind, Op};
use portico_core::error::{Error, Kind, Missing, Result};
use portico_core::near;
use portico_sources::digest::quoted;

/// `invalid_schema_name`.
const NO_SCHEMA: &str = "3F000";

/// Whether `error` is about a name that `op` may have misspelt. Of procedures the driver itself
/// offers near ones.
pub(in crate::connection) fn is_misspelt(error: &Error, op: &Op) -> bool {
    let of_names = match op {
        Op::Execute(..) | Op::Script(..) => true,
        Op::Procedure(_) => {
            error.get_sqlstate() == Some(NO_SCHEMA)
                || matches!(error.get_missing(), Some(Missing::Label { .. } | Missing::Rule { .. }))
        }
        Op::Describe(..) | Op::Instructions(_) => false,
    };
    of_names && names_nothing(error)
}

/// Returns true if `error` only says that a name does not exist, or names a rule.
pub(in crate::connection) fn names_nothing(error: &Error) -> bool {
    error.get_missing().is_some() || (error.kind == Kind::NotFound && error.get_hint().is_none())
}

impl Nearby {
    /// Adds similar names to an error about a missing name. Dropped if the caller no longer waits.
    pub(in crate::connection) async fn offer(self, error: Error) -> Error {
        if error.get_missing().is_some() {
            return self.name_missing(error).await;
        }
        let Some(sought) = quoted_name(&error.message).map(str::to_owned) else { return error };
        if error.get_sqlstate() == Some(NO_SCHEMA) {
            let Ok(schemas) = self.names(MetadataKind::Schemas).await else { return error };
            let near = near::suggestion(&sought, schemas.iter().map(|(schema, _)| schema.as_str()));
            return error.hint(near.unwrap_or_else(|| {
                "no schema has a name like it: look for the right one in the list of schemas".to_owned()
            }));
        }
        let Ok(tables) = self.names(MetadataKind::Tables).await else { return error };
        error.hint(self.near_names(&sought, &tables).unwrap_or_else(|| {
            "no table or view has a name like it: look for the right one in the list of tables".to_owned()
        }))
    }

    /// Returns a hint that suggests names similar to `sought`. If `sought` has no schema, names in the default schema
    /// are written without it.
    fn near_names(&self, sought: &str, known: &[(String, String)]) -> Option<String> {
        let (schema, name) = apart(sought);
        let first = self.default_schema.as_deref();
        let known: Vec<(&str, &str)> = known.iter().map(|(schema, name)| (schema.as_str(), name.as_str())).collect();
        // Quotes around both parts make one name of them.
        if let Some(schema) = schema.filter(|schema| known.contains(&(schema, name))) {
            return Some(format!("did you mean {}.{}? each part has quotes of its own", quoted(schema), quoted(name)));
        }
        let near = near::nearest_qualified(schema.or(first), name, &known);
        let named = near.iter().map(|(in_schema, name)| {
            if schema.is_none() && first == Some(*in_schema) {
                quoted(name).into_owned()
            } else {
                format!("{}.{}", quoted(in_schema), quoted(name))
            }
        });
        offered(&named.collect::<Vec<_>>())
    }

    /// The same of the routines that the caller sees.
    pub(in crate::connection) async fn near_routines(&self, sought: &str) -> Result<Option<String>> {
        let names = self.names(MetadataKind::Procedures).await?;
        let (schema, name) = apart(sought);
        let within = schema.or(self.default_schema.as_deref());
        // One of this name has other parameters, which the source's own hint mentions.
        if names.iter().any(|(schema, known)| known == name && within == Some(schema)) {
            return Ok(None);
        }
        Ok(self.near_names(sought, &names))
    }

    /// Schemas, or tables and routines with theirs, as the caller sees them.
    async fn names(&self, metadata: MetadataKind) -> Result<Vec<(String, String)>> {
        let rows = self.list(metadata, MetadataFilter::default()).await?;
        // The schema and, for objects in a schema, the name.
        let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        Ok(rows.iter().map(|row| (text(row, 1), text(row, 2))).collect())
    }
}

/// Splits a name into its schema, if any, and the rest.
fn apart(sought: &str) -> (Option<&str>, &str) {
    sought.rsplit_once('.').map_or((None, sought), |(schema, name)| (Some(schema), name))
}

/// Returns the name that a source's message is about: the first in double quotes, or after "no such table: ".
fn quoted_name(message: &str) -> Option<&str> {
    if let Some((_, rest)) = message.split_once("no such table: ") {
        return Some(rest.trim());
    }
    let mut pieces = message.split('"');
    pieces.next()?;
    pieces.next().filter(|name| !name.is_empty())
}
