//! What the list of tools costs, who is sent what, and which tools are listed.

use serde_json::{Value, json};

use super::{listed, shown, tokens};
use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::mcp::{Client, modern};
use crate::support::postgres::connect;

#[actix_web::test]
async fn all_twelve_operations_fit_into_their_budget() {
    let app = fixture::on_postgres().await;
    let all = listed(&app, "").await;
    assert_eq!(all.len(), 12);
    for (query, budget) in [
        ("", 1_800),
        ("?ops=get_instructions,get_columns,execute_select", 350),
        ("?ops=get_instructions,get_columns,execute_select,execute_insert,execute_update", 700),
    ] {
        let text = shown(&listed(&app, query).await);
        println!("tools/list{query}: {} tokens", tokens(&text));
        assert!(tokens(&text) <= budget, "{query}: {} tokens\n{text}", tokens(&text));
    }
}

#[actix_web::test]
async fn what_is_not_declared_is_understood_all_the_same() {
    let app = fixture::on_sqlite().await;
    for tool in listed(&app, "").await {
        let schema = &tool["inputSchema"];
        assert!(schema["properties"].get("catalogName").or(schema["properties"].get("format")).is_none(), "{tool}");
        assert!(schema.get("additionalProperties").is_none(), "{tool}");
    }
    let arguments = json!({"query": "SELECT 1 AS one", "catalogName": "Shop", "format": "csv"});
    let result = app.tool("execute_select", arguments).await;
    assert_eq!(result["content"][0]["text"], "one\r\n1\r\n");
    let told = app.tool("get_instructions", json!({"catalogName": "shop"})).await;
    assert_eq!(told["isError"], false, "{told}");
    let other = app.tool_error("execute_select", json!({"query": "SELECT 1", "catalogName": "other"})).await;
    assert!(other.contains("there is no connection other") && other.contains("leave catalogName out"), "{other}");
}

/// A service whose source has 25 functions.
async fn with_functions(more: &str) -> TestApp {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    for number in 0..25 {
        let function = format!("f{number:02}() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT {number}'");
        admin.batch_execute(&format!("CREATE FUNCTION {function}")).await.unwrap();
    }
    fixture::with_postgres(&url, &format!("access = \"read-write\"\n{more}")).await
}

#[actix_web::test]
async fn of_many_source_tools_the_first_are_listed_and_all_can_be_called() {
    let app = with_functions("").await;
    let names = async |query: &str| {
        let tools = listed(&app, query).await.into_iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = names("").await;
    assert_eq!((all.len(), all[12].as_str(), all[31].as_str()), (12 + 20, "f00", "f19"));
    assert_eq!(names("?tools=source").await.len(), 25);
    assert_eq!(names("?tools=universal,source").await.len(), 8 + 25);
    assert_eq!(names("?ops=execute_procedure").await.len(), 1 + 20);
    let procedure = &listed(&app, "?ops=execute_procedure").await[0];
    let about = procedure["description"].as_str().unwrap();
    assert!(about.contains("5 procedures have no tool in this list: get_procedures lists them"), "{about}");
    assert_eq!(app.tool("f24", json!({})).await["structuredContent"]["rows"], json!([[24]]));
    let all = with_functions("max_source_tools = 0").await;
    let tools = listed(&all, "").await;
    assert_eq!(tools.len(), 12 + 25);
    assert!(!tools.iter().any(|tool| tool["description"].as_str().unwrap().contains("no tool in this list")));
    assert_eq!(listed(&with_functions("max_source_tools = 3").await, "").await.len(), 12 + 3);
}

/// The result of a tool at the address with this query string.
async fn called(app: &TestApp, query: &str, call: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string();
    let request = app.http.post(format!("{}{query}", app.mcp_url()));
    let request = request.basic_auth(&app.writer.name, Some(&app.writer.secret));
    let request = request.header("content-type", "application/json").body(body);
    read(request.send().await.unwrap()).await.1["result"].take()
}

/// What `get_instructions` tells there.
async fn instructions(app: &TestApp, query: &str) -> String {
    let result = called(app, query, json!({"name": "get_instructions", "arguments": {}})).await;
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn no_tool_is_named_that_is_not_listed() {
    let own = "[[connections.tools]]\nname = \"first_function\"\ndescription = \"What f00 answers.\"\nsql = \"SELECT f00()\"\n";
    let app = with_functions(own).await;
    let all = instructions(&app, "").await;
    assert!(all.contains("## Procedures (execute_procedure)\n\n- f00() → integer"), "{all}");
    let lean = instructions(&app, "?ops=get_instructions,get_columns,execute_select").await;
    assert!(lean.contains("## Functions (call them in SELECT)\n\n- f00() → integer"), "{lean}");
    assert!(all.contains("first_function") && lean.contains("first_function"), "{all}\n{lean}");
    for tool in ["execute_procedure", "execute_update", "get_procedures", "get_tables"] {
        assert!(!lean.contains(tool), "{tool}: {lean}");
    }
    let none = instructions(&app, "?ops=get_instructions").await;
    assert!(!none.contains("f00") && !none.contains("execute_select") && !none.contains("first_function"), "{none}");
}

/// The result of one query at the address with this query string, and whether its tool has an output schema.
async fn sent(app: &TestApp, query: &str) -> (Value, bool) {
    let call = json!({"name": "execute_select", "arguments": {"query": "SELECT 1 AS one"}});
    let result = called(app, query, call).await;
    let has_schema = listed(app, query).await.iter().all(|tool| tool.get("outputSchema").is_some());
    (result, has_schema)
}

#[actix_web::test]
async fn structured_content_is_sent_as_the_address_says_and_never_without_its_schema() {
    let app = fixture::on_sqlite().await;
    let text =
        r#"{"columns":[{"name":"one","type":"BIGINT"}],"truncated":false,"rows":[[1]],"rowCount":1,"affectedRows":-1}"#;
    for (query, structured) in
        [("", true), ("?structured=auto", true), ("?structured=always", true), ("?structured=never", false)]
    {
        let (result, has_schema) = sent(&app, query).await;
        assert_eq!(result["content"][0]["text"], text, "{query}");
        assert_eq!((result.get("structuredContent").is_some(), has_schema), (structured, structured), "{query}");
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for wrong in ["?structured=", "?structured=some", "?structured=Never"] {
        let request = app.http.post(format!("{}{wrong}", app.mcp_url()));
        let request = request.basic_auth(&app.writer.name, Some(&app.writer.secret));
        let response = request.header("content-type", "application/json").body(body).send().await.unwrap();
        let (status, body) = read(response).await;
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32602)), "{wrong}: {body}");
    }
}

#[actix_web::test]
async fn a_client_that_shows_a_model_both_is_sent_one() {
    let app = fixture::on_sqlite().await;
    for (name, structured) in [("github-copilot-developer", false), ("another", true)] {
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let built = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret));
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string();
        let response = built.body(body).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let client = Client { app: &app, by: &app.writer, session };
        let call = json!({"name": "execute_select", "arguments": {"query": "SELECT 1"}});
        let (_, called) = read(client.ask(json!(1), "tools/call", call.clone()).await).await;
        let (_, tools) = read(client.ask(json!(2), "tools/list", json!({})).await).await;
        let has_schema = tools["result"]["tools"][0].get("outputSchema").is_some();
        assert_eq!(
            (called["result"].get("structuredContent").is_some(), has_schema),
            (structured, structured),
            "{name}"
        );
        // The same where each request says who asks.
        let mut modern_call = call;
        modern_call["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": name, "version": "1"});
        let request = modern(&app, &app.writer, &json!(3), "tools/call", modern_call);
        let (_, called) = read(request.send().await.unwrap()).await;
        assert_eq!(called["result"].get("structuredContent").is_some(), structured, "{name}: {called}");
    }
    // A revision that does not know of schemas of results is told of none.
    let old = Client::begin(&app, &app.writer, "2025-03-26").await;
    let (_, tools) = read(old.ask(json!(1), "tools/list", json!({})).await).await;
    assert!(tools["result"]["tools"][0].get("outputSchema").is_none(), "{tools}");
}
