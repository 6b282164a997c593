//! What a database user can reach beyond what a connection exposes, and whether the server can be asked what
//! it understood of a statement.

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Client, Row};

use crate::postgres::grants::inventory::{Inventory, Relation, Routine, Whose, needed};
use crate::postgres::grants::shown::{Visibilities, Visibility};
use crate::postgres::session::own::{ask, get};
use crate::{Access, Settings};
use portico_core::error::{Error, Result};
use portico_core::finding::{Finding, Grade, printable};

/// The first version that has functions with an analysed body.
const ASKED_SINCE: i32 = 140_000;

/// $1: the role, else the session's own.
const USER: &str = "\
SELECT r.oid, r.rolname::text, r.rolsuper,
    ARRAY(SELECT s.rolname::text FROM pg_catalog.pg_roles s
        WHERE s.rolsuper AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER') ORDER BY 1),
    pg_catalog.array_remove(ARRAY[CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
        CASE WHEN r.rolreplication THEN 'REPLICATION' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END]::text[], NULL),
    ARRAY(SELECT m.rolname::text FROM pg_catalog.pg_roles m WHERE m.oid < 16384 AND m.rolname ~ '^pg_'
        AND m.rolname <> 'pg_database_owner' AND pg_catalog.pg_has_role(r.oid, m.oid, 'MEMBER') ORDER BY 1),
    pg_catalog.current_setting('server_version_num')::int4, pg_catalog.pg_is_in_recovery()
FROM pg_catalog.pg_roles r WHERE r.rolname = COALESCE($1, session_user)";

/// The roles under which statements run that have no right to make temporary objects.
fn without_temp(has_roles: bool) -> String {
    let roles = if has_roles {
        "r.oid <> $1 AND pg_catalog.pg_has_role($1, r.oid, 'MEMBER') AND r.rolname !~ '^pg_'"
    } else {
        "r.oid = $1"
    };
    format!(
        "SELECT r.rolname::text FROM pg_catalog.pg_roles r WHERE {roles}
    AND NOT pg_catalog.has_database_privilege(r.oid, pg_catalog.current_database()::text, 'TEMP') ORDER BY 1"
    )
}

/// The connection's user, or the role that is to be it.
struct User {
    oid: Oid,
    name: String,
    is_superuser: bool,
    superusers: Vec<String>,
    attributes: Vec<String>,
    predefined: Vec<String>,
    version: i32,
    is_standby: bool,
}

fn user(row: &Row) -> Result<User> {
    Ok(User {
        oid: get(row, 0)?,
        name: printable(get(row, 1)?),
        is_superuser: get(row, 2)?,
        superusers: get(row, 3)?,
        attributes: get(row, 4)?,
        predefined: get(row, 5)?,
        version: get(row, 6)?,
        is_standby: get(row, 7)?,
    })
}

/// Compares what `role`, else the user of this session, can do with what `settings` expose.
pub(crate) async fn reach(client: &Client, settings: &Settings, role: Option<&str>) -> Result<Vec<Finding>> {
    let rows = ask(client, USER, &[(&role, Type::TEXT)]).await?;
    let user = user(rows.first().ok_or_else(|| Error::internal("the session's user is in no catalogue"))?)?;
    let hides = !settings.exposure.is_everything();
    let mut findings = powers(&user, &settings.name);
    let bounded = !user.is_superuser && user.superusers.is_empty();
    if bounded && (hides || settings.access == Access::ReadOnly) {
        findings.extend(beyond(client, settings, &user).await?);
    }
    // Where everything is exposed and may be written, nothing has to be asked.
    if hides || settings.has_roles || settings.access == Access::ReadOnly {
        findings.extend(asking(client, settings, &user).await?);
    }
    Ok(findings)
}

/// What no grant bounds.
fn powers(user: &User, connection: &str) -> Vec<Finding> {
    let name = &user.name;
    let remedy = format!("`portico grants {connection}` prints the SQL for a user that may do what is exposed");
    let warn = |message: String| Finding::new(Grade::Warning, message, remedy.clone());
    if user.is_superuser {
        let message =
            format!("its user {name} is a superuser: no grant bounds it, and Portico's own checks stand alone");
        return vec![warn(message)];
    }
    let mut findings = Vec::new();
    if !user.superusers.is_empty() {
        let message = format!("its user {name} can become a superuser");
        findings.push(warn(message).about(user.superusers.iter().map(String::as_str)));
    }
    if !user.attributes.is_empty() {
        findings.push(warn(format!(
            "its user {name} has the attributes {}, which no grant bounds",
            user.attributes.join(", ")
        )));
    }
    if !user.predefined.is_empty() {
        let message =
            format!("its user {name} has more than grants on things: it is a member of PostgreSQL's own roles");
        findings.push(warn(message).about(user.predefined.iter().map(String::as_str)));
    }
    findings
}

fn can(rights: &[String], wanted: &str) -> bool {
    rights.iter().any(|right| right == wanted)
}

/// What can be reached although it is hidden, or written although it is only to be read.
async fn beyond(client: &Client, settings: &Settings, user: &User) -> Result<Vec<Finding>> {
    let exposure = &settings.exposure;
    let inventory = Inventory::read(client, Whose::Effective(user.oid)).await?;
    let sights = Visibilities::of(&inventory, exposure);
    let writes = settings.access == Access::ReadWrite;
    let needed = needed(client, &sights.shown(), writes).await?;
    let hidden = |relation: &&Relation| {
        let lent = relation.is_sequence() && needed.sequences.contains(&relation.oid);
        sights.get(relation.oid) == Visibility::Hidden && !lent
    };
    let called = |relation: &Relation| format!("{}.{}", relation.schema, relation.name);
    let of = |right: &'static str| {
        let found = inventory.relations.iter().filter(hidden).filter(move |it| can(&it.held.role, right));
        found.map(called).collect::<Vec<String>>()
    };
    let shows = |routine: &&Routine| exposure.shows_procedure(&routine.schema, &routine.name);
    let callable = |routine: &&Routine| can(&routine.held.role, "EXECUTE") && !shows(routine);
    let named = |routine: &Routine| format!("{}.{}", routine.schema, routine.name);
    let (lent, executes): (Vec<&Routine>, Vec<&Routine>) =
        inventory.routines.iter().filter(callable).partition(|routine| needed.routines.contains(&routine.oid));
    let schemas = inventory.schemas.iter().filter(|schema| !exposure.shows_schema(&schema.name));
    let schemas: Vec<String> =
        schemas.filter(|schema| can(&schema.held.role, "USAGE")).map(|schema| schema.name.clone()).collect();
    let mut owned = of("OWNER");
    owned.extend(inventory.routines.iter().filter(|it| can(&it.held.role, "OWNER") && !shows(it)).map(named));
    let hidden_schemas = inventory.schemas.iter().filter(|schema| !exposure.shows_schema(&schema.name));
    owned.extend(hidden_schemas.filter(|it| can(&it.held.role, "OWNER")).map(|schema| schema.name.clone()));

    let name = &user.name;
    let grants =
        format!("`portico grants {}` prints the SQL for a user that may do exactly what is exposed", settings.name);
    let owner = "give what is hidden to another owner, or let Portico connect as another user".to_owned();
    let mut findings = Vec::new();
    let mut tell = |grade, words: &str, names: Vec<String>, remedy: &str| {
        if !names.is_empty() {
            let message = format!("its user {name} {}", words.replace('#', &names.len().to_string()));
            findings.push(Finding::new(grade, message, remedy).about(names.iter().map(String::as_str)));
        }
    };
    tell(Grade::Warning, "owns # things that are hidden", owned, &owner);
    tell(Grade::Warning, "can read # tables that are hidden", of("SELECT"), &grants);
    tell(Grade::Warning, "can write # tables that are hidden", of("WRITE"), &grants);
    let executes = executes.into_iter().map(named).collect();
    let public = format!("{grants}; --revoke-public takes away what everybody may execute");
    tell(Grade::Warning, "can execute # functions that are hidden", executes, &public);
    tell(Grade::Warning, "can look into # schemas that are hidden", schemas, &public);
    if !writes {
        let open = inventory.relations.iter().filter(|it| sights.get(it.oid) != Visibility::Hidden);
        let written = open.filter(|it| can(&it.held.role, "WRITE")).map(called).collect();
        tell(Grade::Note, "can write # tables, and the connection only reads", written, &grants);
    }
    let lent = lent.into_iter().map(named).collect();
    let why = "can execute # hidden functions that exposed views, defaults or policies use";
    tell(Grade::Note, why, lent, "");
    Ok(findings)
}

/// Whether the server can be asked what it understood.
async fn asking(client: &Client, settings: &Settings, user: &User) -> Result<Vec<Finding>> {
    let instead = "the server cannot be asked what a statement uses, and the reader's own resolution stands in";
    let tell = |why: &str, remedy: &str| Finding::new(Grade::Warning, format!("{instead}: {why}"), remedy);
    if user.version < ASKED_SINCE {
        return Ok(vec![tell(
            "it is older than PostgreSQL 14",
            "upgrade the server; until then, let grants hold its user",
        )]);
    }
    if user.is_standby {
        return Ok(vec![tell("it is a standby", "lead the connection to a primary, or let grants hold its user")]);
    }
    let statement = without_temp(settings.has_roles);
    let rows = ask(client, &statement, &[(&user.oid, Type::OID)]).await?;
    let roles = rows.iter().map(|row| get::<String>(row, 0)).collect::<Result<Vec<String>>>()?;
    if roles.is_empty() {
        return Ok(Vec::new());
    }
    let remedy = "GRANT TEMPORARY ON DATABASE … TO them; `portico grants` does so";
    let finding = tell("a role has no right to make temporary objects (TEMP) in the database", remedy);
    Ok(vec![finding.about(roles.iter().map(String::as_str))])
}
