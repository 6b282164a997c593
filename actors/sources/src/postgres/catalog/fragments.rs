//! Parts of catalogue queries: what callers may see.

/// The condition for a callable `pg_proc p`: no trigger functions, no internal ones of the server, and none of an
/// extension. The type of the result is `rt`.
pub(crate) const CALLABLE: &str = "rt.typname NOT IN ('trigger', 'event_trigger', 'internal', 'language_handler',
        'fdw_handler', 'index_am_handler', 'table_am_handler', 'tsm_handler')
    AND 'pg_catalog.internal'::regtype <> ALL (p.proargtypes::oid[])
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
        WHERE e.classid = 'pg_catalog.pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')";

/// The condition that a `pg_proc p` in a `pg_namespace n` may be executed; `whom` is `r.oid, ` for a role `r`, and
/// empty for the session's own role.
pub(crate) fn may_execute(whom: &str) -> String {
    format!(
        "pg_catalog.has_schema_privilege({whom}n.oid, 'USAGE')
    AND pg_catalog.has_function_privilege({whom}p.oid, 'EXECUTE')"
    )
}

/// The roles that a call may sign in as, as `r`.
pub(crate) const LOGINS: &str =
    "FROM pg_catalog.pg_roles r WHERE r.rolcanlogin AND NOT r.rolsuper AND r.rolname !~ '^pg_'";
/// The roles that a call may take on, as `r`.
pub(crate) const MEMBERS: &str =
    "FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')";

/// The OID of the base type of a domain, through any number of nested domains; for other types their own.
pub(crate) fn base_type(type_: &str) -> String {
    through_domains(type_, &format!("{type_}.oid"), "oid")
}

/// The modifier that holds for the base type, which any of the domains may have set.
pub(crate) fn base_modifier(type_: &str, otherwise: &str) -> String {
    through_domains(type_, otherwise, "modifier")
}

fn through_domains(type_: &str, otherwise: &str, wanted: &str) -> String {
    format!(
        "CASE WHEN {type_}.typtype <> 'd' THEN {otherwise} ELSE (
        WITH RECURSIVE base(oid, kind, next, modifier) AS (
            SELECT {type_}.oid, {type_}.typtype, {type_}.typbasetype, {type_}.typtypmod
            UNION ALL SELECT b.oid, b.typtype, b.typbasetype,
                CASE WHEN base.modifier < 0 THEN b.typtypmod ELSE base.modifier END
            FROM base JOIN pg_catalog.pg_type b ON b.oid = base.next WHERE base.kind = 'd')
        SELECT base.{wanted} FROM base WHERE base.kind <> 'd') END"
    )
}

/// The condition that callers may see `pg_class` under the name `table`; `whom` as in [`may_execute`].
pub(crate) fn visible_table(table: &str, whom: &str) -> String {
    format!(
        "{table}.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND (pg_catalog.has_table_privilege({whom}{table}.oid, 'SELECT, INSERT, UPDATE, DELETE')
        OR pg_catalog.has_any_column_privilege({whom}{table}.oid, 'SELECT, INSERT, UPDATE'))"
    )
}

/// The condition that callers may see the column `number` of `pg_class` under the name `table`.
pub(crate) fn visible_column(table: &str, number: &str) -> String {
    format!("pg_catalog.has_column_privilege({table}.oid, {number}, 'SELECT, INSERT, UPDATE')")
}

/// The condition that callers may see every column of `pg_class` under the name `table` whose number is in the array
/// `numbers`; 0 stands for an expression. Who may use the whole table is asked about no column.
pub(crate) fn visible_columns(table: &str, numbers: &str) -> String {
    format!(
        "(pg_catalog.has_table_privilege({table}.oid, 'SELECT, INSERT, UPDATE')
        OR NOT EXISTS (SELECT FROM pg_catalog.unnest({numbers}) AS h(number)
            WHERE h.number > 0 AND NOT {}))",
        visible_column(table, "h.number")
    )
}

/// The condition that callers may see every column of `pg_class` under the name `table` that its index
/// `pg_index` under the name `index` has, includes, or uses in an expression or in its predicate. What names the
/// whole row depends on no column, and uses all.
pub(crate) fn visible_index(table: &str, index: &str) -> String {
    format!(
        "(pg_catalog.has_table_privilege({table}.oid, 'SELECT, INSERT, UPDATE') OR NOT EXISTS (
        SELECT FROM (SELECT u.number FROM pg_catalog.unnest({index}.indkey::int2[]) AS u(number)
            UNION ALL SELECT e.refobjsubid::int2 FROM pg_catalog.pg_depend e
                WHERE e.classid = 'pg_catalog.pg_class'::regclass AND e.objid = {index}.indexrelid
                AND e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = {table}.oid
            UNION ALL SELECT v.attnum FROM pg_catalog.pg_attribute v
                WHERE v.attrelid = {table}.oid AND NOT v.attisdropped
                AND pg_catalog.concat({index}.indexprs, {index}.indpred) LIKE '%:varattno 0 %') AS h
        WHERE h.number > 0 AND NOT {}))",
        visible_column(table, "h.number")
    )
}
