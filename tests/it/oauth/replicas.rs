//! Services that share a store in PostgreSQL: what one of them is told holds for the other, and while
//! the store is away nobody is refused who should not be.

use portico_actors::auth::Algorithm;
use portico_actors::auth::records::NewPat;
use portico_actors::auth::store::{Store, StoreLocation};
use portico_actors::event::Event;
use portico_actors::source::postgres::Address;
use reqwest::Response;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::conformance_fixture::Fixture;
use crate::mcp::listen::listen;
use crate::mcp::seam::call;
use crate::support::app::{Caller, Shared, TestApp, callers, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::run;
use crate::support::proxy::ChaosProxy;
use crate::support::stream::Events;

/// The origin that all replicas are known by.
const PUBLIC: &str = "https://data.example.org";

/// A fresh database for a store.
pub(crate) async fn database() -> String {
    TestPostgres::shared().database("store").await
}

fn store(url: &str) -> Store {
    Store::open(Address::from(url)).unwrap()
}

/// One more service on the store at `url`, with those who call it.
pub(crate) async fn replica(url: &str, callers: &(Caller, Caller, Caller)) -> TestApp {
    limited_replica(url, callers, "").await
}

/// The same with `more` behind its configuration.
async fn limited_replica(url: &str, callers: &(Caller, Caller, Caller), more: &str) -> TestApp {
    let service = Configuration::new().on(Shared { url: url.to_owned(), callers: Some(callers.clone()) });
    let service = service.server(&format!("public_url = \"{PUBLIC}\""));
    TestApp::begin(service.sqlite("shop", "access = \"read-write\"").with(more)).await
}

impl TestApp {
    pub(crate) async fn listing(&self, by: &Caller) -> Response {
        let request = self.http.get(format!("{}/api/connections", self.url));
        request.basic_auth(&by.name, Some(&by.secret)).send().await.unwrap()
    }

    async fn opens(&self, token: &str) -> u16 {
        let request = self.http.get(format!("{}/api/connections", self.url)).bearer_auth(token);
        request.send().await.unwrap().status().as_u16()
    }

    /// Waits until the caller is answered so.
    async fn until(&self, by: &Caller, status: u16) {
        eventually(&format!("{} to be answered {status}", by.name), async || self.listing(by).await.status() == status)
            .await;
    }

    async fn exchange(&self, id: &str, secret: &str) -> Response {
        let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
        self.http.post(format!("{}/oauth/token", self.url)).form(&form).send().await.unwrap()
    }
}

/// Refused for now, with the time of the next attempt; the answer.
async fn refused_for_now(response: Response) -> Value {
    let status = response.status();
    let delay = response.headers().get("retry-after").map(|delay| delay.to_str().unwrap().to_owned());
    let (_, answer) = read(response).await;
    assert_eq!((status.as_u16(), delay.as_deref()), (503, Some("1")), "{answer}");
    answer
}

#[actix_web::test]
async fn what_one_replica_is_told_holds_for_the_other() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let (one, two) = (replica(&url, &known).await, replica(&url, &known).await);
    one.ready().await;
    two.ready().await;
    let token = one.token().await;
    assert_eq!((one.opens(&token).await, two.opens(&token).await), (200, 200), "one key signs for both");
    let form = [("token", token.as_str()), ("client_id", &known.2.name), ("client_secret", &known.2.secret)];
    let revoked = one.http.post(format!("{}/oauth/revoke", one.url)).form(&form).send().await.unwrap();
    assert_eq!(revoked.status(), 200);
    assert_eq!(one.opens(&token).await, 401, "at once where it was revoked");
    eventually("the revocation in the other process", async || two.opens(&token).await == 401).await;
    // A change by the command line is in force for both.
    for app in [&one, &two] {
        assert_eq!(app.listing(&known.0).await.status(), 200);
    }
    store(&url).disable_user(&known.0.name).unwrap();
    one.until(&known.0, 401).await;
    two.until(&known.0, 401).await;
    assert_eq!(two.listing(&known.1).await.status(), 200);
    // The sessions that listen are ended: nothing is lost by it.
    let admin = connect(&url).await;
    admin
        .batch_execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await
        .unwrap();
    store(&url).enable_user(&known.0.name).unwrap();
    one.until(&known.0, 200).await;
    store(&url).disable_user(&known.1.name).unwrap();
    two.until(&known.1, 401).await;
}

#[actix_web::test]
async fn each_replica_counts_for_itself_what_is_wrong_and_lets_in_what_is_right() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let limit = "[limits]\nfailures_per_address = 3";
    let one = limited_replica(&url, &known, limit).await;
    let two = limited_replica(&url, &known, limit).await;
    one.ready().await;
    two.ready().await;
    let (first, second) = (one.token().await, two.token().await);
    assert_eq!((one.opens(&second).await, two.opens(&first).await), (200, 200));
    let wrong = |number: usize| Caller { name: format!("nobody{number}@example.com"), secret: "wrong".to_owned() };
    for app in [&one, &two] {
        for attempt in 0..3 {
            assert_eq!(
                app.listing(&wrong(attempt)).await.status(),
                401,
                "attempt {attempt}: the other's are not counted"
            );
        }
        let refused = app.listing(&wrong(3)).await;
        assert_eq!((refused.status().as_u16(), refused.headers().contains_key("retry-after")), (429, true));
        // What is right is let in by both, whoever has made it.
        for caller in [&known.0, &known.1] {
            assert_eq!(app.listing(caller).await.status(), 200);
        }
        assert_eq!((app.opens(&first).await, app.opens(&second).await), (200, 200));
        assert_eq!(app.exchange(&known.2.name, &known.2.secret).await.status(), 200);
    }
    // What ends meanwhile is refused by both.
    let form = [("token", first.as_str()), ("client_id", &known.2.name), ("client_secret", &known.2.secret)];
    assert_eq!(one.http.post(format!("{}/oauth/revoke", one.url)).form(&form).send().await.unwrap().status(), 200);
    for app in [&one, &two] {
        eventually("the token's end", async || app.opens(&first).await != 200).await;
        assert_eq!(app.opens(&second).await, 200);
    }
}

#[actix_web::test]
async fn while_the_store_is_away_memory_answers_and_nobody_else_is_refused_for_good() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let proxy = ChaosProxy::start(&url, true).await;
    let app = replica(&proxy.url(&url), &known).await;
    app.ready().await;
    let token = app.token().await;
    for outage in ["cut", "silent"] {
        if outage == "cut" {
            proxy.break_up();
        } else {
            proxy.swallow();
        }
        // Made meanwhile, where this service cannot see it.
        let (_, pat) = store(&url).create_pat(&known.0.name, NewPat::default()).unwrap();
        let newcomer = Caller { name: known.0.name.clone(), secret: pat.expose_secret().to_owned() };
        assert_eq!((app.listing(&known.0).await.status().as_u16(), app.opens(&token).await), (200, 200), "{outage}");
        assert_eq!(app.exchange(&known.2.name, &known.2.secret).await.status(), 200, "{outage}");
        refused_for_now(app.listing(&newcomer).await).await;
        let answer = refused_for_now(app.exchange(&known.2.name, "ptc_cs_another").await).await;
        assert_eq!(answer["error"], "service_unavailable");
        let form = [("token", token.as_str()), ("client_id", &known.2.name), ("client_secret", &known.2.secret)];
        let revoked = app.http.post(format!("{}/oauth/revoke", app.url)).form(&form).send().await.unwrap();
        refused_for_now(revoked).await;
        assert_eq!(app.opens("a.b.c").await, 401, "what is none needs no store");
        eventually("the store's failure", async || app.told(|event| matches!(event, Event::StoreFailed { .. }))).await;
        proxy.restore();
        app.until(&newcomer, 200).await;
        eventually("the store to be back", async || app.told(|event| matches!(event, Event::StoreResumed))).await;
        assert_eq!(app.ready().await["status"], "ready");
        app.events.lock().unwrap().clear();
    }
}

#[actix_web::test]
async fn a_store_that_is_away_at_the_start_stops_nothing() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let proxy = ChaosProxy::start(&url, false).await;
    let app = replica(&proxy.url(&url), &known).await;
    let get = async |path: &str| app.http.get(format!("{}{path}", app.url)).send().await.unwrap();
    assert_eq!(get("/healthz").await.status(), 200);
    assert_eq!(refused_for_now(get("/readyz").await).await["status"], "starting");
    refused_for_now(app.listing(&known.0).await).await;
    refused_for_now(get("/.well-known/jwks.json").await).await;
    refused_for_now(app.exchange(&known.2.name, &known.2.secret).await).await;
    proxy.restore();
    app.ready().await;
    assert_eq!(app.listing(&known.0).await.status(), 200);
    assert_eq!(app.exchange(&known.2.name, &known.2.secret).await.status(), 200);
    eventually("the store to be back", async || app.told(|event| matches!(event, Event::StoreResumed))).await;
}

/// One more service on the store at `url` that asks its callers back.
async fn asking(url: &str, callers: &(Caller, Caller, Caller)) -> TestApp {
    let service = Configuration::new().on(Shared { url: url.to_owned(), callers: Some(callers.clone()) });
    service.sqlite("shop", "").offering(Fixture::default()).start().await
}

/// A call of the tool that wants its own state back, with what is given of it.
fn round(state: Option<&Value>) -> Value {
    let mut params = json!({"name": "test_input_required_result_request_state", "arguments": {}});
    if let Some(state) = state {
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
    }
    params
}

/// The state that `app` gives.
async fn state(app: &TestApp) -> Value {
    let (_, mut first) = call(app, &app.writer, round(None)).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    first["result"]["requestState"].take()
}

async fn takes(app: &TestApp, state: &Value) {
    let (_, second) = call(app, &app.writer, round(Some(state))).await;
    assert_eq!(second["result"]["content"][0]["text"], "state-ok", "{second}");
}

async fn refuses(app: &TestApp, state: &Value) {
    let (_, refused) = call(app, &app.writer, round(Some(state))).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("without requestState"), "{refused}");
}

#[actix_web::test]
async fn a_state_that_one_replica_gave_is_taken_by_the_other_and_by_no_other_store() {
    let (url, elsewhere) = (database().await, database().await);
    let known = callers(Address::from(url.as_str()));
    let (one, two) = (asking(&url, &known).await, asking(&url, &known).await);
    let other = asking(&elsewhere, &callers(Address::from(elsewhere.as_str()))).await;
    let given = state(&one).await;
    takes(&two, &given).await;
    takes(&one, &given).await;
    refuses(&other, &given).await;
    // Whoever rotates the key that signs replaces this one too, for all replicas.
    store(&url).rotate_key(Algorithm::EdDsa).unwrap();
    eventually("the new key in the other process", async || {
        call(&two, &two.writer, round(Some(&given))).await.1.get("error").is_some()
    })
    .await;
    refuses(&two, &given).await;
    eventually("the new key in this process", async || {
        call(&one, &one.writer, round(Some(&given))).await.1.get("error").is_some()
    })
    .await;
    takes(&two, &state(&one).await).await;
}

#[actix_web::test]
async fn a_state_from_before_a_restart_is_taken() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("portico.db");
    let (url, known) = (format!("sqlite:{}", path.display()), callers(StoreLocation::File(path)));
    let before = asking(&url, &known).await;
    let given = state(&before).await;
    drop(before);
    takes(&asking(&url, &known).await, &given).await;
}

/// One more service on the store at `url`, whose connection looks at the database `shop` once a day.
async fn slow(url: &str, shop: &str, callers: &(Caller, Caller, Caller)) -> TestApp {
    let service = Configuration::new().on(Shared { url: url.to_owned(), callers: Some(callers.clone()) });
    service.connection("shop", shop, "access = \"read-write\"\nrefresh_interval = 86_400").start().await
}

/// A stream that is told of changed tools.
async fn hears_of_tools(app: &TestApp) -> Events {
    let mut events = listen(app, &json!("s"), json!({"toolsListChanged": true})).await;
    assert_eq!(events.message().await["params"]["notifications"], json!({"toolsListChanged": true}));
    events
}

/// Makes a procedure through `app`: one more tool.
async fn make(app: &TestApp, name: &str) {
    let query = format!("CREATE PROCEDURE {name}() LANGUAGE sql AS 'SELECT 1'");
    let done = app.tool("execute_sql", json!({"query": query})).await;
    assert_eq!(done["isError"], false, "{done}");
}

impl TestApp {
    /// How often it found a changed catalogue by itself, or because it was told to look.
    fn found(&self, by_a_word: bool) -> usize {
        let found = |event: &&Event| matches!(event, Event::CatalogueChanged { told, .. } if *told == by_a_word);
        self.events.lock().unwrap().iter().filter(found).count()
    }
}

#[actix_web::test]
async fn what_changes_through_one_replica_is_told_to_who_listens_at_the_other() {
    let (url, shop) = (database().await, fixture::postgres().await);
    let known = callers(Address::from(url.as_str()));
    let proxy = ChaosProxy::start(&url, true).await;
    let (one, two) = (slow(&url, &shop, &known).await, slow(&proxy.url(&url), &shop, &known).await);
    let mut streams = [hears_of_tools(&one).await, hears_of_tools(&two).await];
    let mut told = async || {
        for events in &mut streams {
            assert_eq!(events.message().await["method"], "notifications/tools/list_changed");
        }
    };
    make(&one, "first").await;
    told().await;
    make(&two, "second").await;
    told().await;
    // Each has found its own change, and was told of the other's.
    for app in [&one, &two] {
        eventually("news of the change in both", async || (app.found(false), app.found(true)) == (1, 1)).await;
    }
    // A word that comes while nobody can hear it is not lost for good.
    proxy.break_up();
    eventually("the store's failure", async || two.told(|event| matches!(event, Event::StoreFailed { .. }))).await;
    make(&one, "third").await;
    eventually("news of the change", async || one.found(false) == 2).await;
    proxy.restore();
    told().await;
    eventually("news of the change in both", async || (two.found(false), two.found(true)) == (1, 2)).await;
}

#[actix_web::test]
async fn the_command_line_works_on_the_database() {
    let url = database().await;
    let configuration = Configuration::new().on(Shared { url, callers: None });
    let folder = configuration.sqlite("shop", "").with("[audit]\nstore = true").write();
    let portico = |arguments: &[&str]| run(arguments, folder.path());
    let missing = portico(&["doctor"]);
    let of = |findings: &Value, subject: &str| {
        let findings = findings["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["subject"] == subject).unwrap()
    };
    assert_eq!(of(&missing, "store")["grade"], "warning", "{missing}");
    portico(&["user", "add", "ann@example.org", "--connection", "shop"]);
    let pat = portico(&["pat", "create", "ann@example.org"]);
    portico(&["service-account", "create", "nightly", "--connection", "shop", "--scope", "read"]);
    portico(&["client", "add", "Reports", "--redirect-uri", "https://reports.example.org/callback"]);
    portico(&["key", "rotate", "--algorithm", "ES256"]);
    let well = portico(&["doctor"]);
    assert!(of(&well, "store")["message"].as_str().unwrap().starts_with("1 users with 1 valid tokens"), "{well}");
    assert_eq!(of(&well, "keys")["grade"], "ok", "{well}");
    assert_eq!(portico(&["user", "list"]).to_string().matches("ann@example.org").count(), 1);
    assert!(pat.to_string().contains("ptc_pat_"));
    let text = crate::support::process::portico(folder.path(), &["audit", "search", "--event", "change", "--json"]);
    let recorded = String::from_utf8_lossy(&text.stdout);
    assert_eq!(recorded.lines().count(), 5, "{recorded}{}", String::from_utf8_lossy(&text.stderr));
    assert!(!recorded.contains("ptc_pat_"), "{recorded}");
    assert!(!folder.path().join("portico.db").exists());
}

#[actix_web::test]
async fn what_is_done_is_recorded_in_the_database() {
    let url = database().await;
    let known = callers(Address::from(url.as_str()));
    let service = Configuration::new().on(Shared { url: url.clone(), callers: Some(known.clone()) });
    let app = service.sqlite("shop", "").with("[audit]\nstore = true").start().await;
    assert_eq!(app.query(json!({"query": "SELECT 1"})).await.0, 200);
    let reading = store(&url);
    eventually("the record of the query", async || {
        let records = reading.audit_after(0, 1_000).unwrap();
        records.iter().any(|(_, record)| record.contains("/api/query") && record.contains(&known.0.name))
    })
    .await;
}
