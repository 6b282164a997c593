//! Secrets in every place of every request, also where none belongs: none is found afterwards in what is
//! written down.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portico_actors::auth::oauth::client::NewClient;
use portico_actors::auth::store::Store;
use reqwest::{Method, RequestBuilder};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::configuration::Configuration;
use crate::support::service::Service;

/// Paths with their method; what is sent to them has the form that they read.
const PATHS: [(&str, &str); 26] = [
    ("POST", "/mcp/connections/11111111-1111-4111-8111-111111111111"),
    ("POST", "/mcp/connections/shop"),
    ("GET", "/mcp/connections/shop"),
    ("DELETE", "/mcp/connections/shop"),
    ("POST", "/api/query"),
    ("POST", "/api/batch"),
    ("POST", "/api/exec"),
    ("GET", "/api/connections"),
    ("GET", "/api/tables"),
    ("POST", "/oauth/token"),
    ("POST", "/oauth/revoke"),
    ("POST", "/oauth/introspect"),
    ("POST", "/oauth/register"),
    ("GET", "/authorize"),
    ("POST", "/authorize"),
    ("POST", "/authorize/decision"),
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("POST", "/sign-out"),
    ("GET", "/account"),
    ("POST", "/account/tokens"),
    ("POST", "/users/people"),
    ("GET", "/.well-known/oauth-protected-resource/mcp/connections/shop"),
    ("GET", "/healthz"),
    ("GET", "/metrics"),
    ("PATCH", "/nothing/at/all"),
];
const HEADERS: [&str; 19] = [
    "user-agent",
    "x-request-id",
    "referer",
    "origin",
    "cookie",
    "accept",
    "accept-encoding",
    "content-type",
    "content-encoding",
    "idempotency-key",
    "traceparent",
    "tracestate",
    "forwarded",
    "x-forwarded-for",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
];
const MEMBERS: [&str; 16] = [
    "client_id",
    "client_secret",
    "code",
    "refresh_token",
    "token",
    "redirect_uri",
    "scope",
    "resource",
    "state",
    "email",
    "secret",
    "next",
    "name",
    "request",
    "csrf",
    "grant_type",
];

/// A secret as it is put somewhere, and what must not be found of it.
struct Secret {
    shown: String,
    cores: Vec<String>,
}

impl Secret {
    fn own(secret: &str) -> Self {
        let core = secret.rsplit_once('_').filter(|(_, body)| body.len() > 20).map_or(secret, |(_, body)| body);
        Self { shown: secret.to_owned(), cores: vec![core.to_owned()] }
    }
}

/// What is sent once: a request, and what it is called when it fails the test.
fn requests(service: &Service, (method, path): (&str, &str), secret: &str) -> Vec<(String, RequestBuilder)> {
    let verb = Method::from_bytes(method.as_bytes()).unwrap();
    let at = |path: &str| service.http.request(verb.clone(), format!("{}{path}", service.url));
    let signed = |request: RequestBuilder| request.basic_auth(&service.writer.name, Some(&service.writer.secret));
    let mut all = Vec::new();
    let mut add = |place: String, request: RequestBuilder| all.push((format!("{method} {path}: {place}"), request));
    let escaped: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let folded = secret.replace('_', "%5F");
    add("path".to_owned(), signed(at(&format!("{path}/{escaped}"))));
    add("escaped path".to_owned(), signed(at(&format!("{path}/{folded}"))));
    add("query".to_owned(), signed(at(&format!("{path}?{escaped}={escaped}&state={escaped}&client_id={escaped}"))));
    for header in HEADERS {
        add(header.to_owned(), signed(at(path)).header(header, secret));
    }
    add("bearer".to_owned(), at(path).bearer_auth(secret));
    add("no scheme".to_owned(), at(path).header("authorization", secret));
    add("swapped".to_owned(), at(path).basic_auth(secret, Some(&service.writer.name)));
    add("password".to_owned(), at(path).basic_auth(&service.writer.name, Some(secret)));
    let pasted = STANDARD.encode(format!("{}:{secret}", service.writer.name));
    add("pasted".to_owned(), signed(at(path)).header("user-agent", format!("client/1 {pasted}")));
    for member in MEMBERS {
        add(
            format!("form {member}"),
            at(path).form(&BTreeMap::from([(member, secret), ("grant_type", "refresh_token")])),
        );
    }
    let swapped = [("grant_type", "client_credentials"), ("client_id", secret), ("client_secret", "x")];
    add("form, swapped".to_owned(), at(path).form(&swapped));
    let call = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": secret, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    for (place, body) in [
        ("query", json!({"query": format!("SELECT \"{secret}\"")})),
        ("comment", json!({"query": format!("SELECT 1 -- {secret}")})),
        ("procedure", json!({"procedure": secret, "parameters": {secret: secret}})),
        ("catalog", json!({"query": "SELECT 1", "defaultCatalog": secret, "defaultSchema": secret})),
        ("unknown member", json!({secret: secret})),
        ("tool", call(secret, json!({}))),
        ("argument", call("execute_select", json!({"query": format!("SELECT '{secret}'"), secret: 1}))),
        ("method", json!({"jsonrpc": "2.0", "id": 1, "method": secret})),
        ("client", json!({"redirect_uris": [secret], "client_name": secret, "token_endpoint_auth_method": secret})),
    ] {
        add(place.to_owned(), signed(at(path)).json(&body));
    }
    all
}

/// The files below `folder` with all that they hold.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap())).collect()
}

async fn nothing_is_written_down(format: &str) {
    let rest = format!(
        "[log]\nformat = \"{format}\"\n[audit]\nfile = \"audit.jsonl\"\nstore = true\n\
         [oauth]\ndynamic_registration = true\n[limits]\nfailures_per_address = 100000\nfailures_per_name = 100000\n"
    );
    let service = Configuration::new().server("metrics = \"open\"").sqlite("shop", "access = \"read-write\"");
    let mut service = service.with(&rest).serve_with(&[("RUST_LOG", "debug")]).await;
    let client_secret = {
        let mut store = Store::open(service.folder.path().join("portico.db")).unwrap();
        let redirect_uris = vec!["https://client.example/cb".to_owned()];
        let new = NewClient { name: "Known".to_owned(), redirect_uris, confidential: true };
        let (_, secret) = store.add_client(&new).unwrap();
        secret.unwrap().expose_secret().to_owned()
    };
    let unknown = |prefix: &str| format!("{prefix}{}", "Zm9vYmFy".repeat(5) + "Zm9");
    let address = "postgres://ann:hunter2-secret@db.example/x".to_owned();
    let jws = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWEtdG9rZW4".to_owned();
    let secrets = [
        Secret::own(&service.reader.secret),
        Secret::own(&client_secret),
        Secret::own(&unknown("ptc_rt_")),
        Secret::own(&unknown("ptc_ac_")),
        Secret::own(&unknown("ptc_se_")),
        Secret { cores: vec!["hunter2".to_owned()], shown: address },
        Secret { cores: jws.split('.').map(str::to_owned).collect(), shown: jws },
    ];
    let mut sent = 0;
    for (number, place) in PATHS.into_iter().enumerate() {
        // Each place of a request has each secret at some path, and each path has each place.
        let all: Vec<Vec<(String, RequestBuilder)>> =
            secrets.iter().map(|secret| requests(&service, place, &secret.shown)).collect();
        for (index, group) in all.into_iter().enumerate() {
            for (position, (words, request)) in group.into_iter().enumerate() {
                if (number + index + position) % secrets.len() < 2 {
                    request.send().await.unwrap_or_else(|error| panic!("{words}: {error:?}"));
                    sent += 1;
                }
            }
        }
    }
    assert!(sent > 2_000, "{sent}");
    let metrics = service.http.get(format!("{}/metrics", service.url)).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("portico_http_responses"), "{metrics}");
    let mut log = service.seen().to_vec();
    service.signal("TERM");
    log.extend(service.rest().await);
    // The name of a client is no secret: what is redacted is still of use.
    let mut written: Vec<(String, Vec<u8>)> = files(service.folder.path());
    written.retain(|(name, _)| !name.ends_with("config.toml"));
    assert!(written.iter().any(|(name, text)| name.ends_with("audit.jsonl") && text.len() > 100_000));
    assert!(log.len() > 1_000, "{}", log.len());
    written.push(("log".to_owned(), log.join("\n").into_bytes()));
    written.push(("metrics".to_owned(), metrics.into_bytes()));
    for core in secrets.iter().flat_map(|secret| &secret.cores) {
        let encoded = STANDARD.encode(core.as_bytes().get(3..21).unwrap_or(core.as_bytes()));
        for needle in [core.as_str(), encoded.trim_end_matches('=')] {
            for (name, text) in &written {
                let found = text.windows(needle.len()).position(|piece| piece == needle.as_bytes());
                if let Some(at) = found {
                    let from = at.saturating_sub(200);
                    panic!("{needle} in {name}: {}", String::from_utf8_lossy(&text[from..text.len().min(at + 100)]));
                }
            }
        }
    }
    let log = &written[written.len() - 2].1;
    assert!(String::from_utf8_lossy(log).contains("[redacted]"), "nothing reached the log");
}

#[actix_web::test]
async fn no_secret_is_written_down_in_text() {
    nothing_is_written_down("text").await;
}

#[actix_web::test]
async fn no_secret_is_written_down_in_json() {
    nothing_is_written_down("json").await;
}
