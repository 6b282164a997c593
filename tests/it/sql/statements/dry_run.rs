//! `dryRun`: what a request would change is told, and nothing of it stays.

use serde_json::{Value, json};

use crate::support::app::{Caller, TestApp, eventually, read};
use crate::support::fixture::{self, on_both};
use crate::support::postgres::connect;
use portico_actors::event::Event;

on_both! {
    a_statement_tells_what_it_would_change
    a_script_sees_its_own_changes_and_keeps_none
    a_batch_is_undone_whole
    failures_are_those_of_the_real_run
    it_needs_what_the_real_run_needs
    reading_is_the_same
    the_log_tells_it_from_a_real_run
}

async fn dry(app: &TestApp, path: &str, mut body: Value) -> (u16, Value) {
    body["dryRun"] = json!(true);
    read(app.post(path).json(&body).send().await.unwrap()).await
}

async fn nothing_changed(app: &TestApp) {
    assert_eq!(app.rows("SELECT id, name FROM customers WHERE id = 1").await, json!([[1, "Łukasz"]]));
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

async fn a_statement_tells_what_it_would_change(app: &TestApp) {
    for (query, rows, affected) in [
        ("UPDATE customers SET name = 'x'", json!([]), 3),
        ("DELETE FROM orders WHERE customer_id = 1", json!([]), 2),
        ("INSERT INTO customers VALUES (10, 'ten', NULL) RETURNING id", json!([[10]]), 1),
        ("DROP VIEW cities", json!([]), 0),
    ] {
        let (status, document) = dry(app, "/api/query", json!({"query": query})).await;
        assert_eq!((status, document.get("error")), (200, None), "{query}: {document}");
        assert_eq!(document["dryRun"], true, "{query}");
        let result = &document["results"][0];
        assert_eq!((&result["rows"], &result["affectedRows"]), (&rows, &json!(affected)), "{query}");
        nothing_changed(app).await;
    }
    assert_eq!(app.rows("SELECT count(*) FROM cities").await, json!([[3]]), "the view is still there");
    let (_, document) = app.query(json!({"query": "SELECT 1", "dryRun": false})).await;
    assert_eq!(document.get("dryRun"), None, "only a dry run says so");
}

async fn a_script_sees_its_own_changes_and_keeps_none(app: &TestApp) {
    let query = "INSERT INTO customers VALUES (@id, 'ten', NULL); UPDATE customers SET name = 'y' WHERE id >= @id; \
        SELECT name FROM customers WHERE id = @id; CREATE TABLE fresh (id INTEGER); DELETE FROM orders";
    let (status, document) = dry(app, "/api/query", json!({"query": query, "parameters": {"id": 3 + 7}})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    let affected: Vec<&Value> =
        document["results"].as_array().unwrap().iter().map(|result| &result["affectedRows"]).collect();
    assert_eq!(affected, [&json!(1), &json!(1), &json!(-1), &json!(0), &json!(3)]);
    assert_eq!(document["results"][2]["rows"], json!([["y"]]));
    nothing_changed(app).await;
    let (status, _) = app.query(json!({"query": "SELECT * FROM fresh"})).await;
    assert_eq!(status, 404, "the table was not kept");
}

async fn a_batch_is_undone_whole(app: &TestApp) {
    let insert = "INSERT INTO customers VALUES (@id, @name, NULL)";
    let sets = json!([{"id": 10, "name": "a"}, {"id": 11, "name": "b"}]);
    let (status, document) = dry(app, "/api/batch", json!({"query": insert, "parameters": sets})).await;
    assert_eq!((status, &document["dryRun"]), (200, &json!(true)), "{document}");
    assert!(document["results"].as_array().unwrap().iter().all(|result| result["affectedRows"] == 1));
    nothing_changed(app).await;
    // The same again: no trace of the first attempt is in its way.
    let (status, document) = dry(app, "/api/batch", json!({"query": insert, "parameters": sets})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
}

async fn failures_are_those_of_the_real_run(app: &TestApp) {
    for (query, status, code) in [
        ("INSERT INTO customers VALUES (1, 'again', NULL)", 409, 1401),
        ("INSERT INTO orders VALUES (9, 99, 1, NULL)", 409, 1401),
        ("UPDATE custmers SET name = 'x'", 404, 1300),
        ("COMMIT", 400, 1000),
    ] {
        let (got, answer) = dry(app, "/api/query", json!({"query": query})).await;
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{query}: {answer}");
    }
    let (status, answer) = app.query(json!({"query": "SELECT 1", "dryRun": "perhaps"})).await;
    assert_eq!((status, &answer["error"]["message"]), (400, &json!("dryRun: give true or false")));
    // What is only checked at the end of a transaction is checked as well.
    let deferred = "CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (id INTEGER PRIMARY KEY, \
        parent INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)";
    let (status, document) = app.query(json!({"query": deferred})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    for query in ["INSERT INTO child VALUES (1, 7)", "SELECT 1; INSERT INTO child VALUES (1, 7)"] {
        let (status, answer) = dry(app, "/api/query", json!({"query": query})).await;
        assert_eq!(answer["error"]["code"], 1401, "{status} {query}: {answer}");
        assert_eq!(app.rows("SELECT count(*) FROM child").await, json!([[0]]));
    }
    let whole = "INSERT INTO child VALUES (1, 7); INSERT INTO parent VALUES (7)";
    let (status, document) = dry(app, "/api/query", json!({"query": whole})).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    assert_eq!(app.rows("SELECT count(*) FROM child").await, json!([[0]]));
}

async fn it_needs_what_the_real_run_needs(app: &TestApp) {
    let Caller { name, secret } = &app.reader;
    let request = app.http.post(format!("{}/api/query", app.url)).basic_auth(name, Some(secret));
    let body = json!({"query": "DELETE FROM orders", "dryRun": true});
    let (status, answer) = read(request.json(&body).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{answer}");
}

async fn reading_is_the_same(app: &TestApp) {
    let (status, document) = dry(app, "/api/query", json!({"query": "SELECT id FROM orders ORDER BY id"})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1], [2], [3]])));
    let (status, document) = dry(app, "/api/query", json!({"query": "DELETE FROM orders", "schemaOnly": true})).await;
    assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(-1)), "{document}");
}

async fn the_log_tells_it_from_a_real_run(app: &TestApp) {
    let (status, _) = dry(app, "/api/query", json!({"query": "DELETE FROM orders"})).await;
    assert_eq!(status, 200);
    let told = |event: &Event| matches!(event, Event::CallEnded(call) if call.what == "/api/query?dryRun");
    eventually("the event of the call", async || app.told(told)).await;
}

#[actix_web::test]
async fn procedures_are_undone_unless_they_end_their_own_transaction() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    let routines = "CREATE TABLE log (word text);
        CREATE PROCEDURE note(INOUT word text) LANGUAGE plpgsql
            AS $$ BEGIN INSERT INTO log VALUES (word); word := word || '!'; END $$;
        CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('x'); COMMIT; END $$;
        CREATE FUNCTION open_set() RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor; BEGIN
            INSERT INTO log VALUES ('set'); OPEN c FOR SELECT word FROM log; RETURN c; END $$;";
    admin.batch_execute(routines).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let (status, document) = dry(&app, "/api/exec", json!({"procedure": "note", "parameters": ["a"]})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["a!"]])), "{document}");
    assert_eq!(document["dryRun"], true);
    let (status, document) = dry(&app, "/api/exec", json!({"procedure": "open_set"})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["set"]])), "{document}");
    let (status, answer) = dry(&app, "/api/exec", json!({"procedure": "commits"})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("2D000")), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("dryRun: "), "{answer}");
    let (status, answer) = dry(&app, "/api/query", json!({"query": "CALL commits()"})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("2D000")), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM log").await, json!([[0]]));
}

#[actix_web::test]
async fn declared_procedures_are_undone() {
    let declared = "access = \"read-write\"\n[[connections.procedures]]\nname = \"purge\"\ndescription = \"All orders.\"\n\
        sql = \"DELETE FROM orders\"\n";
    let app = fixture::with_sqlite(declared).await;
    let (status, document) = dry(&app, "/api/exec", json!({"procedure": "purge"})).await;
    assert_eq!((status, &document["results"][0]["affectedRows"]), (200, &json!(3)), "{document}");
    nothing_changed(&app).await;
}

#[actix_web::test]
async fn sqlite_tells_the_plan_of_what_writes_to_who_may_write() {
    let app = fixture::with_sqlite("access = \"read-write\"").await;
    for text in ["EXPLAIN QUERY PLAN DELETE FROM orders", "explain insert into orders select * from orders"] {
        let rows = app.rows(text).await;
        assert!(!rows.as_array().unwrap().is_empty(), "{text}: {rows}");
        let request = app.http.post(format!("{}/api/query", app.url));
        let request = request.basic_auth(&app.reader.name, Some(&app.reader.secret)).json(&json!({"query": text}));
        let (status, answer) = read(request.send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{text}: {answer}");
    }
    nothing_changed(&app).await;
}
