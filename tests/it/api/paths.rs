//! Spellings of the routes, made at random and sent over bare sockets: each is answered as its route is,
//! with its record, its look at `Origin` and its place among the running calls, or with 400 or 404.
//! `PORTICO_SEED` repeats a run.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::app::{CONNECTION, PACE, TestApp, awaited, eventually, within};
use crate::support::configuration::Configuration;
use crate::support::dice::Random;
use crate::support::mcp::ENDLESS;

/// Spellings of each run, in all of its parts.
const CASES: u64 = 2_000;

/// A request that its route serves.
struct Base {
    method: &'static str,
    path: String,
    content_type: &'static str,
    body: String,
    /// Whether foreign pages are refused, and calls counted.
    walled: bool,
    recorded: bool,
}

fn bases(app: &TestApp) -> Vec<Base> {
    let base = |method, path: &str, body: &str, walled, recorded| Base {
        method,
        path: path.to_owned(),
        content_type: "application/json",
        body: body.to_owned(),
        walled,
        recorded,
    };
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let form = format!("grant_type=client_credentials&client_id={}&client_secret={}", app.agent.name, app.agent.secret);
    let mut bases = vec![
        base("POST", "/api/query", r#"{"query":"SELECT 1 AS n"}"#, true, true),
        base("POST", "/api/batch", r#"{"query":"SELECT @a AS n","parameters":[{"@a":1}]}"#, true, true),
        base("POST", "/api/exec", r#"{"procedure":"nothing"}"#, true, true),
        base("POST", &format!("/mcp/connections/{CONNECTION}"), ping, true, true),
        base("GET", &format!("/mcp/connections/{CONNECTION}"), "", true, true),
        base("DELETE", &format!("/mcp/connections/{CONNECTION}"), "", true, true),
        base("GET", "/api/connections", "", true, true),
        base("GET", "/api/workspaces", "", true, true),
        base("GET", "/api/procedureParameters", "", true, true),
        base("HEAD", "/api/tables", "", true, true),
        base("GET", "/sign-in", "", false, true),
        base("GET", "/account", "", false, false),
        base("GET", "/.well-known/oauth-protected-resource", "", false, false),
        base("GET", "/healthz", "", false, false),
        base("GET", "/openapi.json", "", false, false),
    ];
    for path in ["/oauth/token", "/oauth/introspect", "/oauth/revoke"] {
        let content_type = "application/x-www-form-urlencoded";
        bases.push(Base { content_type, ..base("POST", path, &form, false, true) });
    }
    bases
}

/// One way to write a target in another way.
fn misspell(target: &str, chance: &mut Random) -> String {
    let places: Vec<usize> = target.char_indices().map(|(place, _)| place).collect();
    let place = *chance.choose(&places);
    let (before, after) = target.split_at(place);
    let first = after.chars().next().unwrap();
    let rest = &after[first.len_utf8()..];
    let slashes: Vec<usize> = target.match_indices('/').map(|(place, _)| place).collect();
    let slash = if slashes.is_empty() { 0 } else { *chance.choose(&slashes) };
    let (head, tail) = target.split_at(slash);
    let octets = |upper: bool| {
        let mut buffer = [0; 4];
        let octets = first.encode_utf8(&mut buffer).bytes();
        octets.map(|octet| if upper { format!("%{octet:02X}") } else { format!("%{octet:02x}") }).collect::<String>()
    };
    match chance.below(16) {
        0..=2 => format!("{before}{}{rest}", octets(true)),
        3 => format!("{before}{}{rest}", octets(false)),
        4 => format!("{before}%25{}{rest}", &octets(true)[1..]),
        5 => format!("{head}/{tail}"),
        6 => format!("{head}{}{tail}", chance.choose(&["/.", "/%2e", "/%2E", "/.;x", "/%2e%2f"])),
        7 => format!("{head}/x{}{tail}", chance.choose(&["/..", "/%2e%2e", "/.%2E", "/..;a", "%2f.."])),
        8 => format!("{before}{}{after}", chance.choose(&[";a=b", ";", "%3Ba", "%00", "%0d%0a", "%20", "%09"])),
        9 => {
            format!(
                "{target}{}",
                chance.choose(&["/", "/.", "/..", "%2F", "/%2e", "//", ";x", "%00", "/%20", ".", "%"])
            )
        }
        10 => format!("{before}{}{rest}", first.to_ascii_uppercase()),
        11 => {
            format!("{before}{}{after}", chance.choose(&["%", "%g1", "%1", "%C0%AF", "%c3", "%FF", "%u002f", "%%32"]))
        }
        12 => format!("{before}{}{after}", chance.choose(&["\\", "é", "|", "{", "\"", "^", "<", "`", "\u{7f}"])),
        13 => format!("{target}{}", chance.choose(&["?", "#", "#/api", "?/../x", "?a=%", "?a=%2e%2e/"])),
        14 => format!("{}{target}", chance.choose(&["/api/..", "/.", "/healthz/..", "/%61", "/assets/%2e%2e", "//x"])),
        _ => format!("{head}{}{tail}", chance.choose(&["/api", "/mcp", "/./", "///"])),
    }
}

/// The target as it may stand in the first line of a request.
fn absolute(path: &str, host: &str, chance: &mut Random) -> String {
    let host = match chance.below(6) {
        0..=2 => host.to_owned(),
        3 => "evil.example".to_owned(),
        4 => format!("user@{host}"),
        _ => format!("{host}.evil.example"),
    };
    format!("http://{host}{path}")
}

struct Sender {
    address: String,
    host: String,
    basic: String,
    chance: Random,
    sent: u64,
}

struct Answer {
    status: u16,
    body: String,
    id: String,
}

impl Sender {
    /// Some spelling of the base's target; now and then its own.
    fn target(&mut self, base: &Base) -> String {
        let mut path = base.path.clone();
        for _ in 0..self.chance.below(4) {
            path = misspell(&path, &mut self.chance);
        }
        if self.chance.below(5) == 0 { absolute(&path, &self.host.clone(), &mut self.chance) } else { path }
    }

    async fn send(&mut self, base: &Base, target: &str, more: &str) -> Answer {
        self.sent += 1;
        let id = format!("case-{}", self.sent);
        let Base { method, content_type, body, .. } = base;
        let Self { host, basic, .. } = self;
        let length = body.len();
        let text = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Request-Id: {id}\r\n\
             Authorization: Basic {basic}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{more}\r\n{body}"
        );
        let text = if base.content_type == "application/json" {
            text
        } else {
            // A client proves who it is in the form alone.
            text.replace(&format!("Authorization: Basic {basic}\r\n"), "")
        };
        let exchanged = async {
            let mut socket = TcpStream::connect(&self.address).await.unwrap();
            socket.write_all(text.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // What was refused early may be closed while the rest is on its way.
            let _ = socket.read_to_end(&mut answer).await;
            String::from_utf8_lossy(&answer).into_owned()
        };
        let answer = within(&format!("the answer of {target:?}"), exchanged).await;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        Answer { status: status.unwrap_or_else(|| panic!("{target:?}: {answer:?}")), body, id }
    }
}

/// Takes a place among the running calls as soon as there is one, and keeps it.
fn occupy(app: &TestApp) -> JoinHandle<()> {
    let request = app.post("/api/query").json(&json!({"query": ENDLESS, "timeout": 300}));
    tokio::spawn(async move {
        let mut pace = tokio::time::interval(PACE);
        while request.try_clone().unwrap().send().await.is_ok_and(|answer| answer.status() == 429) {
            pace.tick().await;
        }
    })
}

/// The records by their request's id, and how many refusals were only counted.
fn records(path: &std::path::Path) -> (HashMap<String, Value>, u64) {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut found, mut suppressed) = (HashMap::new(), 0);
    for record in lines {
        match record["requestId"].as_str() {
            Some(id) => drop(found.insert(id.to_owned(), record)),
            None if record["event"] == "suppressed" => suppressed += record["count"].as_u64().unwrap(),
            None => {}
        }
    }
    (found, suppressed)
}

/// A service that works on so many calls at once, and records them.
async fn service(max_calls: u8) -> TestApp {
    let service = Configuration::new().server(&format!("max_calls = {max_calls}"));
    let service = service.sqlite("shop", "access = \"read-write\"");
    service.with("[audit]\nfile = \"audit.jsonl\"").start().await
}

/// Fails with the shortest of `wrong`.
fn judge(mut wrong: Vec<String>, seed: u64) {
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "PORTICO_SEED={seed}: {} cases, the shortest: {}", wrong.len(), wrong[0]);
}

#[actix_web::test]
async fn no_spelling_of_a_path_goes_around_what_its_route_has() {
    let seed = Random::seed_of_this_run();
    let chance = Random::of_seed(seed);
    println!("PORTICO_SEED={seed}");
    let app = service(2).await;
    let host = app.url.trim_start_matches("http://").to_owned();
    let basic = STANDARD.encode(format!("{}:{}", app.writer.name, app.writer.secret));
    let mut sender = Sender { address: host.clone(), host, basic, chance, sent: 0 };
    let bases = bases(&app);
    let mut usual = BTreeMap::new();
    for (number, base) in bases.iter().enumerate() {
        usual.insert(number, sender.send(base, &base.path, "").await.status);
    }
    let mut wrong = Vec::new();

    // Served, with its record.
    let (mut recorded, mut refused, mut served) = (Vec::new(), 0, 0);
    for _ in 0..CASES / 2 {
        let number = sender.chance.below(bases.len());
        let (base, usual) = (&bases[number], usual[&number]);
        let target = sender.target(base);
        let answer = sender.send(base, &target, "").await;
        let told = format!("{} {target:?} is answered with {}", base.method, answer.status);
        match answer.status {
            // By us, and not by the library's reading of the first line.
            400 if ["\"path: ", "\"Host: "].iter().any(|begin| answer.body.contains(begin)) => refused += 1,
            400 | 404 => {}
            status if status == usual => {
                served += 1;
                if base.recorded {
                    let known = ["/api/", "/mcp"].iter().any(|begin| base.path.starts_with(begin));
                    recorded.push((answer.id, told, !known));
                }
            }
            _ => wrong.push(told),
        }
    }
    assert!(served > 100 && refused > 100, "PORTICO_SEED={seed}: {served} were served, {refused} refused");

    // From a page that may not call.
    for _ in 0..CASES / 4 {
        let number = sender.chance.below(bases.len());
        let (base, usual) = (&bases[number], usual[&number]);
        let target = sender.target(base);
        let answer = sender.send(base, &target, "Origin: https://evil.example\r\n").await;
        let fits = match answer.status {
            // Of another scope, which it was led into, too.
            400 | 403 | 404 => true,
            status => !base.walled && status == usual,
        };
        if !fits {
            wrong.push(format!("{} {target:?} of a foreign page is answered with {}", base.method, answer.status));
        }
    }
    judge(wrong, seed);

    // All that was served, and all that was refused for its spelling, is told of. The last request has
    // the writer tell how many it only counted.
    let path = app.config.with_file_name("audit.jsonl");
    let last = sender.send(&bases[0], "/api/query", "").await;
    let (found, suppressed) = records(&path);
    assert!(found.contains_key(&last.id));
    let unrecorded = recorded.into_iter().filter(|(id, ..)| !found.contains_key(id));
    // What nobody was authenticated for is only counted where it comes too fast, and told once a minute.
    let missing = unrecorded.filter(|(.., stranger)| !stranger);
    judge(missing.map(|(_, told, _)| format!("{told} and leaves no record")).collect(), seed);
    let told = found.values().filter(|record| record["outcome"] == "invalid" && record["principal"].is_null()).count();
    // How many were only counted is told once a minute: the first such record is enough here.
    assert!(told > 0 && (suppressed > 0 || told as u64 >= refused), "PORTICO_SEED={seed}: {told} of {refused}");

    // While as many calls run as the service takes.
    let endless = [occupy(&app), occupy(&app)];
    eventually("a refusal", async || sender.send(&bases[0], "/api/query", "").await.status == 429).await;
    let mut wrong = Vec::new();
    for _ in 0..CASES / 4 {
        let number = sender.chance.below(bases.len());
        let (base, usual) = (&bases[number], usual[&number]);
        let target = sender.target(base);
        let answer = sender.send(base, &target, "").await;
        let fits = match answer.status {
            400 | 404 | 429 => true,
            status => !base.walled && status == usual,
        };
        if !fits {
            wrong.push(format!("{} {target:?} beside the last calls is answered with {}", base.method, answer.status));
        }
    }
    endless.iter().for_each(JoinHandle::abort);
    judge(wrong, seed);
}

#[actix_web::test]
async fn an_odd_path_is_refused_before_anything_else_and_recorded() {
    let app = service(1).await;
    let host = app.url.trim_start_matches("http://").to_owned();
    let basic = STANDARD.encode(format!("{}:{}", app.writer.name, app.writer.secret));
    let mut sender = Sender { address: host.clone(), host: host.clone(), basic, chance: Random::of_seed(0), sent: 0 };
    let base = &bases(&app)[0];
    let mut refused = Vec::new();
    let too_large = sender.send(base, "/api/query", &format!("X-Long: {}\r\n", "x".repeat(40_000))).await;
    assert_eq!(too_large.status, 431);
    refused.push((too_large.id, "/api/query".to_owned(), "too-large"));
    for (target, begins) in [
        ("/%61pi/query".to_owned(), "path: it has an escaped character"),
        ("/api//query".to_owned(), "path: it has two slashes"),
        ("/api/./query".to_owned(), "path: it has a segment of dots"),
        ("/api/x/../query".to_owned(), "path: it has a segment of dots"),
        ("/api/query%00".to_owned(), "path: it has a control character"),
        ("/api/query%C0%AF".to_owned(), "path: its escapes are not UTF-8"),
        ("/api%2Fquery".to_owned(), "path: it has an escaped slash"),
        ("/api/query%zz".to_owned(), "path: it has a % without"),
        ("http://evil.example/api/query".to_owned(), "Host: it differs"),
        (format!("http://user@{host}/api/query"), "Host: it differs"),
    ] {
        let answer = sender.send(base, &target, "").await;
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        let message = body["error"]["message"].as_str().unwrap();
        assert_eq!((answer.status, &body["error"]["code"]), (400, &json!(1000)), "{target}");
        assert!(message.starts_with(begins) && body["error"]["hint"].is_string(), "{target}: {body}");
        refused.push((answer.id, target, "invalid"));
    }
    // The library refuses this by itself (RFC 9112 §3.2).
    assert_eq!(sender.send(base, "/api/query", "Host: evil.example\r\n").await.status, 400);
    for (target, status) in [
        (format!("http://{host}/api/query"), 200),
        (format!("HTTP://{}/api/query", host.to_uppercase()), 200),
        // Query strings are not judged by this.
        ("/api/query?workspace=%2e%2E//".to_owned(), 404),
        ("/api/query/".to_owned(), 404),
        ("/api/query;a=b".to_owned(), 404),
        ("/API/query".to_owned(), 404),
    ] {
        assert_eq!(sender.send(base, &target, "").await.status, status, "{target}");
    }
    let endless = occupy(&app);
    let path = app.config.with_file_name("audit.jsonl");
    let busy = awaited("a refusal", async || {
        Some(sender.send(base, "/api/query", "").await).filter(|answer| answer.status == 429)
    })
    .await;
    refused.push((busy.id, "/api/query".to_owned(), "busy"));
    endless.abort();
    // An address that nothing is at.
    let nothing = sender.send(base, "/nothing", "").await;
    assert_eq!(nothing.status, 404);
    refused.push((nothing.id, "/nothing".to_owned(), "not-found"));
    // Whoever was answered finds the record.
    let (found, _) = records(&path);
    for (id, target, outcome) in refused {
        let record = &found[&id];
        assert_eq!((&record["event"], &record["outcome"]), (&json!("call"), &json!(outcome)), "{target}");
        assert!(
            record["principal"].is_null() && record["address"] == "127.0.0.1",
            "nobody was asked who they are: {record}"
        );
        assert!(record["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{record}");
        let path = record["path"].as_str().unwrap();
        assert!(target.ends_with(path) && !path.is_empty(), "{record}");
    }
}
