//! Prepares a script: distributes the shared values to its statements, and decides whether the script may write.
//! How one statement is checked is in `run`.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::runner::Runner;
use portico_core::call::{AllowedStatements, Argument, Mode, Sql};
use portico_core::error::{Error, Result};
use portico_core::principal::Principal;
use portico_sources::{Access, Prepared, Repeated, Task, bindings};
use portico_sql::Statement;

impl Runner {
    pub(in crate::connection) fn prepare_script(
        &self,
        mode: &Mode,
        text: &Sql,
        mut statements: Vec<Statement>,
        by: &Principal,
    ) -> Result<(Task, Access)> {
        let results = match mode {
            Mode::Sets(sets) => sets.len(),
            Mode::Run | Mode::Describe => statements.len(),
        };
        if text.one_result && results > 1 {
            return Err(Error::invalid(format!(
                "Accept: this format has room for one result, and there would be {results}"
            ))
            .hint("send Accept: application/json, which returns several results"));
        }
        let mut access = Access::ReadOnly;
        for statement in &statements {
            // The transaction of all statements may write if one of them may.
            if self.access(AllowedStatements::Any, statement, by, &[])? == Access::ReadWrite {
                access = Access::ReadWrite;
            }
        }
        // In a workspace the default schema is a folder, in which the statement's names were already resolved.
        let default_schema = text.default_schema.clone().filter(|_| text.within.is_none());
        let task = match mode {
            Mode::Sets(sets) => {
                let count = statements.len();
                let statement = statements.pop().filter(|_| count == 1).ok_or_else(|| {
                    Error::invalid(format!("query: a batch runs one statement, and this text holds {count}"))
                        .hint("send each statement in a batch of its own, or all of them to /api/query")
                })?;
                Task::Batch(Repeated { statement, sets: sets.clone(), default_schema })
            }
            // A single statement is a transaction of its own anyway.
            Mode::Run if statements.len() == 1 => {
                let statement = statements.remove(0);
                Task::Statement(Prepared {
                    statement,
                    values: text.parameters.clone(),
                    default_schema,
                    by_administrator: false,
                })
            }
            Mode::Run => Task::Statements(distributed(statements, &text.parameters, default_schema.as_ref(), None)?),
            // Columns can be described without values; those that are given help to infer types.
            Mode::Describe => {
                Task::Columns(distributed(statements, &text.parameters, default_schema.as_ref(), Some(RawValue::NULL))?)
            }
        };
        Ok((task, access))
    }
}

/// Gives each statement the values that it uses. An unused value is an error. A placeholder without a value is an error
/// if there is no `substitute`.
fn distributed(
    statements: Vec<Statement>,
    values: &[Argument],
    default_schema: Option<&String>,
    substitute: Option<&RawValue>,
) -> Result<Vec<Prepared>> {
    let mut seen = HashMap::new();
    let mut names: Vec<String> = Vec::new();
    for name in statements.iter().flat_map(|statement| &statement.placeholders) {
        seen.entry(name.clone()).or_insert_with(|| {
            names.push(name.clone());
            names.len() - 1
        });
    }
    let places = match substitute {
        Some(_) => bindings::places(&names, values)?,
        None => bindings::all_places(&names, values)?.into_iter().map(Some).collect(),
    };
    let value_of = |name: &String| {
        let place = places.get(*seen.get(name)?).copied().flatten();
        let value = place.and_then(|place| values.get(place));
        Some(Argument {
            name: name.clone(),
            value: value.map(|value| value.value.clone()).or_else(|| substitute.map(ToOwned::to_owned))?,
            data_type: value.and_then(|value| value.data_type),
        })
    };
    let values: Vec<Vec<Argument>> =
        statements.iter().map(|statement| statement.placeholders.iter().filter_map(value_of).collect()).collect();
    Ok(statements
        .into_iter()
        .zip(values)
        .map(|(statement, values)| Prepared {
            statement,
            values,
            default_schema: default_schema.cloned(),
            by_administrator: false,
        })
        .collect())
}
