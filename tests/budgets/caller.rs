//! The calls whose cost is counted, and a client that costs nothing itself.

use std::io::{Read, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::support::app::{CONNECTION, Caller};
use super::support::configuration::Configuration;
use super::support::mcp::BOTH;
use super::support::postgres::connect;
use super::support::raw::{Place, Socket};

/// Calls that are not counted: until their end everything is found that is found once.
pub(crate) const FIRST: usize = 200;
/// Calls that are counted.
const COUNTED: usize = 400;
/// Octets of the largest answer.
const LARGEST: usize = 256 * 1024;

/// One row of a hundred thousand.
const SETUP: &str = "
CREATE TABLE item (id int4 PRIMARY KEY, name text, price numeric(10, 2));
INSERT INTO item SELECT g, 'n' || g, g FROM generate_series(1, 100000) g;
ANALYZE item;";

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scenario {
    /// `execute_select`, another key each time, as a literal.
    LiteralKey,
    /// One and the same text.
    SameText,
    /// Another key each time, as a parameter.
    BoundParameter,
    ToolsList,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::LiteralKey, Self::SameText, Self::BoundParameter, Self::ToolsList];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::LiteralKey => "execute_select with a literal key",
            Self::SameText => "execute_select of the same text",
            Self::BoundParameter => "execute_select with a parameter",
            Self::ToolsList => "tools/list",
        }
    }

    fn message(self, number: usize) -> Value {
        let key = number + 1;
        let select = |arguments: Value| json!({"name": "execute_select", "arguments": arguments});
        let text = |key: &str| format!("SELECT id, name, price FROM item WHERE id = {key}");
        let (method, params) = match self {
            Self::LiteralKey => ("tools/call", select(json!({"query": text(&key.to_string())}))),
            Self::SameText => ("tools/call", select(json!({"query": text("4711")}))),
            Self::BoundParameter => ("tools/call", select(json!({"query": text("@id"), "parameters": {"@id": key}}))),
            Self::ToolsList => ("tools/list", json!({})),
        };
        json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    }
}

/// A service before the database at `url`, with everything on that an ordinary one has.
pub(crate) fn configuration(url: &str) -> Configuration {
    let keys = "access = \"read-only\"\npool = 4";
    // Whether there is TLS depends on the machine.
    Configuration::new()
        .connection("shop", &format!("{url}?sslmode=disable"), keys)
        .with("[audit]\nfile = \"audit.jsonl\"")
}

/// Fills the database at `url`.
pub(crate) async fn fill(url: &str) {
    connect(url).await.batch_execute(SETUP).await.unwrap();
}

/// A connection that is kept. Between the calls it asks the allocator for nothing.
pub(crate) struct Client {
    socket: Box<dyn Socket>,
    head: String,
    answer: Vec<u8>,
}

impl Client {
    pub(crate) fn dial(port: u16, by: &Caller) -> Self {
        let credential = BASE64_STANDARD.encode(format!("{}:{}", by.name, by.secret));
        let head = format!(
            "POST /mcp/connections/{CONNECTION} HTTP/1.1\r\nhost: localhost:{port}\r\nauthorization: Basic {credential}\r\n\
             content-type: application/json\r\naccept: {BOTH}\r\ncontent-length: "
        );
        Self { socket: Place::Tcp(port).dial().unwrap(), head, answer: vec![0; LARGEST] }
    }

    /// Calls until everything is known; then begins to count, calls, and gives what was counted when that `end`s.
    pub(crate) fn call<C, T>(&mut self, scenario: Scenario, begin: impl FnOnce() -> C, end: impl FnOnce(C) -> T) -> T {
        let requests: Vec<Vec<u8>> = (0..FIRST + COUNTED).map(|number| self.request(scenario, number)).collect();
        let (first, counted) = requests.split_at(FIRST);
        for request in first {
            self.ask(request);
        }
        let counting = begin();
        for request in counted {
            self.ask(request);
        }
        end(counting)
    }

    fn request(&self, scenario: Scenario, number: usize) -> Vec<u8> {
        let body = scenario.message(number).to_string();
        format!("{}{}\r\n\r\n{body}", self.head, body.len()).into_bytes()
    }

    fn ask(&mut self, request: &[u8]) {
        self.socket.write_all(request).unwrap();
        let mut held = 0;
        loop {
            let count = self.socket.read(&mut self.answer[held..]).unwrap();
            assert_ne!(count, 0, "the answer ends: {}", String::from_utf8_lossy(&self.answer[..held]));
            held += count;
            if let Some(body) = whole(&self.answer[..held]) {
                let fails = has(body, b"\"isError\":true") || has(body, b"\"error\":");
                let is_ok = self.answer.starts_with(b"HTTP/1.1 200 ") && has(body, b"\"result\":") && !fails;
                assert!(is_ok, "{}", String::from_utf8_lossy(&self.answer[..held]));
                return;
            }
        }
    }
}

/// The body of an answer that is whole.
fn whole(answer: &[u8]) -> Option<&[u8]> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    let length = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
    });
    let length = length.unwrap_or_else(|| panic!("an answer without its length: {head}"));
    answer[end + 4..].get(..length)
}

fn has(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The mean of what `COUNTED` calls cost.
#[allow(clippy::cast_precision_loss, reason = "they are far smaller")]
pub(crate) fn mean(all: usize) -> f64 {
    all as f64 / COUNTED as f64
}
