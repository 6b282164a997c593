//! Databases that are away, callers who leave, and what everybody else sees of it.

use serde_json::{Value, json};

use crate::support::app::{TestApp, awaited, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::mcp::ENDLESS;
use crate::support::postgres::connect;
use crate::support::proxy::ChaosProxy;

const READ_WRITE: &str = "access = \"read-write\"\nconnect_timeout = 2";

/// Asks until the connection answers.
async fn until_up(app: &TestApp) {
    eventually("an answer of the connection", async || {
        let (status, answer) = app.query(json!({"query": "SELECT 1", "defaultCatalog": "shop"})).await;
        assert!(status == 200 || status == 503, "{status}: {answer}");
        status == 200
    })
    .await;
}

#[actix_web::test]
async fn a_database_that_is_away_at_the_start_stops_nobody() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, false).await;
    let app = Configuration::new().connection("shop", &proxy.url(&url), READ_WRITE).sqlite("beside", "").start().await;
    let ready = app.ready().await;
    assert_eq!(ready["connections"], json!([{"name": "beside", "status": "up"}, {"name": "shop", "status": "down"}]));
    let response =
        app.post("/api/query").json(&json!({"query": "SELECT 1", "defaultCatalog": "shop"})).send().await.unwrap();
    let delay: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&delay), "{delay}");
    let (status, answer) = read(response).await;
    assert_eq!((status, &answer["error"]["code"]), (503, &json!(1700)));
    assert!(!answer.to_string().contains("127.0.0.1"), "a host name leaked: {answer}");
    let text = app.tool_error("execute_select", json!({"query": "SELECT 1"})).await;
    assert!(text.contains("not available") && text.contains("Retry after"), "{text}");
    let (_, tools) = app.mcp(&app.writer, "tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 12, "the tools are known all the same");
    assert_eq!(app.rows("SELECT count(*) FROM beside.main.orders").await, json!([[3]]));
    proxy.restore();
    until_up(&app).await;
    assert_eq!(app.rows("SELECT count(*) FROM shop.public.orders").await, json!([[3]]));
}

#[actix_web::test]
async fn a_database_that_goes_away_comes_back_by_itself() {
    let url = fixture::postgres().await;
    let proxy = ChaosProxy::start(&url, true).await;
    let app = fixture::with_postgres(&proxy.url(&url), READ_WRITE).await;
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
    proxy.break_up();
    let (status, answer) = app.query(json!({"query": "SELECT 1"})).await;
    assert_eq!((status, &answer["error"]["code"]), (503, &json!(1700)), "{answer}");
    assert!(!answer.to_string().contains("127.0.0.1"), "a host name leaked: {answer}");
    proxy.restore();
    until_up(&app).await;
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

/// How many statements that hold `marker` run at the database.
async fn running(url: &str, marker: &str) -> i64 {
    let query =
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1";
    connect(url).await.query_one(query, &[&format!("%{marker}%")]).await.unwrap().get(0)
}

async fn until_running(url: &str, marker: &str, count: i64) {
    eventually(&format!("{count} statements with {marker} at the server"), async || {
        running(url, marker).await == count
    })
    .await;
}

#[actix_web::test]
async fn a_caller_who_leaves_a_silent_statement_cancels_it() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, READ_WRITE).await;
    let sleep = json!({"query": "SELECT pg_sleep(250) AS silent_marker"});
    let query = tokio::spawn(app.post("/api/query").json(&sleep).send());
    until_running(&url, "silent_marker", 1).await;
    query.abort();
    until_running(&url, "silent_marker", 0).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "execute_select", "arguments": {"query": "SELECT pg_sleep(250) AS tool_marker"}}});
    let request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).body(call.to_string());
    let call = tokio::spawn(request.send());
    until_running(&url, "tool_marker", 1).await;
    call.abort();
    until_running(&url, "tool_marker", 0).await;
}

#[actix_web::test]
async fn a_caller_who_leaves_a_script_or_a_batch_undoes_all_of_it() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, READ_WRITE).await;
    let script = json!({"query": "DELETE FROM orders; SELECT pg_sleep(250) AS script_marker; SELECT 1"});
    let batch = json!({"query": "UPDATE orders AS batch_marker SET total = 0 WHERE id = @id AND pg_sleep(@seconds) IS NOT NULL",
        "parameters": [{"id": 1, "seconds": 0}, {"id": 2, "seconds": 250}, {"id": 3, "seconds": 0}]});
    let dry = json!({"query": "DELETE FROM orders AS dry_marker WHERE pg_sleep(250) IS NOT NULL", "dryRun": true});
    for (path, body, marker) in [
        ("/api/query", script, "script_marker"),
        ("/api/batch", batch, "batch_marker"),
        ("/api/query", dry, "dry_marker"),
    ] {
        let request = tokio::spawn(app.post(path).json(&body).send());
        until_running(&url, marker, 1).await;
        request.abort();
        until_running(&url, marker, 0).await;
        // Waits for the locks of the transaction that is given up.
        let (status, document) = app.query(json!({"query": "UPDATE orders SET placed = NULL"})).await;
        assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(3)), "{path}: {document}");
        assert_eq!(app.rows("SELECT count(*) FROM orders WHERE total > 0").await, json!([[3]]), "{path}");
    }
}

#[actix_web::test]
async fn a_caller_who_leaves_a_script_frees_the_only_writer_of_sqlite() {
    let app = fixture::on_sqlite().await;
    let script = json!({"query": format!("DELETE FROM orders; {ENDLESS}; SELECT 1"), "timeout": 300});
    let request = tokio::spawn(app.post("/api/query").json(&script).send());
    // Another writer has to wait as long as the script runs: it shows that it has begun.
    eventually("the script to hold its lock", async || {
        app.query(json!({"query": "UPDATE orders SET placed = NULL", "timeout": 1})).await.0 != 200
    })
    .await;
    request.abort();
    let (_, document) = awaited("the end of the script", async || {
        Some(app.query(json!({"query": "UPDATE orders SET placed = NULL"})).await).filter(|(status, _)| *status == 200)
    })
    .await;
    assert_eq!(document["results"][0]["affectedRows"], 3, "nothing of the script was kept");
}

#[actix_web::test]
async fn a_caller_who_leaves_while_rows_flow_or_stall_cancels_the_statement() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, READ_WRITE).await;
    for query in [
        "SELECT generate_series(1, 1000000000) AS flow_marker",
        // PostgreSQL sends its rows in pieces of some kilobytes.
        "SELECT i AS flow_marker, repeat('x', 1000), CASE WHEN i > 300 THEN pg_sleep(250)::text END FROM generate_series(1, 1000) i",
    ] {
        let mut response = app.post("/api/query").json(&json!({"query": query})).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.chunk().await.unwrap().is_some(), "the first rows are there before the last");
        assert_eq!(running(&url, "flow_marker").await, 1);
        drop(response);
        until_running(&url, "flow_marker", 0).await;
    }
}

#[actix_web::test]
async fn a_timeout_is_enforced_at_the_source() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, READ_WRITE).await;
    let (status, answer) = app.query(json!({"query": "SELECT pg_sleep(100000) AS late_marker", "timeout": 1})).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(1500)), "{answer}");
    // The source sends its error before it shows the session as idle. Left alone, the statement
    // would go on for a day, and so would this.
    until_running(&url, "late_marker", 0).await;
    // While rows flow the document ends with the error.
    let query = "SELECT i, repeat('x', 1000), CASE WHEN i = 400 THEN pg_sleep(100)::text END \
                 FROM generate_series(1, 1000) i";
    let (status, document) = app.query(json!({"query": query, "timeout": 1})).await;
    assert_eq!((status, &document["error"]["code"]), (200, &json!(1500)));
    let rows = document["results"][0]["rows"].as_array().unwrap();
    assert!(
        !rows.is_empty() && rows.iter().enumerate().all(|(at, row)| row[0] == at as u64 + 1),
        "whole rows, in order"
    );
}

#[actix_web::test]
async fn a_busy_connection_says_when_to_come_back() {
    let url = fixture::postgres().await;
    let app = fixture::with_postgres(&url, "access = \"read-write\"\npool = 1\nqueue = 0").await;
    let sleep = json!({"query": "SELECT pg_sleep(250) AS busy_marker"});
    let query = tokio::spawn(app.post("/api/query").json(&sleep).send());
    until_running(&url, "busy_marker", 1).await;
    let response = app.post("/api/query").json(&json!({"query": "SELECT 1"})).send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(read(response).await.1["error"]["code"], 1600);
    query.abort();
}

#[actix_web::test]
async fn functions_and_procedures_are_called_by_name() {
    let url = fixture::postgres().await;
    connect(&url)
        .await
        .batch_execute(
            "CREATE FUNCTION orders_of(customer int, lowest numeric DEFAULT 0) RETURNS TABLE (id int, total numeric)
             LANGUAGE sql STABLE AS 'SELECT id, total FROM orders WHERE customer_id = customer AND total >= lowest ORDER BY id';
             COMMENT ON FUNCTION orders_of IS 'The orders of one customer.';
             CREATE PROCEDURE rename(who int, INOUT name text) LANGUAGE plpgsql AS
             $$BEGIN UPDATE customers SET name = rename.name WHERE id = who; name := upper(name); END$$;",
        )
        .await
        .unwrap();
    let app = fixture::with_postgres(&url, READ_WRITE).await;
    let rows = async |body: Value| {
        let (status, answer) = app.exec(body.clone()).await;
        assert_eq!(status, 200, "{body}: {answer}");
        answer["results"][0]["rows"].clone()
    };
    let by_name =
        json!({"procedure": "shop.public.orders_of", "parameters": {"@customer": {"dataType": 8, "value": 1}}});
    assert_eq!(rows(by_name).await, json!([[1, 10.50], [2, 0.10]]));
    assert_eq!(rows(json!({"procedure": "Orders_Of", "parameters": {"@1": 1, "@2": 1}})).await, json!([[1, 10.50]]));
    assert_eq!(rows(json!({"procedure": "rename", "parameters": {"who": 2, "name": "zoe"}})).await, json!([["ZOE"]]));
    assert_eq!(app.rows("SELECT name FROM customers WHERE id = 2").await, json!([["zoe"]]));
    let (status, answer) = app.exec(json!({"procedure": "order_of"})).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
    assert!(answer["error"]["hint"].as_str().unwrap().contains("orders_of"), "{answer}");
    let (status, answer) = app.exec(json!({"procedure": "orders_of", "parameters": {"nope": 1}})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    // The source's own tool, typed and described from the catalogue.
    let (_, tools) = app.mcp(&app.reader, "tools/list", json!({})).await;
    let tool = tools["result"]["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&tool["name"], &tool["description"]), (&json!("orders_of"), &json!("The orders of one customer.")));
    assert_eq!(
        (&tool["inputSchema"]["required"], &tool["annotations"]["readOnlyHint"]),
        (&json!(["customer"]), &json!(true))
    );
    let result = app.tool("orders_of", json!({"customer": 3})).await;
    assert_eq!(result["structuredContent"]["rows"], json!([[3, 99999.99]]));
}
