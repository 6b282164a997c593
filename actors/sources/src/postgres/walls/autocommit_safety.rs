//! Finds out what a query can run without: a transaction of its own, if it cannot leave anything behind in its
//! session, and repeated parsing, if its text always has the same meaning.
//!
//! Another client may change the definition of a table meanwhile; so the result is cached no longer than the
//! verdict, and each session is still cleaned about once a second.

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::walls::admitted_statements::ExecutionHints;
use crate::postgres::walls::callable_functions::{FIRST_NORMAL, Function};
use crate::postgres::walls::policy::CheckPolicy;
use crate::postgres::walls::tree::Uses;
use portico_core::error::Result;

/// Tests whether all of these relations, with their children, are tables or materialized views of this server
/// without row security; whether all of these user-defined types are enums without a cast by a function (`to_json`
/// looks for one); and whether no user-defined function runs while these relations are planned and read:
/// in an index, a constraint, a partition key, statistics or a generated column. Operator classes of extensions are
/// written in C.
const PLAIN: &str = "\
WITH RECURSIVE reads (oid) AS (
    SELECT o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION SELECT i.inhrelid FROM reads r JOIN pg_catalog.pg_inherits i ON i.inhparent = r.oid
), parts (class, oid) AS (
    SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, oid FROM reads
    UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, i.indexrelid
        FROM reads r JOIN pg_catalog.pg_index i ON i.indrelid = r.oid
    UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.oid
        FROM reads r JOIN pg_catalog.pg_constraint c ON c.conrelid = r.oid
    UNION ALL SELECT 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass, s.oid
        FROM reads r JOIN pg_catalog.pg_statistic_ext s ON s.stxrelid = r.oid
    UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, d.oid
        FROM reads r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attgenerated <> ''
        JOIN pg_catalog.pg_attrdef d ON d.adrelid = r.oid AND d.adnum = a.attnum
)
SELECT NOT EXISTS (SELECT FROM reads r LEFT JOIN pg_catalog.pg_class c ON c.oid = r.oid
        WHERE c.oid IS NULL OR c.relkind NOT IN ('r', 'p', 'm') OR c.relrowsecurity OR c.relpersistence = 't'),
    NOT EXISTS (SELECT FROM pg_catalog.unnest($2::pg_catalog.oid[]) AS o LEFT JOIN pg_catalog.pg_type t ON t.oid = o
        WHERE t.typtype IS DISTINCT FROM 'e'
            OR EXISTS (SELECT FROM pg_catalog.pg_cast c WHERE c.castsource = o AND c.castfunc <> 0)),
    NOT EXISTS (SELECT FROM parts p JOIN pg_catalog.pg_depend d ON d.classid = p.class AND d.objid = p.oid
        WHERE d.refobjid >= 16384 AND (d.refclassid IN ('pg_catalog.pg_proc'::pg_catalog.regclass,
                'pg_catalog.pg_operator'::pg_catalog.regclass)
            OR d.refclassid = 'pg_catalog.pg_opclass'::pg_catalog.regclass AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_depend e WHERE e.classid = d.refclassid AND e.objid = d.refobjid
                    AND e.deptype = 'e')))";

/// Types whose literals always mean the same. Those of dates and times do not (`'today'`), nor do those of objects
/// that can be renamed.
const LASTING: [Type; 17] = [
    Type::BOOL,
    Type::BYTEA,
    Type::CHAR,
    Type::NAME,
    Type::INT8,
    Type::INT2,
    Type::INT4,
    Type::TEXT,
    Type::OID,
    Type::JSON,
    Type::FLOAT4,
    Type::FLOAT8,
    Type::UNKNOWN,
    Type::BPCHAR,
    Type::VARCHAR,
    Type::NUMERIC,
    Type::UUID,
];

/// Returns true if everything that the query names is plain, provided that `guard` allows running without anything
/// at all.
///
/// # Errors
/// The catalogue cannot be read.
pub(crate) async fn is_plain(client: &Client, uses: &Uses, guard: CheckPolicy) -> Result<bool> {
    if !guard.read_only || guard.identity || uses.locks || !uses.only_reads() {
        return Ok(false);
    }
    let relations: Vec<Oid> = uses.relations.iter().copied().collect();
    let types = uses.types.iter().chain(&uses.casts).chain(&uses.columns).copied();
    let types: Vec<Oid> = types.filter(|type_| *type_ >= FIRST_NORMAL).collect();
    if relations.is_empty() && types.is_empty() {
        return Ok(true);
    }
    let plain = ask(client, PLAIN, &[(&relations, Type::OID_ARRAY), (&types, Type::OID_ARRAY)]).await?;
    Ok(match plain.first() {
        Some(row) => get(row, 0)? && get(row, 1)? && get(row, 2)?,
        None => false,
    })
}

/// Returns what an admitted query can run without, if all that it names [is plain](is_plain). `called` are the
/// functions that it calls.
///
/// # Errors
/// A row cannot be read.
pub(crate) fn admission(uses: &Uses, called: &[Row]) -> Result<ExecutionHints> {
    for row in called {
        if !Function::read(row)?.leaves_nothing() {
            return Ok(ExecutionHints::default());
        }
    }
    let lasts = |type_: &Oid| LASTING.iter().any(|lasting| lasting.oid() == *type_);
    Ok(ExecutionHints { autocommit: true, reusable: uses.literals.iter().all(lasts) })
}
