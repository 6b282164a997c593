//! `/mcp` for callers: who is let in, how far each goes at each connection, what they are told of, and what is recorded
//! of them.

use portico_actors::auth::records::NewServiceAccount;
use portico_actors::event::Event;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{ALL, Era, ask, content, failure, listed, names, three, tool, user};
use crate::support::app::{CONNECTION, OTHER, THIRD, read};
use crate::support::configuration::Configuration;
use crate::support::fixture::{self, ORDERS_OF};
use crate::support::mcp::{Client, modern};
use crate::support::stream::Events;

#[actix_web::test]
async fn each_connection_is_reached_with_its_own_scope_and_what_is_off_there_is_off_here() {
    let off = "access = \"read-write\"\n[connections.disabled]\noperations = [\"execute_sql\", \"get_columns\"]";
    let configuration = Configuration::new().sqlite("shop", "access = \"read-write\"").sqlite("archive", off);
    let app = configuration.start().await.at(ALL);
    let mia = user(&app, "mia", Rights::each([(CONNECTION, Scope::Write), (OTHER, Scope::Read)]));
    app.look().await;
    assert!(names(&listed(&app, &mia).await).contains(&"execute_insert"));
    let insert = |connection: &str| {
        let query = format!("INSERT INTO {connection}.main.customers VALUES (9, 'x', NULL)");
        json!({"name": "execute_insert", "arguments": {"query": query}})
    };
    for (connection, status) in [("shop", 200), ("archive", 403)] {
        let response = ask(&app, &mia, Era::Session, "tools/call", insert(connection)).await;
        let challenge = response.headers().get("www-authenticate").map(|it| it.to_str().unwrap().to_owned());
        assert_eq!(response.status(), status, "{connection}");
        let demands = challenge.is_some_and(|challenge| {
            challenge.contains("insufficient_scope")
                && challenge.contains("/.well-known/oauth-protected-resource/mcp\"")
        });
        assert_eq!(demands, status == 403, "{connection}");
    }
    let text = failure(&app, "execute_sql", json!({"query": "SELECT 1", "catalogName": "archive"})).await;
    assert!(text.contains("execute_sql is switched off on the connection archive"), "{text}");
    let columns = content(&app, Era::Session, "get_columns", json!({"tableName": "cities"})).await;
    assert!(columns["rows"].as_array().unwrap().iter().all(|row| row[0] == "shop"), "{columns}");
    assert_eq!(columns["truncated"], false);
    let text = failure(&app, "get_columns", json!({"catalogName": "archive"})).await;
    assert!(text.contains("switched off"), "{text}");
    // Of two that have it off there is none.
    let both = Configuration::new().sqlite("shop", off).sqlite("archive", off).start().await.at(ALL);
    assert!(!names(&listed(&both, &both.writer).await).contains(&"get_columns"));
}

#[actix_web::test]
async fn who_is_let_in_reaches_something() {
    let app = fixture::two_connections().await.at(ALL);
    let none = user(&app, "none", Rights::only([], Scope::Read));
    app.look().await;
    let ping = || app.mcp_request().body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let document = format!("{}/.well-known/oauth-protected-resource/mcp", app.url);
    let challenged = ping().send().await.unwrap();
    let challenge = challenged.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert!(
        challenged.status() == 401 && challenge.contains(&format!("resource_metadata=\"{document}\"")),
        "{challenge}"
    );
    let (status, described) = read(app.http.get(&document).send().await.unwrap()).await;
    assert_eq!((status, &described["resource"]), (200, &json!(app.mcp_url())));
    let evil = ping().header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(evil.status(), 403);
    let (status, body) = read(ping().basic_auth(&none.name, Some(&none.secret)).send().await.unwrap()).await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (403, &json!(1200), &Value::Null), "{body}");
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
        let built = app.http.request(method.clone(), app.mcp_url());
        assert_eq!(built.send().await.unwrap().status(), 401, "{method}");
    }
}

/// What a token for one resource opens: at the address of all, what lies within its own.
#[actix_web::test]
async fn a_token_for_a_resource_opens_here_what_lies_within_it() {
    let app = three().await;
    let account = NewServiceAccount { name: "both".to_owned(), rights: Rights::only([CONNECTION, THIRD], Scope::Read) };
    let (account, secret) = app.store().create_service_account(account).unwrap();
    app.look().await;
    for (resource, status, opens) in [
        ("", 200, json!([["ledger"], ["shop"]])),
        ("/mcp", 200, json!([["ledger"], ["shop"]])),
        ("/mcp/connections/ledger", 200, json!([["ledger"]])),
        ("/api", 401, Value::Null),
    ] {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", account.client_id.as_str()),
            ("client_secret", secret.expose_secret()),
            ("resource", &format!("{}{resource}", app.url)),
        ];
        let (granted, body) =
            read(app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap()).await;
        assert_eq!(granted, 200, "{resource}: {body}");
        let call = json!({"name": "get_catalogs", "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string();
        let asked = app.mcp_request().bearer_auth(body["access_token"].as_str().unwrap()).body(call);
        let (found, body) = read(asked.send().await.unwrap()).await;
        assert_eq!((found, &body["result"]["structuredContent"]["rows"]), (status, &opens), "{resource}: {body}");
    }
}

#[actix_web::test]
async fn a_record_names_the_one_connection_that_was_asked() {
    let audit = "[audit]\nfile = \"audit.jsonl\"";
    let configuration = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(audit);
    let app = configuration.start().await.at(ALL);
    content(&app, Era::Session, "execute_select", json!({"query": "SELECT 1", "catalogName": "archive"})).await;
    content(&app, Era::Session, "get_schemas", json!({"catalogName": "shop"})).await;
    content(&app, Era::Session, "get_tables", json!({})).await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "execute_select", "arguments": {"query": "SELECT 1 FROM shop.main.orders"}}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_tables", "arguments": {}}},
    ]);
    let asked = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
    let asked = asked.header("mcp-protocol-version", "2025-03-26").body(batch.to_string());
    assert_eq!(asked.send().await.unwrap().status(), 200);
    let text = std::fs::read_to_string(app.config.with_file_name("audit.jsonl")).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |tool: &str| records.iter().find(|record| record["tool"] == tool).unwrap();
    assert_eq!(
        (&of("execute_select")["connection"], &of("execute_select")["statement"]),
        (&json!("archive"), &json!("SELECT 1"))
    );
    assert_eq!((&of("get_schemas")["connection"], of("get_tables").get("connection")), (&json!("shop"), None));
    let batch = of("batch");
    assert_eq!((batch.get("connection"), &batch["calls"][0]["connection"]), (None, &json!("shop")), "{batch}");
    assert_eq!(batch["calls"][1].get("connection"), None, "{batch}");
    let told = app.events.lock().unwrap();
    let connection = |what: &str| {
        told.iter().find_map(|event| match event {
            Event::CallEnded(call) if call.what == what => Some(call.connection.as_deref().map(str::to_owned)),
            _ => None,
        })
    };
    assert_eq!(connection("execute_select"), Some(Some("archive".to_owned())));
    assert_eq!(connection("get_tables"), Some(None));
}

#[actix_web::test]
async fn a_session_is_of_its_address_and_hears_of_each_connection() {
    let configuration = Configuration::new().sqlite("shop", "access = \"read-write\"");
    let app = configuration.connection("late", "sqlite:late.db", ORDERS_OF).start().await.at(ALL);
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    let elsewhere = app.http.post(format!("{}/mcp/connections/{CONNECTION}", app.url));
    let elsewhere = elsewhere.basic_auth(&app.writer.name, Some(&app.writer.secret));
    let elsewhere = elsewhere.header("mcp-session-id", &client.session).header("content-type", "application/json");
    let elsewhere = elsewhere.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).send().await.unwrap();
    assert_eq!(elsewhere.status(), 404);
    let stranger = Client { app: &app, by: &app.reader, session: client.session.clone() };
    assert_eq!(stranger.ask(json!(1), "ping", json!({})).await.status(), 404, "who may do less goes on with it");
    let asked = json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}});
    let mut subscribed =
        Events::new(modern(&app, &app.writer, &json!("s"), "subscriptions/listen", asked).send().await.unwrap());
    assert_eq!(subscribed.message().await["method"], "notifications/subscriptions/acknowledged");
    let mut stream = Events::new(client.get(None).await);
    let next = async |events: &mut Events| loop {
        let event = events.next().await.unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str::<Value>(&event.data).unwrap()["method"].take();
        }
    };
    rusqlite::Connection::open(app.config.with_file_name("late.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    for events in [&mut subscribed, &mut stream] {
        let mut told = [next(events).await, next(events).await];
        told.sort_by_key(Value::to_string);
        assert_eq!(told, ["notifications/resources/list_changed", "notifications/tools/list_changed"]);
    }
    assert!(names(&listed(&app, &app.writer).await).contains(&"orders_of"), "it was told before it was so");
    let made =
        tool(&app, Era::Session, "execute_sql", json!({"query": "CREATE TABLE made (a)", "catalogName": "shop"}));
    assert_eq!(made.await["isError"], false);
    for events in [&mut subscribed, &mut stream] {
        assert_eq!(next(events).await, "notifications/resources/list_changed");
    }
    assert_eq!(client.delete().await, 204);
}
