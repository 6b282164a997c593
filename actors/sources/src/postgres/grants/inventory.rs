//! What there is in a database, and who may do what with it: read from the catalogue in a handful of
//! questions, whatever the number of things. What of it callers see is in `shown.rs`.

use futures_util::future::try_join3;
use tokio_postgres::types::{Oid, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::session::own::{ask, get};
use portico_core::error::Result;

/// Whose rights are asked for.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// Those that were granted to this role itself; of a role that is not there, none.
    Granted(Option<Oid>),
    /// Whatever this role can do by any means short of being a superuser: by grants to it, to roles that
    /// it may become, and to everybody.
    Effective(Oid),
}

/// All of a database that people have made, in the order of its names.
pub(crate) struct Inventory {
    pub(crate) schemas: Vec<Schema>,
    pub(crate) relations: Vec<Relation>,
    pub(crate) routines: Vec<Routine>,
}

/// Who holds which rights, in PostgreSQL's own words. Among effective rights, `WRITE` stands for those
/// that change rows and `OWNER` for what an owner may do.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldRights {
    pub(crate) role: Vec<String>,
    pub(crate) public: Vec<String>,
}

pub(crate) struct Schema {
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) held: HeldRights,
}

pub(crate) struct Relation {
    pub(crate) oid: Oid,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// `relkind`: r, p, v, m, f, or S for a sequence.
    pub(crate) kind: String,
    pub(crate) owner: String,
    /// Of a sequence, the table that it belongs to.
    pub(crate) belongs_to: Option<Oid>,
    /// What it inherits from, or is a partition of.
    pub(crate) parents: Vec<Oid>,
    pub(crate) held: HeldRights,
}

impl Relation {
    pub(crate) fn is_sequence(&self) -> bool {
        self.kind == "S"
    }
}

pub(crate) struct Routine {
    pub(crate) oid: Oid,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// The types of its arguments as a statement writes them.
    pub(crate) arguments: String,
    pub(crate) is_procedure: bool,
    pub(crate) owner: String,
    /// Whether it runs with its owner's rights.
    pub(crate) as_owner: bool,
    pub(crate) held: HeldRights,
}

/// What people have made: not the engine's own schemas. Nobody else's can begin with `pg_`.
const OURS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// The roles whose rights `$1` has: its own with all that it inherits, and those that it may become
/// without inheriting from them.
const ROLES: &str = "roles AS MATERIALIZED (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.oid = $1
    OR (pg_catalog.pg_has_role($1, r.oid, 'MEMBER') AND NOT pg_catalog.pg_has_role($1, r.oid, 'USAGE')))";

/// The rights in an access list of `kind`, as two arrays; `more` are further lists.
fn granted(list: &str, kind: &str, owner: &str, more: &str) -> String {
    format!(
        "CROSS JOIN LATERAL (SELECT
        COALESCE(pg_catalog.array_agg(DISTINCT a.privilege_type::text) FILTER (WHERE a.grantee = $1), '{{}}') AS role,
        COALESCE(pg_catalog.array_agg(DISTINCT a.privilege_type::text) FILTER (WHERE a.grantee = 0), '{{}}') AS public
    FROM (SELECT * FROM pg_catalog.aclexplode(COALESCE({list}, pg_catalog.acldefault({kind}, {owner}))) {more}) a) held"
    )
}

/// The same of what can be done: each right with the condition for one role `r`.
fn effective(rights: &[(&str, &str)], owner: &str) -> String {
    let each = rights
        .iter()
        .map(|(word, condition)| format!("CASE WHEN EXISTS (SELECT FROM roles r WHERE {condition}) THEN '{word}' END"));
    let owns = format!("CASE WHEN pg_catalog.pg_has_role($1, {owner}, 'MEMBER') THEN 'OWNER' END");
    let all: Vec<String> = each.chain([owns]).collect();
    format!(
        "CROSS JOIN LATERAL (SELECT pg_catalog.array_remove(ARRAY[{}]::text[], NULL) AS role, \
        '{{}}'::text[] AS public) held",
        all.join(", ")
    )
}

impl Whose {
    fn oid(self) -> Option<Oid> {
        match self {
            Self::Granted(role) => role,
            Self::Effective(role) => Some(role),
        }
    }

    fn frame(self) -> String {
        match self {
            Self::Granted(_) => String::new(),
            Self::Effective(_) => format!("WITH {ROLES}\n"),
        }
    }

    fn schemas(self) -> String {
        let held = match self {
            Self::Granted(_) => granted("n.nspacl", "'n'", "n.nspowner", ""),
            Self::Effective(_) => {
                let may = |what| format!("pg_catalog.has_schema_privilege(r.oid, n.oid, '{what}')");
                effective(&[("USAGE", &may("USAGE")), ("CREATE", &may("CREATE"))], "n.nspowner")
            }
        };
        format!(
            "{}SELECT n.nspname::text, pg_catalog.pg_get_userbyid(n.nspowner)::text, held.role, held.public
FROM pg_catalog.pg_namespace n {held} WHERE {OURS} ORDER BY n.nspname",
            self.frame()
        )
    }

    fn relations(self) -> String {
        let held = match self {
            Self::Granted(_) => granted(
                "c.relacl",
                "CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\"",
                "c.relowner",
                "UNION ALL SELECT x.* FROM pg_catalog.pg_attribute t, pg_catalog.aclexplode(t.attacl) x \
                WHERE t.attrelid = c.oid AND t.attacl IS NOT NULL",
            ),
            Self::Effective(_) => {
                let inside = "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND ";
                let reads = format!(
                    "{inside}CASE c.relkind WHEN 'S' THEN pg_catalog.has_sequence_privilege(r.oid, c.oid, 'USAGE, SELECT')
        ELSE pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT')
            OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT') END"
                );
                let writes = format!(
                    "{inside}CASE c.relkind WHEN 'S' THEN pg_catalog.has_sequence_privilege(r.oid, c.oid, 'UPDATE')
        ELSE pg_catalog.has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE') END"
                );
                effective(&[("SELECT", &reads), ("WRITE", &writes)], "c.relowner")
            }
        };
        format!(
            "{}SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,
    pg_catalog.pg_get_userbyid(c.relowner)::text,
    (SELECT d.refobjid FROM pg_catalog.pg_depend d WHERE c.relkind = 'S' AND d.objid = c.oid AND d.deptype IN ('a', 'i')
        AND d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass LIMIT 1),
    ARRAY(SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid), held.role, held.public
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace {held}
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND {OURS} ORDER BY n.nspname, c.relname",
            self.frame()
        )
    }

    /// Routines that can be called at all: not those of triggers and types. What belongs to an extension is
    /// the extension's matter.
    fn routines(self) -> String {
        let held = match self {
            Self::Granted(_) => granted("p.proacl", "'f'", "p.proowner", ""),
            Self::Effective(_) => effective(
                &[(
                    "EXECUTE",
                    "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
        AND pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')",
                )],
                "p.proowner",
            ),
        };
        format!(
            "{}SELECT p.oid, n.nspname::text, p.proname::text,
    CASE p.prokind WHEN 'a' THEN (
        SELECT COALESCE(pg_catalog.string_agg(pg_catalog.format_type(u.type, NULL), ', ' ORDER BY u.i), '')
        FROM pg_catalog.unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u(type, i))
    ELSE pg_catalog.pg_get_function_identity_arguments(p.oid) END,
    p.prokind = 'p', pg_catalog.pg_get_userbyid(p.proowner)::text, p.prosecdef, held.role, held.public
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype {held}
WHERE {OURS} AND rt.typname NOT IN ('trigger', 'event_trigger', 'internal', 'language_handler', 'fdw_handler',
        'index_am_handler', 'table_am_handler', 'tsm_handler')
    AND 'pg_catalog.internal'::regtype <> ALL (p.proargtypes::oid[])
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend e
        WHERE e.classid = 'pg_catalog.pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
ORDER BY n.nspname, p.proname, 4",
            self.frame()
        )
    }
}

/// What relations need to be used at all: the routines and sequences in their rules, policies and generated
/// columns, and for writing ($2) in their defaults, constraints and indexes; and in those of what their views and
/// children read. PostgreSQL asks whether the caller may run them, whoever wrote them.
const NEEDED: &str = "\
WITH RECURSIVE seen(oid) AS (
    SELECT pg_catalog.unnest($1::oid[])
    UNION
    SELECT x.oid FROM seen CROSS JOIN LATERAL (
        SELECT d.refobjid AS oid FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d ON d.objid = w.oid
        WHERE w.ev_class = seen.oid AND d.classid = 'pg_catalog.pg_rewrite'::regclass
            AND d.refclassid = 'pg_catalog.pg_class'::regclass
            AND EXISTS (SELECT FROM pg_catalog.pg_class v WHERE v.oid = seen.oid AND v.relkind <> 'm')
        UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = seen.oid) x
), parts(classid, objid) AS (
    SELECT 'pg_catalog.pg_class'::regclass, seen.oid FROM seen WHERE $2
    UNION ALL SELECT 'pg_catalog.pg_class'::regclass, i.indexrelid
        FROM seen JOIN pg_catalog.pg_index i ON i.indrelid = seen.oid WHERE $2
    UNION ALL SELECT 'pg_catalog.pg_rewrite'::regclass, w.oid
        FROM seen JOIN pg_catalog.pg_rewrite w ON w.ev_class = seen.oid
        JOIN pg_catalog.pg_class v ON v.oid = seen.oid AND v.relkind <> 'm'
    UNION ALL SELECT 'pg_catalog.pg_attrdef'::regclass, a.oid
        FROM seen JOIN pg_catalog.pg_attrdef a ON a.adrelid = seen.oid
    UNION ALL SELECT 'pg_catalog.pg_policy'::regclass, p.oid
        FROM seen JOIN pg_catalog.pg_policy p ON p.polrelid = seen.oid
    UNION ALL SELECT 'pg_catalog.pg_constraint'::regclass, k.oid
        FROM seen JOIN pg_catalog.pg_constraint k ON k.conrelid = seen.oid WHERE $2
    UNION ALL SELECT 'pg_catalog.pg_constraint'::regclass, k.oid
        FROM seen JOIN pg_catalog.pg_attribute t ON t.attrelid = seen.oid AND t.attnum > 0 AND NOT t.attisdropped
        JOIN pg_catalog.pg_constraint k ON k.contypid = t.atttypid AND k.contypid <> 0
    WHERE $2
)
SELECT COALESCE(o.oprcode::oid, d.refobjid), d.refclassid = 'pg_catalog.pg_class'::regclass
FROM parts JOIN pg_catalog.pg_depend d ON d.classid = parts.classid AND d.objid = parts.objid
LEFT JOIN pg_catalog.pg_operator o ON d.refclassid = 'pg_catalog.pg_operator'::regclass AND o.oid = d.refobjid
WHERE d.refclassid IN ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)
    OR (d.refclassid = 'pg_catalog.pg_class'::regclass AND d.classid = 'pg_catalog.pg_attrdef'::regclass
        AND EXISTS (SELECT FROM pg_catalog.pg_class s WHERE s.oid = d.refobjid AND s.relkind = 'S'))
GROUP BY 1, 2";

/// Routines and sequences that exposed relations need.
#[derive(Default)]
pub(crate) struct Needed {
    pub(crate) routines: std::collections::HashSet<Oid>,
    pub(crate) sequences: std::collections::HashSet<Oid>,
}

/// What `relations` need to be read, and to be written where that is asked for.
pub(crate) async fn needed(client: &Client, relations: &[Oid], writes: bool) -> Result<Needed> {
    let mut needed = Needed::default();
    for row in &ask(client, NEEDED, &[(&relations, Type::OID_ARRAY), (&writes, Type::BOOL)]).await? {
        let set = if get(row, 1)? { &mut needed.sequences } else { &mut needed.routines };
        set.insert(get(row, 0)?);
    }
    Ok(needed)
}

impl Inventory {
    /// Reads everything, with the rights of `whose`.
    pub(crate) async fn read(client: &Client, whose: Whose) -> Result<Self> {
        let role = whose.oid();
        let (schemas, relations, routines) = (whose.schemas(), whose.relations(), whose.routines());
        let whom: &[(&(dyn ToSql + Sync), Type)] = &[(&role, Type::OID)];
        let (schemas, relations, routines) =
            try_join3(ask(client, &schemas, whom), ask(client, &relations, whom), ask(client, &routines, whom)).await?;
        Ok(Self {
            schemas: schemas.iter().map(schema).collect::<Result<_>>()?,
            relations: relations.iter().map(relation).collect::<Result<_>>()?,
            routines: routines.iter().map(routine).collect::<Result<_>>()?,
        })
    }
}

fn held(row: &Row, column: usize) -> Result<HeldRights> {
    Ok(HeldRights { role: get(row, column)?, public: get(row, column + 1)? })
}

fn schema(row: &Row) -> Result<Schema> {
    Ok(Schema { name: get(row, 0)?, owner: get(row, 1)?, held: held(row, 2)? })
}

fn relation(row: &Row) -> Result<Relation> {
    Ok(Relation {
        oid: get(row, 0)?,
        schema: get(row, 1)?,
        name: get(row, 2)?,
        kind: get(row, 3)?,
        owner: get(row, 4)?,
        belongs_to: get(row, 5)?,
        parents: get(row, 6)?,
        held: held(row, 7)?,
    })
}

fn routine(row: &Row) -> Result<Routine> {
    Ok(Routine {
        oid: get(row, 0)?,
        schema: get(row, 1)?,
        name: get(row, 2)?,
        arguments: get(row, 3)?,
        is_procedure: get(row, 4)?,
        owner: get(row, 5)?,
        as_owner: get(row, 6)?,
        held: held(row, 7)?,
    })
}
