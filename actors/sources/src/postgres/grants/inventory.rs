//! The objects in a database and the privileges on them, read from the catalogue in a fixed number of queries.
//! Which of them callers see is in `shown.rs`.

use futures_util::future::try_join3;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::catalog::fragments::CALLABLE;
use crate::postgres::quote::quoted;
use crate::postgres::session::internal_query::{ask, get};
use portico_core::error::Result;

/// Whose privileges are read.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// The privileges that are granted to this role itself; none if the role does not exist.
    Granted(Option<Oid>),
    /// Everything that this role can do without being a superuser: by grants to it, to roles that it may become,
    /// and to PUBLIC.
    Effective(Oid),
}

/// All of a database that people have made, in the order of its names.
pub(crate) struct Inventory {
    pub(crate) schemas: Vec<Object>,
    pub(crate) relations: Vec<Object>,
    pub(crate) routines: Vec<Object>,
}

/// The holders of privileges, in PostgreSQL's own words. Among effective privileges, `WRITE` stands for those that
/// change rows, and `OWNER` for what an owner may do.
#[derive(Default)]
pub(crate) struct HeldRights {
    pub(crate) role: Vec<String>,
    pub(crate) public: Vec<String>,
}

/// A database, a schema, a relation or a routine.
#[derive(Default)]
pub(crate) struct Object {
    pub(crate) oid: Oid,
    /// `DATABASE`, `SCHEMA`, `TABLE` (also of views and foreign tables), `MATERIALIZED VIEW`, `SEQUENCE`, `FUNCTION`
    /// or `PROCEDURE`.
    pub(crate) kind: String,
    /// Its schema, if it is in one.
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
    /// Of a routine, the types of its arguments as a statement writes them.
    pub(crate) arguments: Option<String>,
    pub(crate) owner: String,
    pub(crate) held: HeldRights,
    /// Of a sequence, the table that it belongs to.
    pub(crate) belongs_to: Option<Oid>,
    /// The parents of a relation, by inheritance or partitioning.
    pub(crate) parents: Vec<Oid>,
    /// Whether a routine runs with its owner's rights.
    pub(crate) as_owner: bool,
}

impl Object {
    pub(crate) fn is_sequence(&self) -> bool {
        self.kind == "SEQUENCE"
    }

    /// The schema that it lies in.
    pub(crate) fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or_default()
    }

    /// Returns its name as used in findings.
    pub(crate) fn called(&self) -> String {
        self.schema.iter().chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join(".")
    }

    /// Its name as a statement writes it.
    pub(crate) fn signature(&self) -> String {
        let names: Vec<String> = self.schema.iter().chain([&self.name]).map(|name| quoted(name)).collect();
        let arguments = self.arguments.as_ref().map(|arguments| format!("({arguments})"));
        names.join(".") + &arguments.unwrap_or_default()
    }

    /// The name behind the kind of the object, as `GRANT … ON` has it.
    pub(crate) fn object(&self) -> String {
        let kind = if self.kind == "MATERIALIZED VIEW" { "TABLE" } else { &self.kind };
        format!("{kind} {}", self.signature())
    }

    /// Whether the role itself holds this right.
    pub(crate) fn can(&self, wanted: &str) -> bool {
        self.held.role.iter().any(|right| right == wanted)
    }

    /// Reads a row of a query for objects, with the columns in this order.
    pub(crate) fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            oid: get(row, 0)?,
            kind: get(row, 1)?,
            schema: get(row, 2)?,
            name: get(row, 3)?,
            arguments: get(row, 4)?,
            owner: get(row, 5)?,
            held: HeldRights { role: get(row, 6)?, public: get(row, 7)? },
            belongs_to: get(row, 8)?,
            parents: get(row, 9)?,
            as_owner: get(row, 10)?,
        })
    }
}

/// Objects that users have created: not the system schemas. No others may begin with `pg_`.
const OURS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// The roles whose privileges `$1` has: its own with all that it inherits, and those that it may become without
/// inheriting from them.
const ROLES: &str = "WITH roles AS MATERIALIZED (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.oid = $1
    OR (pg_catalog.pg_has_role($1, r.oid, 'MEMBER') AND NOT pg_catalog.pg_has_role($1, r.oid, 'USAGE')))\n";

/// Where one kind of object is found in the catalogue.
struct Catalogue {
    /// The values of [`Object`] up to its owner, as SQL.
    names: &'static str,
    owner: &'static str,
    /// Its list of privileges, the list for an absent one, and further lists.
    list: &'static str,
    default: &'static str,
    more: &'static str,
    /// Each right that can be held by any means, with the condition for one role `r`.
    rights: &'static [(&'static str, &'static str)],
    /// The values of [`Object`] behind the rights.
    rest: &'static str,
    from: &'static str,
    /// Which of them are of interest.
    only: &'static str,
    order: &'static str,
}

const SCHEMAS: Catalogue = Catalogue {
    names: "n.oid, 'SCHEMA', NULL::text, n.nspname::text, NULL::text",
    owner: "n.nspowner",
    list: "n.nspacl",
    default: "'n'",
    more: "",
    rights: &[
        ("USAGE", "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')"),
        ("CREATE", "pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')"),
    ],
    rest: "NULL::oid, '{}'::oid[], false",
    from: "pg_catalog.pg_namespace n",
    only: "true",
    order: "n.nspname",
};

const RELATIONS: Catalogue = Catalogue {
    names: "c.oid, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
    n.nspname::text, c.relname::text, NULL::text",
    owner: "c.relowner",
    list: "c.relacl",
    default: "CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::\"char\"",
    more: "UNION ALL SELECT x.* FROM pg_catalog.pg_attribute t, pg_catalog.aclexplode(t.attacl) x
        WHERE t.attrelid = c.oid AND t.attacl IS NOT NULL",
    rights: &[
        (
            "SELECT",
            "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND CASE c.relkind
        WHEN 'S' THEN pg_catalog.has_sequence_privilege(r.oid, c.oid, 'USAGE, SELECT')
        ELSE pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT')
            OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT') END",
        ),
        (
            "WRITE",
            "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND CASE c.relkind
        WHEN 'S' THEN pg_catalog.has_sequence_privilege(r.oid, c.oid, 'UPDATE')
        ELSE pg_catalog.has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR pg_catalog.has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE') END",
        ),
    ],
    rest: "(SELECT d.refobjid FROM pg_catalog.pg_depend d WHERE c.relkind = 'S' AND d.objid = c.oid AND d.deptype IN ('a', 'i')
        AND d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass LIMIT 1),
    ARRAY(SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid), false",
    from: "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
    only: "c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')",
    order: "n.nspname, c.relname",
};

/// Objects of an extension are left to the extension.
const ROUTINES: Catalogue = Catalogue {
    names: "p.oid, CASE p.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, n.nspname::text, p.proname::text,
    CASE p.prokind WHEN 'a' THEN (
        SELECT COALESCE(pg_catalog.string_agg(pg_catalog.format_type(u.type, NULL), ', ' ORDER BY u.i), '')
        FROM pg_catalog.unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u(type, i))
    ELSE pg_catalog.pg_get_function_identity_arguments(p.oid) END",
    owner: "p.proowner",
    list: "p.proacl",
    default: "'f'",
    more: "",
    rights: &[(
        "EXECUTE",
        "pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
        AND pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')",
    )],
    rest: "NULL::oid, '{}'::oid[], p.prosecdef",
    from: "pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_catalog.pg_type rt ON rt.oid = p.prorettype",
    only: CALLABLE,
    order: "n.nspname, p.proname, 5",
};

impl Catalogue {
    /// Returns the query for all of its objects, with the privileges of `whose`: those of the role, and those of
    /// PUBLIC.
    fn question(&self, whose: Whose) -> String {
        let Self { names, owner, list, default, more, rights, rest, from, only, order } = self;
        let (frame, role, public) = match whose {
            Whose::Granted(_) => {
                let list = format!("aclexplode(COALESCE({list}, pg_catalog.acldefault({default}, {owner})))");
                let granted = |grantee: &str| {
                    format!(
                        "ARRAY(SELECT DISTINCT a.privilege_type::text FROM (SELECT * FROM pg_catalog.{list} {more}) a
        WHERE a.grantee = {grantee} ORDER BY 1)"
                    )
                };
                ("", granted("$1"), granted("0"))
            }
            Whose::Effective(_) => {
                let each = rights.iter().map(|(right, condition)| {
                    format!("CASE WHEN EXISTS (SELECT FROM roles r WHERE {condition}) THEN '{right}' END")
                });
                let owns = format!("CASE WHEN pg_catalog.pg_has_role($1, {owner}, 'MEMBER') THEN 'OWNER' END");
                let all: Vec<String> = each.chain([owns]).collect();
                let held = format!("pg_catalog.array_remove(ARRAY[{}]::text[], NULL)", all.join(", "));
                (ROLES, held, "'{}'::text[]".to_owned())
            }
        };
        format!(
            "{frame}SELECT {names}, pg_catalog.pg_get_userbyid({owner})::text, {role}, {public}, {rest}
FROM {from} WHERE {only} AND {OURS} ORDER BY {order}"
        )
    }
}

/// Returns what relations need to be used at all: the routines and sequences in their rules, policies and generated
/// columns, and for writing ($2) in their defaults, constraints and indexes; and in those of what their views and
/// children read. PostgreSQL checks whether the caller may run them, whoever wrote them.
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

/// Returns what `relations` need to be read, and to be written if requested.
pub(crate) async fn needed(client: &Client, relations: &[Oid], writes: bool) -> Result<Needed> {
    let mut needed = Needed::default();
    for row in &ask(client, NEEDED, &[(&relations, Type::OID_ARRAY), (&writes, Type::BOOL)]).await? {
        let set = if get(row, 1)? { &mut needed.sequences } else { &mut needed.routines };
        set.insert(get(row, 0)?);
    }
    Ok(needed)
}

impl Inventory {
    /// Reads everything, with the privileges of `whose`.
    pub(crate) async fn read(client: &Client, whose: Whose) -> Result<Self> {
        let read = |catalogue| objects(client, catalogue, whose);
        let (schemas, relations, routines) = try_join3(read(&SCHEMAS), read(&RELATIONS), read(&ROUTINES)).await?;
        Ok(Self { schemas, relations, routines })
    }
}

async fn objects(client: &Client, catalogue: &Catalogue, whose: Whose) -> Result<Vec<Object>> {
    let role = match whose {
        Whose::Granted(role) => role,
        Whose::Effective(role) => Some(role),
    };
    let rows = ask(client, &catalogue.question(whose), &[(&role, Type::OID)]).await?;
    rows.iter().map(Object::read).collect()
}
