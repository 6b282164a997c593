//! `/mcp`: all that a credential opens at one address. What holds of one connection there is tried by the tests of
//! that; here are several: two of SQLite and one of PostgreSQL.

mod callers;
mod workspaces;

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope};
use reqwest::Response;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, Caller, TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture::{self, ORDERS_OF, RENAME, orders_above};
use crate::support::mcp::modern;

const ALL: &str = "/mcp";

/// `shop` and `ledger` to be written, `archive` only to be read.
async fn three() -> TestApp {
    let shop = ["access = \"read-write\"\nmax_rows = 2\ninstructions = \"Amounts are in euros.\"", ORDERS_OF].concat();
    let archive = ["access = \"read-only\"", ORDERS_OF].concat();
    let ledger = fixture::postgres().await;
    let configuration = Configuration::new().sqlite("shop", &shop).sqlite("archive", &archive);
    configuration.connection("ledger", &ledger, "access = \"read-write\"").start().await.at(ALL)
}

/// How a caller of each era asks for the same.
#[derive(Clone, Copy, Debug)]
enum Era {
    Session,
    Stateless,
}

const ERAS: [Era; 2] = [Era::Session, Era::Stateless];

async fn ask(app: &TestApp, by: &Caller, era: Era, method: &str, params: Value) -> Response {
    match era {
        Era::Session => {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
            app.mcp_request().basic_auth(&by.name, Some(&by.secret)).body(body).send().await.unwrap()
        }
        Era::Stateless => modern(app, by, &json!(1), method, params).send().await.unwrap(),
    }
}

async fn result(app: &TestApp, era: Era, method: &str, params: Value) -> Value {
    let (status, mut body) = read(ask(app, &app.writer, era, method, params).await).await;
    assert!(status == 200 && body.get("error").is_none(), "{era:?} {method}: {status} {body}");
    body["result"].take()
}

async fn tool(app: &TestApp, era: Era, name: &str, arguments: Value) -> Value {
    result(app, era, "tools/call", json!({"name": name, "arguments": arguments})).await
}

/// What a tool answers that succeeds.
async fn content(app: &TestApp, era: Era, name: &str, arguments: Value) -> Value {
    let mut result = tool(app, era, name, arguments).await;
    assert_eq!(result["isError"], false, "{era:?} {name}: {result}");
    result["structuredContent"].take()
}

/// What an agent reads of a failure.
async fn failure(app: &TestApp, name: &str, arguments: Value) -> String {
    let result = tool(app, Era::Session, name, arguments).await;
    assert_eq!(result["isError"], true, "{name}: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn listed(app: &TestApp, by: &Caller) -> Vec<Value> {
    let (status, mut body) = read(ask(app, by, Era::Session, "tools/list", json!({})).await).await;
    assert_eq!(status, 200, "{body}");
    match body["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("{other}"),
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// A user with these rights.
fn user(app: &TestApp, name: &str, rights: Rights) -> Caller {
    let name = format!("{name}@example.com");
    let store = &mut app.store();
    store.add_user(NewUser { email: name.clone(), rights }).unwrap();
    let secret = store.create_pat(&name, NewPat::default()).unwrap().1.expose_secret().to_owned();
    Caller { name, secret }
}

#[actix_web::test]
async fn all_twelve_operations_answer_over_three_connections_in_both_eras() {
    let app = three().await;
    for (round, era) in (0..).zip(ERAS) {
        let rows = async |name: &str, arguments: Value| content(&app, era, name, arguments).await["rows"].take();
        assert_eq!(rows("get_catalogs", json!({})).await, json!([["archive"], ["ledger"], ["shop"]]));
        assert_eq!(rows("get_catalogs", json!({"catalogName": "%h%"})).await, json!([["archive"], ["shop"]]));
        assert_eq!(
            rows("get_schemas", json!({})).await,
            json!([["archive", "main"], ["ledger", "public"], ["shop", "main"]])
        );
        let views = rows("get_tables", json!({"tableType": "VIEW"})).await;
        let places: Vec<_> = views.as_array().unwrap().iter().map(|row| (&row[0], &row[1], &row[2])).collect();
        let (cities, main, public) = (json!("cities"), json!("main"), json!("public"));
        let [archive, ledger, shop] = ["archive", "ledger", "shop"].map(Value::from);
        assert_eq!(places, [(&archive, &main, &cities), (&ledger, &public, &cities), (&shop, &main, &cities)]);
        let tables = rows("get_tables", json!({"catalogName": "ledger"})).await;
        assert!(tables.as_array().unwrap().iter().all(|row| row[0] == "ledger"), "{tables}");
        let columns = rows("get_columns", json!({"tableName": "orders", "columnName": "total"})).await;
        assert_eq!(columns.as_array().unwrap().len(), 3, "{columns}");
        let procedures = rows("get_procedures", json!({})).await;
        let found: Vec<_> = procedures.as_array().unwrap().iter().map(|row| (&row[0], &row[2])).collect();
        let orders_of = json!("orders_of");
        assert_eq!(found, [(&archive, &orders_of), (&shop, &orders_of)]);
        let parameters = rows("get_procedure_parameters", json!({"catalogName": "shop"})).await;
        assert_eq!((&parameters[0][0], &parameters[0][3]), (&shop, &json!("customer")));
        for arguments in [
            json!({"procedure": "archive.main.orders_of", "parameters": {"customer": 3}}),
            json!({"procedure": "orders_of", "catalogName": "archive", "parameters": {"customer": 3}}),
        ] {
            assert_eq!(rows("execute_procedure", arguments).await, json!([[3, 99999.99]]));
        }
        for name in ["execute_select", "execute_sql"] {
            let named =
                json!({"query": "SELECT name FROM ledger.public.customers WHERE id = @id", "parameters": {"id": 3}});
            assert_eq!(rows(name, named).await, json!([["美咲"]]));
            let default = json!({"query": "SELECT count(*) FROM customers", "catalogName": "ARCHIVE"});
            assert_eq!(rows(name, default).await, json!([[3]]));
        }
        // Their caps are those of the connection that is asked.
        let cut = content(&app, era, "execute_select", json!({"query": "SELECT id FROM shop.main.customers"})).await;
        assert_eq!((&cut["rowCount"], &cut["truncated"]), (&json!(2), &json!(true)));
        let joined =
            "SELECT o.id FROM shop.main.orders o JOIN ledger.public.customers c ON c.id = o.customer_id ORDER BY 1";
        let cut = content(&app, era, "execute_select", json!({"query": joined, "maxRows": 2})).await;
        assert_eq!((&cut["rows"], &cut["truncated"]), (&json!([[1], [2]]), &json!(true)));
        let whole = content(&app, era, "execute_select", json!({"query": joined, "maxRows": 3})).await;
        assert_eq!((&whole["rowCount"], &whole["truncated"]), (&json!(3), &json!(false)));
        let id = 10 + round;
        let insert = format!("INSERT INTO ledger.public.customers VALUES ({id}, 'x', NULL)");
        let inserted = content(&app, era, "execute_insert", json!({"query": insert})).await;
        assert_eq!(inserted["affectedRows"], 1);
        let delete = format!("DELETE FROM customers WHERE id = {id}");
        let deleted = content(&app, era, "execute_update", json!({"query": delete, "catalogName": "ledger"})).await;
        assert_eq!(deleted["affectedRows"], 1);
        let text = tool(&app, era, "get_instructions", json!({})).await;
        let text = text["structuredContent"]["instructions"].as_str().unwrap().to_owned();
        for words in [
            "- archive: SQLite 3",
            "- ledger: PostgreSQL",
            "you may read and write. Amounts are in euros.",
            "`connection.schema.table`",
            "# Connection archive",
            "# Connection ledger",
            "# Connection shop",
        ] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
        assert!(text.len() <= 24_000, "{}", text.len());
        let one = tool(&app, era, "get_instructions", json!({"catalogName": "shop"})).await;
        let one = one["structuredContent"]["instructions"].as_str().unwrap();
        assert!(one.starts_with("# Connection shop") && !one.contains("ledger"), "{one}");
    }
}

#[actix_web::test]
async fn tools_are_listed_once_and_those_that_several_have_are_told_apart() {
    let shop = ["access = \"read-write\"", &orders_above("main"), ORDERS_OF, RENAME].concat();
    let archive = ["access = \"read-write\"", &orders_above("main").replace("shop.", "archive."), ORDERS_OF].concat();
    let app = Configuration::new().sqlite("shop", &shop).sqlite("archive", &archive).start().await.at(ALL);
    let tools = listed(&app, &app.writer).await;
    let found = names(&tools);
    assert_eq!(found[0], "get_instructions");
    assert_eq!(
        found[12..],
        ["archive_orders_above", "shop_orders_above", "archive_orders_of", "shop_orders_of", "rename"]
    );
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert!(of("rename")["description"].as_str().unwrap().ends_with("(Connection shop.)"), "{}", of("rename"));
    for name in ["execute_select", "execute_sql", "execute_insert", "execute_update", "execute_procedure"] {
        let catalog = &of(name)["inputSchema"]["properties"]["catalogName"];
        assert_eq!(catalog["type"], "string", "{name}");
        assert!(of(name)["description"].as_str().unwrap().contains("connection.schema."), "{name}");
    }
    let above = tool(&app, Era::Stateless, "archive_orders_above", json!({"least": 50})).await;
    assert_eq!(above["structuredContent"]["rows"], json!([[3, 99999.99]]));
    let renamed = tool(&app, Era::Session, "rename", json!({"id": 2, "name": "Zoë"})).await;
    assert_eq!(renamed["structuredContent"]["rows"], json!([[2, "Zoë"]]));
    let told = tool(&app, Era::Session, "get_instructions", json!({})).await;
    let told = told["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("- shop_orders_above:") && !told.contains("- orders_above:"), "{told}");
    let unknown = json!({"name": "orders_above", "arguments": {}});
    let (status, body) = read(ask(&app, &app.writer, Era::Session, "tools/call", unknown).await).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    assert!(body["error"]["message"].as_str().unwrap().contains("_orders_above"), "{body}");
    // Who reaches one of them has no need of any of that.
    let mia = user(&app, "mia", Rights::only([CONNECTION], Scope::Write));
    app.look().await;
    let one = listed(&app, &mia).await;
    assert_eq!(names(&one)[12..], ["orders_above", "orders_of", "rename"]);
    let select = one.iter().find(|tool| tool["name"] == "execute_select").unwrap();
    assert_eq!(select["inputSchema"]["properties"].get("catalogName"), None, "{select}");
    // Readers are shown no tools that write.
    let reader = listed(&app, &app.reader).await;
    assert!(!names(&reader).iter().any(|name| ["execute_insert", "rename"].contains(name)), "{:?}", names(&reader));
}

#[actix_web::test]
async fn it_is_told_what_a_statement_lacks_to_say_whom_it_addresses() {
    let app = three().await;
    for (name, arguments, words) in [
        ("execute_select", json!({"query": "SELECT 1"}), vec!["not clear", "catalogName", "archive, ledger, shop"]),
        ("execute_select", json!({"query": "SELECT 1 FROM leger.public.orders"}), vec!["leger", "did you mean ledger"]),
        (
            "execute_select",
            json!({"query": "SELECT 1", "catalogName": "sop"}),
            vec!["catalogName", "did you mean shop"],
        ),
        ("execute_select", json!({"catalogName": "shop"}), vec!["query: this member is missing"]),
        ("execute_select", json!({"query": 5}), vec!["query: give a string"]),
        ("execute_select", json!({"query": "SELECT 1", "catalogName": "shop", "quary": 1}), vec!["did you mean query"]),
        (
            "execute_select",
            json!({"query": "SELECT 1", "catalogName": "shop", "maxRows": 3}),
            vec!["maxRows", "2 rows"],
        ),
        ("execute_procedure", json!({"procedure": "orders_of"}), vec!["connection.schema.procedure", "catalogName"]),
        ("get_tables", json!({"catalogName": "nothing"}), vec!["catalogName", "archive, ledger, shop"]),
        ("get_instructions", json!({"catalog": "shop"}), vec!["catalog"]),
        (
            "execute_insert",
            json!({"query": "INSERT INTO archive.main.customers VALUES (9, 'x', NULL)"}),
            vec!["read-only", "25006"],
        ),
    ] {
        let text = failure(&app, name, arguments.clone()).await;
        for word in words {
            assert!(text.contains(word), "{name} {arguments}: no {word:?} in {text:?}");
        }
    }
    // The default schema is the default connection's, and another one is not told of it.
    let elsewhere = json!({
        "query": "SELECT count(*) FROM ledger.public.customers", "catalogName": "shop", "defaultSchema": "main",
    });
    assert_eq!(content(&app, Era::Session, "execute_select", elsewhere).await["rows"], json!([[3]]));
}

#[actix_web::test]
async fn a_connection_that_is_away_takes_nothing_from_the_others() {
    let configuration = Configuration::new().sqlite("shop", "").connection("gone", "sqlite:nowhere/gone.db", "");
    let app = configuration.start().await.at(ALL);
    for era in ERAS {
        let tables = content(&app, era, "get_tables", json!({"tableType": "VIEW"})).await;
        assert_eq!(tables["rows"], json!([["shop", "main", "cities", "VIEW", null, null]]));
        let hint = tables["hint"].as_str().unwrap();
        assert!(tables["truncated"] == true && hint.contains("gone is missing here"), "{tables}");
        let resources = result(&app, era, "resources/list", json!({})).await;
        assert_eq!(resources["resources"].as_array().unwrap().len(), 3, "{resources}");
        let told = tool(&app, era, "get_instructions", json!({})).await;
        let told = told["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("It does not answer now") && told.contains("# Connection shop"), "{told}");
    }
    let text = failure(&app, "get_tables", json!({"catalogName": "gone"})).await;
    assert!(text.contains("gone"), "{text}");
    // There is no row of any other one.
    let text = failure(&app, "get_tables", json!({"tableName": "nothing"})).await;
    assert!(text.contains("gone is missing here"), "{text}");
    assert_eq!(content(&app, Era::Session, "get_catalogs", json!({})).await["rows"], json!([["gone"], ["shop"]]));
}

#[actix_web::test]
async fn prompts_resources_and_completions_are_those_of_each_connection() {
    const PROMPT: &str = "[[connections.prompts]]\nname = \"explain\"\ntext = \"Explain {{table}}.\"\n\
        [[connections.prompts.arguments]]\nname = \"table\"\ncompletes = \"tables\"\n";
    let configuration = Configuration::new().sqlite("shop", PROMPT);
    let app = configuration.connection("ledger", &fixture::postgres().await, PROMPT).start().await.at(ALL);
    for era in ERAS {
        let prompts = result(&app, era, "prompts/list", json!({})).await;
        assert_eq!(names(prompts["prompts"].as_array().unwrap()), ["ledger_explain", "shop_explain"]);
        let get = json!({"name": "shop_explain", "arguments": {"table": "orders"}});
        let filled = result(&app, era, "prompts/get", get).await;
        assert_eq!(filled["messages"][0]["content"]["text"], "Explain orders.");
        let complete =
            |reference: Value, name: &str| json!({"ref": reference, "argument": {"name": name, "value": "or"}});
        let prompt = complete(json!({"type": "ref/prompt", "name": "ledger_explain"}), "table");
        let values = result(&app, era, "completion/complete", prompt).await;
        assert_eq!(values["completion"]["values"], json!(["orders"]));
        let templates = result(&app, era, "resources/templates/list", json!({})).await;
        let templates: Vec<&Value> =
            templates["resourceTemplates"].as_array().unwrap().iter().map(|it| &it["uriTemplate"]).collect();
        assert_eq!(templates, ["portico://ledger/{schemaName}/{tableName}", "portico://shop/{schemaName}/{tableName}"]);
        let template = complete(json!({"type": "ref/resource", "uri": templates[1]}), "tableName");
        let values = result(&app, era, "completion/complete", template).await;
        assert_eq!(values["completion"]["values"], json!(["orders"]));
        let resources = result(&app, era, "resources/list", json!({})).await;
        let resources = resources["resources"].as_array().unwrap();
        assert_eq!(resources.len(), 6, "{resources:?}");
        let orders = resources.iter().find(|it| it["name"] == "ledger.public.orders").unwrap();
        let mut params = json!({"uri": orders["uri"]});
        if let Era::Stateless = era {
            // Its address stands in a header.
            params["name"] = orders["uri"].clone();
        }
        let read = result(&app, era, "resources/read", params).await;
        assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("# public.orders"), "{read}");
    }
}
