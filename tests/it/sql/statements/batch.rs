//! `POST /api/batch`: one statement, many sets of values, through HTTP on each driver.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, on_both};

on_both! {
    each_set_has_its_result
    clients_wrap_values_in_many_ways
    nothing_is_kept_when_a_set_fails
    a_batch_may_return_rows
    ten_thousand_inserts_are_one_request
    wrong_batches_name_their_field
    columns_are_told_once_without_a_run
}

async fn batch(app: &TestApp, query: &str, parameters: Value) -> (u16, Value) {
    let body = json!({"query": query, "parameters": parameters});
    read(app.post("/api/batch").json(&body).send().await.unwrap()).await
}

const INSERT: &str = "INSERT INTO customers (id, name) VALUES (@id, @name)";

async fn each_set_has_its_result(app: &TestApp) {
    let sets = json!([{"@id": {"value": 10}, "@name": {"value": "a"}}, {"id": 11, "name": "b'; --"}, [12, "c"]]);
    let (status, document) = batch(app, INSERT, sets).await;
    let one = json!({"schema": [], "rows": [], "affectedRows": 1});
    assert_eq!((status, document), (200, json!({"results": [one, one, one]})));
    let update = "UPDATE customers SET city = @city WHERE id >= @least";
    let (_, document) = batch(app, update, json!([{"city": "x", "least": 10}, {"city": null, "least": 99}])).await;
    let counts: Vec<&Value> =
        document["results"].as_array().unwrap().iter().map(|result| &result["affectedRows"]).collect();
    assert_eq!(counts, [3, 0], "{document}");
    let rows = app.rows("SELECT id, name, city FROM customers WHERE id >= 10 ORDER BY id").await;
    assert_eq!(rows, json!([[10, "a", "x"], [11, "b'; --", "x"], [12, "c", "x"]]));
}

async fn clients_wrap_values_in_many_ways(app: &TestApp) {
    let insert = "INSERT INTO orders VALUES (@id, @customer, @total, @placed)";
    let sets = json!([
        {"@id": {"dataType": 8, "value": {"value": 10}}, "@customer": {"dataType": 8, "value": 1},
            "@total": {"dataType": 8, "value": {"dataType": 8, "value": 1.25}},
            "@placed": {"dataType": "", "value": {"value": "2026-02-03"}}},
        {"id": {"value": {"value": 11}}, "customer": {"dataType": 8, "direction": 1, "value": 1},
            "total": {"dataType": "", "value": 2}, "placed": {"dataType": 5, "value": {"value": null}}},
        {"@id": {"dataType": 999, "value": 12}, "@customer": 1, "@total": "3.75", "@placed": null},
    ]);
    let (status, document) = batch(app, insert, sets).await;
    assert_eq!((status, document.get("error")), (200, None), "{document}");
    let query = json!({"query": "SELECT id, total, placed FROM orders WHERE id >= 10 ORDER BY id"});
    let text = app.post("/api/query").json(&query).send().await.unwrap().text().await.unwrap();
    assert!(text.contains(r#""rows":[[10,1.25,"2026-02-03"],[11,2.00,null],[12,3.75,null]]"#), "{text}");
}

async fn nothing_is_kept_when_a_set_fails(app: &TestApp) {
    let sets =
        json!([{"id": 10, "name": "a"}, {"id": 11, "name": "b"}, {"id": 10, "name": "again"}, {"id": 12, "name": "d"}]);
    let (status, answer) = batch(app, INSERT, sets).await;
    assert_eq!((status, &answer["error"]["code"]), (409, &json!(1401)), "{answer}");
    assert_eq!(answer["error"]["sqlState"], "23505");
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("parameters[2]: "), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
    // The session answers the next caller.
    let (status, _) = batch(app, INSERT, json!([{"id": 10, "name": "a"}])).await;
    assert_eq!((status, app.rows("SELECT count(*) FROM customers").await), (200, json!([[4]])));
}

async fn a_batch_may_return_rows(app: &TestApp) {
    let (_, document) =
        batch(app, &format!("{INSERT} RETURNING id"), json!([{"id": 10, "name": "a"}, {"id": 11, "name": "b"}])).await;
    assert_eq!(document["results"][0]["rows"], json!([[10]]), "{document}");
    assert_eq!((&document["results"][1]["rows"], &document["results"][1]["affectedRows"]), (&json!([[11]]), &json!(1)));
    let select = "SELECT id FROM orders WHERE customer_id = @customer ORDER BY id";
    let (_, document) = batch(app, select, json!([{"customer": 1}, {"customer": 2}, {"customer": 3}])).await;
    let rows: Vec<&Value> = document["results"].as_array().unwrap().iter().map(|result| &result["rows"]).collect();
    assert_eq!(rows, [&json!([[1], [2]]), &json!([]), &json!([[3]])]);
    assert!(document["results"].as_array().unwrap().iter().all(|result| result["affectedRows"] == -1));
    assert_eq!(document["results"][1]["schema"][0]["columnLabel"], "id");
}

async fn ten_thousand_inserts_are_one_request(app: &TestApp) {
    let sets: Vec<Value> = (0..10_000)
        .map(|id| json!({"@id": {"dataType": 8, "value": {"value": id + 100}}, "@name": {"dataType": 5, "value": "n"}}))
        .collect();
    let (status, document) = batch(app, INSERT, json!(sets)).await;
    assert_eq!((status, document.get("error")), (200, None));
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 10_000);
    assert!(results.iter().all(|result| result["affectedRows"] == 1));
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[10_003]]));
}

async fn columns_are_told_once_without_a_run(app: &TestApp) {
    for (query, labels) in [
        ("INSERT INTO customers (id, name) VALUES (@id, @id)", json!([])),
        ("DELETE FROM orders WHERE id = @id RETURNING id AS gone", json!(["gone"])),
    ] {
        let sets = json!([{"id": 1}, {"id": 2}]);
        let body = json!({"query": query, "parameters": sets, "schemaOnly": true});
        let (status, document) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
        assert_eq!((status, document.get("error")), (200, None), "{document}");
        let results = document["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "one statement has one schema: {document}");
        let told: Vec<&Value> =
            results[0]["schema"].as_array().unwrap().iter().map(|column| &column["columnLabel"]).collect();
        assert_eq!((json!(told), &results[0]["affectedRows"]), (labels, &json!(-1)));
    }
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]), "nothing was run");
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]), "nothing was run");
}

async fn wrong_batches_name_their_field(app: &TestApp) {
    for (query, parameters, words) in [
        (INSERT, json!([]), "parameters: give a list"),
        (INSERT, json!({"id": 1}), "parameters: give a list"),
        (INSERT, json!(null), "parameters: give a list"),
        (INSERT, json!([{"id": 1, "name": "a"}, 5]), "parameters[1]"),
        (INSERT, json!([{"id": 1, "name": "a"}, {"id": 2}]), "parameters[1]"),
        (INSERT, json!([{"id": 1, "name": "a", "more": 1}]), "parameters[0]"),
        ("SELECT 1; SELECT 2", json!([{}]), "one statement"),
        ("COMMIT", json!([{}]), "transaction"),
    ] {
        let (status, answer) = batch(app, query, parameters).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{query}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(words), "{query}: {answer}");
    }
    let (status, document) = batch(app, "SELECT 1", json!([{}, {}])).await;
    assert_eq!((status, document["results"].as_array().map(Vec::len)), (200, Some(2)), "{document}");
    let response = app.get("/api/batch").send().await.unwrap();
    assert_eq!(response.status(), 405);
    let huge = json!({"query": INSERT, "parameters": [{"id": 1, "name": "x".repeat(64 << 20)}]});
    let (status, answer) = read(app.post("/api/batch").json(&huge).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (413, &json!(1800)), "{answer}");
}

#[actix_web::test]
async fn values_that_postgresql_refuses_name_set_and_parameter() {
    let app = fixture::on_postgres().await;
    for bad in [json!({"id": "zwölf", "name": "a"}), json!({"id": [1], "name": "a"})] {
        let (status, answer) = batch(&app, INSERT, json!([{"id": 10, "name": "a"}, bad])).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("parameters[1]: parameter @id: "), "{answer}");
    }
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
    let (_, document) = batch(&app, "SELECT @a + @b, 1::money", json!([{"a": 1, "b": 2}, {"a": 30, "b": 4}])).await;
    assert_eq!((&document["results"][1]["rows"]), &json!([[34, "$1.00"]]), "{document}");
}
