//! Whether a plan may hold what is hidden: EXPLAIN tells what a view reads and on which conditions, and the
//! same of policies, children and functions that are unfolded.

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, ToSql, Type};

use crate::Exposure;
use crate::postgres::session::own::{ask, get};
use crate::postgres::walls::objects::belongings;
use crate::postgres::walls::tree::Uses;
use portico_core::error::Result;

/// What these relations and functions lead to: what views and policies read, and children; and whether a
/// function is of somebody's own, which the planner may unfold.
const BEHIND: &str = "\
WITH RECURSIVE reads (oid) AS (
    SELECT o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT u.oid FROM reads s CROSS JOIN LATERAL (
        SELECT d.refobjid FROM pg_catalog.pg_rewrite r
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
            WHERE r.ev_class = s.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        UNION ALL SELECT d.refobjid FROM pg_catalog.pg_policy p
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass AND d.objid = p.oid
            WHERE p.polrelid = s.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = s.oid
    ) AS u (oid)
)
SELECT reads.oid, false FROM reads
UNION ALL SELECT 0, EXISTS (SELECT FROM pg_catalog.pg_policy p WHERE p.polrelid = ANY ($1))
    OR EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
        WHERE p.oid = ANY ($2) AND p.oid >= 16384 AND l.lanname = 'sql')";

/// Whether a plan of this may hold something that is hidden.
pub(crate) async fn goes_behind(client: &Client, uses: &Uses, exposure: &Exposure) -> Result<bool> {
    let relations: Vec<Oid> = uses.relations.iter().copied().collect();
    let functions: Vec<Oid> = uses.functions.iter().copied().collect();
    let values: &[(&(dyn ToSql + Sync), Type)] = &[(&relations, Type::OID_ARRAY), (&functions, Type::OID_ARRAY)];
    let mut read = Vec::new();
    for row in &ask(client, BEHIND, values).await? {
        if get(row, 1)? {
            return Ok(true);
        }
        read.push(get::<Oid>(row, 0)?);
    }
    read.retain(|oid| *oid != 0);
    let found = belongings(client, read).await?;
    Ok(found.values().any(|belonging| !belonging.is_shown(exposure)))
}
