//! What runs under a credential ends with it, in every process on the store, and what people have allowed is
//! ended from outside.

use std::time::Duration;

use portico_actors::auth::store::Store;
use portico_actors::source::postgres::Address;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::mcp::listen::listen;
use crate::support::app::{CONNECTION, Caller, Shared, TestApp, callers, eventually, read, within};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::{Client, modern, select};
use crate::support::person::{Person, client, opens, redemption, refresh, token};
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::{portico, run};
use crate::support::stream::Events;

/// Sooner than the heartbeats of a stream look at its caller.
const SOON: Duration = Duration::from_secs(10);

/// One more service on the store at `url`, before the database at `shop`.
async fn replica(url: &str, shop: &str, callers: &(Caller, Caller, Caller)) -> TestApp {
    let service = Configuration::new().on(Shared { url: url.to_owned(), callers: Some(callers.clone()) });
    let service = service.server("public_url = \"https://data.example.org\"");
    service.connection("shop", shop, "access = \"read-write\"").start().await
}

/// How many statements with that mark run at the source.
async fn naps(observer: &tokio_postgres::Client, mark: &str) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity
               WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%' || $1 || '%'";
    observer.query_one(sql, &[&mark]).await.unwrap().get(0)
}

async fn until_naps(observer: &tokio_postgres::Client, mark: &str, count: i64) {
    eventually(&format!("{count} statements with {mark} at the server"), async || naps(observer, mark).await == count)
        .await;
}

#[actix_web::test]
async fn a_running_statement_ends_with_its_credential_in_every_process() {
    let (url, shop) = (TestPostgres::shared().database("store").await, fixture::postgres().await);
    let known = callers(Address::from(url.as_str()));
    let replicas = [replica(&url, &shop, &known).await, replica(&url, &shop, &known).await];
    let observer = connect(&shop).await;
    let access = replicas[0].token().await;
    let basic = |by: &Caller| -> Box<dyn Fn(RequestBuilder) -> RequestBuilder> {
        let by = by.clone();
        Box::new(move |request| request.basic_auth(&by.name, Some(&by.secret)))
    };
    let bearer: Box<dyn Fn(RequestBuilder) -> RequestBuilder> = Box::new(move |request| request.bearer_auth(&access));
    type End = fn(&mut Store, &(Caller, Caller, Caller));
    let ways: [(&str, _, End); 3] = [
        ("ends_with_its_token", basic(&known.0), |store, known| drop(store.revoke_pat(&known.0.secret).unwrap())),
        ("ends_with_its_user", basic(&known.1), |store, known| drop(store.disable_user(&known.1.name).unwrap())),
        ("ends_with_its_account", bearer, |store, known| drop(store.remove_service_account(&known.2.name).unwrap())),
    ];
    for (mark, shown, end) in ways {
        let query = format!("SELECT pg_sleep(250) AS {mark}");
        let mut running = Vec::new();
        for app in &replicas {
            let body = json!({"query": query, "timeout": 300});
            let sql = shown(app.http.post(format!("{}/api/query", app.url))).json(&body);
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                              "params": {"name": "execute_select", "arguments": {"query": query, "timeout": 300}}});
            let tool = shown(app.mcp_request()).body(call.to_string());
            running.extend([sql, tool].map(|request| tokio::spawn(request.send())));
        }
        until_naps(&observer, mark, 4).await;
        end(&mut Store::open(Address::from(url.as_str())).unwrap(), &known);
        for answer in running {
            let answer = within(mark, answer).await.unwrap().unwrap();
            assert!(answer.headers().contains_key("www-authenticate"), "{mark}: {answer:?}");
            let (status, body) = read(answer).await;
            assert_eq!((status, &body["error"]["code"]), (401, &json!(1100)), "{mark}: {body}");
        }
        until_naps(&observer, mark, 0).await;
    }
}

/// Clients authenticate again after a 401, and send what they had sent.
#[actix_web::test]
async fn what_may_have_been_written_is_not_told_like_what_was_not_begun() {
    let url = fixture::postgres().await;
    let app = Configuration::new().connection("shop", &url, "access = \"read-write\"").start().await;
    let observer = connect(&url).await;
    let slow = "CREATE TABLE written (at timestamptz DEFAULT now());
                CREATE PROCEDURE slow() LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO written DEFAULT VALUES; COMMIT; PERFORM pg_sleep(250); END $$;
                GRANT ALL ON written TO PUBLIC";
    observer.batch_execute(slow).await.unwrap();
    let written = async || observer.query_one("SELECT count(*) FROM written", &[]).await.unwrap().get::<_, i64>(0);
    let arguments = json!({"query": "CALL slow()", "timeout": 300});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "execute_sql", "arguments": arguments}});
    let shown = |request: RequestBuilder| request.basic_auth(&app.writer.name, Some(&app.writer.secret));
    let sql = shown(app.http.post(format!("{}/api/query", app.url))).json(&arguments);
    let running = [sql, shown(app.mcp_request()).body(call.to_string())].map(|request| tokio::spawn(request.send()));
    eventually("both to have written", async || written().await == 2).await;
    app.store().revoke_pat(&app.writer.secret).unwrap();
    for (answer, status) in running.into_iter().zip([403, 200]) {
        let answer = within("the end of what was written", answer).await.unwrap().unwrap();
        assert!(!answer.headers().contains_key("www-authenticate"), "{answer:?}");
        let (told, body) = read(answer).await;
        assert!(told == status && body.to_string().contains("before you send it again"), "{told}: {body}");
    }
    assert_eq!(written().await, 2);
}

#[actix_web::test]
async fn an_answer_that_is_being_written_and_a_task_end_with_their_credential() {
    let url = fixture::postgres().await;
    let service = Configuration::new().server("[server.tasks]\nafter = 0");
    let app = service.connection("shop", &url, "access = \"read-write\"").start().await;
    let observer = connect(&url).await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1::bigint UNION ALL SELECT i + 1 FROM n) SELECT i AS written FROM n";
    let lines = json!({"query": endless, "timeout": 300});
    let request = app.post("/api/query").header("accept", "application/x-ndjson").json(&lines);
    let mut written = request.send().await.unwrap();
    assert_eq!(written.status(), 200);
    assert!(written.chunk().await.unwrap().is_some());
    let mut called = select("SELECT pg_sleep(250) AS as_a_task", &json!("t"));
    called["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities":
                             {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    called["arguments"]["timeout"] = json!(300);
    let (_, begun) = read(modern(&app, &app.writer, &json!(1), "tools/call", called).send().await.unwrap()).await;
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    until_naps(&observer, "as_a_task", 1).await;
    app.store().revoke_pat(&app.writer.secret).unwrap();
    let rest = within("the end of the answer", async {
        let mut last = Vec::new();
        while let Some(chunk) = written.chunk().await.unwrap() {
            last.extend_from_slice(&chunk);
            last.drain(..last.len().saturating_sub(100_000));
        }
        String::from_utf8_lossy(&last).into_owned()
    });
    let rest = rest.await;
    let last: Value = serde_json::from_str(rest.trim_end().lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], 1100, "{last}");
    until_naps(&observer, "as_a_task", 0).await;
    until_naps(&observer, "AS written", 0).await;
}

#[actix_web::test]
async fn open_streams_end_with_their_credential() {
    let app = fixture::on_sqlite().await;
    app.ready().await;
    let mut modern = listen(&app, &json!("s"), json!({"toolsListChanged": true})).await;
    modern.message().await;
    let legacy = Client::begin(&app, &app.writer, "2025-06-18").await;
    let legacy = Events::new(legacy.get(None).await);
    app.store().revoke_pat(&app.writer.secret).unwrap();
    for events in [modern, legacy] {
        tokio::time::timeout(SOON, events.rest()).await.expect("the stream goes on without a credential");
    }
}

#[actix_web::test]
async fn what_a_person_allowed_is_listed_and_taken_back_on_the_command_line_and_by_an_administrator() {
    let app = fixture::on_sqlite().await;
    let portico = async |arguments: &[&str]| app.run(arguments).await;
    portico(&["user", "add", "root@example.com", "--admin"]).await;
    let made = portico(&["pat", "create", "root@example.com"]).await;
    let root = Caller { name: "root@example.com".to_owned(), secret: made["pat"].as_str().unwrap().to_owned() };
    let (own, _) = client(&app, "Reporter", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let allow = async || {
        let page = person.authorize(&own.client_id, &[]).await;
        let answer = person.allow(&page, "read", &[&CONNECTION.to_string()]).await;
        token(&app, &redemption(&own.client_id, &answer.parameter("code").unwrap())).await.1
    };
    let first = allow().await;
    let listed = portico(&["consent", "list", "--user", &app.writer.name]).await;
    assert_eq!(listed, portico(&["consent", "list"]).await);
    assert_eq!((&listed[0]["clientName"], &listed[0]["email"]), (&json!("Reporter"), &json!(app.writer.name)));
    assert_eq!((&listed[0]["clientKind"], &listed[0]["scope"]), (&json!("registered"), &json!("read")));
    assert_eq!(opens(&app, &first["access_token"]).await, 200);
    portico(&["consent", "revoke", listed[0]["id"].as_str().unwrap()]).await;
    assert_eq!(opens(&app, &first["access_token"]).await, 401);
    assert_eq!(refresh(&app, &own.client_id, first["refresh_token"].as_str().unwrap(), &[]).await.0, 400);
    assert_eq!(portico(&["consent", "list"]).await, json!([]));

    let second = allow().await;
    let id = portico(&["consent", "list"]).await[0]["id"].as_str().unwrap().to_owned();
    // Who is no administrator neither sees nor ends it there.
    assert_eq!(person.get("/users/applications").await.status, 403);
    assert_eq!(person.act("/users/applications/revoke", &[("id", &id)]).await.status, 403);
    assert_eq!(opens(&app, &second["access_token"]).await, 200);
    let admin = Person::signed_in(&app, &root).await;
    let page = admin.get("/users/applications").await;
    assert!(page.html.contains("Reporter") && page.html.contains(&app.writer.name), "{}", page.html);
    assert_eq!(admin.act("/users/applications/revoke", &[("id", &id)]).await.status, 303);
    assert_eq!(opens(&app, &second["access_token"]).await, 401);

    let third = allow().await;
    let ended = portico(&["user", "sign-out", &app.writer.name]).await;
    assert_eq!((&ended["grants"], &ended["tokens"]), (&json!(1), &json!(0)));
    assert_eq!(opens(&app, &third["access_token"]).await, 401);
    assert_eq!(app.get("/api/connections").send().await.unwrap().status(), 200, "tokens stay");
    portico(&["user", "sign-out", &app.writer.name, "--all"]).await;
    assert_eq!(app.get("/api/connections").send().await.unwrap().status(), 401);
}

#[actix_web::test]
async fn subjects_of_other_issuers_are_disabled_and_listed_on_the_command_line() {
    let app = fixture::on_sqlite().await;
    let folder = app.config.parent().unwrap();
    let subject = "https://id.example.org#robot";
    let refused = portico(folder, &["user", "disable", subject]);
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("add the issuer to [[issuers]]")
    );
    let text = std::fs::read_to_string(&app.config).unwrap();
    let issuer = "[[issuers]]\nissuer = \"https://id.example.org\"\njwks_url = \"https://id.example.org/jwks\"\n\
                  audience = \"portico\"\n";
    std::fs::write(&app.config, format!("{text}\n{issuer}")).unwrap();
    run(&["user", "disable", subject], folder);
    let listed = run(&["user", "list"], folder);
    let found = listed.as_array().unwrap().iter().find(|it| it["subject"] == subject).expect("it is not listed");
    assert!(found["disabledAt"].is_string(), "{found}");
    run(&["user", "enable", subject], folder);
    assert!(run(&["user", "list"], folder).as_array().unwrap().iter().all(|it| it["subject"] != subject));
}

#[actix_web::test]
async fn the_doctor_counts_what_is_shut() {
    let app = fixture::on_sqlite().await;
    let folder = app.config.parent().unwrap();
    let (own, _) = client(&app, "Reporter", false);
    let person = Person::signed_in(&app, &app.writer).await;
    token(&app, &redemption(&own.client_id, &person.code(&own.client_id).await)).await;
    let found = |subject: &str| {
        let told = portico(folder, &["doctor", "--json"]).stdout;
        let findings = serde_json::from_slice::<Value>(&told).unwrap()["findings"].take();
        findings.as_array().unwrap().iter().find(|finding| finding["subject"] == subject).cloned()
    };
    assert!(found("consents").is_none());
    let raw = rusqlite::Connection::open(folder.join("portico.db")).unwrap();
    raw.execute_batch("UPDATE grants SET client_id = 'https://client.example/id'").unwrap();
    assert!(found("consents").is_none(), "such clients are admitted");
    let text = std::fs::read_to_string(&app.config).unwrap();
    std::fs::write(&app.config, format!("{text}\n[oauth]\nclient_documents = false\n")).unwrap();
    let message = found("consents").unwrap()["message"].to_string();
    assert!(message.contains("1 grants"), "{message}");
}
