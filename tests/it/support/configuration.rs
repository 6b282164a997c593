//! A configuration, written piece by piece, and what is started with it: the service in this process, or the program.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use portico::mcp::connection::ConnectionFeatures;
use portico::mcp::features::Features;
use tempfile::TempDir;
use uuid::Uuid;

use super::app::{CONNECTION, OTHER, STORE, Shared, THIRD, TestApp};
use super::failures;
use super::fixture;
use super::process::program;
use super::service::Service;

/// For `Configuration::server`: a port, and a Unix socket, on which plain HTTP is spoken beside TLS too.
pub(crate) const BOTH_DOORS: &str = "listen = [\"127.0.0.1:0\", \"unix:portico.sock\"]";

/// `config.toml` in the making, in a folder that is the test's.
pub(crate) struct Configuration {
    pub(super) folder: TempDir,
    pub(super) server: String,
    pub(super) tables: String,
    pub(super) features: Arc<dyn Features>,
    pub(super) store: Option<Shared>,
    connections: u8,
}

impl Configuration {
    /// In a folder of its own, with nothing but what every service of the tests has.
    pub(crate) fn new() -> Self {
        Self::in_folder(TempDir::new().unwrap())
    }

    /// The same in a folder that has files of the test's.
    pub(crate) fn in_folder(folder: TempDir) -> Self {
        failures::say_at_once();
        let (features, store) = (Arc::new(ConnectionFeatures::default()), STORE.try_with(Shared::clone).ok());
        Self { folder, server: String::new(), tables: String::new(), features, store, connections: 0 }
    }

    /// Keys of `[server]`, and tables within it behind them.
    pub(crate) fn server(mut self, keys: &str) -> Self {
        self.server += &format!("{keys}\n");
        self
    }

    /// A connection with these keys: the first one is `CONNECTION`, the second one `OTHER`, the third one `THIRD`.
    pub(crate) fn connection(mut self, name: &str, url: &str, keys: &str) -> Self {
        let id = *[CONNECTION, OTHER, THIRD].get(usize::from(self.connections)).expect("three connections are enough");
        self.connections += 1;
        self.tables += &connection(id, name, url, keys);
        self
    }

    /// The same to a new SQLite file of that name with the usual schema.
    pub(crate) fn sqlite(self, name: &str, keys: &str) -> Self {
        fixture::sqlite(&self.folder, &format!("{name}.db"));
        self.connection(name, &format!("sqlite:{name}.db"), keys)
    }

    /// Other tables, as they stand.
    pub(crate) fn with(mut self, tables: &str) -> Self {
        self.tables += &format!("{tables}\n");
        self
    }

    /// What every MCP address offers in place of a connection's own.
    pub(crate) fn offering(mut self, features: impl Features + 'static) -> Self {
        self.features = Arc::new(features);
        self
    }

    /// The store that the service shares with others.
    pub(crate) fn on(mut self, store: Shared) -> Self {
        self.store = Some(store);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the service in this process, and waits until every connection had its first attempt.
    pub(crate) async fn start(self) -> TestApp {
        let app = TestApp::begin(self).await;
        app.ready().await;
        app
    }

    /// Starts the program, and waits for the same.
    pub(crate) async fn serve(self) -> Service {
        self.serve_with(&[]).await
    }

    /// The same with variables of the environment.
    pub(crate) async fn serve_with(self, environment: &[(&str, &str)]) -> Service {
        let mut command = program();
        command.envs(environment.iter().copied());
        self.serve_by(command).await
    }

    /// The same by `command`, which lacks what the program is to do.
    pub(crate) async fn serve_by(self, command: Command) -> Service {
        Service::begin(self, command).await
    }

    /// Writes it for commands, which need no running service.
    pub(crate) fn write(self) -> TempDir {
        configure(self.path(), self.store.as_ref(), &self.server, &self.tables);
        self.folder
    }
}

/// What an attempt to connect may take where nothing is said of it: a server that has to begin a process for each session
/// is no sooner ready on a busy machine.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// One `[[connections]]` table.
pub(crate) fn connection(id: Uuid, name: &str, url: &str, keys: &str) -> String {
    let patience = format!("connect_timeout = {}\n", CONNECT_TIMEOUT.as_secs());
    let is_patient = url.starts_with("postgres") && !keys.contains("connect_timeout");
    let keys = if is_patient { patience + keys } else { keys.to_owned() };
    format!("[[connections]]\nid = \"{id}\"\nname = \"{name}\"\nurl = \"{url}\"\n{keys}\n")
}

/// The table of the first connection, as `Configuration::sqlite` writes it, for a file that is written anew.
pub(crate) fn shop(keys: &str) -> String {
    connection(CONNECTION, "shop", "sqlite:shop.db", keys)
}

/// Writes `config.toml`. Without a word of `server` on it, the service listens on a free port.
pub(crate) fn configure(folder: &Path, store: Option<&Shared>, server: &str, tables: &str) {
    let unless = |key: &str, line: &str| if server.contains(key) { String::new() } else { format!("{line}\n") };
    let public_url = unless("public_url =", "public_url = \"http://localhost\"");
    let listen = unless("listen =", "listen = \"127.0.0.1:0\"");
    let store = store.map_or("sqlite:portico.db", |store| store.url.as_str());
    let text = format!("[server]\n{public_url}{listen}{server}\n[store]\nurl = \"{store}\"\n{tables}");
    std::fs::write(folder.join("config.toml"), text).unwrap();
}
