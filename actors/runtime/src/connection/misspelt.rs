//! "Did you mean …?" for a table or a schema that a statement names and the source does not have:
//! the caller's next attempt should succeed.

use std::sync::Arc;
use std::time::Duration;

use portico_core::call::{Facet, Limits, Narrow, Op};
use portico_core::error::{Error, Kind, Result};
use portico_core::identity::Assumed;
use portico_core::near;
use portico_core::trace::TraceParent;
use portico_sources::{Access, Plan, Source, Task, texts};

/// Names looked through for a near one.
const NEAR_CANDIDATES: usize = 5_000;
/// How long the source may take to list its names.
const PATIENCE: Duration = Duration::from_secs(2);
/// `invalid_schema_name`.
const NO_SCHEMA: &str = "3F000";

/// Where near names are looked for, and on whose behalf.
#[derive(Clone)]
pub(super) struct Nearby {
    pub(super) source: Arc<dyn Source>,
    /// Who asks: only what this caller sees is offered.
    pub(super) identity: Assumed,
    pub(super) trace: Option<TraceParent>,
    /// The schema in which an unqualified name is looked for first.
    pub(super) default_schema: Option<String>,
}

/// Whether `error` is about a name that `op` may have misspelt. Of procedures the driver itself
/// offers near ones.
pub(super) fn is_misspelt(error: &Error, op: &Op) -> bool {
    let of_names = match op {
        Op::Execute(..) | Op::Script(..) => true,
        Op::Procedure(_) => error.get_sqlstate() == Some(NO_SCHEMA),
        Op::Describe(..) | Op::Instructions(_) => false,
    };
    of_names && names_nothing(error)
}

/// Whether `error` says of a name that there is nothing of that name, and no more.
pub(super) fn names_nothing(error: &Error) -> bool {
    error.kind == Kind::NotFound && error.get_hint().is_none()
}

impl Nearby {
    /// Adds near names to an error that says that a name is not there. Dropped when nobody waits for it any more.
    pub(super) async fn offer(self, error: Error) -> Error {
        let Some(sought) = quoted_name(&error.message).map(str::to_owned) else { return error };
        if error.get_sqlstate() == Some(NO_SCHEMA) {
            let Ok(schemas) = self.names(Facet::Schemas).await else { return error };
            let offered = near::nearest(&sought, schemas.iter().map(|(schema, _)| schema.as_str()));
            return error.hint(near::did_you_mean(&offered).unwrap_or_else(|| {
                "no schema has a name like it: look for the right one in the list of schemas".to_owned()
            }));
        }
        let Ok(tables) = self.names(Facet::Tables).await else { return error };
        error.hint(self.near_tables(&sought, &tables).unwrap_or_else(|| {
            "no table or view has a name like it: look for the right one in the list of tables".to_owned()
        }))
    }

    /// A name as it is to be written: with its schema, unless it was sought without one and is found so.
    fn near_tables(&self, sought: &str, tables: &[(String, String)]) -> Option<String> {
        let (schema, name) = match sought.rsplit_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, sought),
        };
        let first = self.default_schema.as_deref();
        let known: Vec<(&str, &str)> = tables.iter().map(|(schema, name)| (schema.as_str(), name.as_str())).collect();
        let near = near::nearest_qualified(schema.or(first), name, &known);
        let written = near.iter().map(|(in_schema, name)| {
            if schema.is_none() && first == Some(*in_schema) {
                (*name).to_owned()
            } else {
                format!("{in_schema}.{name}")
            }
        });
        let written: Vec<String> = written.collect();
        near::did_you_mean(&written.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Schemas, or tables with theirs, as the caller sees them.
    async fn names(&self, facet: Facet) -> Result<Vec<(String, String)>> {
        let plan = Plan {
            limits: Limits { timeout: PATIENCE, rows: None },
            identity: self.identity.clone(),
            trace: self.trace,
            ..Plan::alone(Task::Describe(facet, Narrow::default()), Access::ReadOnly)
        };
        let rows = texts(self.source.run(plan).await?, NEAR_CANDIDATES).await?;
        // TABLE_SCHEMA and, of tables, TABLE_NAME.
        let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        Ok(rows.iter().map(|row| (text(row, 1), text(row, 2))).collect())
    }
}

/// The name that a source's message is about: the first in double quotes, or behind "no such table: ".
fn quoted_name(message: &str) -> Option<&str> {
    if let Some((_, rest)) = message.split_once("no such table: ") {
        return Some(rest.trim());
    }
    let mut pieces = message.split('"');
    pieces.next()?;
    pieces.next().filter(|name| !name.is_empty())
}
