//! The source's own types, made known to a session before its first statement.
//!
//! The wire library looks up a type it does not know with further queries on the same session,
//! while the answer that mentions it waits in a bounded channel: with a large answer neither can
//! go on. A session that has met the type once never asks again.

use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use crate::postgres::session::internal_query::ask;
use portico_core::error::{Error, Result};

/// How many types one statement names.
const PER_STATEMENT: usize = 100;

/// Types of columns and of routines' results, enums, and the arrays of all these. Row types of
/// tables are left out: they are many and seldom selected.
const CUSTOM_TYPES: &str = "\
WITH used(oid) AS (
    SELECT a.atttypid FROM pg_catalog.pg_attribute a
    WHERE a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
    UNION SELECT p.prorettype FROM pg_catalog.pg_proc p WHERE p.prorettype >= 16384
    UNION SELECT u.oid FROM pg_catalog.pg_proc p, unnest(p.proallargtypes) u(oid) WHERE u.oid >= 16384
    UNION SELECT t.oid FROM pg_catalog.pg_type t WHERE t.typtype = 'e' AND t.oid >= 16384
), known(oid) AS (
    SELECT oid FROM used
    UNION SELECT t.typarray FROM used JOIN pg_catalog.pg_type t ON t.oid = used.oid WHERE t.typarray <> 0
)
SELECT pg_catalog.format('NULL::%I.%I', n.nspname, t.typname), t.oid
FROM known
JOIN pg_catalog.pg_type t ON t.oid = known.oid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'p'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  AND pg_catalog.has_type_privilege(t.oid, 'USAGE')
ORDER BY 1
LIMIT 1000";

/// The list of types, and when it last changed.
pub(crate) struct CustomTypes(RwLock<KnownTypes>);

struct KnownTypes {
    statements: Vec<String>,
    /// A type that was dropped and made again has its old name but a new number.
    oids: Vec<Oid>,
    changed: Instant,
}

impl CustomTypes {
    /// An empty list.
    pub(crate) fn new() -> Self {
        Self(RwLock::new(KnownTypes { statements: Vec::new(), oids: Vec::new(), changed: Instant::now() }))
    }

    /// Reads the list anew.
    pub(crate) async fn refresh(&self, client: &Client) -> Result<()> {
        let rows = ask(client, CUSTOM_TYPES, &[]).await?;
        let mut names: Vec<String> = Vec::with_capacity(rows.len());
        let mut oids = Vec::with_capacity(rows.len());
        for row in &rows {
            names.push(row.try_get(0).map_err(Error::internal)?);
            oids.push(row.try_get(1).map_err(Error::internal)?);
        }
        let statements = names.chunks(PER_STATEMENT).map(|names| format!("SELECT {}", names.join(", "))).collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.oids != oids || known.statements != statements {
            *known = KnownTypes { statements, oids, changed: Instant::now() };
        }
        Ok(())
    }

    /// Whether there is something new for a session that was taught before `moment`.
    pub(crate) fn changed_since(&self, moment: Instant) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        !known.statements.is_empty() && known.changed >= moment
    }

    /// Makes the session look up every type of the list.
    pub(crate) async fn warm_types(&self, client: &Client) {
        let statements = self.0.read().unwrap_or_else(PoisonError::into_inner).statements.clone();
        for statement in statements {
            // A type dropped meanwhile spoils its statement; the watch in `execute/statement.rs` covers the rest.
            let _ = client.prepare(&statement).await;
        }
    }
}
