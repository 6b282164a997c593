//! `/mcp/workspaces/{name}`: one workspace as an address, and what `/mcp` tells of workspaces.

use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use serde_json::{Value, json};

use super::{ERAS, Era, ask, content, failure, listed, names, tool, user};
use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture::{ORDERS_OF, RENAME};
use crate::support::mcp::Client;

const ADDRESS: &str = "/mcp/workspaces/store";

const WORKSPACE: &str = r#"
[[workspaces]]
name = "store"
description = "Orders with their customers"
instructions = "Amounts are in euros."
max_rows = 3
assets = [
    { table = "shop.main.orders" },
    { table = "archive.main.customers", alias = "people", folder = "crm" },
    { procedure = "shop.main.orders_of" },
    { procedure = "shop.main.rename" },
]
views = [
    { name = "turnover", folder = "reports", description = "Turnover by customer", query = "SELECT p.name, sum(o.total) AS total FROM orders o JOIN crm.people p ON p.id = o.customer_id GROUP BY p.name" },
]
relations = [{ from = "orders.customer_id", to = "crm.people.id" }]
"#;

async fn store() -> TestApp {
    let shop = ["access = \"read-write\"", ORDERS_OF, RENAME].concat();
    let configuration = Configuration::new().sqlite("shop", &shop).sqlite("archive", "").with(WORKSPACE);
    configuration.start().await.at(ADDRESS)
}

#[actix_web::test]
async fn the_operations_answer_under_the_workspaces_names_in_both_eras() {
    let app = store().await;
    let tools = listed(&app, &app.writer).await;
    let found = names(&tools);
    assert!(found.contains(&"execute_select") && found.contains(&"execute_procedure"), "{found:?}");
    assert!(found.contains(&"execute_insert") && found.ends_with(&["orders_of", "rename"]), "{found:?}");
    let tools = listed(&app, &app.reader).await;
    assert!(!names(&tools).iter().any(|name| ["execute_insert", "rename"].contains(name)), "{tools:?}");
    for era in ERAS {
        let rows = async |name: &str, arguments: Value| content(&app, era, name, arguments).await["rows"].take();
        assert_eq!(rows("get_catalogs", json!({})).await, json!([["store"]]));
        assert_eq!(
            rows("get_schemas", json!({})).await,
            json!([["store", "crm"], ["store", "main"], ["store", "reports"]])
        );
        let tables = rows("get_tables", json!({"tableName": "people"})).await;
        assert_eq!((&tables[0][0], &tables[0][1], &tables[0][2]), (&json!("store"), &json!("crm"), &json!("people")));
        let columns = rows("get_columns", json!({"tableName": "orders", "columnName": "total"})).await;
        assert_eq!((&columns[0][0], &columns[0][3]), (&json!("store"), &json!("total")));
        assert_eq!(rows("get_procedures", json!({"procedureName": "orders%"})).await[0][2], "orders_of");
        assert_eq!(rows("get_procedure_parameters", json!({"procedureName": "orders_of"})).await[0][3], "customer");
        for procedure in ["orders_of", "main.orders_of", "store.main.orders_of"] {
            let call = json!({"procedure": procedure, "parameters": {"customer": 3}});
            assert_eq!(rows("execute_procedure", call).await, json!([[3, 99999.99]]), "{procedure}");
        }
        assert_eq!(rows("orders_of", json!({"customer": 3})).await, json!([[3, 99999.99]]), "a tool of its procedure");
        let joined = "SELECT p.name FROM orders o JOIN crm.people p ON p.id = o.customer_id WHERE o.id = @id";
        let joined = json!({"query": joined, "parameters": {"id": 3}});
        assert_eq!(rows("execute_select", joined.clone()).await, json!([["美咲"]]));
        assert_eq!(rows("execute_sql", joined).await, json!([["美咲"]]));
        let insert = json!({"query": "INSERT INTO orders (id, customer_id, total) VALUES (9, 3, 1) RETURNING total"});
        assert_eq!(rows("execute_insert", insert).await, json!([[1.00]]));
        let delete = json!({"query": "DELETE FROM store.main.orders WHERE id = @id", "parameters": {"id": 9}});
        assert_eq!(content(&app, era, "execute_update", delete).await["affectedRows"], 1);
        let cut = content(&app, era, "execute_select", json!({"query": "SELECT o.id FROM orders o, orders p"})).await;
        assert_eq!((&cut["rowCount"], &cut["truncated"]), (&json!(3), &json!(true)), "the workspace's own caps");
        let told = tool(&app, era, "get_instructions", json!({})).await;
        let told = told["structuredContent"]["instructions"].as_str().unwrap();
        for words in [
            "# Workspace store",
            "Orders with their customers",
            "Amounts are in euros.",
            "customer_id int NOT NULL → crm.people.id",
            "crm.people(id int PK",
            "VIEW reports.turnover(name",
            "/*Turnover by customer*/",
        ] {
            assert!(told.contains(words), "no {words:?} in {told}");
        }
    }
    for (name, arguments, words) in [
        ("execute_select", json!({"query": "SELECT * FROM shop.main.customers"}), "shop"),
        ("execute_sql", json!({"query": "DELETE FROM reports.turnover WHERE total > 1"}), "views only read"),
        ("execute_update", json!({"query": "UPDATE crm.people SET name = 'x' WHERE id = 1"}), "archive is read-only"),
        ("execute_insert", json!({"query": "SELECT 1"}), "this tool writes"),
        ("execute_select", json!({"query": "DELETE FROM orders WHERE id = 1"}), "execute_update"),
        ("execute_procedure", json!({"procedure": "orders_off"}), "did you mean orders_of"),
        ("execute_procedure", json!({"procedure": "shop.main.orders_of"}), "no procedure shop.main.orders_of"),
        ("get_tables", json!({"catalogName": "shop"}), "catalogName"),
    ] {
        let text = failure(&app, name, arguments.clone()).await;
        assert!(text.contains(words), "{name} {arguments}: no {words:?} in {text:?}");
    }
}

#[actix_web::test]
async fn who_is_not_given_it_and_does_not_reach_what_lies_underneath_finds_nothing() {
    let app = store().await;
    let given = Rights::each([]).with_workspaces([("store".into(), WorkspaceGrant::Given(Scope::Read))]);
    let [given, one, both] = [
        ("given", given),
        ("one", Rights::only([CONNECTION], Scope::Write)),
        ("both", Rights::each([(CONNECTION, Scope::Write), (OTHER, Scope::Read)])),
    ]
    .map(|(name, rights)| user(&app, name, rights));
    app.look().await;
    let select = json!({"name": "execute_select", "arguments": {"query": "SELECT count(*) FROM orders"}});
    for (by, status) in [(&given, 200), (&one, 404), (&both, 200)] {
        let (answered, body) = read(ask(&app, by, Era::Stateless, "tools/call", select.clone()).await).await;
        assert_eq!(answered, status, "{}: {body}", by.name);
        if status == 200 {
            assert_eq!(body["result"]["structuredContent"]["rows"], json!([[3]]), "{body}");
        }
    }
    let insert = json!({"name": "execute_insert", "arguments": {"query": "INSERT INTO orders VALUES (8, 1, 1, NULL)"}});
    for (by, status) in [(&given, 403), (&both, 403), (&app.writer, 200)] {
        let response = ask(&app, by, Era::Stateless, "tools/call", insert.clone()).await;
        assert_eq!(response.status(), status, "{}", by.name);
    }
    // In it nobody does more than they may on each connection, or were given.
    let rename = json!({"name": "execute_procedure", "arguments": {
        "procedure": "rename", "parameters": {"id": 2, "name": "Zoë"},
    }});
    for (by, status) in [(&given, 403), (&both, 403), (&app.writer, 200)] {
        let response = ask(&app, by, Era::Session, "tools/call", rename.clone()).await;
        assert_eq!(response.status(), status, "{}", by.name);
    }
    let ping = |path: &str| {
        let built = app.http.post(format!("{}{path}", app.url)).header("content-type", "application/json");
        built.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
    };
    for (path, status) in [
        (ADDRESS, 200),
        ("/mcp/workspaces/nothing", 404),
        ("/mcp/workspaces/shop", 404),
        ("/mcp", 200),
        ("/mcp/connections/shop", 400),
    ] {
        let answer = ping(path).basic_auth(&given.name, Some(&given.secret)).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
    }
    let document = format!("{}/.well-known/oauth-protected-resource{ADDRESS}", app.url);
    let challenged = ping(ADDRESS).send().await.unwrap();
    let challenge = challenged.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert!(challenge.contains(&format!("resource_metadata=\"{document}\"")), "{challenge}");
    let (status, described) = read(app.http.get(&document).send().await.unwrap()).await;
    assert_eq!((status, &described["resource"]), (200, &json!(app.mcp_url())));
    // A session is of its address.
    let client = Client::begin(&app, &app.writer, "2025-11-25").await;
    assert_eq!(client.ask(json!(1), "ping", json!({})).await.status(), 200);
    let elsewhere = ping("/mcp").basic_auth(&app.writer.name, Some(&app.writer.secret));
    assert_eq!(elsewhere.header("mcp-session-id", &client.session).send().await.unwrap().status(), 404);
}

#[actix_web::test]
async fn a_token_for_a_workspace_opens_that_alone() {
    let app = store().await;
    let rights = Rights::each([(CONNECTION, Scope::Read), (OTHER, Scope::Read)]);
    let account = portico_actors::auth::records::NewServiceAccount { name: "both".to_owned(), rights };
    let (account, secret) = app.store().create_service_account(account).unwrap();
    app.look().await;
    let token = async |resource: &str| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", account.client_id.as_str()),
            ("client_secret", secrecy::ExposeSecret::expose_secret(&secret)),
            ("resource", &format!("{}{resource}", app.url)),
        ];
        read(app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap()).await
    };
    for (resource, opened) in
        [(ADDRESS, [200, 200, 403]), ("/mcp", [200, 200, 200]), ("/mcp/workspaces/other", [404, 403, 403])]
    {
        let (status, body) = token(resource).await;
        assert_eq!(status, 200, "{resource}: {body}");
        let access = body["access_token"].as_str().unwrap();
        let doors = [ADDRESS.to_owned(), "/mcp".to_owned(), format!("/mcp/connections/{CONNECTION}")];
        for (door, status) in doors.iter().zip(opened) {
            let asked = app.http.post(format!("{}{door}", app.url)).header("content-type", "application/json");
            let asked = asked.bearer_auth(access).body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
            assert_eq!(asked.send().await.unwrap().status(), status, "{resource} at {door}");
        }
    }
}

#[actix_web::test]
async fn all_connections_together_tell_how_their_tables_belong_together() {
    let app = store().await.at("/mcp");
    let told = tool(&app, Era::Session, "get_instructions", json!({})).await;
    let told = told["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("- shop.main.orders.customer_id = archive.main.customers.id\n"), "{told}");
    assert!(told.contains("\n# Workspaces\n") && told.contains("- store. Orders with their customers\n"), "{told}");
}

#[actix_web::test]
async fn all_connections_together_have_workspaces_by_their_names() {
    let app = store().await.at("/mcp");
    for era in ERAS {
        let rows = async |name: &str, arguments: Value| content(&app, era, name, arguments).await["rows"].take();
        assert_eq!(rows("get_catalogs", json!({})).await, json!([["archive"], ["shop"], ["store"]]));
        let tables = rows("get_tables", json!({"catalogName": "store", "tableName": "people"})).await;
        assert_eq!((&tables[0][0], &tables[0][1]), (&json!("store"), &json!("crm")), "{tables}");
        let joined = "SELECT p.name FROM orders o JOIN crm.people p ON p.id = o.customer_id WHERE o.id = 3";
        assert_eq!(rows("execute_select", json!({"query": joined, "catalogName": "Store"})).await, json!([["美咲"]]));
        let call = json!({"procedure": "orders_of", "parameters": {"customer": 3}, "catalogName": "store"});
        assert_eq!(rows("execute_procedure", call).await, json!([[3, 99999.99]]));
        let told = tool(&app, era, "get_instructions", json!({"catalogName": "store"})).await;
        assert!(told["structuredContent"]["instructions"].as_str().unwrap().contains("# Workspace store"), "{told}");
    }
    for (name, arguments, words) in [
        ("execute_select", json!({"query": "SELECT * FROM customers", "catalogName": "store"}), "no table customers"),
        (
            "execute_insert",
            json!({"query": "INSERT INTO crm.people VALUES (9, 'x', 'y')", "catalogName": "store"}),
            "read-only",
        ),
        ("execute_select", json!({"query": "SELECT * FROM store.main.orders"}), "catalogName=store"),
    ] {
        let text = failure(&app, name, arguments.clone()).await;
        assert!(text.contains(words), "{name} {arguments}: no {words:?} in {text:?}");
    }
}

/// Reads with the address of each resource in its header, as the stateless era wants it.
async fn definition(app: &TestApp, by: &Caller, era: Era, uri: &Value) -> Value {
    let mut params = json!({"uri": uri});
    if let Era::Stateless = era {
        params["name"] = uri.clone();
    }
    let (status, body) = read(ask(app, by, era, "resources/read", params).await).await;
    assert_eq!(status, 200, "{era:?} {uri}: {body}");
    body["result"]["contents"][0]["text"].clone()
}

#[actix_web::test]
async fn tables_of_a_workspace_are_resources_by_its_names() {
    let mut app = store().await;
    for (at, prefix) in [(ADDRESS, ""), ("/mcp", "store.")] {
        app.mcp = at.to_owned();
        let app = &app;
        let given = Rights::each([]).with_workspaces([("store".into(), WorkspaceGrant::Given(Scope::Read))]);
        let by = user(app, if prefix.is_empty() { "one" } else { "other" }, given);
        app.look().await;
        for era in ERAS {
            let answer = async |method: &str, params: Value| read(ask(app, &by, era, method, params).await).await.1;
            let listed = answer("resources/list", json!({})).await;
            let listed = listed["result"]["resources"].as_array().unwrap();
            let found: Vec<_> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
            let expected = ["crm.people", "main.orders", "reports.turnover"].map(|name| format!("{prefix}{name}"));
            assert_eq!(found, expected, "{at} {era:?}");
            let text = definition(app, &by, era, &listed[0]["uri"]).await;
            assert!(
                text.as_str().unwrap().starts_with("# crm.people") && !text.to_string().contains("customers"),
                "{text}"
            );
            let view = definition(app, &by, era, &json!("portico://store/reports/turnover")).await;
            assert!(view.as_str().unwrap().contains("total"), "{view}");
            let (_, hidden) = read(
                ask(
                    app,
                    &by,
                    era,
                    "resources/read",
                    json!({
                        "uri": "portico://shop/main/customers", "name": "portico://shop/main/customers",
                    }),
                )
                .await,
            )
            .await;
            assert!(hidden["error"]["code"].is_i64(), "{hidden}");
            let templates = answer("resources/templates/list", json!({})).await;
            let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
            assert_eq!(template, "portico://store/{schemaName}/{tableName}");
            let typed = json!({
                "ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "tableName", "value": "peo"},
            });
            let completed = answer("completion/complete", typed).await;
            assert_eq!(completed["result"]["completion"]["values"], json!(["people"]), "{completed}");
        }
    }
}

const SECOND: &str = r#"
[[workspaces]]
name = "books"
description = "The customers alone"
assets = [{ table = "archive.main.customers", alias = "readers" }]
"#;

/// Who was given workspaces and no connection finds what they hold where all that a credential opens is.
#[actix_web::test]
async fn who_has_workspaces_alone_finds_them_all_at_one_address() {
    let shop = ["access = \"read-write\"", ORDERS_OF, RENAME].concat();
    let configuration = Configuration::new().sqlite("shop", &shop).sqlite("archive", "");
    let app = configuration.with(&[WORKSPACE, SECOND].concat()).start().await.at("/mcp");
    let hold = |name: &str, scope| (name.into(), WorkspaceGrant::Given(scope));
    let [one, two, mixed] = [
        ("one", Rights::each([]).with_workspaces([hold("store", Scope::Write)])),
        ("two", Rights::each([]).with_workspaces([hold("store", Scope::Write), hold("books", Scope::Read)])),
        ("mixed", Rights::only([CONNECTION], Scope::Read).with_workspaces([hold("books", Scope::Read)])),
    ]
    .map(|(name, rights)| user(&app, name, rights));
    app.look().await;
    for era in ERAS {
        let call = async |by: &Caller, name: &str, arguments: Value| {
            let params = json!({"name": name, "arguments": arguments});
            let (status, mut body) = read(ask(&app, by, era, "tools/call", params).await).await;
            assert_eq!(status, 200, "{era:?} {name}: {body}");
            body["result"].take()
        };
        let rows = async |by: &Caller, name: &str, arguments: Value| {
            let mut result = call(by, name, arguments).await;
            assert_eq!(result["isError"], false, "{era:?} {name}: {result}");
            result["structuredContent"]["rows"].take()
        };
        let failed = async |by: &Caller, name: &str, arguments: Value| {
            let result = call(by, name, arguments).await;
            assert_eq!(result["isError"], true, "{era:?} {name}: {result}");
            result["content"][0]["text"].as_str().unwrap().to_owned()
        };
        // The only one need not be named.
        let query = json!({"query": "SELECT name FROM crm.people WHERE id = 3"});
        assert_eq!(rows(&one, "execute_select", query.clone()).await, json!([["美咲"]]));
        assert_eq!(rows(&one, "get_catalogs", json!({})).await, json!([["store"]]));
        assert_eq!(rows(&one, "get_catalogs", json!({"catalogName": "sto%"})).await, json!([["store"]]));
        assert_eq!(rows(&one, "orders_of", json!({"customer": 3})).await, json!([[3, 99999.99]]));
        let insert = "INSERT INTO orders (id, customer_id, total) VALUES (9, 3, 1) RETURNING id";
        assert_eq!(rows(&one, "execute_insert", json!({"query": insert})).await, json!([[9]]));
        let delete = json!({"query": "DELETE FROM orders WHERE id = 9"});
        assert_eq!(call(&one, "execute_update", delete).await["structuredContent"]["affectedRows"], 1);
        let told = call(&one, "get_instructions", json!({})).await;
        assert!(told.to_string().contains("# Workspace store"), "{told}");
        let said = failed(&one, "execute_select", json!({"query": "SELECT 1", "catalogName": "shop"})).await;
        assert!(said.contains("no connection \"shop\"") && said.contains("workspaces: store"), "{said}");
        // Of several, listings tell of all, and a statement says which.
        assert_eq!(rows(&two, "get_catalogs", json!({})).await, json!([["books"], ["store"]]));
        let tables = rows(&two, "get_tables", json!({})).await;
        let places: Vec<_> = tables.as_array().unwrap().iter().map(|row| [&row[0], &row[1], &row[2]]).collect();
        let expected = json!([
            ["books", "main", "readers"],
            ["store", "crm", "people"],
            ["store", "main", "orders"],
            ["store", "reports", "turnover"],
        ]);
        assert_eq!(json!(places), expected);
        let named = rows(&two, "get_tables", json!({"catalogName": "b%"})).await;
        assert_eq!((named.as_array().unwrap().len(), &named[0][2]), (1, &json!("readers")));
        let query = json!({"query": "SELECT name FROM readers WHERE id = 3", "catalogName": "books"});
        assert_eq!(rows(&two, "execute_select", query).await, json!([["美咲"]]));
        let said = failed(&two, "execute_select", json!({"query": "SELECT 1"})).await;
        assert!(said.contains("catalogName") && said.contains("books, store"), "{said}");
        assert_eq!(rows(&two, "orders_of", json!({"customer": 3})).await, json!([[3, 99999.99]]));
        let told = call(&two, "get_instructions", json!({})).await["structuredContent"]["instructions"].take();
        let told = told.as_str().unwrap();
        for words in ["# Workspaces\n", "- books. The customers alone", "# Workspace books", "# Workspace store"] {
            assert!(told.contains(words), "no {words:?} in {told}");
        }
        assert!(!told.contains("archive") && !told.contains("shop."), "{told}");
        // Beside a connection, a workspace adds what lies in none that is reached.
        let tables = rows(&mixed, "get_tables", json!({"tableName": "%e%s"})).await;
        let of: Vec<_> = tables.as_array().unwrap().iter().map(|row| [&row[0], &row[2]]).collect();
        assert!(
            of.contains(&[&json!("books"), &json!("readers")]) && of.contains(&[&json!("shop"), &json!("orders")]),
            "{of:?}"
        );
        let on_shop = json!({"query": "SELECT count(*) FROM shop.main.orders"});
        assert_eq!(rows(&mixed, "execute_select", on_shop).await, json!([[3]]));
        let said = failed(&mixed, "execute_select", json!({"query": "SELECT 1 FROM archive.main.customers"})).await;
        assert!(said.contains("no connection \"archive\""), "{said}");
    }
    let tools = listed(&app, &two).await;
    let select = tools.iter().find(|tool| tool["name"] == "execute_select").unwrap();
    assert_eq!(select["inputSchema"]["properties"]["catalogName"]["type"], "string", "{select}");
    assert!(
        names(&tools).contains(&"execute_insert") && names(&tools).ends_with(&["orders_of", "rename"]),
        "{tools:?}"
    );
    let greeted =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (status, begun) = read(ask(&app, &two, Era::Session, "initialize", greeted).await).await;
    let said = begun["result"]["instructions"].as_str().unwrap();
    assert!(
        status == 200 && said.starts_with("The workspaces that") && said.contains("Workspaces: books, store."),
        "{begun}"
    );
}
