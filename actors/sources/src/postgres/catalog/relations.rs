//! Finds the table and column that a result's column originates from: names, by the OIDs that PostgreSQL sends with
//! every row description.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::catalog::fragments::visible_table;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::decode::columns::ColumnDescription;
use crate::postgres::session::housekeeping::Housekeeping;
use crate::postgres::session::internal_query::{ask, get};
use crate::{MOST_TABLES, Table};
use portico_core::error::Result;
use portico_core::reply::Collation;

/// A column counts as NOT NULL or as a key only where that is enforced for all rows. NOT NULL of a foreign table is
/// not enforced, also where it is a partition. A table with children may contain NULL where the parent does not,
/// and rows with the same key. A constraint may have been added without a check of existing rows, and a rule may
/// answer in place of the table. 100 and 950 are the collations of the database and of C, which are deterministic;
/// before PostgreSQL 12 all are. The tables are given as JSON, for which the server expects the same number of
/// elements whatever it contains: for arrays of different lengths it would plan the query each time, which takes
/// longer than the answer. A collation is looked up by its OID: with `EXISTS` the server makes JSON of all of them,
/// which takes milliseconds.
const RELATIONS: &str = "\
SELECT c.oid, n.nspname::text, c.relname::text, a.attnum, a.attname::text,
    a.attnotnull AND (c.relkind = 'p' OR c.relkind = 'r' AND NOT c.relhassubclass) AND NOT x.is_foreign
        AND a.attnum <> ALL (x.unproven) AND NOT c.relhasrules,
    a.attnum = ANY (x.key) AND (c.relkind = 'p' OR NOT c.relhassubclass),
    a.attcollation = ANY ('{0,100,950}') OR (SELECT pg_catalog.to_jsonb(o) ->> 'collisdeterministic'
        FROM pg_catalog.pg_collation o WHERE o.oid = a.attcollation) IS DISTINCT FROM 'false'
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (SELECT ARRAY(SELECT pg_catalog.unnest(k.conkey) FROM pg_catalog.pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated) AS unproven,
    ARRAY(SELECT pg_catalog.unnest(k.conkey) FROM pg_catalog.pg_constraint k
        WHERE k.conrelid = c.oid AND k.contype = 'p') AS key,
    c.relkind = 'p' AND EXISTS (
        WITH RECURSIVE parts (oid) AS (SELECT c.oid
            UNION ALL SELECT i.inhrelid FROM parts p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid)
        SELECT FROM parts p JOIN pg_catalog.pg_class f ON f.oid = p.oid WHERE f.relkind = 'f') AS is_foreign OFFSET 0) x
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
WHERE c.oid IN (SELECT t.number::oid FROM pg_catalog.json_array_elements_text($1::json) t (number))";

/// The query for the part of each table's definition that callers may see, as one word.
fn definitions_query(roles: Option<&str>) -> String {
    let visible =
        |whom| format!("pg_catalog.has_schema_privilege({whom}n.oid, 'USAGE') AND {}", visible_table("c", whom));
    let visible = match roles {
        Some(roles) => format!("EXISTS (SELECT {roles} AND {})", visible("r.oid, ")),
        None => visible(""),
    };
    format!(
        "SELECT n.nspname::text, c.relname::text, pg_catalog.md5(pg_catalog.concat_ws(chr(1), c.relkind,
    pg_catalog.obj_description(c.oid, 'pg_class'), a.columns))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
    SELECT pg_catalog.string_agg(pg_catalog.concat_ws(chr(2), a.attname, a.atttypid, a.atttypmod, a.attnotnull,
        a.attidentity, pg_catalog.col_description(c.oid, a.attnum)), chr(3) ORDER BY a.attnum) AS columns
    FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
) a
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND {visible}
ORDER BY n.nspname, c.relname
LIMIT {MOST_TABLES}"
    )
}

/// The tables and views that callers are shown, and a digest of each one's definition.
/// Where callers have `roles`, these are the tables that any of them is shown.
pub(crate) async fn definitions(client: &Client, roles: Option<&str>) -> Result<Arc<[Table]>> {
    let rows = ask(client, &definitions_query(roles), &[]).await?;
    rows.iter().map(|row| Ok(Table::new(get(row, 0)?, get(row, 1)?, get::<String>(row, 2)?))).collect()
}

/// A table or view as descriptors name it.
#[derive(Debug, Default)]
pub(crate) struct Relation {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// By attribute number.
    pub(crate) columns: HashMap<i16, RelationColumn>,
}

/// A column of such a table.
#[derive(Debug)]
pub(crate) struct RelationColumn {
    pub(crate) name: String,
    pub(crate) not_null: bool,
    /// Whether it is one of the primary key.
    pub(crate) key: bool,
    pub(crate) collation: Collation,
}

/// Tables and views by their numbers.
pub(crate) type Relations = HashMap<Oid, Relation>;

/// The tables that `columns` come from, each once.
pub(crate) fn tables(columns: &[ColumnDescription]) -> Vec<Oid> {
    let mut tables: Vec<Oid> = columns.iter().filter_map(|column| column.table).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

/// Returns what the catalogue says of `tables`, as visible to `client`.
pub(crate) async fn seen_by(client: &Client, tables: Vec<Oid>) -> Result<Relations, tokio_postgres::Error> {
    if tables.is_empty() {
        return Ok(Relations::new());
    }
    read(&client.query_typed(RELATIONS, &[(&listed(&tables), Type::TEXT)]).await?)
}

/// Returns what the catalogue says of `tables` now. The most frequent query, and so prepared once.
async fn current(wire: &DrivenClient, tables: Vec<Oid>) -> Result<Relations, tokio_postgres::Error> {
    let question = wire.prepare_typed_cached(RELATIONS, &[Type::TEXT]).await?;
    read(&wire.query(&question, &[&listed(&tables)]).await?)
}

/// The numbers as an array of JSON.
fn listed(tables: &[Oid]) -> String {
    serde_json::json!(tables).to_string()
}

fn read(rows: &[Row]) -> Result<Relations, tokio_postgres::Error> {
    let mut found = Relations::new();
    for row in rows {
        let relation = found.entry(row.try_get(0)?).or_default();
        relation.schema = row.try_get(1)?;
        relation.name = row.try_get(2)?;
        let collation = if row.try_get(7)? { Collation::Deterministic } else { Collation::Other };
        let column =
            RelationColumn { name: row.try_get(4)?, not_null: row.try_get(5)?, key: row.try_get(6)?, collation };
        relation.columns.insert(row.try_get(3)?, column);
    }
    Ok(found)
}

/// A stream may wait so long for names that it could also do without.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a result is valid that was requested before the statement had locked its tables: if the statement
/// waited for a change, the change is newer.
const PREFETCH_LIFETIME: Duration = Duration::from_millis(50);

/// A lookup of a result's tables, which runs beside the statement so that nothing waits for it.
///
/// Another session may change a table at any time, so nothing is cached. A statement locks its tables from when it
/// is prepared until its transaction ends; what is looked up meanwhile holds for its rows.
pub(crate) struct TableLookup {
    tables: Vec<Oid>,
    /// Until when an answer counts for a statement that has not answered yet.
    until: Option<Instant>,
    answer: BoxFuture<'static, Option<Relations>>,
}

impl TableLookup {
    /// Starts the lookup at once, on a session of our own.
    pub(crate) fn beside(housekeeping: &Arc<Housekeeping>, tables: Vec<Oid>) -> Self {
        let (housekeeping, asked) = (Arc::clone(housekeeping), tables.clone());
        if tables.is_empty() {
            return Self::within(tables, std::future::ready(Some(Relations::new())));
        }
        let asking = tokio::spawn(timeout(PATIENCE, async move {
            let client = housekeeping.client().await.ok()?;
            current(&client, asked).await.ok()
        }));
        Self::within(tables, async move { asking.await.ok()?.ok()? })
    }

    /// Starts the lookup for a statement that is about to be sent.
    pub(crate) fn before(housekeeping: &Arc<Housekeeping>, tables: Vec<Oid>) -> Self {
        Self { until: Some(Instant::now() + PREFETCH_LIFETIME), ..Self::beside(housekeeping, tables) }
    }

    /// Asked in the statement's own transaction.
    pub(crate) fn within(tables: Vec<Oid>, answer: impl Future<Output = Option<Relations>> + Send + 'static) -> Self {
        Self { tables, until: None, answer: answer.boxed() }
    }

    /// Returns true if the lookup covers `tables` and is recent enough for the statement that has just answered.
    pub(crate) fn is_of(&self, tables: &[Oid]) -> bool {
        self.until.is_none_or(|until| Instant::now() <= until) && tables.iter().all(|table| self.tables.contains(table))
    }

    /// Without the names the columns are still right, only less well described.
    pub(crate) async fn answer(self) -> Relations {
        self.answer.await.unwrap_or_default()
    }
}
