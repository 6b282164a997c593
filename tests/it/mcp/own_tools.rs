//! An administrator's own tools: named, described statements with typed parameters.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::mcp::at_the_address_of_all;

const HIDDEN: &str = r#"
[connections.hidden]
tables = ["customers"]
"#;

const WRITING: &str = r#"
[[connections.tools]]
name = "add_customer"
description = "Adds a customer and returns their number."
sql = "INSERT INTO customers (name, city) VALUES (@name, @city) RETURNING id"
[[connections.tools.parameters]]
name = "name"
type = "text"
[[connections.tools.parameters]]
name = "city"
type = "text"
default = "Gdańsk"
[[connections.tools]]
name = "forget_customer"
description = "Deletes a customer."
sql = "DELETE FROM customers WHERE id = @id"
[[connections.tools.parameters]]
name = "id"
type = "integer"
"#;

/// A service with tools that read and write what callers may not see.
async fn service(access: &str) -> TestApp {
    let tools = [access, HIDDEN, &fixture::orders_above("main"), WRITING].concat();
    fixture::with_sqlite(&tools).await
}

async fn listed(app: &TestApp, query: &str) -> Vec<Value> {
    let url = format!("{}{query}", app.mcp_url());
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let request = app.http.post(url).basic_auth(&app.writer.name, Some(&app.writer.secret));
    let response = request.header("content-type", "application/json").body(body).send().await.unwrap();
    let (_, mut body) = crate::support::app::read(response).await;
    match body["result"]["tools"].take() {
        Value::Array(tools) => tools,
        other => panic!("{other}"),
    }
}

#[actix_web::test]
async fn own_tools_are_typed_and_their_annotations_are_true() {
    let app = service("access = \"read-write\"").await;
    let names =
        |tools: &[Value]| tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&listed(&app, "?tools=source").await), [] as [&str; 0]);
    assert_eq!(names(&listed(&app, "?tools=sql&ops=execute_select").await), ["execute_select", "orders_above"]);
    assert_eq!(names(&listed(&app, "?tools=sql&ops=execute_insert").await), ["execute_insert", "add_customer"]);
    let updates = listed(&app, "?ops=execute_update").await;
    assert_eq!(names(&updates), ["execute_update", "forget_customer"]);
    assert_eq!(
        (&updates[1]["annotations"]["readOnlyHint"], &updates[1]["annotations"]["destructiveHint"]),
        (&json!(false), &json!(true))
    );
    insta::assert_json_snapshot!("own_tool", listed(&app, "?ops=execute_select").await[1]);
}

#[actix_web::test]
async fn own_tools_bind_what_callers_give_and_what_they_leave_out() {
    let app = service("access = \"read-write\"").await;
    let rows = async |name: &str, arguments: Value| {
        let result = app.tool(name, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        result["structuredContent"]["rows"].clone()
    };
    assert_eq!(rows("orders_above", json!({})).await, json!([[3, 99999.99], [1, 10.5]]));
    assert_eq!(rows("orders_above", json!({"least": 100})).await, json!([[3, 99999.99]]));
    assert_eq!(rows("orders_above", json!({"least": "10.49", "placed": "2026-01-01"})).await, json!([[1, 10.5]]));
    assert_eq!(rows("orders_above", json!({"placed": "~' OR 1=1 --"})).await, json!([]), "a value is never text");
    // Hidden from callers, and there for the administrator's own statement.
    assert_eq!(rows("add_customer", json!({"name": "Zoë"})).await, json!([[4]]));
    assert_eq!(app.tool("forget_customer", json!({"id": 4})).await["structuredContent"]["affectedRows"], 1);
    for (tool, arguments, words) in [
        ("forget_customer", json!({}), "id: this parameter is missing"),
        ("forget_customer", json!({"id": "4x"}), "id: give integer, this is string"),
        ("forget_customer", json!({"id": 4, "force": true}), "no member \"force\""),
        ("orders_above", json!({"least": true}), "least: give number or string, this is boolean"),
    ] {
        let text = app.tool_error(tool, arguments.clone()).await;
        assert!(text.contains(words), "{tool} {arguments}: {text}");
    }
}

#[actix_web::test]
async fn own_tools_that_write_need_the_scope_and_a_connection_that_writes() {
    let app = service("access = \"read-write\"").await;
    let (_, body) = app.mcp(&app.reader, "tools/list", json!({})).await;
    let text = body.to_string();
    assert!(text.contains("orders_above") && !text.contains("add_customer"), "{text}");
    let call = json!({"name": "forget_customer", "arguments": {"id": 1}});
    let (status, _) = app.mcp(&app.reader, "tools/call", call.clone()).await;
    assert_eq!(status, 403);
    let app = service("access = \"read-only\"").await;
    let (status, body) = app.mcp(&app.writer, "tools/call", call).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)), "{body}");
}

at_the_address_of_all! {
    own_tools_are_typed_and_their_annotations_are_true
    own_tools_bind_what_callers_give_and_what_they_leave_out
    own_tools_that_write_need_the_scope_and_a_connection_that_writes
}
