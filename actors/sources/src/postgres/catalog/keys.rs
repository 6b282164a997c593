//! The metadata of keys and indexes, in the columns and numbers of JDBC's `DatabaseMetaData`. The
//! parameters of their queries are those of `metadata.rs`. A key or an index with a column that the caller may not see
//! is left out whole.

use crate::postgres::catalog::fragments::{visible_columns, visible_index, visible_table};

/// The columns of primary keys of the tables that are `wanted`.
pub(crate) fn primary(wanted: &str) -> String {
    let columns = visible_columns("c", "x.conkey");
    format!(
        "SELECT $1, n.nspname::text, c.relname::text, a.attname::text, k.place::int4, x.conname::text
FROM pg_catalog.pg_constraint x
JOIN pg_catalog.pg_class c ON c.oid = x.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(x.conkey) WITH ORDINALITY AS k(number, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE x.contype = 'p' AND {wanted} AND {columns}
ORDER BY n.nspname, c.relname, k.place"
    )
}

/// The query for the foreign keys of the tables that are `wanted`, ordered by the table that they refer to; with
/// `exported` for those that refer to these tables, ordered by the table that has them. `c` is such a table, `p`
/// the one at the key's other end. The copies of a key for each partition of a referenced partitioned table are
/// left out, and so is the name of the unique key that is referred to if it includes a column that the caller may not
/// see: the server makes such names of the columns.
pub(crate) fn foreign(wanted: &str, exported: bool) -> String {
    let this = "n.nspname::text, c.relname::text, a.attname::text";
    let other = "o.nspname::text, p.relname::text, b.attname::text";
    let (to, from) = if exported { (this, other) } else { (other, this) };
    let (referred, has) = if exported { ("c", "p") } else { ("p", "c") };
    let (its, others) = if exported { ("ours", "theirs") } else { ("theirs", "ours") };
    let visible = visible_table("p", "");
    let columns = format!("{} AND {}", visible_columns(has, "x.conkey"), visible_columns(referred, "x.confkey"));
    let included = visible_columns(referred, "i.indkey::int2[]");
    let (update, delete) = (rule("x.confupdtype"), rule("x.confdeltype"));
    format!(
        "SELECT $1, {to}, $1, {from}, k.place::int4, {update}, {delete}, x.conname::text,
    (SELECT u.conname::text FROM pg_catalog.pg_constraint u JOIN pg_catalog.pg_index i ON i.indexrelid = u.conindid
        WHERE u.conrelid = x.confrelid AND u.conindid = x.conindid AND u.contype IN ('p', 'u')
        AND (u.contype = 'p' OR {included}) LIMIT 1),
    CASE WHEN x.condeferred THEN 5 WHEN x.condeferrable THEN 6 ELSE 7 END
FROM pg_catalog.pg_constraint x
JOIN pg_catalog.pg_class {has} ON {has}.oid = x.conrelid
JOIN pg_catalog.pg_class {referred} ON {referred}.oid = x.confrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace
CROSS JOIN LATERAL unnest(x.conkey, x.confkey) WITH ORDINALITY AS k(theirs, ours, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.{its}
JOIN pg_catalog.pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.{others}
WHERE x.contype = 'f' AND {wanted} AND {visible} AND {columns}
    AND pg_catalog.has_schema_privilege(o.oid, 'USAGE')
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint q
        WHERE q.oid = x.conparentid AND q.conrelid = x.conrelid)
ORDER BY n.nspname, c.relname, o.nspname, p.relname, x.conname, k.place"
    )
}

/// `importedKeyCascade` 0, `importedKeyRestrict` 1, `importedKeySetNull` 2, `importedKeyNoAction`
/// 3, `importedKeySetDefault` 4.
fn rule(column: &str) -> String {
    format!("CASE {column} WHEN 'c' THEN 0 WHEN 'r' THEN 1 WHEN 'n' THEN 2 WHEN 'd' THEN 4 ELSE 3 END")
}

/// The key columns of indexes; an expression stands in place of a name. `TYPE` is
/// `tableIndexClustered` 1, `tableIndexHashed` 2 or `tableIndexOther` 3.
pub(crate) fn indexes(wanted: &str) -> String {
    let visible = visible_index("c", "i");
    format!(
        "SELECT $1, n.nspname::text, c.relname::text, NOT i.indisunique, NULL::text, x.relname::text,
    CASE WHEN i.indisclustered THEN 1 WHEN m.amname = 'hash' THEN 2 ELSE 3 END,
    k.place, COALESCE(a.attname::text, pg_catalog.pg_get_indexdef(x.oid, k.place, true)),
    CASE WHEN m.amname = 'btree' THEN CASE WHEN i.indoption[k.place - 1] & 1 = 1 THEN 'D' ELSE 'A' END END,
    CASE WHEN x.reltuples >= 0 THEN x.reltuples::int8 END, x.relpages::int8,
    pg_catalog.pg_get_expr(i.indpred, i.indrelid)
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam
JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL generate_series(1, i.indnkeyatts::int4) AS k(place)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.place - 1] AND a.attnum > 0
WHERE {wanted} AND {visible}
ORDER BY n.nspname, c.relname, i.indisunique DESC, 7, x.relname, k.place"
    )
}
