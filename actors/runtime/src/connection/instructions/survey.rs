//! What is read for the instructions: schemas and tables as callers may see them, and what the
//! engine's own catalogue adds where that is cheap: estimates, comments, foreign keys.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures_util::StreamExt;

use crate::connection::runner::Runner;
use portico_core::call::{Call, Facet, Limits, Narrow};
use portico_core::error::{Error, Result};
use portico_core::reply::{Cell, Part, Results};
use portico_sources::{Access, Prepared, Task};
use portico_sql::{Dialect, Naming};

/// Tables that are read; a catalogue may have a hundred thousand.
const MOST_TABLES: usize = 5_000;
/// The additions are worth no more than this.
const PATIENCE: Duration = Duration::from_secs(2);

/// What there is.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) schemas: BTreeMap<String, Schema>,
    /// Foreign keys of one column between tables that callers may see.
    pub(super) references: Vec<Reference>,
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
    let dialect = runner.description.dialect;
    if dialect == Dialect::PostgreSql {
        for row in ask(runner, call, POSTGRES_SIZES).await.unwrap_or_default() {
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
    let text = if dialect == Dialect::PostgreSql { POSTGRES_KEYS } else { SQLITE_KEYS };
    for row in ask(runner, call, text).await.unwrap_or_default() {
        let [Some(schema), Some(table), Some(column), Some(other), Some(parent), key] = row.as_slice() else {
            continue;
        };
        let reference = Reference {
            from: (schema.clone(), table.clone()),
            column: column.clone(),
            to: (other.clone(), parent.clone()),
            key: key.clone(),
        };
        if survey.has(&reference.from) && survey.has(&reference.to) && reference.from != reference.to {
            survey.references.push(reference);
        }
    }
    Ok(survey)
}

const POSTGRES_SIZES: &str = "SELECT n.nspname::text, c.relname::text, c.reltuples::bigint, \
    pg_catalog.obj_description(n.oid, 'pg_namespace') \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' LIMIT 5000";

const POSTGRES_KEYS: &str = "SELECT cn.nspname::text, cc.relname::text, ca.attname::text, \
    pn.nspname::text, pc.relname::text, pa.attname::text \
    FROM pg_catalog.pg_constraint k \
    JOIN pg_catalog.pg_class cc ON cc.oid = k.conrelid JOIN pg_catalog.pg_namespace cn ON cn.oid = cc.relnamespace \
    JOIN pg_catalog.pg_class pc ON pc.oid = k.confrelid JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace \
    JOIN pg_catalog.pg_attribute ca ON ca.attrelid = cc.oid AND ca.attnum = k.conkey[1] \
    JOIN pg_catalog.pg_attribute pa ON pa.attrelid = pc.oid AND pa.attnum = k.confkey[1] \
    WHERE k.contype = 'f' AND pg_catalog.cardinality(k.conkey) = 1 ORDER BY 1, 2, 3 LIMIT 200";

const SQLITE_KEYS: &str = "SELECT 'main', m.name, f.\"from\", 'main', f.\"table\", f.\"to\" \
    FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' \
    GROUP BY m.name, f.id HAVING count(*) = 1 ORDER BY m.name, f.id LIMIT 200";

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

/// One of our own statements.
async fn ask(runner: &Runner, call: &Call, text: &str) -> Result<Vec<Vec<Option<String>>>> {
    let naming = Naming { connection: &runner.description.name, others: &[] };
    let statement = portico_sql::statements(text, runner.description.dialect, naming)?.pop();
    let statement = statement.ok_or_else(|| Error::internal("a statement of our own is none"))?;
    let prepared = Prepared { statement, values: Vec::new(), default_schema: None, by_administrator: true };
    let limits = Limits { timeout: PATIENCE, rows: None };
    texts(runner.plan_within(Task::Statement(prepared), Access::ReadOnly, limits, call).await?, MOST_TABLES).await
}

async fn texts(mut results: Results, most: usize) -> Result<Vec<Vec<Option<String>>>> {
    let (mut rows, mut width) = (Vec::new(), 0);
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(columns) => width = columns.len(),
            Part::Rows(batch) => {
                for row in 0..batch.rows().min(most - rows.len()) {
                    let cells = (0..width).map(|column| {
                        Ok(match batch.cell(row, column)? {
                            Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => Some(text.into_owned()),
                            Cell::Integer(number) => Some(number.to_string()),
                            Cell::Boolean(value) => Some(value.to_string()),
                            _ => None,
                        })
                    });
                    rows.push(cells.collect::<Result<Vec<_>>>()?);
                }
            }
            Part::Done { .. } => {}
        }
        if rows.len() == most {
            break;
        }
    }
    Ok(rows)
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
