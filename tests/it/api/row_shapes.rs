//! `?rows=` and `?numbers=`: rows as objects, and numbers of many digits as strings.

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture::{self, ORDERS_OF, on_both};

const NDJSON: &str = "application/x-ndjson";
const ORDERS: &str = "SELECT id, total, placed, 'x' AS id FROM orders ORDER BY 1 LIMIT 2";

async fn text(app: &TestApp, path: &str, accept: &str, body: &Value) -> String {
    let response = app.post(path).header("accept", accept).json(body).send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{path}: {text}");
    text
}

/// The first result's rows as they were written.
fn rows(document: &str) -> &str {
    let (_, rest) = document.split_once("\"rows\":").unwrap();
    rest.split_once(",\"affectedRows\":").unwrap().0
}

async fn rows_are_objects_or_arrays(app: &TestApp) {
    let query = json!({"query": ORDERS});
    let arrays = r#"[[1,10.50,"2026-01-02","x"],[2,0.10,null,"x"]]"#;
    let objects =
        r#"[{"id":1,"total":10.50,"placed":"2026-01-02","id_2":"x"},{"id":2,"total":0.10,"placed":null,"id_2":"x"}]"#;
    for (parameters, expected) in [("", arrays), ("rows=arrays", arrays), ("rows=", arrays), ("rows=objects", objects)]
    {
        let document = text(app, &format!("/api/query?{parameters}"), "application/json", &query).await;
        assert_eq!(rows(&document), expected, "{parameters}");
    }
    let sets = json!({"query": "SELECT name FROM customers WHERE id = @id", "parameters": [{"id": 2}, {"id": 9}]});
    let (status, batch) = read(app.post("/api/batch?rows=objects").json(&sets).send().await.unwrap()).await;
    let found: Vec<&Value> = batch["results"].as_array().unwrap().iter().map(|result| &result["rows"]).collect();
    assert_eq!((status, found), (200, vec![&json!([{"name": "José"}]), &json!([])]));
    let script = json!({"query": "UPDATE orders SET total = 1 WHERE id = 9; SELECT name FROM customers WHERE id = 2"});
    let (_, several) = read(app.post("/api/query?rows=objects").json(&script).send().await.unwrap()).await;
    assert_eq!(several["results"][0]["rows"], json!([]), "{several}");
    assert_eq!(several["results"][1]["rows"], json!([{"name": "José"}]), "{several}");
    let columns = app.get("/api/columns?tableName=orders&columnName=total&rows=objects&numbers=text");
    let (status, columns) = read(columns.send().await.unwrap()).await;
    let column = &columns["results"][0]["rows"][0];
    assert_eq!((status, &column["COLUMN_NAME"]), (200, &json!("total")), "{columns}");
    assert_eq!(column.as_object().unwrap().len(), columns["results"][0]["schema"].as_array().unwrap().len());
}

async fn long_numbers_are_texts_where_that_is_asked_for(app: &TestApp) {
    let query = json!({"query": "SELECT id, total, name, city FROM orders JOIN customers USING (id) ORDER BY id"});
    let plain = app.post("/api/query").json(&query).send().await.unwrap().json::<Value>().await.unwrap();
    let long = app.post("/api/query?numbers=text").json(&query).send().await.unwrap().json::<Value>().await.unwrap();
    let (plain, long) = (&plain["results"][0], &long["results"][0]);
    assert_eq!(plain["schema"], long["schema"]);
    for (place, column) in plain["schema"].as_array().unwrap().iter().enumerate() {
        let is_long = [json!(9), json!(12), json!(13)].contains(&column["dataType"]);
        for row in 0..3 {
            let (before, after) = (&plain["rows"][row][place], &long["rows"][row][place]);
            if is_long && !before.is_null() {
                let number: f64 = after.as_str().unwrap_or_else(|| panic!("{column}: {after}")).parse().unwrap();
                assert_eq!(Some(number), before.as_f64(), "{column}");
            } else {
                assert_eq!(after, before, "{column}");
            }
        }
    }
    assert_eq!(long["rows"][2][1], json!("99999.99"));
    let one = json!({"query": "SELECT total FROM orders WHERE id = 1"});
    let lines = text(app, "/api/query?numbers=text&rows=objects", NDJSON, &one).await;
    assert_eq!(lines, "{\"total\":\"10.50\"}\n");
}

async fn what_a_form_cannot_have_is_refused_before_it_runs(app: &TestApp) {
    for (parameters, accept, message, hint) in [
        ("rows=objects", "text/csv", "rows: this is for rows in JSON, and text/csv has none", "application/json"),
        ("rows=arrays", "application/vnd.apache.arrow.stream", "rows: this is for rows in JSON", "leave the parameter"),
        (
            "numbers=text",
            "text/csv",
            "numbers: this is for rows in JSON, and text/csv has none",
            "application/x-ndjson",
        ),
        ("rows=arrays", NDJSON, "rows: each line of application/x-ndjson is an object", "application/json"),
        ("rows=object", "application/json", "rows: give arrays or objects", "did you mean objects?"),
        ("numbers=strings", "application/json", "numbers: give json or text", "the default is json"),
        ("rows=objects&rows=objects", "application/json", "rows: this parameter is given twice", "give it once"),
        ("row=objects", "application/json", "the query string has no member \"row\"", "did you mean rows?"),
    ] {
        let request = app.post(&format!("/api/query?{parameters}")).header("accept", accept);
        let (status, answer) = read(request.json(&json!({"query": "DELETE FROM orders"})).send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{parameters}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with(message), "{parameters}: {answer}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains(hint), "{parameters}: {answer}");
    }
    let (status, answer) =
        read(app.get("/api/tables?rows=objects").header("accept", "text/csv").send().await.unwrap()).await;
    assert_eq!(status, 400, "{answer}");
    let (status, answer) = read(app.get("/api/connections?rows=objects").send().await.unwrap()).await;
    assert_eq!(status, 400, "it has no rows: {answer}");
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

on_both! {
    rows_are_objects_or_arrays
    long_numbers_are_texts_where_that_is_asked_for
    what_a_form_cannot_have_is_refused_before_it_runs
}

/// SQLite puts 64 bits into a column that is declared narrower, or not at all.
#[actix_web::test]
async fn integers_that_no_double_holds_are_texts_in_every_column() {
    let folder = TempDir::new().unwrap();
    let database = Connection::open(folder.path().join("events.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE events (at INT, small SMALLINT, medium MEDIUMINT, loose, label TEXT);
            INSERT INTO events VALUES (1700000000000, 1, 2, 'first', 'x');
            INSERT INTO events VALUES (9007199254740993, -9007199254740993, 9007199254740993, 9007199254740993, 'x');",
        )
        .unwrap();
    let app = Configuration::in_folder(folder).connection("events", "sqlite:events.db", "").start().await;
    let query = json!({"query": "SELECT * FROM events ORDER BY at"});
    let first = r#"[1700000000000,1,2,"first","x"]"#;
    let long = r#"["9007199254740993","-9007199254740993","9007199254740993","9007199254740993","x"]"#;
    let document = text(&app, "/api/query?numbers=text", "application/json", &query).await;
    assert_eq!(rows(&document), format!("[{first},{long}]"));
    assert!(document.contains("\"dataTypeName\":\"SMALLINT\""), "the types stay those of the declarations: {document}");
    let document = text(&app, "/api/query", "application/json", &query).await;
    assert_eq!(
        rows(&document),
        format!("[{first},[9007199254740993,-9007199254740993,9007199254740993,9007199254740993,\"x\"]]")
    );
}

#[actix_web::test]
async fn a_procedure_answers_in_that_shape_too() {
    let app = Configuration::new().sqlite("shop", ORDERS_OF).start().await;
    let body = json!({"procedure": "orders_of", "parameters": {"customer": 3}});
    let document = text(&app, "/api/exec?rows=objects&numbers=text", "application/json", &body).await;
    let (_, rest) = rows(&document).split_once("\"total\":").unwrap();
    assert_eq!(rest, "\"99999.99\"}]", "{document}");
}

#[actix_web::test]
async fn a_failure_behind_objects_ends_the_same_document() {
    let app = fixture::on_sqlite().await;
    let failing = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
        SELECT i, CASE WHEN i = 2000 THEN abs(-9223372036854775808) ELSE i END AS same FROM n";
    let document = text(&app, "/api/query?rows=objects", "application/json", &json!({"query": failing})).await;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["results"][0]["rows"].as_array().unwrap().len(), 1999);
    assert_eq!(document["results"][0]["rows"][1998], json!({"i": 1999, "same": 1999}));
    assert_eq!(document["error"]["code"], 1400);
}
