//! What a database says of the role that is to have rights, and of itself.

use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use crate::postgres::grants::inventory::HeldRights;
use crate::postgres::quote::quoted;
use crate::postgres::session::own::{ask, get};
use portico_core::error::{Error, Result};

/// Marks roles that were made here, and that are dropped with their rights.
pub(crate) const MARK: &str = "made by portico grants";

/// The database, and the role in it.
pub(crate) struct State {
    pub(crate) database: String,
    pub(crate) owner: String,
    /// Rights on the database itself.
    pub(crate) held: HeldRights,
    /// Absent where it has still to be made.
    pub(crate) role: Option<Role>,
    /// What the role gets of what will be made.
    pub(crate) defaults: Vec<DefaultRight>,
}

/// A role that there is.
pub(crate) struct Role {
    pub(crate) oid: Oid,
    pub(crate) is_superuser: bool,
    pub(crate) logs_in: bool,
    pub(crate) origin: Origin,
    /// Attributes beside grants that let it do more.
    pub(crate) attributes: Vec<String>,
    pub(crate) memberships: Vec<String>,
}

/// Where a role comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Somebody else made it.
    Theirs,
    /// It was made here.
    Ours,
    /// It was made here, and owns something or has rights in another database: it cannot be dropped.
    OursInUse,
}

/// A right on whatever `owner` will make.
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
SELECT d.datname::text, pg_catalog.pg_get_userbyid(d.datdba)::text,
    ARRAY(SELECT a.privilege_type::text FROM pg_catalog.aclexplode(d.datacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
        WHERE r.rolname = $1)
FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()";

const ROLE: &str = "\
SELECT r.oid, r.rolsuper, r.rolcanlogin,
    COALESCE(pg_catalog.shobj_description(r.oid, 'pg_authid') = $2, false),
    EXISTS (SELECT FROM pg_catalog.pg_shdepend s, pg_catalog.pg_database d
        WHERE d.datname = pg_catalog.current_database() AND s.refclassid = 'pg_catalog.pg_authid'::regclass
            AND s.refobjid = r.oid AND (s.deptype = 'o' OR s.dbid NOT IN (0, d.oid)
                OR (s.classid = 'pg_catalog.pg_database'::regclass AND s.objid <> d.oid))),
    pg_catalog.array_remove(ARRAY[CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
        CASE WHEN r.rolreplication THEN 'REPLICATION' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END]::text[], NULL),
    ARRAY(SELECT m.rolname::text FROM pg_catalog.pg_roles m WHERE m.oid <> r.oid
        AND m.rolname <> 'pg_database_owner' AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1)
FROM pg_catalog.pg_roles r WHERE r.rolname = $1";

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
        let text = |text: &str| text.to_owned();
        let name = text(role);
        let database = client.query_typed_one(DATABASE, &[(&name, Type::TEXT)]).await.map_err(Error::internal)?;
        let values = [(&name as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT), (&MARK, Type::TEXT)];
        let row = client.query_typed_opt(ROLE, &values).await.map_err(Error::internal)?;
        let (mut role, mut defaults) = (None, Vec::new());
        if let Some(row) = row {
            let oid: Oid = get(&row, 0)?;
            for row in &ask(client, DEFAULTS, &[(&oid, Type::OID)]).await? {
                defaults.push(DefaultRight {
                    owner: get(row, 0)?,
                    schema: get(row, 1)?,
                    kind: get(row, 2)?,
                    rights: get(row, 3)?,
                });
            }
            role = Some(Role {
                oid,
                is_superuser: get(&row, 1)?,
                logs_in: get(&row, 2)?,
                origin: match (get(&row, 3)?, get(&row, 4)?) {
                    (false, _) => Origin::Theirs,
                    (true, false) => Origin::Ours,
                    (true, true) => Origin::OursInUse,
                },
                attributes: get(&row, 5)?,
                memberships: get(&row, 6)?,
            });
        }
        // What everybody may do with a database by default is what its callers need.
        let held = HeldRights { role: get(&database, 2)?, public: Vec::new() };
        Ok(Self { database: get(&database, 0)?, owner: get(&database, 1)?, held, role, defaults })
    }
}
