//! Several statements in one request, and columns without a run, through HTTP on each driver.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, on_both};

on_both! {
    statements_run_in_order_in_one_transaction
    nothing_is_kept_when_one_fails
    near_names_are_offered_for_every_statement
    a_failure_behind_rows_ends_the_document
    statements_share_their_values_by_name
    what_a_script_may_not_do
    columns_are_told_without_a_run
    a_large_result_between_two_writes_streams
}

async fn statements_run_in_order_in_one_transaction(app: &TestApp) {
    let query = "INSERT INTO customers VALUES (10, 'a;b', NULL); -- the first\n\
        SELECT name FROM customers WHERE id = 10; CREATE TABLE fresh (id INTEGER, v NUMERIC(10, 2));;\
        INSERT INTO fresh VALUES (1, 1.50), (2, 2.50) RETURNING id; UPDATE fresh SET v = v + 1 WHERE id = 2;\
        SELECT id, v FROM fresh ORDER BY id; SELECT id FROM fresh WHERE id > 5;";
    let response = app.post("/api/query").json(&json!({"query": query})).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    assert!(text.contains(r#""rows":[[1,1.50],[2,3.50]]"#), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let results = document["results"].as_array().unwrap();
    let told: Vec<(&Value, i64)> =
        results.iter().map(|result| (&result["rows"], result["affectedRows"].as_i64().unwrap())).collect();
    assert_eq!((told[0].0, told[0].1), (&json!([]), 1));
    assert_eq!((told[1].0, told[1].1), (&json!([["a;b"]]), -1));
    assert_eq!(told[2], (&json!([]), 0), "DDL changes no rows");
    assert_eq!((told[3].0, told[3].1), (&json!([[1], [2]]), 2));
    assert_eq!((told[4].0, told[4].1), (&json!([]), 1));
    assert_eq!((told[6].0, told[6].1), (&json!([]), -1));
    assert_eq!(results.len(), 7);
    assert_eq!(results[1]["schema"][0]["tableName"], "customers");
    assert_eq!(results[6]["schema"][0]["columnLabel"], "id", "an empty result still has its columns");
    assert!(document.get("error").is_none());
    assert_eq!(app.rows("SELECT count(*) FROM fresh").await, json!([[2]]), "it was committed");
}

async fn nothing_is_kept_when_one_fails(app: &TestApp) {
    for (last, status, code) in [
        ("INSERT INTO orders VALUES (20, 1, -1, NULL)", 409, 1401),
        ("SELECT nope FROM customers", 400, 1400),
        ("SELECT * FROM custmers", 404, 1300),
        ("SELEC 1", 400, 1400),
    ] {
        let query = format!("INSERT INTO customers VALUES (10, 'x', NULL); DELETE FROM orders; {last}");
        let (got, answer) = app.query(json!({"query": query})).await;
        // Nothing went out, so the status can tell.
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{last}: {answer}");
        assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]), "{last}");
        assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]), "{last}");
    }
}

/// Each statement is only looked at when those before it are done; its names have near ones all the same.
async fn near_names_are_offered_for_every_statement(app: &TestApp) {
    for query in [
        "SELECT * FROM custmers; SELECT 1",
        "SELECT 1; SELECT * FROM custmers",
        "DELETE FROM orders; SELECT * FROM custmers",
    ] {
        let (_, answer) = app.query(json!({"query": query})).await;
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["hint"]),
            (&json!(1300), &json!("did you mean customers?")),
            "{query}: {answer}"
        );
    }
}

async fn a_failure_behind_rows_ends_the_document(app: &TestApp) {
    let query = "INSERT INTO customers VALUES (10, 'x', NULL); SELECT id FROM customers ORDER BY id; \
        INSERT INTO customers VALUES (10, 'again', NULL); SELECT 1";
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!(status, 200);
    assert_eq!(document["results"].as_array().unwrap().len(), 2, "{document}");
    assert_eq!(document["results"][1]["rows"], json!([[1], [2], [3], [10]]));
    assert_eq!(document["error"]["code"], 1401, "{document}");
    assert_eq!(document["error"]["sqlState"], "23505");
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
}

async fn statements_share_their_values_by_name(app: &TestApp) {
    let query = "INSERT INTO customers VALUES (@id, @name, NULL); SELECT name FROM customers WHERE id = @id; \
        DELETE FROM customers WHERE name = @name AND '@id' <> ''";
    let parameters = json!({"@id": {"dataType": 8, "value": 30}, "name": "Zoë'; DROP TABLE orders; --"});
    let (status, document) = app.query(json!({"query": query, "parameters": parameters})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    assert_eq!(document["results"][1]["rows"], json!([["Zoë'; DROP TABLE orders; --"]]));
    assert_eq!(document["results"][2]["affectedRows"], 1);
    // Numbers count the distinct names.
    let (status, document) = app
        .query(json!({"query": "SELECT id FROM customers WHERE id = @a; SELECT id FROM orders \
        WHERE id = @b AND customer_id = @a", "parameters": [1, 2]}))
        .await;
    assert_eq!((status, &document["results"][1]["rows"]), (200, &json!([[2]])), "{document}");
    for (parameters, words) in [
        (json!({"id": 1}), "no value for @name"),
        (json!({"id": 1, "name": "x", "other": 1}), "@other"),
        (json!({"id": 1, "ID": 2, "name": "x"}), "twice"),
    ] {
        let (status, answer) = app.query(json!({"query": query, "parameters": parameters})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{answer}");
    }
}

async fn what_a_script_may_not_do(app: &TestApp) {
    for query in ["SELECT 1; COMMIT; SELECT 2", "BEGIN; SELECT 1", "SELECT 1; SAVEPOINT a"] {
        let (status, answer) = app.query(json!({"query": query})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{query}: {answer}");
    }
    let as_reader = async |query: &str| {
        let request = app.http.post(format!("{}/api/query", app.url));
        let request = request.basic_auth(&app.reader.name, Some(&app.reader.secret)).json(&json!({"query": query}));
        read(request.send().await.unwrap()).await
    };
    let (status, answer) = as_reader("SELECT 1; DELETE FROM orders").await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{answer}");
    let (status, document) = as_reader("SELECT count(*) FROM orders; SELECT count(*) FROM customers").await;
    assert_eq!((status, &document["results"][1]["rows"]), (200, &json!([[3]])), "{document}");
    let text = app.tool_error("execute_sql", json!({"query": "SELECT 1; SELECT 2"})).await;
    assert!(text.contains("a call runs one statement, and this text holds 2"), "{text}");
}

async fn columns_are_told_without_a_run(app: &TestApp) {
    let query = "SELECT id, total AS amount FROM orders WHERE id > @least; DELETE FROM orders WHERE id = @least; \
        INSERT INTO customers VALUES (77, 'x', NULL) RETURNING name";
    for parameters in [json!({}), json!({"least": 1})] {
        let body = json!({"query": query, "schemaOnly": true, "parameters": parameters});
        let (status, document) = app.query(body).await;
        assert_eq!(status, 200, "{document}");
        let results = document["results"].as_array().unwrap();
        assert_eq!(results.len(), 3);
        assert!(results.iter().all(|it| it["rows"] == json!([]) && it["affectedRows"] == -1), "{document}");
        let column = &results[0]["schema"][1];
        assert_eq!(
            (&column["columnLabel"], &column["columnName"], &column["dataTypeName"], &column["scale"]),
            (&json!("amount"), &json!("total"), &json!("NUMERIC"), &json!(2))
        );
        assert_eq!(results[1]["schema"], json!([]), "a statement without columns has none");
        assert_eq!(results[2]["schema"][0]["columnLabel"], "name");
    }
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]), "nothing was run");
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]), "nothing was run");
    let (status, answer) = app.query(json!({"query": "SELECT nope FROM orders", "schemaOnly": true})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("42703")), "{answer}");
    let (status, answer) = app.query(json!({"query": "SELECT 1", "schemaOnly": true, "parameters": {"x": 1}})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
}

async fn a_large_result_between_two_writes_streams(app: &TestApp) {
    let query = "INSERT INTO customers VALUES (10, 'x', NULL); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
        FROM n WHERE i < 20000) SELECT i, 'row' FROM n; DELETE FROM customers WHERE id = 10";
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!((status, document.get("error")), (200, None));
    assert_eq!(document["results"][1]["rows"].as_array().unwrap().len(), 20_000);
    assert_eq!(document["results"][2]["affectedRows"], 1);
}

/// A type whose values only the source can print, and types that it cannot infer.
#[actix_web::test]
async fn postgresql_goes_on_after_a_second_attempt_to_prepare() {
    let app = fixture::on_postgres().await;
    let query = "INSERT INTO customers VALUES (10, 'x', NULL); SELECT @a + @b; SELECT total::money FROM orders WHERE id = 1; \
        SELECT @a + @b; DELETE FROM customers WHERE id = 10";
    let (status, document) = app.query(json!({"query": query, "parameters": {"a": 1, "b": 2}})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    assert_eq!((&document["results"][1]["rows"], &document["results"][3]["rows"]), (&json!([[3]]), &json!([[3]])));
    assert_eq!(document["results"][2]["rows"], json!([["$10.50"]]));
    assert_eq!(document["results"][4]["affectedRows"], 1);
}
