//! Catalogue data of tables and columns beyond the listings of JDBC: estimates, references, labels, checks,
//! partitions. The parameters of the queries are those of `metadata.rs`.

use crate::postgres::catalog::fragments::{visible_column, visible_columns, visible_index, visible_table};

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
/// table, and whose columns on both sides, the caller may see.
pub(crate) fn references() -> String {
    let visible = visible_table("p", "");
    let columns = format!("{} AND {}", visible_columns("c", "x.conkey"), visible_columns("p", "x.confkey"));
    format!(
        "(SELECT pg_catalog.concat_ws('.', o.nspname, p.relname, b.attname) FROM pg_catalog.pg_constraint x
        JOIN pg_catalog.pg_class p ON p.oid = x.confrelid
        JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace
        CROSS JOIN LATERAL unnest(x.conkey, x.confkey) AS k(theirs, ours)
        JOIN pg_catalog.pg_attribute b ON b.attrelid = p.oid AND b.attnum = k.ours
        WHERE x.contype = 'f' AND x.conrelid = c.oid AND a.attnum = ANY (x.conkey) AND k.theirs = a.attnum
            AND {visible} AND pg_catalog.has_schema_privilege(o.oid, 'USAGE')
            AND {columns}
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint q
                WHERE q.oid = x.conparentid AND q.conrelid = x.conrelid)
        ORDER BY x.conname LIMIT 1)"
    )
}

/// What values of the type `t` are made of, as JSON: the labels of an enum as an array, the fields of a composite type
/// as an object of their types. For an array these are those of its elements. `base` is the number of the type below
/// its domains.
pub(crate) fn values(base: &str) -> String {
    format!("COALESCE({}::text, {}::text)", labels(base), fields(base))
}

/// The number of the type that the type `t` is, or is an array of.
fn element(base: &str) -> String {
    format!("CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE {base} END")
}

/// The labels of an enum, as a JSON array; `base` as in [`values`].
pub(crate) fn labels(base: &str) -> String {
    format!(
        "(SELECT pg_catalog.json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_catalog.pg_enum e
        WHERE e.enumtypid = {})",
        element(base)
    )
}

/// The fields of a composite type, as a JSON object of their types; NULL for a type that may be hidden: of another schema
/// than the composite one, or of a table's rows.
fn fields(base: &str) -> String {
    format!(
        "(SELECT pg_catalog.json_object_agg(f.attname,
                CASE WHEN (u.typnamespace = 'pg_catalog'::regnamespace OR u.typnamespace = m.typnamespace)
                    AND COALESCE(r.relkind, 'c') = 'c' THEN pg_catalog.format_type(f.atttypid, f.atttypmod) END
            ORDER BY f.attnum)
        FROM pg_catalog.pg_type m JOIN pg_catalog.pg_class o ON o.oid = m.typrelid
        JOIN pg_catalog.pg_attribute f ON f.attrelid = o.oid
        JOIN pg_catalog.pg_type y ON y.oid = f.atttypid
        JOIN pg_catalog.pg_type u ON u.oid = CASE WHEN y.typcategory = 'A' THEN y.typelem ELSE y.oid END
        LEFT JOIN pg_catalog.pg_class r ON r.oid = u.typrelid
        WHERE m.oid = {} AND o.relkind = 'c' AND f.attnum > 0 AND NOT f.attisdropped)",
        element(base)
    )
}

/// The condition that the dependency `e` of an expression over `pg_class c` is on a type that a column of it has: such a
/// type is told anyway, and any other one may be hidden.
fn of_a_column() -> String {
    format!(
        "(e.refclassid = 'pg_catalog.pg_type'::regclass AND EXISTS (
                SELECT FROM pg_catalog.pg_attribute v WHERE v.attrelid = c.oid AND v.atttypid = e.refobjid
                AND NOT v.attisdropped AND {}))",
        visible_column("c", "v.attnum")
    )
}

/// The default `expression` if it is a short constant or the present time; else NULL, since it may name what is hidden.
fn constant(expression: &str) -> String {
    const CONSTANTS: &str = r"NULL|true|false|-?[0-9]+(?:[.][0-9]+)?|''(?:[^'']|''''){0,40}''";
    const PRESENT: &str = r"CURRENT_DATE|CURRENT_TIMESTAMP|now[(][)]";
    // A text may name an object to `regclass` and its like.
    const CAST: &str = r#"::(?!reg)[[:alnum:]_ .,()"\[\]]+"#;
    format!("substring({expression} FROM '^({CONSTANTS}|{PRESENT})(?:{CAST})?$')")
}

/// What a caller has to know of an argument of `pg_proc p`, whose type is `t`: NULL if there is nothing. `number` counts
/// from 1; `base` as in [`values`].
pub(crate) fn argument_remarks(number: &str, base: &str) -> String {
    let default = format!("pg_catalog.pg_get_function_arg_default(p.oid, {number})");
    format!(
        "NULLIF(pg_catalog.concat_ws('; ',
            CASE WHEN p.proargmodes[{number}] = 'v' THEN 'VARIADIC: an array of any length' END,
            CASE WHEN {default} IS NOT NULL THEN COALESCE('default ' || {}, 'may be left out') END,
            'one of ' || {}::text, 'fields ' || {}::text), '')",
        constant(&default),
        labels(base),
        fields(base)
    )
}

/// The checks of `pg_class c`, as a JSON array of objects with their names and rules, and the column if there is only
/// one. Those that name anything but visible columns are left out, since it may be hidden.
fn table_checks() -> String {
    let (column, type_) = (visible_column("c", "n.attnum"), of_a_column());
    format!(
        "(SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', k.conname,
            'rule', pg_catalog.pg_get_expr(k.conbin, k.conrelid),
            'column', (SELECT a.attname FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = c.oid AND k.conkey = ARRAY[a.attnum])) ORDER BY k.conname)
    FROM pg_catalog.pg_constraint k
    WHERE k.conrelid = c.oid AND k.contype = 'c'
        AND NOT EXISTS (SELECT FROM unnest(k.conkey) AS n(attnum) WHERE n.attnum < 1
            OR NOT {column})
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
            WHERE e.classid = 'pg_catalog.pg_constraint'::regclass AND e.objid = k.oid
            AND NOT (e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = c.oid) AND NOT {type_}))"
    )
}

/// The unique keys of `pg_class c` beside its primary key, as a JSON array: `(a, b) WHERE (c > 0)`. Those that name
/// anything but visible columns are left out.
fn unique_keys() -> String {
    let (visible, type_) = (visible_index("c", "i"), of_a_column());
    format!(
        "(SELECT pg_catalog.json_agg('(' || (
            SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k.place, true), ', ' ORDER BY k.place)
            FROM generate_series(1, i.indnkeyatts::int4) AS k(place)) || ')'
            || COALESCE(' WHERE ' || pg_catalog.pg_get_expr(i.indpred, i.indrelid), '') ORDER BY i.indexrelid)
    FROM pg_catalog.pg_index i
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND NOT i.indisprimary
        AND {visible}
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
            WHERE e.classid = 'pg_catalog.pg_class'::regclass AND e.objid = i.indexrelid
            AND e.refclassid <> 'pg_catalog.pg_constraint'::regclass AND NOT {type_}
            -- An index of a partition depends on that of the whole.
            AND NOT (e.refclassid = 'pg_catalog.pg_class'::regclass
                AND (e.deptype IN ('P', 'S') OR e.refobjid = c.oid))))"
    )
}

/// The columns of `pg_class c` that have a default, as a JSON object with those that are constants. What the source
/// makes itself is no default.
fn defaults() -> String {
    let (default, column) = ("pg_catalog.pg_get_expr(d.adbin, d.adrelid)", visible_column("c", "a.attnum"));
    format!(
        "(SELECT pg_catalog.json_object_agg(a.attname, {} ORDER BY a.attnum)
    FROM pg_catalog.pg_attrdef d
    JOIN pg_catalog.pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = c.oid AND a.attidentity = '' AND a.attgenerated = '' AND {default} NOT LIKE 'nextval(%'
        AND {column})",
        constant(default)
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
        WHERE x.indrelid = c.oid), 0)::int8,
    {}::text, {}::text, {}::text
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_inherits i ON c.relispartition AND i.inhrelid = c.oid
LEFT JOIN pg_catalog.pg_class p ON p.oid = i.inhparent AND {}
LEFT JOIN pg_catalog.pg_namespace o ON o.oid = p.relnamespace AND pg_catalog.has_schema_privilege(o.oid, 'USAGE')
WHERE {wanted}
ORDER BY n.nspname, c.relname",
        table_checks(),
        defaults(),
        unique_keys(),
        visible_table("p", "")
    )
}
