//! The SQL API: bodies, documents, errors, and which connection a request addresses.

use serde_json::{Value, json};

use crate::support::app::{OTHER, eventually, read};
use crate::support::configuration::{Configuration, connection};
use crate::support::fixture;
use crate::support::postgres::connect;

#[actix_web::test]
async fn a_query_answers_a_result_document() {
    let app = fixture::on_sqlite().await;
    let query = "SELECT o.id, o.total AS amount, c.name, o.placed FROM shop.main.orders o \
                 JOIN shop.main.customers c ON c.id = o.customer_id ORDER BY o.id";
    let response = app.post("/api/query").json(&json!({"query": query})).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    let text = response.text().await.unwrap();
    let order: Vec<usize> =
        ["\"schema\"", "\"rows\"", "\"affectedRows\""].iter().map(|it| text.find(it).unwrap()).collect();
    assert!(order.is_sorted(), "members come in their order");
    insta::assert_json_snapshot!(serde_json::from_str::<Value>(&text).unwrap());
}

#[actix_web::test]
async fn writing_counts_and_returns() {
    let app = fixture::on_sqlite().await;
    let (status, document) =
        app.query(json!({"query": "UPDATE orders SET total = total + 1 WHERE customer_id = 1"})).await;
    assert_eq!((status, &document), (200, &json!({"results": [{"schema": [], "rows": [], "affectedRows": 2}]})));
    let insert = "INSERT INTO customers (id, name) VALUES (@id, @name) RETURNING id, name";
    let parameters = json!({"@id": {"dataType": 8, "value": 7}, "name": {"value": "O'Neil; DROP TABLE orders"}});
    let (status, document) = app.query(json!({"query": insert, "parameters": parameters})).await;
    assert_eq!(status, 200, "{document}");
    assert_eq!(document["results"][0]["rows"], json!([[7, "O'Neil; DROP TABLE orders"]]));
    assert_eq!(document["results"][0]["affectedRows"], 1);
    assert_eq!(app.rows("SELECT count(*) FROM [orders]").await, json!([[3]]));
    let (_, select) = app.query(json!({"query": "SELECT 1 AS one"})).await;
    assert_eq!(select["results"][0]["affectedRows"], -1);
}

#[actix_web::test]
async fn each_wrong_body_names_its_field() {
    let app = fixture::on_sqlite().await;
    let cases = [
        ("", "the body is not valid JSON"),
        ("{\"query\": \"SELECT 1\"", "the body is not valid JSON"),
        ("[]", "the body must be a JSON object"),
        ("{}", "query: this member is missing"),
        ("{\"query\": 1}", "query: give a string"),
        ("{\"query\": \"SELECT '\\ud800'\"}", "query: an escape from \\ud800 to \\udfff is half of a character"),
        ("{\"query\": null}", "query: this member is missing"),
        ("{\"query\": \"\"}", "query"),
        ("{\"query\": \" ; -- nothing\"}", "query"),
        ("{\"query\": \"SELECT 1\", \"timeout\": 0}", "timeout: give a whole number from 1 to 300"),
        ("{\"query\": \"SELECT 1\", \"timeout\": 301}", "timeout"),
        ("{\"query\": \"SELECT 1\", \"timeout\": \"soon\"}", "timeout"),
        ("{\"query\": \"SELECT 1\", \"defaultSchema\": 5}", "defaultSchema: give a string"),
        ("{\"query\": \"SELECT 1\", \"defaultCatalog\": []}", "defaultCatalog: give a string"),
        ("{\"query\": \"SELECT @a\", \"parameters\": 5}", "parameters"),
        ("{\"query\": \"SELECT @a\", \"parameters\": {\"b\": 1}}", "@b"),
        ("{\"query\": \"SELECT 1\", \"parameters\": {\"@\": 1}}", "parameters"),
    ];
    for (body, words) in cases {
        let (status, answer) = read(app.post("/api/query").body(body).send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{body}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{body}: {answer}");
        assert!(answer["error"]["requestId"].is_string());
    }
    let invalid = app.post("/api/query").body(b"{\"query\": \"\xff\"}".to_vec()).send().await.unwrap();
    assert_eq!(read(invalid).await.1["error"]["message"], "the body is not UTF-8");
    let deep = format!(
        "{{\"query\": \"SELECT @a\", \"parameters\": {{\"a\": {}1{}}}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    let (status, _) = read(app.post("/api/query").body(deep).send().await.unwrap()).await;
    assert!((200..500).contains(&status), "a deeply nested value is answered: {status}");
    let nested = format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let (status, answer) = app.query(json!({"query": nested})).await;
    assert!(status == 400 || status == 413, "{answer}");
}

#[actix_web::test]
async fn a_request_addresses_one_connection() {
    let app = fixture::two_connections().await;
    let count = "SELECT count(*) FROM customers";
    let (status, answer) = app.query(json!({"query": count})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)));
    assert!(answer["error"]["hint"].as_str().unwrap().contains("archive, shop"), "{answer}");
    let (status, _) = app.query(json!({"query": count, "defaultCatalog": "archive"})).await;
    assert_eq!(status, 200);
    assert_eq!(app.rows("SELECT count(*) FROM archive.main.customers").await, json!([[3]]));
    assert_eq!(app.rows("SELECT count(*) FROM [archive].[main].[customers]").await, json!([[3]]));
    let several = "INSERT INTO shop.main.orders SELECT * FROM archive.main.orders";
    let (status, answer) = app.query(json!({"query": several})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    let (status, answer) = app.query(json!({"query": "SELECT * FROM archiv.main.customers"})).await;
    assert_eq!(
        (status, &answer["error"]["code"], &answer["error"]["hint"]),
        (404, &json!(1300), &json!("did you mean archive?"))
    );
    let (status, answer) = app.query(json!({"query": count, "defaultCatalog": "nope"})).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)));
    // A connection out of reach is as good as none.
    let request = app.http.post(format!("{}/api/query", app.url)).bearer_auth(app.token().await);
    let body = json!({"query": "SELECT count(*) FROM archive.main.customers"});
    let (status, answer) = read(request.json(&body).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
    let workspace = app.post("/api/query?workspace=nope").json(&json!({"query": count}));
    assert_eq!(read(workspace.send().await.unwrap()).await.0, 404);
}

/// A name with a minus sign stands in quotes wherever a caller is told to write it.
#[actix_web::test]
async fn a_connection_with_a_minus_sign_in_its_name_is_told_in_quotes() {
    let app = Configuration::new().sqlite("my-db", "").sqlite("archive", "").start().await;
    let (status, answer) = app.query(json!({"query": "SELECT count(*) FROM my-db.main.orders"})).await;
    let hint = answer["error"]["hint"].as_str().unwrap();
    assert!(status == 400 && hint.contains("a name with - stands in double quotes"), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM \"my-db\".main.orders").await, json!([[3]]));
    let (_, told) = app.mcp(&app.reader, "tools/call", json!({"name": "get_instructions", "arguments": {}})).await;
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("`\"my-db\".schema.table`"), "{told}");
    let elsewhere = json!({"name": "execute_select", "arguments": {"query": "SELECT 1 FROM archive.main.orders"}});
    let (_, told) = app.mcp(&app.reader, "tools/call", elsewhere).await;
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("write \"my-db\".schema.table"), "{told}");
}

#[actix_web::test]
async fn a_reader_may_not_write() {
    let app = fixture::on_sqlite().await;
    let request =
        app.http.post(format!("{}/api/query", app.url)).basic_auth(&app.reader.name, Some(&app.reader.secret));
    let response = request.json(&json!({"query": "DELETE FROM orders"})).send().await.unwrap();
    assert!(response.headers()["www-authenticate"].to_str().unwrap().contains("insufficient_scope"));
    let (status, answer) = read(response).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)));
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

#[actix_web::test]
async fn a_reader_is_told_the_scope_also_where_the_source_refuses_to_write() {
    let url = fixture::postgres().await;
    let app = Configuration::new().connection("shop", &url, "access = \"read-write\"").start().await;
    for text in [
        "NOTIFY x",
        "LOCK TABLE orders",
        "SELECT 1 INTO fresh",
        "SELECT nextval('numbers')",
        "SELECT pg_notify('x', 'y')",
        "SELECT set_config('work_mem', '4MB', true)",
    ] {
        connect(&url).await.batch_execute("CREATE SEQUENCE IF NOT EXISTS numbers").await.unwrap();
        let request =
            app.http.post(format!("{}/api/query", app.url)).basic_auth(&app.reader.name, Some(&app.reader.secret));
        let response = request.json(&json!({"query": text})).send().await.unwrap();
        let challenge = response.headers().get("www-authenticate").map(|it| it.to_str().unwrap().to_owned());
        let (status, answer) = read(response).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{text}: {answer}");
        assert!(challenge.is_some_and(|it| it.contains("insufficient_scope")), "{text}: {answer}");
        assert_eq!(app.query(json!({"query": text, "dryRun": true})).await.0, 200, "{text}");
    }
}

#[actix_web::test]
async fn the_connection_of_a_body_is_its_default_catalogue() {
    let folder = tempfile::TempDir::new().unwrap();
    let archive = fixture::sqlite(&folder, "archive.db");
    let more = connection(OTHER, "archive", &archive, "access = \"read-write\"");
    let app = Configuration::new().sqlite("shop", "access = \"read-write\"").with(&more).start().await;
    let insert = "INSERT INTO customers (id, name) VALUES (77, 'meant for archive')";
    let (status, answer) = app.query(json!({"query": insert, "connection": "archive"})).await;
    assert_eq!(status, 200, "{answer}");
    let count = |of: &str| json!({"query": format!("SELECT count(*) FROM {of}.main.customers WHERE id = 77")});
    assert_eq!(app.query(count("archive")).await.1["results"][0]["rows"], json!([[1]]));
    assert_eq!(app.query(count("shop")).await.1["results"][0]["rows"], json!([[0]]));
    // Names that say their connection need none, whatever it is called.
    let named = json!({"query": "SELECT count(*) FROM shop.main.customers", "connection": "a label"});
    assert_eq!(app.query(named).await.0, 200);
    let both = json!({"query": "SELECT 1", "connection": "archive", "defaultCatalog": "shop"});
    let (status, answer) = app.query(both).await;
    assert!(status == 400 && answer["error"]["message"].as_str().unwrap().starts_with("connection: "), "{answer}");
    let (_, answer) = app.query(json!({"qeury": "SELECT 1"})).await;
    assert_eq!(answer["error"]["hint"], "there is \"qeury\": did you mean query?", "{answer}");
}

#[actix_web::test]
async fn a_failure_after_the_first_row_ends_the_same_document() {
    let app = fixture::on_sqlite().await;
    // The 2,000th row overflows: by then the status has gone out.
    let query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
                 SELECT i, CASE WHEN i = 2000 THEN abs(-9223372036854775808) ELSE i END FROM n";
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!(status, 200);
    assert_eq!(document["error"]["code"], 1400, "{}", document["error"]);
    assert_eq!(document["results"][0]["rows"].as_array().unwrap().len(), 1999);
    assert_eq!(document["results"][0]["affectedRows"], -1);
}

#[actix_web::test]
async fn a_statement_that_takes_too_long_is_cancelled() {
    let app = fixture::on_sqlite().await;
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let (status, answer) = app.query(json!({"query": endless, "timeout": 1})).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(1500)));
}

#[actix_web::test]
async fn every_call_leaves_one_line_without_secrets() {
    let app = fixture::on_sqlite().await;
    app.query(json!({"query": "SELECT @secret", "parameters": {"secret": "hidden-value"}})).await;
    app.tool("get_tables", json!({})).await;
    let ended = || -> Vec<String> {
        let events = app.events.lock().unwrap();
        let ended = events.iter().filter(|event| matches!(event, portico_actors::event::Event::CallEnded(_)));
        ended.map(|event| format!("{event:?}")).collect()
    };
    eventually("the events of both calls", async || ended().len() == 2).await;
    let ended = ended();
    assert!(ended[0].contains("/api/query") && ended[0].contains("writer@example.com") && ended[0].contains("select"));
    assert!(ended[1].contains("get_tables"));
    for event in ended {
        assert!(!event.contains("hidden-value") && !event.contains(&app.writer.secret), "{event}");
    }
}

#[actix_web::test]
async fn an_error_tells_its_place_in_the_statement_as_it_was_sent() {
    let app = fixture::on_postgres().await;
    let (status, answer) = app.query(json!({"query": "SELECT é.id, nope FROM [shop].public.customers é"})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("nope") && message.ends_with(" (at position 14)"), "{answer}");
    let (status, answer) = app.query(json!({"query": "INSERT INTO customers VALUES (1, 'again')"})).await;
    assert_eq!(status, 409);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with(": Key (id)=(1) already exists."), "{answer}");
    assert!(answer["error"].get("detail").is_none(), "{answer}");
}
