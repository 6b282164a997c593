//! Catalogue data of tables and columns beyond the listings of JDBC: estimates, references, labels, checks,
//! partitions. The parameters of the queries are those of `metadata.rs`.

use crate::postgres::catalog::fragments::visible_table;

/// The estimated number of rows of `pg_class c`, for a partitioned table the sum of its partitions; NULL if there
/// are no statistics.
pub(crate) const ROW_ESTIMATE: &str = "CASE WHEN c.relkind IN ('r', 'm', 'f') THEN
        CASE WHEN c.reltuples >= 0 THEN c.reltuples::int8 END
    WHEN c.relkind = 'p' THEN (
        WITH RECURSIVE part(id) AS (
            SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid
            UNION ALL SELECT i.inhrelid FROM part JOIN pg_catalog.pg_inherits i ON i.inhparent = part.id)
        SELECT sum(l.reltuples) FILTER (WHERE l.reltuples >= 0)
        FROM part JOIN pg_catalog.pg_class l ON l.oid = part.id AND l.relkind = 'r')::int8
    END";

/// The checks of the column `pg_attribute a` and of its domain `pg_type t` that concern only this column, each
/// preceded by its column's name.
pub(crate) const CHECKS: &str = "(SELECT pg_catalog.string_agg(
        CASE WHEN k.contypid = 0 THEN pg_catalog.quote_ident(a.attname) ELSE 'VALUE' END || pg_catalog.chr(1)
            || pg_catalog.pg_get_expr(k.conbin, k.conrelid), pg_catalog.chr(2) ORDER BY k.conname)
    FROM pg_catalog.pg_constraint k
    WHERE k.contype = 'c' AND ((k.conrelid = c.oid AND k.conkey = ARRAY[a.attnum])
        OR (k.contypid <> 0 AND k.contypid = t.oid)))";

/// The column that the column `a` of `c` refers to, as `schema.table.column`: that of the first foreign key whose
/// table the caller may see.
pub(crate) fn references() -> String {
    let visible = visible_table("p", "");
    format!(
        "(SELECT pg_catalog.concat_ws('.', o.nspname, p.relname, b.attname) FROM pg_catalog.pg_constraint x
        JOIN pg_catalog.pg_class p ON p.oid = x.confrelid
        JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace
        CROSS JOIN LATERAL unnest(x.conkey, x.confkey) AS k(theirs, ours)
        JOIN pg_catalog.pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.ours
        WHERE x.contype = 'f' AND x.conrelid = c.oid AND k.theirs = a.attnum AND {visible}
            AND pg_catalog.has_schema_privilege(o.oid, 'USAGE')
            AND pg_catalog.has_column_privilege(p.oid, b.attnum, 'SELECT, INSERT, UPDATE')
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint q
                WHERE q.oid = x.conparentid AND q.conrelid = x.conrelid)
        ORDER BY x.conname LIMIT 1)"
    )
}

/// The labels of the enum that the column's type `t` is, or is an array of, as JSON; `base` is the number of the type
/// below its domains.
pub(crate) fn labels(base: &str) -> String {
    format!(
        "(SELECT pg_catalog.json_agg(e.enumlabel ORDER BY e.enumsortorder)::text FROM pg_catalog.pg_enum e
        WHERE e.enumtypid = CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE {base} END)"
    )
}

/// The query for what a digest needs of the tables that are `wanted`. The result for a table with policies depends
/// on the reader.
pub(crate) fn of_tables(wanted: &str) -> String {
    format!(
        "SELECT $1, n.nspname::text, c.relname::text, o.nspname::text, p.relname::text,
    CASE WHEN c.relkind = 'p' AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
        THEN pg_catalog.pg_get_partkeydef(c.oid) END,
    -- What every database says of it is no comment.
    NULLIF(pg_catalog.obj_description(n.oid, 'pg_namespace'), 'standard public schema'),
    c.relkind = 'r' AND NOT c.relrowsecurity AND NOT c.relhassubclass
        AND pg_catalog.has_table_privilege(c.oid, 'SELECT'),
    -- By its indexes alone: a reading of all its rows is counted too where we read them to tell them, and the text
    -- would change from refresh to refresh.
    COALESCE((SELECT sum(pg_catalog.pg_stat_get_numscans(x.indexrelid)) FROM pg_catalog.pg_index x
        WHERE x.indrelid = c.oid), 0)::int8
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits i ON c.relispartition AND i.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent AND {}
LEFT JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace AND pg_catalog.has_schema_privilege(o.oid, 'USAGE')
WHERE {wanted}
ORDER BY n.nspname, c.relname",
        visible_table("p", "")
    )
}
