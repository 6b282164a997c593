//! What a database says of the role to be granted privileges, and of itself.

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use crate::postgres::grants::inventory::Object;
use crate::postgres::quote::quoted;
use crate::postgres::session::internal_query::{ask, get};
use portico_core::error::{Error, Result};
use portico_core::finding::printable;

/// Marks roles that were made here, and that are dropped with their rights.
pub(crate) const MARK: &str = "made by portico grants";

/// The database, and the role in it.
pub(crate) struct State {
    /// PUBLIC's default privileges on it are those that callers need, and are not read.
    pub(crate) database: Object,
    /// Absent where it has still to be made.
    pub(crate) role: Option<Role>,
    /// The role's privileges on future objects.
    pub(crate) defaults: Vec<DefaultRight>,
}

/// An existing role, and what its server is.
pub(crate) struct Role {
    pub(crate) oid: Oid,
    /// Its name as used in findings.
    pub(crate) name: String,
    pub(crate) is_superuser: bool,
    pub(crate) logs_in: bool,
    pub(crate) origin: Origin,
    /// Attributes beside grants that let it do more.
    pub(crate) attributes: Vec<String>,
    pub(crate) memberships: Vec<String>,
    /// The superusers that it is or can become.
    pub(crate) superusers: Vec<String>,
    /// PostgreSQL's own roles that it is a member of.
    pub(crate) predefined: Vec<String>,
    pub(crate) version: i32,
    pub(crate) is_standby: bool,
}

impl Role {
    /// Reads the role of this name, else the session's own.
    pub(crate) async fn read(client: &Client, name: Option<&str>) -> Result<Option<Self>> {
        let rows = ask(client, ROLE, &[(&name, Type::TEXT), (&MARK, Type::TEXT)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Self {
            oid: get(row, 0)?,
            name: printable(get(row, 1)?),
            is_superuser: get(row, 2)?,
            logs_in: get(row, 3)?,
            origin: match (get(row, 4)?, get(row, 5)?) {
                (false, _) => Origin::Theirs,
                (true, false) => Origin::Ours,
                (true, true) => Origin::OursInUse,
            },
            attributes: get(row, 6)?,
            memberships: get(row, 7)?,
            superusers: get(row, 8)?,
            predefined: get(row, 9)?,
            version: get(row, 10)?,
            is_standby: get(row, 11)?,
        }))
    }
}

/// The origin of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Created by somebody else.
    Theirs,
    /// Created here.
    Ours,
    /// Created here. The role owns something or has rights in another database, and cannot be dropped.
    OursInUse,
}

/// A privilege on objects that `owner` will create.
pub(crate) struct DefaultRight {
    pub(crate) owner: String,
    /// Absent: in every schema.
    pub(crate) schema: Option<String>,
    /// `TABLES`, `SEQUENCES`, `FUNCTIONS`, `TYPES` or `SCHEMAS`.
    pub(crate) kind: String,
    pub(crate) rights: Vec<String>,
}

impl DefaultRight {
    /// `GRANT rights … TO role` and its reverse.
    pub(crate) fn statement(&self, verb: &str, rights: &[String], to: &str, role: &str) -> String {
        let place = self.schema.as_ref().map_or_else(String::new, |schema| format!(" IN SCHEMA {}", quoted(schema)));
        let (owner, kind, rights) = (quoted(&self.owner), &self.kind, rights.join(", "));
        format!("ALTER DEFAULT PRIVILEGES FOR ROLE {owner}{place} {verb} {rights} ON {kind} {to} {role}")
    }
}

const DATABASE: &str = "\
SELECT d.oid, 'DATABASE', NULL::text, d.datname::text, NULL::text, pg_catalog.pg_get_userbyid(d.datdba)::text,
    ARRAY(SELECT a.privilege_type::text FROM pg_catalog.aclexplode(d.datacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
        WHERE r.rolname = $1),
    '{}'::text[], NULL::oid, '{}'::oid[], false
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()";

/// $1: the role, or else the session's own; $2: the mark of roles created here.
const ROLE: &str = "\
SELECT r.oid, r.rolname::text, r.rolsuper, r.rolcanlogin,
    COALESCE(pg_catalog.shobj_description(r.oid, 'pg_authid') = $2, false),
    EXISTS (SELECT FROM pg_catalog.pg_shdepend s, pg_catalog.pg_database d
        WHERE d.datname = pg_catalog.current_database() AND s.refclassid = 'pg_catalog.pg_authid'::regclass
            AND s.refobjid = r.oid AND (s.deptype = 'o' OR s.dbid NOT IN (0, d.oid)
                OR (s.classid = 'pg_catalog.pg_database'::regclass AND s.objid <> d.oid))),
    pg_catalog.array_remove(ARRAY[CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
        CASE WHEN r.rolreplication THEN 'REPLICATION' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END]::text[], NULL),
    ARRAY(SELECT m.rolname::text FROM pg_catalog.pg_roles m WHERE m.oid <> r.oid
        AND m.rolname <> 'pg_database_owner' AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    ARRAY(SELECT m.rolname::text FROM pg_catalog.pg_roles m
        WHERE m.rolsuper AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    ARRAY(SELECT m.rolname::text FROM pg_catalog.pg_roles m WHERE m.oid < 16384 AND m.rolname ~ '^pg_'
        AND m.rolname <> 'pg_database_owner' AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    pg_catalog.current_setting('server_version_num')::int4, pg_catalog.pg_is_in_recovery()
FROM pg_catalog.pg_roles r WHERE r.rolname = COALESCE($1, session_user)";

const DEFAULTS: &str = "\
SELECT pg_catalog.pg_get_userbyid(d.defaclrole)::text, n.nspname::text,
    CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS'
        WHEN 'T' THEN 'TYPES' ELSE 'SCHEMAS' END,
    pg_catalog.array_agg(a.privilege_type::text ORDER BY a.privilege_type)
FROM pg_catalog.pg_default_acl d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace
CROSS JOIN LATERAL pg_catalog.aclexplode(d.defaclacl) a
WHERE a.grantee = $1 AND d.defaclrole <> $1 AND d.defaclobjtype IN ('r', 'S', 'f', 'T', 'n')
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

impl State {
    pub(crate) async fn read(client: &Client, role: &str) -> Result<Self> {
        let database = client.query_typed_one(DATABASE, &[(&role, Type::TEXT)]).await.map_err(Error::internal)?;
        let (role, mut defaults) = (Role::read(client, Some(role)).await?, Vec::new());
        if let Some(Role { oid, .. }) = &role {
            for row in &ask(client, DEFAULTS, &[(oid, Type::OID)]).await? {
                defaults.push(DefaultRight {
                    owner: get(row, 0)?,
                    schema: get(row, 1)?,
                    kind: get(row, 2)?,
                    rights: get(row, 3)?,
                });
            }
        }
        Ok(Self { database: Object::read(&database)?, role, defaults })
    }
}
