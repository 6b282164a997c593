//! Runs a service for one database in this process, on a private socket: its client's requests are handled like
//! those to a separate service.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::error::Error;
use portico_actors::principal::{Rights, Scope};
use portico_actors::source::Access;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app::App;
use crate::cli::common::Failure;
use crate::cli::running::serve::stop_signal;
use crate::config::{Config, Database, Listen, lookup};
use crate::net::listener::{Listener, Listeners};
use crate::observe::Log;
use crate::stdio::{self, Bearer, Server};

/// The client's user.
const USER: &str = "stdio@localhost";
/// Connections of HTTP that it may have on each thread.
const CONNECTIONS: usize = 256;
/// How long the service may take to end: everything in it has been cancelled.
const ENDING: Duration = Duration::from_secs(2);

/// Serves `database` until the client or a signal ends it. `query` narrows what is offered. The returned folder
/// must be kept until nothing runs here any more.
pub(super) async fn serve(database: &Database<'_>, query: &str) -> Result<TempDir, Failure> {
    // For this user alone, and gone with the process.
    let folder = tempfile::Builder::new()
        .prefix("portico-")
        .tempdir()
        .map_err(|error| Failure::io("a folder for temporary files cannot be made", error))?;
    let base = std::env::current_dir().map_err(|error| Failure::io("the working folder cannot be found", error))?;
    let mut config = Config::of_database(database, &base, folder.path(), &lookup).map_err(Failure::Options)?;
    let socket = folder.path().join("portico.sock");
    config.server.listen = vec![Listen::Unix(socket.clone())];
    "http://localhost".clone_into(&mut config.server.public_url);
    config.server.shutdown_timeout = Duration::from_secs(1);
    // There is one client.
    config.server.bounds.max_connections = CONNECTIONS;
    let path = config.connections.first().map(|connection| format!("/mcp/connections/{}{}", connection.id, query));
    let path = path.ok_or_else(|| Error::internal("bug: a configuration lacks its connection"))?;
    let token = token(&config, database.access)?;
    let listener = Listener::bind(&Listen::Unix(socket.clone()))
        .map_err(|error| Failure::io(format_args!("{} cannot be listened on", socket.display()), error))?;
    let log = Log::default();
    let app = App::start(config, Arc::new(move |event| log.write(event))).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = actix::spawn(crate::run(app, Listeners(vec![listener]), async { drop(stopped.await) }));
    let server = Server::at_socket(&socket, &path, Rc::new(Bearer(token)))?;
    stdio::run(server, std::io::stdin(), std::io::stdout(), stop_signal(true)).await;
    drop(stop);
    match timeout(ENDING, serving).await {
        Ok(Ok(Err(error))) => return Err(Failure::io("the service for this client failed", error)),
        Ok(_) => {}
        Err(_) => log::warn!("the database did not let go in time"),
    }
    Ok(folder)
}

/// Makes the token of the client.
fn token(config: &Config, access: Access) -> Result<SecretString, Error> {
    let scope = if access == Access::ReadWrite { Scope::Write } else { Scope::Read };
    let mut store = Store::open(&config.store.place)?;
    store.add_user(NewUser { email: USER.to_owned(), rights: Rights::all(scope) })?;
    let (_, token) = store.create_pat(USER, NewPat::default())?;
    Ok(token)
}
