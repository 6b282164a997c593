//! Finds out what a database user can do beyond what a connection exposes, and whether the server can be asked how
//! it understood a statement.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::postgres::grants::inventory::{Inventory, Object, Whose, needed};
use crate::postgres::grants::shown::{Visibilities, Visibility};
use crate::postgres::grants::state::Role;
use crate::postgres::session::internal_query::{ask, get};
use crate::{Access, Settings};
use portico_core::error::{Error, Result};
use portico_core::finding::{Finding, FindingSeverity};

/// The first version that has functions with an analysed body.
const ASKED_SINCE: i32 = 140_000;

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

/// Compares what `role`, or else the session's user, can do with what `settings` expose.
pub(crate) async fn reach(client: &Client, settings: &Settings, role: Option<&str>) -> Result<Vec<Finding>> {
    let user = Role::read(client, role).await?;
    let user = user.ok_or_else(|| Error::internal("bug: the session's user is not in the catalogue"))?;
    let hides = !settings.exposure.is_everything();
    let mut findings = powers(&user, &settings.name);
    let bounded = !user.is_superuser && user.superusers.is_empty();
    if bounded && (hides || settings.access == Access::ReadOnly) {
        findings.extend(beyond(client, settings, &user).await?);
    }
    // If everything is exposed and may be written, no query is needed.
    if hides || settings.has_roles || settings.access == Access::ReadOnly {
        findings.extend(asking(client, settings, &user).await?);
    }
    Ok(findings)
}

/// Returns the powers that no grant limits.
fn powers(user: &Role, connection: &str) -> Vec<Finding> {
    let name = &user.name;
    let remedy = format!("`portico grants {connection}` prints the SQL for a user that may do what is exposed");
    let warn = |message: String| Finding::new(FindingSeverity::Warning, message, remedy.clone());
    if user.is_superuser {
        let message = format!("its user {name} is a superuser: no grant limits it, and only Portico's own checks do");
        return vec![warn(message)];
    }
    let mut findings = Vec::new();
    if !user.superusers.is_empty() {
        let message = format!("its user {name} can become a superuser");
        findings.push(warn(message).about(user.superusers.iter().map(String::as_str)));
    }
    if !user.attributes.is_empty() {
        findings.push(warn(format!(
            "its user {name} has the attributes {}, which no grant limits",
            user.attributes.join(", ")
        )));
    }
    if !user.predefined.is_empty() {
        let message =
            format!("its user {name} has more than grants on objects: it is a member of PostgreSQL's own roles");
        findings.push(warn(message).about(user.predefined.iter().map(String::as_str)));
    }
    findings
}

/// Returns what can be accessed although it is hidden, or written although it is read-only.
async fn beyond(client: &Client, settings: &Settings, user: &Role) -> Result<Vec<Finding>> {
    let exposure = &settings.exposure;
    let inventory = Inventory::read(client, Whose::Effective(user.oid)).await?;
    let sights = Visibilities::new(&inventory, exposure);
    let writes = settings.access == Access::ReadWrite;
    let needed = needed(client, &sights.shown(), writes).await?;
    let is_hidden = |it: &&Object| {
        let lent = it.is_sequence() && needed.sequences.contains(&it.oid);
        sights.get(it.oid) == Visibility::Hidden && !lent
    };
    let relations: Vec<&Object> = inventory.relations.iter().filter(is_hidden).collect();
    let routines: Vec<&Object> =
        inventory.routines.iter().filter(|it| !exposure.shows_procedure(it.schema(), &it.name)).collect();
    let schemas: Vec<&Object> = inventory.schemas.iter().filter(|it| !exposure.shows_schema(&it.name)).collect();
    let (lent, executed): (Vec<&Object>, Vec<&Object>) =
        routines.iter().copied().partition(|it| needed.routines.contains(&it.oid));
    let of = |right: &str, objects: &[&Object]| -> Vec<String> {
        objects.iter().filter(|it| it.can(right)).map(|it| it.called()).collect()
    };
    let owned = [&relations, &routines, &schemas].into_iter().flat_map(|objects| of("OWNER", objects)).collect();

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
    tell(FindingSeverity::Warning, "owns # things that are hidden", owned, &owner);
    tell(FindingSeverity::Warning, "can read # tables that are hidden", of("SELECT", &relations), &grants);
    tell(FindingSeverity::Warning, "can write # tables that are hidden", of("WRITE", &relations), &grants);
    let public = format!("{grants}; --revoke-public takes away what everybody may execute");
    tell(FindingSeverity::Warning, "can execute # functions that are hidden", of("EXECUTE", &executed), &public);
    tell(FindingSeverity::Warning, "can look into # schemas that are hidden", of("USAGE", &schemas), &public);
    if !writes {
        let open = inventory.relations.iter().filter(|it| sights.get(it.oid) != Visibility::Hidden);
        let written = of("WRITE", &open.collect::<Vec<_>>());
        tell(FindingSeverity::Note, "can write # tables, and the connection only reads", written, &grants);
    }
    let why = "can execute # hidden functions that exposed views, defaults or policies use";
    tell(FindingSeverity::Note, why, of("EXECUTE", &lent), "");
    Ok(findings)
}

/// Returns whether the server can be asked how it understood a statement.
async fn asking(client: &Client, settings: &Settings, user: &Role) -> Result<Vec<Finding>> {
    let instead = "the server cannot be asked what a statement uses, and Portico resolves its names by itself";
    let tell = |why: &str, remedy: &str| Finding::new(FindingSeverity::Warning, format!("{instead}: {why}"), remedy);
    if user.version < ASKED_SINCE {
        return Ok(vec![tell(
            "it is older than PostgreSQL 14",
            "upgrade the server; until then, limit its user by grants",
        )]);
    }
    if user.is_standby {
        return Ok(vec![tell("it is a standby", "connect to a primary, or limit its user by grants")]);
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
