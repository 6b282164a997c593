//! The program as a child process that serves, and is stopped, hung up on and watched from outside.

use std::ops::{Deref, DerefMut};
use std::process::{Command, Output, Stdio};

use portico::config::Config;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::app::{CONNECTION, Caller, Shared, callers, client, read};
use super::configuration::{Configuration, configure};
use super::mcp::BOTH;
use super::process::{Running, portico};
use super::stream::Events;

/// `portico serve` in a folder of its own.
pub(crate) struct Service {
    // Ends before its folder is cleared away.
    running: Running,
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    pub(crate) writer: Caller,
    /// A user who may read on every connection.
    pub(crate) reader: Caller,
    store: Option<Shared>,
}

/// What a process has of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Census {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Memory, in KiB.
    pub(crate) resident: u64,
}

impl Service {
    /// Starts it by `command`, which lacks what the program is to do, and waits until every connection had its first
    /// attempt.
    pub(super) async fn begin(configuration: Configuration, mut command: Command) -> Self {
        let store = configuration.store.clone();
        let folder = configuration.write();
        let known = store.as_ref().and_then(|store| store.callers.clone());
        let (writer, reader, _) = known.unwrap_or_else(|| callers(folder.path().join("portico.db")));
        if !command.get_envs().any(|(name, _)| name == "RUST_LOG") {
            command.env("RUST_LOG", "info");
        }
        let running = Running::begin(command.arg("serve").current_dir(folder.path()).stderr(Stdio::piped()));
        let mut service = Self { running, folder, url: String::new(), http: client(), writer, reader, store };
        let line = service.line("listening on ").await;
        let place = line.split("listening on ").nth(1).unwrap().split([' ', ',', '"']).next().unwrap();
        service.url = format!("http://{place}");
        service.line("ready: ").await;
        service
    }

    /// The port that the first listener got.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// The most memory that it ever had, in KiB.
    pub(crate) fn resident_peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// What it has of the machine now.
    pub(crate) fn census(&self) -> Census {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", self.id().as_raw_nonzero())).unwrap().count();
        let threads = usize::try_from(self.status("Threads:")).unwrap();
        Census { descriptors, threads, resident: self.status("VmRSS:") }
    }

    /// A number of the kernel's own on the process (`proc_pid_status(5)`).
    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id().as_raw_nonzero())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// How many sockets it has open.
    pub(crate) fn sockets(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.id().as_raw_nonzero())).unwrap();
        // One that is closed just now names nothing any more.
        let names = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        names.filter(|name| name.as_os_str().as_encoded_bytes().starts_with(b"socket:")).count()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        portico(self.folder.path(), arguments)
    }

    /// `portico reload --json`: whether it exits well, and what it prints.
    pub(crate) async fn reload(&self) -> (bool, Value) {
        let folder = self.folder.path().to_owned();
        let output = tokio::task::spawn_blocking(move || portico(&folder, &["reload", "--json"])).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}")))
    }

    /// Writes another configuration; the service does not know it yet.
    pub(crate) fn configure(&self, server: &str, connections: &str) {
        configure(self.folder.path(), self.store.as_ref(), server, connections);
        Config::load(&self.folder.path().join("config.toml")).expect("the test's own configuration is valid");
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url)).basic_auth(&self.writer.name, Some(&self.writer.secret))
    }

    pub(crate) fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).basic_auth(&self.writer.name, Some(&self.writer.secret))
    }

    pub(crate) async fn query(&self, query: &str) -> (u16, Value) {
        let body = json!({"query": query, "defaultCatalog": "shop"});
        read(self.post("/api/query").json(&body).send().await.unwrap()).await
    }

    /// A subscription of 2026-07-28 to every list, acknowledged.
    pub(crate) async fn listen(&self) -> Events {
        let all = json!({"toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true});
        let params = json!({"notifications": all, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params});
        let request = self.post(&format!("/mcp/connections/{CONNECTION}")).header("accept", BOTH);
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", "subscriptions/listen");
        let mut events = Events::new(request.json(&body).send().await.unwrap());
        assert_eq!(events.message().await["method"], "notifications/subscriptions/acknowledged");
        events
    }
}

impl Deref for Service {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl DerefMut for Service {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.running
    }
}
