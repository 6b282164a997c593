//! Decides whether a plan may contain hidden names: EXPLAIN shows what the planner expands (views, policies, rules,
//! functions in SQL, defaults, children), with its conditions and literals. A plan is shown in full only if callers
//! may name all of that.

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, ToSql, Type};

use crate::Exposure;
use crate::postgres::session::internal_query::{ask, get};
use crate::postgres::walls::objects::belongings;
use crate::postgres::walls::tree::Uses;
use portico_core::error::Result;

/// The relations `$1` and those that they lead to; the schemas of user-defined types in definitions behind them,
/// and of collations; and whether a plan might show anything else: row security, a rule of a table, a foreign
/// table, the catalogue behind a view (which `pg_depend` does not record), a function among `$2` in SQL or with
/// defaults of its own, or, in a definition behind them (an index on expressions too), any user-defined object that
/// is not a relation or a plain type. Defaults, of domains too, count if the statement writes (`$3`), and if they
/// are generated.
const BEHIND: &str = "\
WITH RECURSIVE reads (oid) AS (
    SELECT o FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS o
    UNION
    SELECT u.oid FROM reads s CROSS JOIN LATERAL (
        SELECT d.refobjid FROM pg_catalog.pg_rewrite r
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = r.oid
            WHERE r.ev_class = s.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        UNION ALL SELECT d.refobjid FROM pg_catalog.pg_attrdef f
            JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND d.objid = f.oid
            WHERE f.adrelid = s.oid AND ($3 OR a.attgenerated <> '')
                AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = s.oid
    ) AS u (oid)
), definitions (class, oid) AS (
    SELECT 'pg_catalog.pg_rewrite'::pg_catalog.regclass::pg_catalog.oid, r.oid
        FROM reads s JOIN pg_catalog.pg_rewrite r ON r.ev_class = s.oid
    UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass, f.oid
        FROM reads s JOIN pg_catalog.pg_attrdef f ON f.adrelid = s.oid
        JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        WHERE $3 OR a.attgenerated <> ''
    UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, x.indexrelid
        FROM reads s JOIN pg_catalog.pg_index x ON x.indrelid = s.oid AND x.indexprs IS NOT NULL
), uses (class, oid) AS (
    SELECT DISTINCT d.refclassid, d.refobjid
    FROM definitions n JOIN pg_catalog.pg_depend d ON d.classid = n.class AND d.objid = n.oid
), types (schema, is_plain) AS (
    SELECT n.nspname::text, t.typrelid = 0 AND (t.typelem = 0 OR e.typrelid = 0)
    FROM uses u JOIN pg_catalog.pg_type t ON t.oid = u.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
    WHERE u.class = 'pg_catalog.pg_type'::pg_catalog.regclass AND u.oid >= 16384
    UNION ALL SELECT n.nspname::text, true FROM reads s
    JOIN pg_catalog.pg_attribute a ON a.attrelid = s.oid AND a.attcollation >= 16384
    JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
    JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace
)
SELECT oid, NULL::text, false FROM reads
UNION ALL SELECT 0, schema, NOT is_plain FROM types
UNION ALL SELECT 0, NULL,
    EXISTS (SELECT FROM reads r LEFT JOIN pg_catalog.pg_class c ON c.oid = r.oid
        WHERE c.oid IS NULL OR c.relrowsecurity OR c.relkind = 'f' OR c.relkind IN ('r', 'p') AND c.relhasrules)
    OR EXISTS (SELECT FROM uses u WHERE u.oid >= 16384 AND u.class NOT IN ('pg_catalog.pg_class'::pg_catalog.regclass,
        'pg_catalog.pg_type'::pg_catalog.regclass, 'pg_catalog.pg_constraint'::pg_catalog.regclass))
    OR EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
        WHERE p.oid = ANY ($2) AND p.oid >= 16384 AND (l.lanname = 'sql' OR p.pronargdefaults > 0))
    OR $3 AND EXISTS (SELECT FROM reads r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE t.typtype = 'd' AND t.typdefaultbin IS NOT NULL)
    OR EXISTS (SELECT FROM reads r JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid
        CROSS JOIN LATERAL pg_catalog.regexp_matches(w.ev_action::text, ':relid ([0-9]+)', 'g') AS m (relid)
        WHERE m.relid[1]::int8 BETWEEN 1 AND 16383)";

/// Whether a plan of this may hold something that is hidden.
pub(crate) async fn goes_behind(client: &Client, uses: &Uses, exposure: &Exposure) -> Result<bool> {
    let relations: Vec<Oid> = uses.relations.iter().copied().collect();
    let functions: Vec<Oid> = uses.functions.iter().copied().collect();
    let writes = !uses.only_reads();
    let values: &[(&(dyn ToSql + Sync), Type)] =
        &[(&relations, Type::OID_ARRAY), (&functions, Type::OID_ARRAY), (&writes, Type::BOOL)];
    let mut read = Vec::new();
    for row in &ask(client, BEHIND, values).await? {
        let schema: Option<String> = get(row, 1)?;
        if get(row, 2)? || schema.is_some_and(|schema| !exposure.shows_schema(&schema)) {
            return Ok(true);
        }
        read.push(get::<Oid>(row, 0)?);
    }
    read.retain(|oid| *oid != 0);
    let found = belongings(client, read).await?;
    Ok(found.values().any(|belonging| !belonging.is_shown(exposure)))
}
