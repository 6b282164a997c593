//! `portico stdio` as a client launches it: lines of JSON on its pipes.

use std::collections::VecDeque;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::app::{Caller, TestApp};
use super::process::{Running, program};

/// A client and its program.
pub(crate) struct Launched {
    running: Running,
    input: Option<ChildStdin>,
    /// Messages that were read and not asked for yet.
    unasked: VecDeque<Value>,
}

impl Launched {
    /// Launches a command.
    pub(crate) fn begin(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut running = Running::begin(piped);
        let input = Some(running.input());
        Self { running, input, unasked: VecDeque::new() }
    }

    /// At the connection `shop` of a service in this process, as `by`.
    pub(crate) fn at(app: &TestApp, by: &Caller) -> Self {
        Self::begin(&mut command(&app.url, by, &["--connection", "shop"]))
    }

    /// The same with the usual handshake of one of the 2025 revisions.
    pub(crate) async fn in_session(app: &TestApp, by: &Caller, version: &str) -> Self {
        let mut launched = Self::at(app, by);
        launched.shake_hands(version, json!({})).await;
        launched
    }

    pub(crate) async fn shake_hands(&mut self, version: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}
        });
        let answer = self.ask(json!("hello"), "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Writes a line as it stands.
    pub(crate) fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    pub(crate) fn request(&mut self, id: Value, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    async fn read(&mut self) -> Value {
        let line = self.running.line("").await;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
        assert!(message.is_array() || message["jsonrpc"] == "2.0", "{message}");
        message
    }

    /// The next message that `wanted` holds of; others wait.
    pub(crate) async fn message(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unasked.iter().position(&wanted) {
            return self.unasked.remove(at).unwrap();
        }
        loop {
            let message = self.read().await;
            if wanted(&message) {
                return message;
            }
            self.unasked.push_back(message);
        }
    }

    /// The answer to the request `id`.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        self.message(|message| message.get("method").is_none() && message["id"] == *id).await
    }

    /// The next notification, or request of the server's, of that method.
    pub(crate) async fn told(&mut self, method: &str) -> Value {
        self.message(|message| message["method"] == method).await
    }

    pub(crate) async fn ask(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.request(id.clone(), method, params);
        self.answer(&id).await
    }

    /// A request of 2026-07-28.
    pub(crate) async fn ask_alone(&mut self, id: Value, method: &str, params: Value) -> Value {
        self.ask(id, method, alone(params)).await
    }

    /// Ends the input, and tells how long the program went on and what it still said. It ends well.
    pub(crate) async fn close(mut self) -> (Duration, Vec<Value>) {
        let closed = Instant::now();
        drop(self.input.take());
        let rest = self.running.rest().await;
        assert_eq!(self.running.over().await.code(), Some(0));
        let lasted = closed.elapsed();
        let rest = rest.iter().map(|line| serde_json::from_str(line).unwrap());
        (lasted, self.unasked.into_iter().chain(rest).collect())
    }

    pub(crate) fn running(&mut self) -> &mut Running {
        &mut self.running
    }
}

/// What a request of 2026-07-28 says of itself.
pub(crate) fn alone(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    let declared = &mut params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    if declared.is_null() {
        *declared = json!({});
    }
    params
}

/// `portico stdio` at the service at `url`, as `by`.
pub(crate) fn command(url: &str, by: &Caller, arguments: &[&str]) -> Command {
    let mut command = program();
    command.args(["stdio", "--server", url]).args(arguments).env("PORTICO_TOKEN", &by.secret);
    command
}
