//! What is read for the instructions: schemas and tables as callers may see them, and what the
//! engine's own catalogue adds where that is cheap: estimates, comments, foreign keys.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::connection::runner::Runner;
use crate::connection::texts::texts;
use portico_core::call::{Call, Facet, Limits, Narrow};
use portico_core::error::{Error, Result};
use portico_sources::{Access, Prepared, Task};
use portico_sql::Naming;

/// Tables that are read; a catalogue may have a hundred thousand.
const MOST_TABLES: usize = 5_000;
/// The additions are worth no more than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) schemas: BTreeMap<String, Schema>,
    /// A foreign key of one column between tables that callers may see.
    pub(super) reference: Option<Reference>,
}

#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) remarks: Option<String>,
    /// In the order of the listing.
    pub(super) tables: Vec<Table>,
    /// The place of each table among them, by its name.
    places: HashMap<String, usize>,
}

impl Schema {
    fn add(&mut self, table: Table) {
        self.places.insert(table.name.clone(), self.tables.len());
        self.tables.push(table);
    }

    fn table(&mut self, name: &str) -> Option<&mut Table> {
        self.tables.get_mut(*self.places.get(name)?)
    }
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) remarks: Option<String>,
    /// As the engine estimates it.
    pub(super) rows: Option<i64>,
}

/// Schema and name of a table.
pub(super) type Place = (String, String);

/// A column that refers to another table's column, which is its key where none is named.
#[derive(Debug)]
pub(super) struct Reference {
    pub(super) from: Place,
    pub(super) column: String,
    pub(super) to: Place,
    pub(super) key: Option<String>,
}

impl Survey {
    fn table(&mut self, schema: &str, name: &str) -> Option<&mut Table> {
        self.schemas.get_mut(schema)?.table(name)
    }

    fn has(&self, (schema, name): &Place) -> bool {
        self.schemas.get(schema).is_some_and(|schema| schema.places.contains_key(name))
    }

    /// The first of the foreign keys that a listing has in its rows.
    fn first_reference(&self, rows: &[Vec<Option<String>>]) -> Option<Reference> {
        let text = |row: &[Option<String>], at: usize| row.get(at).cloned().flatten();
        // Which key a row belongs to, and which of its columns it is.
        let key = |row: &[Option<String>]| [1, 2, 5, 6, 11].map(|at| text(row, at));
        let is_first = |row: &[Option<String>]| text(row, 8).as_deref() == Some("1");
        let several: HashSet<_> = rows.iter().filter(|row| !is_first(row)).map(|row| key(row)).collect();
        let single = rows.iter().filter(|row| is_first(row) && !several.contains(&key(row)));
        let references = single.filter_map(|row| {
            let place = |at: usize| Some((text(row, at)?, text(row, at + 1)?));
            Some(Reference { from: place(5)?, column: text(row, 7)?, to: place(1)?, key: text(row, 3) })
        });
        let known = |reference: &Reference| self.has(&reference.from) && self.has(&reference.to);
        references
            .filter(|reference| known(reference) && reference.from != reference.to)
            .min_by(|one, other| (&one.from, &one.column).cmp(&(&other.from, &other.column)))
    }
}

/// Reads it all; without the additions where they fail.
pub(super) async fn read(runner: &Runner, call: &Call) -> Result<Survey> {
    let mut survey = Survey::default();
    for row in list(runner, call, Facet::Tables, Narrow::default(), MOST_TABLES).await? {
        let mut cells = row.into_iter().skip(1);
        let mut next = || cells.next().flatten();
        let (schema, name, kind, remarks) = (next(), next(), next(), next());
        let table = Table { name: name.unwrap_or_default(), kind: kind.unwrap_or_default(), remarks, rows: None };
        survey.schemas.entry(schema.unwrap_or_default()).or_default().add(table);
    }
    if let Some(text) = runner.description.connection.driver.estimates {
        for row in ask(runner, call, text).await.unwrap_or_default() {
            let [Some(schema), Some(table), rows, remarks] = row.as_slice() else { continue };
            if let Some(found) = survey.schemas.get_mut(schema) {
                found.remarks.clone_from(remarks);
            }
            let rows = rows.as_ref().and_then(|rows| rows.parse().ok()).filter(|rows| *rows >= 0);
            if let Some(found) = survey.table(schema, table) {
                found.rows = rows;
            }
        }
    }
    let keys = add(runner, call, Task::Describe(Facet::ImportedKeys, Narrow::default())).await.unwrap_or_default();
    survey.reference = survey.first_reference(&keys);
    Ok(survey)
}

/// Up to `most` rows of a listing.
pub(super) async fn list(
    runner: &Runner,
    call: &Call,
    facet: Facet,
    narrow: Narrow,
    most: usize,
) -> Result<Vec<Vec<Option<String>>>> {
    texts(runner.plan(Task::Describe(facet, narrow), Access::ReadOnly, call).await?, most).await
}

/// One of the driver's own statements.
async fn ask(runner: &Runner, call: &Call, text: &str) -> Result<Vec<Vec<Option<String>>>> {
    let connection = &runner.description.connection;
    let naming = Naming { connection: &connection.name, others: &[] };
    let statement = portico_sql::statements(text, connection.driver.dialect, naming)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("a statement of our own is none"))?;
    let prepared = Prepared { statement, values: Vec::new(), default_schema: None, by_administrator: true };
    add(runner, call, Task::Statement(prepared)).await
}

/// What is worth a little time alone.
async fn add(runner: &Runner, call: &Call, task: Task) -> Result<Vec<Vec<Option<String>>>> {
    let limits = Limits { timeout: PATIENCE, rows: None };
    texts(runner.plan_within(task, Access::ReadOnly, limits, call).await?, MOST_TABLES).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_by_its_name_and_each_schema_has_its_own() {
        let mut survey = Survey::default();
        for number in 0..MOST_TABLES {
            let table = Table { name: format!("t{number}"), kind: "TABLE".to_owned(), remarks: None, rows: None };
            survey.schemas.entry(format!("s{}", number % 2)).or_default().add(table);
        }
        for number in 0..i64::try_from(MOST_TABLES).unwrap() {
            let (own, other) = (format!("s{}", number % 2), format!("s{}", (number + 1) % 2));
            survey.table(&own, &format!("t{number}")).unwrap().rows = Some(number);
            assert!(survey.table(&other, &format!("t{number}")).is_none());
        }
        let rows =
            |schema: &str| survey.schemas[schema].tables.iter().map(|table| table.rows.unwrap()).collect::<Vec<_>>();
        assert!(rows("s0").iter().zip(0..).all(|(rows, at)| *rows == 2 * at), "the listing's order is kept");
        assert!(survey.has(&("s1".to_owned(), "t1".to_owned())) && !survey.has(&("s1".to_owned(), "t0".to_owned())));
    }
}
