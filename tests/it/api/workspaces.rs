//! `GET /api/workspaces`: what a credential opens of virtual schemas, and what a workspace alone does not open.

use serde_json::{Value, json};

use crate::support::app::{CONNECTION, OTHER, TestApp, read};
use crate::support::configuration::{Configuration, configure, connection, shop};
use crate::support::process::{json_of, portico};

const WORKSPACES: &str = r#"
[[workspaces]]
name = "turnover"
assets = [{ table = "shop.main.orders" }]
[[workspaces]]
name = "revenue"
description = "Orders of both"
assets = [{ table = "shop.main.orders" }, { table = "archive.main.orders", folder = "old" }]
"#;

async fn start() -> TestApp {
    Configuration::new().sqlite("shop", "").sqlite("archive", "").with(WORKSPACES).start().await
}

/// The names that `GET /api/workspaces` answers to an access token.
async fn listed(app: &TestApp, token: &str) -> Vec<String> {
    let request = app.http.get(format!("{}/api/workspaces", app.url)).bearer_auth(token);
    let (status, answer) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    answer["workspaces"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// An access token of a service account that a command has made.
pub(super) async fn exchanged(app: &TestApp, made: &Value) -> (String, Value) {
    let id = made["clientId"].as_str().unwrap();
    let secret = made["clientSecret"].as_str().unwrap();
    let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let sent = app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap();
    let (status, answer) = read(sent).await;
    assert_eq!(status, 200, "{answer}");
    let token = answer["access_token"].as_str().unwrap().to_owned();
    let about = app.http.post(format!("{}/oauth/introspect", app.url)).basic_auth(id, Some(secret));
    let (_, described) = read(about.form(&[("token", &token)]).send().await.unwrap()).await;
    (token, described)
}

#[actix_web::test]
async fn a_caller_sees_the_workspaces_over_what_they_reach() {
    let app = start().await;
    let (status, answer) = read(app.get("/api/workspaces").send().await.unwrap()).await;
    let url = |name: &str| format!("{}/mcp/workspaces/{name}", app.url);
    let expected = json!({"workspaces": [
        {"name": "revenue", "description": "Orders of both", "mcpUrl": url("revenue")},
        {"name": "turnover", "description": null, "mcpUrl": url("turnover")},
    ]});
    assert_eq!((status, answer), (200, expected));
    assert_eq!(listed(&app, &app.token().await).await, ["turnover"], "the agent has one of the connections");
    let (status, refused) = read(app.get("/api/workspaces?name=x").send().await.unwrap()).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(1000)), "{refused}");
    let unknown = app.http.get(format!("{}/api/workspaces", app.url)).send().await.unwrap();
    assert_eq!(unknown.status(), 401);
}

#[actix_web::test]
async fn a_workspace_alone_opens_no_connection() {
    let app = start().await;
    let made = app.run(&["service-account", "create", "nightly", "--workspace", "revenue:write"]).await;
    assert_eq!((&made["connections"], &made["workspaces"]), (&json!([]), &json!(["revenue"])), "{made}");
    let (token, described) = exchanged(&app, &made).await;
    assert_eq!((&described["scope"], &described["connection_ids"]), (&json!("read write"), &json!([])), "{described}");
    assert_eq!(described["workspaces"], json!(["revenue"]));
    assert_eq!(listed(&app, &token).await, ["revenue"]);
    let get = async |path: &str| {
        read(app.http.get(format!("{}{path}", app.url)).bearer_auth(&token).send().await.unwrap()).await
    };
    assert_eq!(get("/api/connections").await, (200, json!({"connections": []})));
    assert_eq!(get("/api/tables").await.1["results"][0]["rows"], json!([]));
    for catalog in ["shop", "archive"] {
        let body = json!({"query": format!("SELECT * FROM {catalog}.main.orders")});
        let sent = app.http.post(format!("{}/api/query", app.url)).bearer_auth(&token).json(&body);
        let (status, answer) = read(sent.send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
        assert!(!answer.to_string().contains("archive.main") || catalog == "archive", "{answer}");
    }
    // Nor does a statement that says no workspace mean one.
    let body = json!({"query": "SELECT * FROM orders"});
    let sent = app.http.post(format!("{}/api/query", app.url)).bearer_auth(&token).json(&body);
    let (status, answer) = read(sent.send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    let hint = answer["error"]["hint"].as_str().unwrap();
    assert!(hint.starts_with("give workspace") && hint.ends_with("workspaces: revenue"), "{answer}");
    // What a source is sent has names that are not the workspace's: it is told to those who reach the connection.
    let explain = json!({"query": "EXPLAIN SELECT * FROM orders"});
    let path = "/api/query?workspace=revenue";
    let given = app.http.post(format!("{}{path}", app.url)).bearer_auth(&token).json(&explain);
    for (request, is_told) in [(given, false), (app.post(path).json(&explain), true)] {
        let (status, answer) = read(request.send().await.unwrap()).await;
        let plan = answer["results"][0]["rows"].to_string();
        assert!(status == 200 && plan.contains("connection=shop") && plan.contains("sql=") == is_told, "{answer}");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for id in [CONNECTION, OTHER] {
        let sent = app.http.post(format!("{}/mcp/connections/{id}", app.url)).bearer_auth(&token).json(&ping);
        assert_eq!(sent.send().await.unwrap().status(), 403);
    }
    // With less than the rest, beside a connection.
    let changed = ["service-account", "change", "nightly", "--connection", "shop:write", "--workspace", "revenue:read"];
    let changed = app.run(&changed).await;
    assert_eq!(changed["workspaces"], json!([{"name": "revenue", "scope": "read"}]), "{changed}");
    let (token, described) = exchanged(&app, &made).await;
    assert_eq!(described["workspace_scopes"], json!({"revenue": "read"}), "{described}");
    assert_eq!(listed(&app, &token).await, ["revenue", "turnover"]);
}

#[actix_web::test]
async fn people_and_tokens_are_given_workspaces_by_the_command_line() {
    let app = start().await;
    let pat = app.run(&["pat", "create", &app.reader.name, "--name", "agent", "--workspace", "revenue"]).await;
    let secret = pat["pat"].as_str().unwrap();
    assert_eq!(listed(&app, secret).await, ["revenue"]);
    app.run(&["user", "add", "ann@example.com", "--read-only", "--workspace", "turnover"]).await;
    let users = app.run(&["user", "list"]).await;
    let ann = users.as_array().unwrap().iter().find(|user| user["email"] == "ann@example.com").unwrap();
    assert_eq!((&ann["reach"], &ann["workspaces"]), (&json!([]), &json!(["turnover"])), "{ann}");
    let secret = app.run(&["pat", "create", "ann@example.com"]).await["pat"].as_str().unwrap().to_owned();
    assert_eq!(listed(&app, &secret).await, ["turnover"]);
    let folder = app.config.parent().unwrap();
    let refused = |arguments: &[&str]| {
        let output = portico(folder, arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let words = refused(&["user", "add", "bob@example.com", "--workspace", "revenu"]);
    assert!(words.contains("there is no workspace \"revenu\"") && words.contains("did you mean revenue?"), "{words}");
    let words = refused(&["user", "add", "bob@example.com", "--read-only", "--workspace", "revenue:write"]);
    assert!(words.contains("the whole has no more than read"), "{words}");
    let words = refused(&["pat", "create", "ann@example.com", "--workspace", "revenue", "--scope", "read"]);
    assert!(words.contains("does not reach the workspace revenue"), "{words}");
    let words = refused(&["service-account", "create", "x"]);
    assert!(words.contains("--connection") && words.contains("--workspace"), "{words}");
    let listed = portico(folder, &["user", "list"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("workspace turnover"), "{listed:?}");
}

#[actix_web::test]
async fn a_reload_takes_workspaces_over_and_no_connection_anew() {
    let service = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(WORKSPACES).serve().await;
    let names = async || {
        let (_, answer) = read(service.get("/api/workspaces").send().await.unwrap()).await;
        answer["workspaces"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["revenue", "turnover"]);
    let tables = shop("") + &connection(OTHER, "archive", "sqlite:archive.db", "");
    service.configure("", &(tables.clone() + &WORKSPACES.replace("turnover", "orders_now")));
    let (done, said) = service.reload().await;
    assert!(done && said["message"] == "workspaces changed: orders_now, turnover", "{said}");
    assert_eq!((&said["report"]["changed"], &said["report"]["offered"]), (&json!([]), &json!([])), "{said}");
    assert_eq!(names().await, ["orders_now", "revenue"]);
    configure(service.folder.path(), None, "", &(tables + &WORKSPACES.replace("shop.main", "shp.main")));
    let (done, said) = service.reload().await;
    assert!(!done && said["problems"][0]["key"] == "workspaces[0].assets[0].table", "{said}");
    assert_eq!(names().await, ["orders_now", "revenue"], "nothing of it is in force");
}

/// What it stands for is a part of what an answer depends on.
#[actix_web::test]
async fn a_kept_answer_is_not_shown_where_the_workspace_is_another_one() {
    let views = |region: &str| {
        let view = format!("views = [{{ name = \"few\", query = \"SELECT id FROM orders WHERE id {region}\" }}]");
        WORKSPACES.replace("name = \"revenue\"", &format!("name = \"revenue\"\n{view}"))
    };
    let service = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(&views("> 0")).serve().await;
    let ask = async |key: &str| {
        let request = service.post("/api/query?workspace=revenue").header("idempotency-key", key);
        let answer = request.json(&json!({"query": "SELECT count(*) AS n FROM few"})).send().await.unwrap();
        let replayed = answer.headers().contains_key("idempotency-replayed");
        let (status, answer) = read(answer).await;
        (status, answer["results"][0]["rows"].clone(), replayed)
    };
    assert_eq!(ask("one").await, (200, json!([[3]]), false));
    assert_eq!(ask("one").await, (200, json!([[3]]), true));
    let tables = shop("") + &connection(OTHER, "archive", "sqlite:archive.db", "");
    service.configure("", &(tables + &views("> 1")));
    assert!(service.reload().await.0);
    assert_eq!(ask("one").await, (409, Value::Null, false));
    assert_eq!(ask("two").await, (200, json!([[2]]), false));
}

#[actix_web::test]
async fn check_tells_which_assets_are_not_there() {
    let wrong = r#"
[[workspaces]]
name = "revenue"
assets = [{ table = "shop.main.ordrs" }, { table = "shop.main.ord%" }, { table = "shop.main.zzz%", folder = "x" }, { table = "archive.main.customers" }, { procedure = "shop.main.nothing" }]
"#;
    let hidden = "[connections.hidden]\ntables = [\"customers\"]";
    let folder = Configuration::new().sqlite("shop", "").sqlite("archive", hidden).with(wrong).write();
    let output = portico(folder.path(), &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told = json_of(&output);
    let missing = |at: usize| told["connections"][at]["missing"].clone();
    assert_eq!(
        missing(0),
        json!([
            {"workspace": "revenue", "asset": "shop.main.ordrs", "hint": "did you mean shop.main.orders?"},
            {"workspace": "revenue", "asset": "shop.main.zzz%"},
            {"workspace": "revenue", "asset": "shop.main.nothing"},
        ])
    );
    assert_eq!(missing(1), json!([{"workspace": "revenue", "asset": "archive.main.customers"}]), "it is hidden");
    let said = portico(folder.path(), &["check"]);
    let words = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        words.contains("workspace revenue: there is no shop.main.ordrs; did you mean shop.main.orders?"),
        "{words}"
    );
}

#[actix_web::test]
async fn check_tells_which_columns_of_relations_are_not_there() {
    let wrong = r#"
[[workspaces]]
name = "revenue"
assets = [
    { table = "shop.main.orders" }, { table = "shop.main.%", folder = "whole" },
    { table = "archive.main.customers", alias = "people", folder = "crm" },
]
views = [{ name = "few", query = "SELECT id FROM orders" }]
relations = [
    { from = "orders.customer_id", to = "crm.people.id" },
    { from = "orders.custmer_id", to = "crm.people.ID" },
    { from = "whole.customers.id", to = "crm.people.nme" },
    { from = "whole.custmers.id", to = "few.whatever" },
]
"#;
    let folder = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(wrong).write();
    let output = portico(folder.path(), &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let told = json_of(&output);
    let row = |asset: &str, hint: &str| json!({"workspace": "revenue", "asset": asset, "relation": true, "hint": hint});
    assert_eq!(
        told["connections"][0]["missing"],
        json!([
            row("shop.main.orders.custmer_id", "did you mean customer_id?"),
            row("shop.main.custmers", "did you mean customers?"),
        ])
    );
    assert_eq!(
        told["connections"][1]["missing"],
        json!([
            row("archive.main.customers.ID", "did you mean id?"),
            row("archive.main.customers.nme", "did you mean name?"),
        ])
    );
    let said = portico(folder.path(), &["check"]);
    let words = String::from_utf8_lossy(&said.stdout).into_owned();
    let expected = "there is no shop.main.orders.custmer_id, which a relation names; did you mean customer_id?";
    assert!(words.contains(expected), "{words}");
}
