//! One statement of an execution, with its values. How it runs is in `statement.rs`.

use rusqlite::types::Value;

use crate::sqlite::execute::argument;
use crate::sqlite::execute::check;
use crate::sqlite::schema::SCHEMA;
use crate::statements::bindings;
use crate::statements::foreign::Words;
use crate::{Prepared, Repeated};
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_sql::{Dialect, Statement};

/// A statement and its values.
pub(crate) struct Step {
    pub(crate) statement: Statement,
    /// For each run one value for each placeholder.
    pub(crate) sets: Vec<Vec<Value>>,
    /// Whether errors name the set.
    pub(crate) repeats: bool,
    /// Whether an administrator wrote it: it may use what is hidden from callers.
    pub(crate) by_administrator: bool,
}

impl Step {
    /// Makes a statement that runs once.
    ///
    /// # Errors
    /// A statement that no session may see, or values that do not fit.
    pub(crate) fn new(prepared: Prepared) -> Result<Self> {
        let Prepared { statement, values, default_schema, by_administrator } = prepared;
        admit(&statement, default_schema)?;
        admit_lists(&statement, &values)?;
        let values = argument::bind(&statement.placeholders, &values)?;
        Ok(Self { statement, sets: vec![values], repeats: false, by_administrator })
    }

    /// A statement that is run once for each set of values.
    ///
    /// # Errors
    /// As [`Step::new`]; also without any set.
    pub(crate) fn repeated(repeated: Repeated) -> Result<Self> {
        let Repeated { statement, sets, default_schema } = repeated;
        admit(&statement, default_schema)?;
        if sets.is_empty() {
            return Err(Error::invalid("parameters: give at least one set of values"));
        }
        let bound = sets.iter().enumerate().map(|(number, set)| {
            admit_lists(&statement, set)
                .and_then(|()| argument::bind(&statement.placeholders, set))
                .map_err(|error| Repeated::failure(number, error))
        });
        let sets = bound.collect::<Result<_>>()?;
        Ok(Self { statement, sets, repeats: true, by_administrator: false })
    }
}

/// Refuses a list where IN has one value: no row would have its text.
fn admit_lists(statement: &Statement, values: &[Argument]) -> Result<()> {
    if !values.iter().any(bindings::is_array) {
        return Ok(());
    }
    for value in Words::new(&statement.text, Dialect::SQLITE).alone_in_lists() {
        let name = match value.strip_prefix('?').and_then(|number| number.parse::<usize>().ok()) {
            Some(number) => number.checked_sub(1).and_then(|place| statement.placeholders.get(place)),
            None => statement.placeholders.iter().find(|name| argument::same(name, value)),
        };
        let Some(name) = name else { continue };
        if values.iter().any(|value| argument::same(&value.name, name) && bindings::is_array(value)) {
            let name = argument::at(name);
            return Err(Error::invalid(format!("parameter {name}: it is a list, and IN ({name}) has one value"))
                .hint(format!("write IN (SELECT value FROM json_each({name}))")));
        }
    }
    Ok(())
}

fn admit(statement: &Statement, default_schema: Option<String>) -> Result<()> {
    if let Some(schema) = default_schema.filter(|schema| !schema.eq_ignore_ascii_case(SCHEMA)) {
        return Err(Error::not_found(format!("there is no schema {schema}; SQLite's is {SCHEMA}")));
    }
    check::check(statement)
}
