//! Catalogue metadata: one query each, with the caller's patterns as bound parameters. The columns are those of
//! `sources/catalog.rs`.

use crate::Access;
use crate::postgres::catalog::fragments::{
    CALLABLE, base_modifier, base_type, may_execute, visible_column, visible_columns, visible_table,
};
use crate::postgres::catalog::{checks, details, keys};
use crate::postgres::decode::types;
use crate::postgres::execute::envelope::options::ExecOptions;
use crate::postgres::execute::execution::{Execution, Values};
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::pattern;
use portico_core::reply::{Batch, Cell};
use portico_sql::Class;

/// The caller's filters: $2 to $6, and as LIKE patterns of the source $7 to $11.
const NARROWS: usize = 5;

/// A name or pattern that the caller may have given: `$parameter` is NULL where not.
fn matches(column: &str, parameter: usize) -> String {
    let pattern = parameter + NARROWS;
    format!("(${parameter} IS NULL OR {column} = ${parameter} OR {column} LIKE ${pattern})")
}

/// Schemas that the caller may use; the engine's own only where named exactly.
fn visible_schema() -> String {
    format!(
        "{} AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND (n.nspname = $3 OR (n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'))",
        matches("n.nspname", 3)
    )
}

const TABLE_TYPE: &str = "CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' \
    WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'FOREIGN TABLE' END";

/// Returns the query for `metadata`. Its parameters: $1 the connection's name, $2 catalogue, $3 schema, $4 table or
/// procedure, $5 column or parameter, $6 table type; $7 to $11 see [`matches`]. If there are types, the type's OID
/// and modifier follow the metadata's own columns, and for columns also their checks, for [`MetadataRows`].
pub(crate) fn execution(metadata: MetadataKind, narrow: MetadataFilter, connection: &str) -> Execution {
    let catalog = matches("$1", 2);
    let seen = format!("{catalog} AND {}", visible_schema());
    let tables = format!("{seen} AND {} AND {}", matches("c.relname", 4), visible_table("c", ""));
    let (name, may_execute) = (matches("p.proname", 4), may_execute(""));
    let routines = format!("{seen} AND {name} AND p.prokind IN ('f', 'p') AND {CALLABLE} AND {may_execute}");
    let text = match metadata {
        MetadataKind::Catalogs => format!("SELECT $1 WHERE {catalog}"),
        MetadataKind::Schemas => {
            format!("SELECT $1, n.nspname::text FROM pg_catalog.pg_namespace n WHERE {seen} ORDER BY 2")
        }
        MetadataKind::Tables => format!(
            "SELECT $1, n.nspname::text, c.relname::text, {TABLE_TYPE}, pg_catalog.obj_description(c.oid, 'pg_class'),
    {}
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE {tables} AND {}
ORDER BY n.nspname, c.relname",
            details::ROW_ESTIMATE,
            matches(&format!("({TABLE_TYPE})"), 6)
        ),
        MetadataKind::Columns => columns(&tables),
        MetadataKind::Procedures => format!(
            "SELECT $1, n.nspname::text, p.proname::text, pg_catalog.obj_description(p.oid, 'pg_proc'),
    CASE p.prokind WHEN 'p' THEN 1 ELSE 2 END
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype
WHERE {routines}
ORDER BY n.nspname, p.proname, p.oid"
        ),
        MetadataKind::ProcedureParameters => procedure_parameters(&routines),
        MetadataKind::PrimaryKeys => keys::primary(&tables),
        MetadataKind::ImportedKeys => keys::foreign(&tables, false),
        MetadataKind::ExportedKeys => keys::foreign(&tables, true),
        MetadataKind::Indexes => keys::indexes(&tables),
        MetadataKind::TableDetails => details::of_tables(&tables),
    };
    let object = match metadata {
        MetadataKind::Procedures | MetadataKind::ProcedureParameters => narrow.procedure,
        _ => narrow.table,
    };
    let part = if metadata == MetadataKind::ProcedureParameters { narrow.param } else { narrow.column };
    let narrows = [narrow.catalog, narrow.schema, object, part, narrow.table_type];
    let patterns = narrows.clone().map(|narrow| narrow.map(|narrow| pattern::for_like(&narrow)));
    let values = [Some(connection.to_owned())].into_iter().chain(narrows).chain(patterns).collect();
    let options = ExecOptions { access: Access::ReadOnly, dry_run: false, describes: false, estimates: false };
    Execution::of_ours(text, Class::Select, options, Values::Metadata(metadata, values))
}

fn columns(tables: &str) -> String {
    let (base, modifier) = (base_type("t"), base_modifier("t", "a.atttypmod"));
    let (references, values) = (details::references(), details::values(&base));
    let (checks, column) = (details::CHECKS, visible_column("c", "a.attnum"));
    let (part, whole) = (matches("a.attname", 5), visible_columns("c", "k.conkey"));
    format!(
        "SELECT $1, n.nspname::text, c.relname::text, a.attname::text, NULL::int4,
    pg_catalog.format_type(a.atttypid, NULL), NULL::int4, NULL::int4, NULL::int4,
    pg_catalog.col_description(c.oid, a.attnum),
    (SELECT count(*) FROM pg_catalog.pg_attribute s
        WHERE s.attrelid = c.oid AND s.attnum BETWEEN 1 AND a.attnum AND NOT s.attisdropped)::int4,
    NOT (a.attnotnull OR (t.typtype = 'd' AND t.typnotnull)),
    EXISTS (SELECT FROM pg_catalog.pg_constraint k
        WHERE k.conrelid = c.oid AND k.contype = 'p' AND a.attnum = ANY (k.conkey) AND {whole}),
    a.attidentity <> '' OR COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false),
    a.attgenerated <> '',
    {references},
    {values},
    {base}, {modifier}, {checks}
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE {tables} AND {part}
    AND {column}
ORDER BY n.nspname, c.relname, a.attnum"
    )
}

fn procedure_parameters(routines: &str) -> String {
    let (base, modifier) = (base_type("t"), base_modifier("t", "-1"));
    let (part, remarks) = (matches("x.name", 5), details::argument_remarks("x.ordinal", &base));
    format!(
        "SELECT $1, n.nspname::text, p.proname::text, x.name, x.direction, NULL::int4,
    pg_catalog.format_type(t.oid, NULL), NULL::int4, NULL::int4, NULL::int4, {remarks}, true, x.ordinal,
    {base}, {modifier}
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype
CROSS JOIN LATERAL (
    SELECT COALESCE(p.proargnames[u.i], '') AS name, u.type, u.i::int4 AS ordinal,
        CASE p.proargmodes[u.i] WHEN 'b' THEN 2 WHEN 'o' THEN 4 WHEN 't' THEN 5 ELSE 1 END AS direction
    FROM unnest(COALESCE(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS u(type, i)
    UNION ALL
    SELECT 'returnValue', p.prorettype, 0, 5
    WHERE p.prokind = 'f' AND rt.typname <> 'void'
        AND NOT COALESCE(p.proargmodes && ARRAY['b', 'o', 't']::\"char\"[], false)
) x
JOIN pg_catalog.pg_type t ON t.oid = x.type
WHERE {routines} AND {part}
ORDER BY n.nspname, p.proname, p.oid, x.ordinal"
    )
}

/// Rows of metadata with types: `DATA_TYPE`, `COLUMN_SIZE`, `PRECISION` and `SCALE` follow from the type's
/// number and modifier, which stand behind the kind's own columns.
pub(crate) struct MetadataRows<B> {
    pub(crate) rows: B,
    pub(crate) metadata: MetadataKind,
}

impl<B: Batch> Batch for MetadataRows<B> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn octets(&self) -> usize {
        self.rows.octets()
    }

    fn cell(&self, row: usize, column: usize) -> Result<Cell<'_>> {
        let labels = crate::catalog::labels(self.metadata);
        let label = labels.get(column).map_or("", |(label, _)| *label);
        let number = |column| match self.rows.cell(row, column) {
            Ok(Cell::Integer(number)) => number,
            _ => -1,
        };
        let traits = || {
            let oid = u32::try_from(number(labels.len())).unwrap_or(0);
            types::traits_of(oid, i32::try_from(number(labels.len() + 1)).unwrap_or(-1))
        };
        match label {
            "DATA_TYPE" => Ok(Cell::Integer(i64::from(traits().data_type.code()))),
            "COLUMN_SIZE" => {
                let traits = traits();
                Ok(Cell::Integer(if traits.length > 0 { traits.length } else { traits.precision }))
            }
            "PRECISION" => Ok(Cell::Integer(traits().precision)),
            "SCALE" => Ok(Cell::Integer(traits().scale)),
            "VALUES" => match self.rows.cell(row, column)? {
                // A column without labels may have a check that lists values.
                Cell::Null => Ok(match self.rows.cell(row, labels.len() + 2)? {
                    Cell::Text(text) => checks::listed_values(&text).map_or(Cell::Null, |it| Cell::Text(it.into())),
                    _ => Cell::Null,
                }),
                labels => Ok(labels),
            },
            _ => self.rows.cell(row, column),
        }
    }
}
