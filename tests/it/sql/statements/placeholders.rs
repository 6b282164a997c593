//! `@name` in statements: very many of them, operators that end in `@`, and what is told of values that do not fit.

use serde_json::{Map, Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, on_both};

on_both! {
    thousands_of_values_are_bound
    more_values_than_the_source_takes_are_refused
    few_of_many_names_are_told
    a_set_that_lacks_a_value_names_itself
    a_condition_for_each_of_hundreds_of_rows_is_taken
}

/// A query that counts orders by their ids, with a placeholder for each of `count` values.
fn counting(count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|number| format!("@p{number}")).collect();
    let parameters: Map<String, Value> = (0..count).map(|number| (format!("p{number}"), json!(number))).collect();
    json!({"query": format!("SELECT count(*) FROM orders WHERE id IN ({})", names.join(",")), "parameters": parameters})
}

/// As programs write it for keys of several columns.
async fn a_condition_for_each_of_hundreds_of_rows_is_taken(app: &TestApp) {
    let conditions: Vec<String> = (0..950).map(|id| format!("(id = {id} AND customer_id > 0)")).collect();
    let query = format!("SELECT count(*) > 0 FROM orders WHERE {}", conditions.join(" OR "));
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!(status, 200, "{:?}", document["error"]);
}

async fn thousands_of_values_are_bound(app: &TestApp) {
    let body = counting(30_000);
    let (status, document) = app.query(body.clone()).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{:?}", document["error"]);
    // Several statements share their values.
    let query = format!("SELECT 1; {}", body["query"].as_str().unwrap());
    let (status, document) = app.query(json!({"query": query, "parameters": body["parameters"]})).await;
    assert_eq!((status, &document["results"][1]["rows"]), (200, &json!([[3]])), "{:?}", document["error"]);
}

async fn more_values_than_the_source_takes_are_refused(app: &TestApp) {
    let (status, answer) = app.query(counting(70_000)).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!(1800)), "{answer}");
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.starts_with("parameters: there are 70000 values, and"), "{words}");
}

async fn few_of_many_names_are_told(app: &TestApp) {
    let mut body = counting(1_000);
    let parameters = body["parameters"].take();
    let (status, answer) = app.query(body).await;
    let words = answer["error"]["message"].as_str().unwrap();
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    assert!(words.contains("@p0, @p1") && words.contains("990 more") && words.len() < 200, "{words}");
    let (status, answer) = app.query(json!({"query": "SELECT 1", "parameters": parameters})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().len() < 200, "{answer}");
}

async fn a_set_that_lacks_a_value_names_itself(app: &TestApp) {
    let body = json!({"query": "SELECT name FROM customers WHERE id = @id", "parameters": [{"id": 1}, {}]});
    let (status, answer) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.starts_with("parameters[1]: ") && words.matches("parameters").count() <= 2, "{words}");
    assert!(!words.contains("parameters: "), "{words}");
    for (path, field) in [("/api/tables?tableName=a%00b", "tableName"), ("/api/schemas?schemaName=%00", "schemaName")] {
        let (status, answer) = read(app.get(path).send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(field), "{answer}");
    }
    let (status, answer) = app.query(json!({"query": "SELECT 1", "defaultSchema": "a\u{0}"})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("defaultSchema"), "{answer}");
}

#[actix_web::test]
async fn a_given_name_tells_a_placeholder_from_an_operator() {
    let app = fixture::on_postgres().await;
    for (query, parameters, rows) in [
        ("SELECT id FROM customers WHERE id<@max ORDER BY id", json!({"max": 3}), json!([[1], [2]])),
        ("SELECT id|@bit FROM customers WHERE id = 2", json!({"@bit": 1}), json!([[3]])),
        ("SELECT name FROM customers WHERE city~@p", json!({"p": "^Gd"}), json!([["Łukasz"]])),
        // Without such a value it is the operator.
        ("SELECT a<@b FROM (SELECT ARRAY[1] AS a, ARRAY[1, 2] AS b) t", json!({}), json!([[true]])),
        (
            "SELECT a<@b, @max::int FROM (SELECT ARRAY[1] AS a, ARRAY[1, 2] AS b) t",
            json!({"max": 3}),
            json!([[true, 3]]),
        ),
        // In front of two operands of text search there is no other operator.
        (
            "SELECT body@@query FROM (SELECT to_tsvector('big cat') AS body, to_tsquery(@query) AS query) t",
            json!({"query": "cat"}),
            json!([[true]]),
        ),
    ] {
        let (status, document) = app.query(json!({"query": query, "parameters": parameters})).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &rows), "{query}: {document}");
    }
    let below = json!({"query": "SELECT name FROM customers WHERE id<@max", "parameters": [{"max": 2}, {"max": 1}]});
    let (status, document) = read(app.post("/api/batch").json(&below).send().await.unwrap()).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["Łukasz"]])), "{document}");
    let result = app
        .tool("execute_select", json!({"query": "SELECT max(id) FROM orders WHERE id<@n", "parameters": {"n": 3}}))
        .await;
    assert_eq!(result["structuredContent"]["rows"], json!([[2]]), "{result}");
}

#[actix_web::test]
async fn a_query_that_only_locks_changes_no_row() {
    let app = fixture::on_postgres().await;
    for (query, affected) in [
        ("SELECT id FROM customers ORDER BY id FOR UPDATE", -1),
        ("SELECT id FROM customers WHERE id = @id FOR NO KEY UPDATE SKIP LOCKED", -1),
        ("WITH c AS (SELECT id FROM customers FOR SHARE) SELECT * FROM c", -1),
        ("UPDATE customers SET city = 'x' WHERE id IN (SELECT id FROM customers FOR UPDATE)", 3),
        ("SELECT id FROM customers", -1),
    ] {
        let parameters = if query.contains("@id") { json!({"id": 1}) } else { json!({}) };
        let (status, document) = app.query(json!({"query": query, "parameters": parameters})).await;
        assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(affected)), "{query}: {document}");
    }
    let body =
        json!({"query": "SELECT id FROM customers WHERE id = @id FOR UPDATE", "parameters": [{"id": 1}, {"id": 2}]});
    let (_, document) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
    assert_eq!(document["results"][1]["affectedRows"], -1, "{document}");
}
