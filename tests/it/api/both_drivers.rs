//! What the drivers share, tested through HTTP on each: callers cannot tell which one answers.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture::on_both;

on_both! {
    names_of_one_two_and_three_parts
    values_are_bound_and_keep_every_digit
    rows_are_exact
    writing_is_one_transaction
    errors_have_their_code_and_sqlstate
    metadata_describe_the_schema
    agents_find_their_way
    nothing_is_left_for_the_next_caller
    a_large_result_streams
    hostile_text_is_answered
}

async fn schema(app: &TestApp) -> &'static str {
    let schemas = app.tool("get_schemas", json!({})).await;
    match schemas["structuredContent"]["rows"][0][1].as_str() {
        Some("main") => "main",
        Some("public") => "public",
        other => panic!("{other:?} is no schema of the fixtures"),
    }
}

async fn names_of_one_two_and_three_parts(app: &TestApp) {
    let schema = schema(app).await;
    for table in [
        "orders".to_owned(),
        format!("{schema}.orders"),
        format!("shop.{schema}.orders"),
        format!("\"shop\".\"{schema}\".\"orders\""),
        format!("[shop].[{schema}].[orders]"),
        format!("SHOP /* a comment */ . {schema}.orders"),
    ] {
        assert_eq!(app.rows(&format!("SELECT count(*) FROM {table}")).await, json!([[3]]), "{table}");
    }
    let (status, answer) = app.query(json!({"query": "SELECT count(*) FROM orders", "defaultSchema": schema})).await;
    assert_eq!(status, 200, "{answer}");
}

async fn values_are_bound_and_keep_every_digit(app: &TestApp) {
    let query = "SELECT id FROM orders WHERE total = @total AND customer_id IN (@c, @c) -- @no\n AND '@no' <> @text";
    let parameters = json!({"total": {"value": 10.50}, "@c": 1, "text": "x' OR 1=1 --"});
    let (status, answer) = app.query(json!({"query": query, "parameters": parameters})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[1]])), "{answer}");
    for parameters in [json!({}), json!({"a": 1, "b": 2})] {
        let (status, answer) = app.query(json!({"query": "SELECT @a", "parameters": parameters})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    }
}

async fn rows_are_exact(app: &TestApp) {
    let query = json!({"query": "SELECT id, total, placed FROM orders ORDER BY id"});
    let text = app.post("/api/query").json(&query).send().await.unwrap().text().await.unwrap();
    // As text: a JSON library would drop the zero of 10.50.
    let rows = r#""rows":[[1,10.50,"2026-01-02"],[2,0.10,null],[3,99999.99,"2025-12-31"]]"#;
    assert!(text.contains(rows), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let types: Vec<&Value> =
        document["results"][0]["schema"].as_array().unwrap().iter().map(|it| &it["dataTypeName"]).collect();
    assert_eq!(types[1..], ["NUMERIC", "DATE"]);
    assert_eq!(document["results"][0]["schema"][1]["tableName"], "orders");
    assert_eq!(document["results"][0]["schema"][1]["catalogName"], "shop");
    assert_eq!(app.rows("SELECT name FROM customers ORDER BY id").await, json!([["Łukasz"], ["José"], ["美咲"]]));
}

async fn writing_is_one_transaction(app: &TestApp) {
    let (status, answer) =
        app.query(json!({"query": "INSERT INTO orders VALUES (10, 1, 1, NULL), (11, 1, -1, NULL)"})).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!(1401)), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]), "half a statement was kept");
    let (_, answer) = app.query(json!({"query": "INSERT INTO orders VALUES (10, 1, 1, NULL) RETURNING id"})).await;
    assert_eq!((&answer["results"][0]["rows"], &answer["results"][0]["affectedRows"]), (&json!([[10]]), &json!(1)));
    let (_, answer) = app.query(json!({"query": "DELETE FROM orders WHERE id >= 10"})).await;
    assert_eq!((&answer["results"][0]["schema"], &answer["results"][0]["affectedRows"]), (&json!([]), &json!(1)));
}

async fn errors_have_their_code_and_sqlstate(app: &TestApp) {
    for (query, status, code, sql_state) in [
        ("SELEC 1", 400, 1400, "42601"),
        ("SELECT nope FROM customers", 400, 1400, "42703"),
        ("SELECT * FROM custmers", 404, 1300, "42P01"),
        ("INSERT INTO customers VALUES (1, 'x', NULL)", 409, 1401, "23505"),
        ("INSERT INTO customers VALUES (8, NULL, NULL)", 409, 1401, "23502"),
        ("INSERT INTO orders VALUES (9, 99, 1, NULL)", 409, 1401, "23503"),
        ("INSERT INTO orders VALUES (9, 1, -1, NULL)", 409, 1401, "23514"),
    ] {
        let (got, answer) = app.query(json!({"query": query})).await;
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{query}: {answer}");
        assert_eq!(answer["error"]["sqlState"], sql_state, "{query}: {answer}");
    }
    let (_, answer) = app.query(json!({"query": "SELECT * FROM custmers"})).await;
    assert_eq!(answer["error"]["hint"], "did you mean customers?");
    for query in ["BEGIN", "COMMIT", "SAVEPOINT a", ""] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{query}: {answer}");
    }
}

async fn metadata_describe_the_schema(app: &TestApp) {
    let schema = schema(app).await;
    let rows =
        async |tool: &str, arguments: Value| app.tool(tool, arguments).await["structuredContent"]["rows"].clone();
    assert_eq!(rows("get_catalogs", json!({})).await, json!([["shop"]]));
    let tables = rows("get_tables", json!({"schemaName": schema})).await;
    let names: Vec<(&Value, &Value)> = tables.as_array().unwrap().iter().map(|row| (&row[2], &row[3])).collect();
    assert_eq!(
        names,
        [
            (&json!("cities"), &json!("VIEW")),
            (&json!("customers"), &json!("TABLE")),
            (&json!("orders"), &json!("TABLE"))
        ]
    );
    let columns = rows("get_columns", json!({"tableName": "orders"})).await;
    let total = &columns[2];
    assert_eq!(
        (&total[3], &total[4], &total[7], &total[8], &total[11]),
        (&json!("total"), &json!(13), &json!(10), &json!(2), &json!(false))
    );
    assert_eq!(
        (&columns[0][3], &columns[0][12], &columns[0][10]),
        (&json!("id"), &json!(true), &json!(1)),
        "{columns}"
    );
    assert_eq!(rows("get_tables", json!({"catalogName": "other"})).await, json!([]));
}

async fn agents_find_their_way(app: &TestApp) {
    let text = app.tool_error("execute_select", json!({"query": "SELECT * FROM order"})).await;
    assert!(text.contains("SQLSTATE"), "{text}");
    let text = app.tool_error("execute_select", json!({"query": "SELECT  nme FROM customers"})).await;
    assert!(text.contains("Position: 9") && text.contains("42703"), "{text}");
    let text = app.tool_error("execute_select", json!({"query": "SELECT 1 FROM shop.nope.orders"})).await;
    assert!(text.contains("nope"), "{text}");
    let instructions = app.tool("get_instructions", json!({})).await;
    assert!(instructions["content"][0]["text"].as_str().unwrap().contains("customers"));
}

async fn nothing_is_left_for_the_next_caller(app: &TestApp) {
    // Whatever the first call tried, every session answers the same afterwards.
    for query in [
        "SET search_path = pg_catalog",
        "CREATE TEMP TABLE left_over (a int)",
        "SELECT set_config('search_path', 'pg_catalog', false)",
        "PRAGMA case_sensitive_like = 1",
    ] {
        app.query(json!({"query": query})).await;
    }
    let (status, answer) = app.query(json!({"query": "SELECT * FROM left_over"})).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

async fn a_large_result_streams(app: &TestApp) {
    let query =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, 'row' FROM n";
    let rows = app.rows(query).await;
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), &rows[0], &rows[99_999]), (100_000, &json!([1, "row"]), &json!([100_000, "row"])));
}

async fn hostile_text_is_answered(app: &TestApp) {
    for query in [
        format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("SELECT {}1", "NOT ".repeat(20_000)),
        format!("SELECT {}", "+".repeat(100_000)),
        format!("SELECT 1{}", " + 1".repeat(100_000)),
        format!("SELECT {}", "[".repeat(100_000)),
        format!("SELECT '{}", "x".repeat(200_000)),
        "SELECT 1 \u{0}".to_owned(),
        "\u{feff}SELECT 1".to_owned(),
        "SELECT $$".to_owned(),
        "/*".repeat(50_000),
    ] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert!((200..500).contains(&status), "{status}: {answer}");
    }
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]), "the service stands");
    let long = format!("SELECT count(*) FROM orders WHERE id IN ({}1)", "1, ".repeat(10_000));
    assert_eq!(app.rows(&long).await, json!([[1]]), "a long list is nothing hostile");
}
