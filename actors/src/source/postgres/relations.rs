//! Which table and column a result's column comes from: names by the numbers that PostgreSQL sends
//! with every row description.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use super::catalog::visible_table;
use super::own::ask;
use crate::error::{Error, Result};
use crate::source::{MOST_TABLES, Table};

/// What a foreign table says of NULL nobody enforces; a table that inherits may take NULL where its parent
/// does not; and a constraint may have been added without a look at the rows that there are.
const RELATIONS: &str = "\
SELECT c.oid, n.nspname::text, c.relname::text, a.attnum, a.attname::text,
    a.attnotnull AND (c.relkind = 'p' OR c.relkind = 'r' AND NOT c.relhassubclass)
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint x
            WHERE x.conrelid = c.oid AND x.contype = 'n' AND NOT x.convalidated AND a.attnum = ANY (x.conkey))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
WHERE c.oid = ANY ($1)";

/// What of each table's definition callers are shown, as one word.
fn definitions_query(roles: Option<&str>) -> String {
    let visible = if let Some(roles) = roles {
        format!(
            "c.relkind IN ('r', 'p', 'v', 'm', 'f') AND EXISTS (SELECT {roles}
        AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
        AND (pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE')
            OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE')))"
        )
    } else {
        format!("pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND {}", visible_table("c"))
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
pub(super) async fn definitions(client: &Client, roles: Option<&str>) -> Result<Arc<[Table]>> {
    let rows = ask(client, &definitions_query(roles), &[]).await?;
    let table = |row: &Row| -> std::result::Result<Table, tokio_postgres::Error> {
        Ok(Table::new(row.try_get(0)?, row.try_get(1)?, row.try_get::<_, String>(2)?))
    };
    rows.iter().map(|row| table(row).map_err(Error::internal)).collect()
}

/// More tables than this are not kept; the next miss begins anew.
const MOST_RELATIONS: usize = 10_000;

/// A table or view as descriptors name it.
#[derive(Debug, Default)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    /// Name and NOT NULL by attribute number.
    pub(super) columns: HashMap<i16, (String, bool)>,
}

/// Relations seen so far.
#[derive(Default)]
pub(super) struct Relations(Mutex<HashMap<Oid, Arc<Relation>>>);

impl Relations {
    /// Those of `oids` that are not known yet, each once.
    pub(super) fn missing(&self, oids: &[Oid]) -> Vec<Oid> {
        let mut missing: Vec<Oid> = oids.iter().copied().filter(|oid| self.known(*oid).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// A relation that is known already.
    pub(super) fn known(&self, oid: Oid) -> Option<Arc<Relation>> {
        self.lock().get(&oid).cloned()
    }

    /// Reads the relations `oids` anew.
    pub(super) async fn learn(&self, client: &Client, oids: &[Oid]) -> Result<()> {
        if oids.is_empty() {
            return Ok(());
        }
        let oids = oids.to_vec();
        let rows = ask(client, RELATIONS, &[(&oids, Type::OID_ARRAY)]).await?;
        let mut found: HashMap<Oid, Relation> = HashMap::new();
        for row in &rows {
            let relation = found.entry(row.try_get(0).map_err(Error::internal)?).or_default();
            relation.schema = row.try_get(1).map_err(Error::internal)?;
            relation.name = row.try_get(2).map_err(Error::internal)?;
            let column = (row.try_get(4).map_err(Error::internal)?, row.try_get(5).map_err(Error::internal)?);
            relation.columns.insert(row.try_get(3).map_err(Error::internal)?, column);
        }
        let mut known = self.lock();
        if known.len() + found.len() > MOST_RELATIONS {
            known.clear();
        }
        for oid in oids {
            match found.remove(&oid) {
                Some(relation) => drop(known.insert(oid, Arc::new(relation))),
                None => drop(known.remove(&oid)),
            }
        }
        Ok(())
    }

    /// Reads every relation seen so far anew.
    pub(super) async fn refresh(&self, client: &Client) -> Result<()> {
        let oids: Vec<Oid> = self.lock().keys().copied().collect();
        self.learn(client, &oids).await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Oid, Arc<Relation>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
