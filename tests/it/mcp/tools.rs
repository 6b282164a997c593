//! The tools: what is listed for whom, what they answer, and what an agent learns from a failure.

use serde_json::{Value, json};

use crate::support::app::{Caller, TestApp, read};
use crate::support::fixture::{self, ORDERS_OF, RENAME};
use crate::support::mcp::at_the_address_of_all;

async fn names(app: &TestApp, by: &Caller, query: &str) -> Vec<String> {
    let url = format!("{}{query}", app.mcp_url());
    let request = app.http.post(url).basic_auth(&by.name, Some(&by.secret)).header("content-type", "application/json");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (status, body) = read(request.body(body).send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}");
    let tools = body["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A service with procedures that are tools too, and results of two rows.
async fn service() -> TestApp {
    fixture::with_sqlite(&["access = \"read-write\"\nmax_rows = 2", ORDERS_OF, RENAME].concat()).await
}

#[actix_web::test]
async fn tools_are_listed_in_their_order_and_narrowed_by_filters() {
    let app = service().await;
    let all = names(&app, &app.writer, "").await;
    assert_eq!(
        all,
        [
            "get_instructions",
            "get_catalogs",
            "get_schemas",
            "get_tables",
            "get_columns",
            "get_procedures",
            "get_procedure_parameters",
            "execute_procedure",
            "execute_select",
            "execute_sql",
            "execute_insert",
            "execute_update",
            "orders_of",
            "rename"
        ]
    );
    assert_eq!(names(&app, &app.writer, "?tools=source").await, ["orders_of", "rename"]);
    assert_eq!(names(&app, &app.writer, "?ops=execute_procedure").await, ["execute_procedure", "orders_of", "rename"]);
    assert_eq!(
        names(&app, &app.writer, "?tools=sql&ops=execute_select,get_tables&tools=source").await,
        ["execute_select"]
    );
    let reader = names(&app, &app.reader, "").await;
    for writing in ["execute_insert", "execute_update", "rename"] {
        assert!(!reader.contains(&writing.to_owned()), "{writing} is listed for a reader");
    }
}

#[actix_web::test]
async fn every_listed_tool_is_described_for_models() {
    let app = service().await;
    let (_, body) = app.mcp(&app.writer, "tools/list", json!({})).await;
    for tool in body["result"]["tools"].as_array().unwrap() {
        assert!(tool["title"].is_string() && tool["description"].as_str().unwrap().len() > 10, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object");
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            // One type: some clients refuse unions.
            assert!(property["type"].is_string() && !property.to_string().contains("anyOf"), "{name} of {tool}");
        }
        let reads = tool["annotations"]["readOnlyHint"].as_bool().unwrap();
        assert!(!reads || tool["annotations"]["destructiveHint"] == false, "{tool}");
    }
    insta::assert_json_snapshot!("source_tool", body["result"]["tools"].as_array().unwrap().last().unwrap());
}

#[actix_web::test]
async fn all_twelve_operations_answer() {
    let app = service().await;
    let rows = async |name: &str, arguments: Value| {
        let result = app.tool(name, arguments).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "the text block is the same JSON");
        result["structuredContent"]["rows"].clone()
    };
    assert_eq!(rows("get_catalogs", json!({})).await, json!([["shop"]]));
    assert_eq!(rows("get_schemas", json!({"catalogName": "shop"})).await, json!([["shop", "main"]]));
    let tables = rows("get_tables", json!({"tableType": "VIEW"})).await;
    assert_eq!(tables, json!([["shop", "main", "cities", "VIEW", null, null]]));
    let columns = rows("get_columns", json!({"tableName": "orders", "columnName": "tot%"})).await;
    assert_eq!((&columns[0][3], &columns[0][4], &columns[0][11]), (&json!("total"), &json!(13), &json!(false)));
    assert_eq!(rows("get_procedures", json!({"procedureName": "ren%"})).await[0][2], "rename");
    assert_eq!(rows("get_procedure_parameters", json!({"procedureName": "orders_of"})).await[0][3], "customer");
    assert_eq!(
        rows("execute_procedure", json!({"procedure": "orders_of", "parameters": {"customer": 3}})).await,
        json!([[3, 99999.99]])
    );
    assert_eq!(rows("orders_of", json!({"customer": 3})).await, json!([[3, 99999.99]]));
    assert_eq!(rows("rename", json!({"id": 2, "name": "Zoë"})).await, json!([[2, "Zoë"]]));
    let parameters = json!({"query": "SELECT name FROM shop.main.customers WHERE id = @id", "parameters": {"@id": 2}});
    assert_eq!(rows("execute_select", parameters.clone()).await, json!([["Zoë"]]));
    assert_eq!(rows("execute_sql", parameters).await, json!([["Zoë"]]));
    let inserted = app
        .tool("execute_insert", json!({"query": "INSERT INTO customers VALUES (4, 'x', NULL), (5, 'y', NULL)"}))
        .await;
    assert_eq!(inserted["structuredContent"]["affectedRows"], 2);
    let updated = app.tool("execute_update", json!({"query": "DELETE FROM customers WHERE id > 3"})).await;
    assert_eq!(updated["structuredContent"]["affectedRows"], 2);
    let instructions = app.tool("get_instructions", json!({})).await;
    let text = instructions["content"][0]["text"].as_str().unwrap();
    for word in ["Connection shop", "SQLite", "orders(", "VIEW cities(", "execute_select"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[actix_web::test]
async fn results_are_cut_at_the_caps_and_say_how_to_go_on() {
    let app = service().await;
    let cut = app.tool("execute_select", json!({"query": "SELECT id FROM customers ORDER BY id"})).await;
    let content = &cut["structuredContent"];
    assert_eq!(
        (&content["rows"], &content["truncated"], &content["rowCount"]),
        (&json!([[1], [2]]), &json!(true), &json!(2))
    );
    assert!(content["hint"].as_str().unwrap().contains("OFFSET 2"), "{content}");
    let one = app.tool("execute_select", json!({"query": "SELECT id FROM customers", "maxRows": 1})).await;
    assert!(one["structuredContent"]["hint"].as_str().unwrap().contains("raise maxRows (at most 2)"));
    let exact = app.tool("execute_select", json!({"query": "SELECT id FROM customers LIMIT 2"})).await;
    assert_eq!(exact["structuredContent"]["truncated"], false, "a result that just fits is whole");
    let beyond = app.tool_error("execute_select", json!({"query": "SELECT 1", "maxRows": 3})).await;
    assert!(beyond.contains("maxRows") && beyond.contains('2'), "{beyond}");
    let none = app.tool_error("execute_select", json!({"query": "SELECT 1", "maxRows": 0})).await;
    assert!(none.contains("maxRows: give a whole number from 1 to 2"), "{none}");
    // A statement that writes is not stopped at the cap, or it would be undone.
    let written = app
        .tool(
            "execute_insert",
            json!({"query": "INSERT INTO customers SELECT id + 10, name, city FROM customers RETURNING id"}),
        )
        .await;
    assert_eq!(
        (&written["structuredContent"]["truncated"], &written["structuredContent"]["affectedRows"]),
        (&json!(true), &json!(3))
    );
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[6]]));
}

#[actix_web::test]
async fn arguments_are_taken_as_clients_send_them() {
    let app = fixture::on_sqlite().await;
    let empty = json!({"maxRows": "", "timeout": "", "parameters": "", "format": "", "defaultSchema": ""});
    for given in [empty, json!({"maxRows": 1.0}), json!({"maxRows": "1"}), json!({"maxRows": 1e0, "timeout": 30.0})] {
        let mut arguments = given.clone();
        arguments["query"] = json!("SELECT 1");
        let answer = app.tool("execute_select", arguments).await;
        assert_eq!(answer["isError"], false, "{given}: {answer}");
    }
    // Cursor gives it to tools that have no argument to give.
    assert_eq!(app.tool("get_catalogs", json!({"random_string": "x"})).await["isError"], false);
    for wrong in [json!({"maxRows": 1.5}), json!({"maxRows": "x"}), json!({"random_string": "x"}), json!({"query": ""})]
    {
        let mut arguments = json!({"query": "SELECT 1"});
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let answer = app.tool("execute_select", arguments).await;
        assert_eq!(answer["isError"], true, "{wrong}: {answer}");
    }
}

#[actix_web::test]
async fn the_text_block_has_three_forms() {
    let app = fixture::on_sqlite().await;
    let query = "SELECT id, name, city, 'a,\"b\"|c' AS odd FROM customers WHERE id < 3 ORDER BY id";
    let text = async |format: &str| {
        let result = app.tool("execute_select", json!({"query": query, "format": format})).await;
        assert_eq!(result["structuredContent"]["rowCount"], 2);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    insta::assert_snapshot!(text("csv").await.replace('\r', "\\r"), @r#"
    id,name,city,odd\r
    1,Łukasz,Gdańsk,"a,""b""|c"\r
    2,José,,"a,""b""|c"\r
    "#);
    insta::assert_snapshot!(text("markdown").await, @r#"
    | id | name | city | odd |
    | --- | --- | --- | --- |
    | 1 | Łukasz | Gdańsk | a,"b"\|c |
    | 2 | José | NULL | a,"b"\|c |

    2 rows
    "#);
    for (format, query, expected) in [
        ("csv", "CREATE TABLE made (a)", "0 rows affected\n"),
        ("markdown", "INSERT INTO made VALUES (1), (2)", "2 rows affected\n"),
        ("csv", "SELECT a FROM made WHERE a > 5", "a\r\n"),
    ] {
        let result = app.tool("execute_sql", json!({"query": query, "format": format})).await;
        assert_eq!(result["content"][0]["text"], expected, "{query}");
    }
    let wrong = app.tool_error("execute_select", json!({"query": query, "format": "xml"})).await;
    assert!(wrong.starts_with("format:"), "{wrong}");
}

#[actix_web::test]
async fn what_an_agent_can_mend_tells_how() {
    let app = fixture::on_sqlite().await;
    let cases: [(&str, Value, &[&str]); 12] = [
        ("execute_select", json!({"query": "SELEC 1"}), &["SQLSTATE: 42601"]),
        (
            "execute_select",
            json!({"query": "SELECT * FROM custmers"}),
            &["custmers", "SQLSTATE: 42P01", "did you mean customers"],
        ),
        ("execute_select", json!({"query": "SELECT nme FROM customers"}), &["nme", "SQLSTATE: 42703"]),
        ("execute_select", json!({"query": "DELETE FROM orders"}), &["execute_select", "use execute_update"]),
        ("execute_insert", json!({"query": "SELECT 1"}), &["use execute_select"]),
        ("execute_insert", json!({"query": "INSERT INTO customers VALUES (1, 'again', NULL)"}), &["SQLSTATE: 23505"]),
        ("execute_sql", json!({"query": "BEGIN"}), &["each call is a transaction of its own"]),
        ("execute_sql", json!({"query": "SELECT 1; SELECT 2"}), &["one statement"]),
        ("execute_sql", json!({"query": "SELECT * FROM elsewhere.main.t"}), &["elsewhere", "shop"]),
        ("execute_sql", json!({}), &["query:", "missing"]),
        ("execute_sql", json!({"query": "SELECT 1", "quary": 1}), &["quary", "did you mean query"]),
        ("get_tables", json!({"tableName": 5}), &["tableName: give a string"]),
    ];
    for (tool, arguments, words) in cases {
        let text = app.tool_error(tool, arguments.clone()).await;
        for word in words {
            assert!(text.contains(word), "{tool} {arguments}: no {word:?} in {text:?}");
        }
    }
}

#[actix_web::test]
async fn a_hint_names_no_tool_that_is_switched_off() {
    let delete = json!({"query": "DELETE FROM orders"});
    for (disabled, hint) in [
        ("", "use execute_update"),
        (r#""execute_update""#, "use execute_sql"),
        (r#""execute_update", "execute_sql""#, "no tool of this connection takes such a statement"),
    ] {
        let more = format!("access = \"read-write\"\n[connections.disabled]\ntools = [{disabled}]");
        let app = fixture::with_sqlite(&more).await;
        let text = app.tool_error("execute_select", delete.clone()).await;
        assert!(text.ends_with(&format!("Hint: {hint}")), "{disabled}: {text}");
    }
    let app = fixture::with_sqlite("access = \"read-only\"").await;
    let text = app.tool_error("execute_select", delete).await;
    let hint = "Hint: this connection is read-only; an administrator can change that: access = \"read-write\" of the connection";
    assert!(text.ends_with(hint), "every tool that takes it would refuse it: {text}");
}

#[actix_web::test]
async fn what_an_agent_may_not_do_is_told_by_the_protocol() {
    let app = fixture::on_sqlite().await;
    let (status, body) = app.mcp(&app.writer, "tools/call", json!({"name": "execute_selct"})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    assert!(body["error"]["message"].as_str().unwrap().contains("did you mean execute_select"), "{body}");
    let call = json!({"name": "execute_insert", "arguments": {"query": "INSERT INTO customers VALUES (9, 'x', NULL)"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string();
    let request = app.mcp_request().basic_auth(&app.reader.name, Some(&app.reader.secret)).body(body);
    let response = request.send().await.unwrap();
    let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"read write\""), "{challenge}");
    assert_eq!(response.status(), 403);
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
}

#[actix_web::test]
async fn a_read_only_connection_has_no_writing_tools_and_refuses_every_write() {
    let app = fixture::with_sqlite("access = \"read-only\"").await;
    let listed = names(&app, &app.writer, "").await;
    assert!(!listed.contains(&"execute_insert".to_owned()) && listed.contains(&"execute_sql".to_owned()));
    let insert = "INSERT INTO customers VALUES (9, 'x', NULL)";
    let (status, body) =
        app.mcp(&app.writer, "tools/call", json!({"name": "execute_insert", "arguments": {"query": insert}})).await;
    assert_eq!((status, &body["error"]["code"]), (200, &json!(-32602)));
    let text = app.tool_error("execute_sql", json!({"query": insert})).await;
    assert!(text.contains("read-only") && text.contains("25006"), "{text}");
    let (status, body) = app.query(json!({"query": insert})).await;
    assert_eq!((status, &body["error"]["code"], &body["error"]["sqlState"]), (403, &json!(1200), &json!("25006")));
}

at_the_address_of_all! {
    tools_are_listed_in_their_order_and_narrowed_by_filters
    every_listed_tool_is_described_for_models
    all_twelve_operations_answer
    results_are_cut_at_the_caps_and_say_how_to_go_on
    what_an_agent_can_mend_tells_how
    a_hint_names_no_tool_that_is_switched_off
    what_an_agent_may_not_do_is_told_by_the_protocol
    a_read_only_connection_has_no_writing_tools_and_refuses_every_write
}
