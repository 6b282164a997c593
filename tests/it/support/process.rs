//! The program itself as a child process, which is stopped, hung up on and watched from outside.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

use portico::config::Config;
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::app::{CONNECTION, Caller, DEADLINE, STORE, callers, client, pace, read, within};
use super::mcp::BOTH;
use super::stream::Events;

/// `portico serve` in a folder of its own.
pub(crate) struct Service {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    pub(crate) writer: Caller,
    /// A user who may read on every connection.
    pub(crate) reader: Caller,
    child: Child,
    log: UnboundedReceiver<String>,
    /// Held while nobody reads the log.
    unread: Arc<Mutex<()>>,
    /// What was read of the log, for the words of a test that fails.
    seen: Vec<String>,
}

/// What a process has of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Census {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Memory, in KiB.
    pub(crate) resident: u64,
}

/// A configuration: `server` are keys of `[server]`.
pub(crate) fn configure(folder: &Path, server: &str, connections: &str) {
    let listen = if server.contains("listen =") { "" } else { "listen = \"127.0.0.1:0\"\n" };
    let store = STORE.try_with(|shared| shared.url.clone()).unwrap_or_else(|_| "sqlite:portico.db".to_owned());
    let text = format!(
        "[server]\npublic_url = \"http://localhost\"\n{listen}{server}\n[store]\nurl = \"{store}\"\n{connections}"
    );
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// One command, to its end.
pub(crate) fn portico(folder: &Path, arguments: &[&str]) -> Output {
    finished(Command::new(env!("CARGO_BIN_EXE_portico")).args(arguments).current_dir(folder))
}

/// Runs a command to its end. One that does not end in time is ended, and the test with it.
#[track_caller]
pub(crate) fn finished(command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    output(child)
}

/// What a child prints until its end, which has to come in time.
#[track_caller]
pub(crate) fn output(child: Child) -> Output {
    let (id, (tell, told)) = (child.id().to_string(), std::sync::mpsc::channel());
    // Nobody hears it any more only where the test has failed already.
    std::thread::spawn(move || drop(tell.send(child.wait_with_output())));
    let Ok(output) = told.recv_timeout(DEADLINE) else {
        let _ = Command::new("kill").args(["-KILL", &id]).status();
        panic!("{}: waited {} s for the end of a process", std::panic::Location::caller(), DEADLINE.as_secs());
    };
    output.unwrap()
}

impl Service {
    /// Starts it and waits until every connection had its first attempt.
    pub(crate) async fn start(folder: TempDir, server: &str, connections: &str) -> Self {
        Self::start_in(folder, server, connections, &[]).await
    }

    pub(crate) async fn start_in(
        folder: TempDir,
        server: &str,
        connections: &str,
        environment: &[(&str, String)],
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portico"));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        Self::start_by(folder, server, connections, command).await
    }

    /// The same by `command`, which lacks what the program is to do.
    pub(crate) async fn start_by(folder: TempDir, server: &str, connections: &str, mut command: Command) -> Self {
        configure(folder.path(), server, connections);
        let shared = STORE.try_with(|shared| shared.callers.clone()).ok().flatten();
        let (writer, reader, _) = shared.unwrap_or_else(|| callers(folder.path().join("portico.db")));
        if !command.get_envs().any(|(name, _)| name == "RUST_LOG") {
            command.env("RUST_LOG", "info");
        }
        let command = command.arg("serve").current_dir(folder.path()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (tell, log) = unbounded_channel();
        let unread = Arc::new(Mutex::new(()));
        let held = Arc::clone(&unread);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                drop(held.blocking_lock());
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let http = client();
        let mut service =
            Self { folder, url: String::new(), http, writer, reader, child, log, unread, seen: Vec::new() };
        let line = service.line("listening on ").await;
        let place = line.split("listening on ").nth(1).unwrap().split([' ', ',']).next().unwrap();
        service.url = format!("http://{place}");
        service.line("ready: ").await;
        service
    }

    /// The port that the first listener got.
    pub(crate) fn port(&self) -> u16 {
        self.url.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// Waits for a line of the log that has `part` in it.
    pub(crate) async fn line(&mut self, part: &str) -> String {
        loop {
            let line = within(&format!("{part:?} in the log, behind {:#?}", self.seen), self.log.recv()).await;
            let line = line.unwrap_or_else(|| panic!("the log ended before {part:?}: {:#?}", self.seen));
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Has nobody read the log, until what is given back is dropped.
    pub(crate) async fn leave_unread(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.unread).lock_owned().await
    }

    /// Waits for the end of the process without reading its log.
    pub(crate) async fn over(&mut self) -> ExitStatus {
        let mut pace = pace();
        loop {
            pace.tick().await;
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
        }
    }

    /// What the log says by now that was not read yet.
    pub(crate) fn logged(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.log.try_recv().ok()).collect()
    }

    /// What was read of the log so far.
    pub(crate) fn seen(&self) -> &[String] {
        &self.seen
    }

    /// The rest of the log, to the end of the process.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = within("the end of the process", self.log.recv()).await {
            lines.push(line);
        }
        lines
    }

    /// The most memory that it ever had, in KiB.
    pub(crate) fn resident_peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// What it has of the machine now.
    pub(crate) fn census(&self) -> Census {
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count();
        let threads = usize::try_from(self.status("Threads:")).unwrap();
        Census { descriptors, threads, resident: self.status("VmRSS:") }
    }

    /// A number of the kernel's own on the process (`proc_pid_status(5)`).
    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// The process, for those who change its limits.
    pub(crate) fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// How many sockets it has open.
    pub(crate) fn sockets(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        // One that is closed just now names nothing any more.
        let names = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        names.filter(|name| name.as_os_str().as_encoded_bytes().starts_with(b"socket:")).count()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end of the process.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        self.rest().await;
        self.child.wait().unwrap()
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
        configure(self.folder.path(), server, connections);
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
        let mut events = Events::of(request.json(&body).send().await.unwrap());
        assert_eq!(events.message().await["method"], "notifications/subscriptions/acknowledged");
        events
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Only our own child; one that has ended already is none any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
