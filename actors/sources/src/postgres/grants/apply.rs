//! The privileges of a database user compared with what a connection exposes. Privileges are the first protection
//! of what is hidden: this module has the statements that grant and revoke them, and reports where they are too
//! wide.
//!
//! A connection's role may: connect; create temporary objects (the driver uses one to ask the server how it
//! understood a statement); use the schemas that are shown; read, or read and write, the tables, views and
//! sequences that are; execute the routines that are. Children and partitions are read through their parent, and
//! what a view reads is checked for the view's owner: neither needs privileges of its own.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Client;

use crate::Pooler;
use crate::postgres::address::Address;
use crate::postgres::connect::connector::Connector;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::failure;
use crate::postgres::grants::inventory::{Inventory, Whose};
use crate::postgres::grants::script::{PATH, Subject};
use crate::postgres::grants::shown::Visibilities;
use crate::postgres::grants::state::State;
use crate::{GrantRequest, GrantScript, Settings};
use portico_core::error::{Error, Kind, Result};
use portico_core::finding::Finding;

use crate::postgres::grants::reach::reach;
use crate::postgres::grants::{inventory, script};

/// All of it together, locks of others included.
const PATIENCE: Duration = Duration::from_secs(120);
const BOUNDS: &str = "SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '10s'";
/// The maximal length of a name in bytes; PostgreSQL silently truncates longer ones.
const LONGEST_NAME: usize = 63;

/// Returns the statements that grant `wanted`, as seen by the connection's own user in the database at `address`.
///
/// # Errors
/// [`Kind::Invalid`] for a role that cannot have such privileges, and as [`Source::ping`](crate::Source::ping).
pub(crate) async fn grants(settings: &Settings, address: &Address, wanted: &GrantRequest) -> Result<GrantScript> {
    admit(&wanted.role)?;
    let connector = Connector::new(address, settings.connect_timeout)?;
    bounded(async {
        let wire = begin(&connector, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let script = prepare(&wire, settings, wanted).await;
        // It is over with its session in any case.
        let _ = wire.batch_execute("ROLLBACK").await;
        script
    })
    .await
}

/// Grants `wanted` as `administrator`, in one transaction: `show` receives the statements before they run, and
/// `record` runs before they take effect. Returns what the role can still do beyond what is exposed.
///
/// # Errors
/// As [`grants`], an error of `record`, and an error of the database: then nothing was changed.
pub(crate) async fn apply(
    settings: &Settings,
    address: &Address,
    administrator: &Address,
    wanted: &GrantRequest,
    show: &mut (dyn FnMut(&GrantScript) + Send),
    record: &mut (dyn FnMut(&GrantScript) -> Result<()> + Send),
) -> Result<Vec<Finding>> {
    admit(&wanted.role)?;
    let own = Connector::new(address, settings.connect_timeout)?;
    let connector = Connector::new(administrator, settings.connect_timeout)?;
    if own.database() != connector.database() && own.pooler == Pooler::Session {
        return Err(Error::invalid(format!(
            "--apply: this is the address of database {:?}, and connection {} leads to {:?}",
            connector.database(),
            settings.name,
            own.database()
        ))
        .hint("rights hold in one database: write the name of the connection's behind the host"));
    }
    bounded(async {
        let wire = begin(&connector, "BEGIN READ WRITE").await?;
        let script = prepare(&wire, settings, wanted).await?;
        show(&script);
        for statement in &script.statements {
            wire.batch_execute(statement).await.map_err(|error| refused(statement, &error))?;
        }
        let left = if wanted.revoke { Vec::new() } else { reach(&wire, settings, Some(&wanted.role)).await? };
        record(&script)?;
        wire.batch_execute("COMMIT").await.map_err(|error| refused("COMMIT", &error))?;
        Ok(left)
    })
    .await
}

/// Refuses names that no role can have.
fn admit(role: &str) -> Result<()> {
    let wrong = if role.is_empty() || role.contains('\0') {
        "this cannot be the name of a role"
    } else if role.len() > LONGEST_NAME {
        "this name is longer than 63 octets"
    } else if role.starts_with("pg_") || role == "public" || role == "none" {
        "this name is PostgreSQL's own"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("--role: {wrong}")).hint("give another name with --role"))
}

async fn bounded<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(Error::new(Kind::TimedOut, "the database took too long; nothing was changed")),
    }
}

async fn begin(connector: &Connector, how: &str) -> Result<DrivenClient> {
    let wire = connector.connect().await?;
    let greeting = format!("{how}; {BOUNDS}; {PATH}");
    wire.batch_execute(&greeting).await.map_err(|error| failure::connecting(&error))?;
    Ok(wire)
}

/// Reads the database, and writes the statements.
async fn prepare(client: &Client, settings: &Settings, wanted: &GrantRequest) -> Result<GrantScript> {
    let state = State::read(client, &wanted.role).await?;
    if state.role.as_ref().is_some_and(|role| role.is_superuser) {
        return Err(Error::invalid(format!(
            "--role: {:?} is a superuser, and no grant limits superusers",
            wanted.role
        ))
        .hint("give another name with --role"));
    }
    let inventory = Inventory::read(client, Whose::Granted(state.role.as_ref().map(|role| role.oid))).await?;
    let sights = Visibilities::new(&inventory, &settings.exposure);
    let writes = settings.access == crate::Access::ReadWrite;
    let needed = inventory::needed(client, &sights.shown(), writes).await?;
    Ok(script::write(&Subject {
        connection: &settings.name,
        exposure: &settings.exposure,
        access: settings.access,
        wanted,
        state: &state,
        inventory: &inventory,
        sights: &sights,
        needed: &needed,
    }))
}

fn refused(statement: &str, error: &tokio_postgres::Error) -> Error {
    let Some(said) = error.as_db_error() else { return failure::connecting(error) };
    let failed = Error::new(failure::kind(said.code().code()), format!("{statement}: {}", said.message()));
    let hint = said.detail().or(said.hint()).unwrap_or("nothing was changed").to_owned();
    failed.sqlstate(said.code().code()).hint(hint)
}
