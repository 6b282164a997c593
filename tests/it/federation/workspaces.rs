//! Workspaces: tables of several connections under names of an administrator's own.

use serde_json::{Value, json};

use super::{recorded, two_sources_with};
use crate::support::app::{TestApp, read};

const REVENUE: &str = r#"
[[workspaces]]
name = "revenue"
description = "Orders with their customers"
assets = [
    { table = "shop.public.orders" },
    { table = "crm.main.customers", alias = "people", folder = "crm" },
    { table = "crm.main.c%", folder = "archive" },
]
views = [
    { name = "by_city", folder = "reports", description = "Turnover by city", query = "SELECT p.city, sum(o.total) AS turnover FROM orders o JOIN crm.people p ON p.id = o.customer_id GROUP BY p.city" },
    { name = "rich", query = "SELECT city FROM reports.by_city WHERE turnover > 100" },
]
relations = [{ from = "orders.customer_id", to = "crm.people.id" }]
"#;

async fn query(app: &TestApp, workspace: &str, body: Value) -> (u16, Value) {
    read(app.post(&format!("/api/query?workspace={workspace}")).json(&body).send().await.unwrap()).await
}

async fn rows(app: &TestApp, text: &str) -> Value {
    let (status, document) = query(app, "revenue", json!({"query": text})).await;
    assert_eq!(status, 200, "{text}: {document}");
    document["results"][0]["rows"].clone()
}

async fn listed(app: &TestApp, path: &str) -> Value {
    let (status, document) = read(app.get(&format!("/api/{path}")).send().await.unwrap()).await;
    assert_eq!(status, 200, "{path}: {document}");
    document["results"][0]["rows"].clone()
}

#[actix_web::test]
async fn names_are_the_workspaces_own() {
    let app = two_sources_with("", "", REVENUE).await;
    for name in ["orders", "main.orders", "revenue.main.orders", "\"revenue\".\"main\".\"orders\"", "[orders]"] {
        assert_eq!(rows(&app, &format!("SELECT count(*) FROM {name}")).await, json!([[3]]), "{name}");
    }
    assert_eq!(rows(&app, "SELECT name FROM crm.people WHERE id = 3").await, json!([["美咲"]]));
    assert_eq!(rows(&app, "SELECT count(*) FROM archive.cities").await, json!([[3]]));
    let turnover = json!([[null, null], ["Gdańsk", 10.60], ["東京", 99999.99]]);
    assert_eq!(rows(&app, "SELECT * FROM reports.by_city ORDER BY 2").await, json!([turnover[1], turnover[2]]));
    assert_eq!(rows(&app, "SELECT * FROM rich").await, json!([["東京"]]));
    let record = recorded(&app);
    assert_eq!(record["workspace"], "revenue", "{record}");
    assert!(["shop, crm", "crm, shop"].contains(&record["connection"].as_str().unwrap()), "{record}");
    let body = json!({"query": "SELECT count(*) FROM people", "defaultSchema": "crm"});
    let (status, document) = query(&app, "revenue", body).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{document}");
    // One that is not there is the main folder's, as over one connection; one that says its folder is of no other.
    for text in [
        "SELECT count(*) FROM orders",
        "SELECT count(orders.id) FROM Orders",
        "SELECT count(*) FROM people p JOIN orders o ON o.customer_id = p.id",
        "WITH o AS (SELECT * FROM orders) SELECT count(*) FROM o",
        // A name of WITH hides the table only where it is seen.
        "WITH orders AS (SELECT * FROM orders) SELECT count(*) FROM orders",
        "WITH o AS (SELECT * FROM orders), orders AS (SELECT 1) SELECT count(*) FROM o, orders",
        "SELECT (WITH orders AS (SELECT 1 WHERE false) SELECT count(*) FROM orders) + count(*) FROM orders",
    ] {
        let (status, document) = query(&app, "revenue", json!({"query": text, "defaultSchema": "crm"})).await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{text}: {document}");
    }
    for text in ["SELECT * FROM crm.orders", "WITH orders AS (SELECT 1) SELECT id FROM orders"] {
        let (status, document) = query(&app, "revenue", json!({"query": text, "defaultSchema": "crm"})).await;
        assert!([400, 404].contains(&status), "{text}: {document}");
    }
    let (status, document) = query(&app, "revenue", json!({"query": "TABLE crm.people ORDER BY 1"})).await;
    assert_eq!((status, document["results"][0]["rows"].as_array().map(Vec::len)), (200, Some(3)), "{document}");
    let body = json!({"query": "SELECT orders.* FROM orders WHERE orders.id = 1", "defaultSchema": "crm"});
    let (status, document) = query(&app, "revenue", body).await;
    assert_eq!((status, document["results"][0]["rows"].as_array().map(Vec::len)), (200, Some(1)), "{document}");
    // A view's own names are looked up where it was written, whatever the caller's default is.
    let body = json!({"query": "SELECT count(*) FROM main.rich", "defaultSchema": "crm"});
    assert_eq!(query(&app, "revenue", body).await.0, 200);
    let (_, document) = query(&app, "revenue", json!({"query": "SELECT p.name FROM crm.people p"})).await;
    let column = &document["results"][0]["schema"][0];
    assert_eq!(
        (&column["catalogName"], &column["schemaName"], &column["tableName"]),
        (&json!("revenue"), &json!("crm"), &json!("people"))
    );
}

#[actix_web::test]
async fn what_is_not_in_it_does_not_exist() {
    let app = two_sources_with("CREATE TABLE secret (id int)", "", REVENUE).await;
    let cases = [
        ("SELECT * FROM secret", "there is no table secret in the workspace revenue"),
        ("SELECT * FROM customers", "there is no table customers"),
        ("SELECT * FROM nothing.public.secret", "nothing is not part of the workspace"),
        ("SELECT * FROM people", "there is no table people"),
        ("SELECT * FROM archive.orders", "there is no table archive.orders"),
        ("SELECT * FROM orders, information_schema.tables", "there is no table information_schema.tables"),
    ];
    for (text, words) in cases {
        let (status, document) = query(&app, "revenue", json!({"query": text})).await;
        let error = &document["error"];
        assert_eq!((status, &error["code"]), (404, &json!(1300)), "{text}: {document}");
        assert!(error["message"].as_str().unwrap().contains(words), "{text}: {document}");
    }
    let (status, document) = query(&app, "revenu", json!({"query": "SELECT 1"})).await;
    assert_eq!((status, &document["error"]["hint"]), (404, &json!("did you mean revenue?")), "{document}");
    let (status, document) = query(&app, "revenue", json!({"query": "DELETE FROM orders"})).await;
    assert_eq!((status, &document["error"]["code"]), (403, &json!(1200)), "the connection is read-only: {document}");
    let mixed = json!({"query": "SELECT * FROM orders, shop.public.secret"});
    let (status, document) = query(&app, "revenue", mixed).await;
    let error = &document["error"];
    assert_eq!((status, &error["code"]), (400, &json!(1000)), "{document}");
    assert!(error["message"].as_str().unwrap().contains("shop is a connection"), "{document}");
    let (status, document) = app.query(json!({"query": "SELECT * FROM revenue.main.orders"})).await;
    let hint = document["error"]["hint"].as_str().unwrap();
    assert!(status == 400 && hint.starts_with("give workspace=revenue"), "{document}");
    // Who does not reach every connection underneath is told of none.
    let of_one = app.http.post(format!("{}/api/query?workspace=revenue", app.url)).bearer_auth(app.token().await);
    let (status, document) = read(of_one.json(&json!({"query": "SELECT * FROM orders"})).send().await.unwrap()).await;
    assert_eq!((status, &document["error"]["message"]), (404, &json!("there is no workspace \"revenue\"")));
}

#[actix_web::test]
async fn metadata_has_its_folders_as_schemas() {
    let app = two_sources_with("", "", REVENUE).await;
    assert_eq!(listed(&app, "catalogs?workspace=revenue").await, json!([["revenue"]]));
    let folders = json!([["revenue", "archive"], ["revenue", "crm"], ["revenue", "main"], ["revenue", "reports"]]);
    assert_eq!(listed(&app, "schemas?workspace=revenue").await, folders);
    let tables = listed(&app, "tables?workspace=revenue").await;
    let mut names: Vec<_> = tables
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row[1].as_str().unwrap(), row[2].as_str().unwrap(), row[3].as_str().unwrap()))
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            ("archive", "cities", "VIEW"),
            ("archive", "customers", "TABLE"),
            ("crm", "people", "TABLE"),
            ("main", "orders", "TABLE"),
            ("main", "rich", "VIEW"),
            ("reports", "by_city", "VIEW")
        ]
    );
    let columns = listed(&app, "columns?workspace=revenue&tableName=by_city").await;
    let names: Vec<_> = columns.as_array().unwrap().iter().map(|row| (&row[1], &row[3])).collect();
    assert_eq!(names, [(&json!("reports"), &json!("city")), (&json!("reports"), &json!("turnover"))]);
    let columns = listed(&app, "columns?workspace=revenue&schemaName=crm&columnName=n%25").await;
    assert_eq!(columns.as_array().unwrap().len(), 1, "{columns}");
    // A key to a table that is not there is not told of; a relation is told as a key without a name.
    let related =
        json!([["revenue", "crm", "people", "id", "revenue", "main", "orders", "customer_id", 1, 3, 3, null, null, 7]]);
    for (listing, at_ends) in [("importedKeys", ["orders", "people"]), ("exportedKeys", ["people", "orders"])] {
        assert_eq!(listed(&app, &format!("{listing}?workspace=revenue")).await, related);
        for (table, keys) in at_ends.into_iter().zip([&related, &json!([])]) {
            let path = format!("{listing}?workspace=revenue&tableName={table}");
            assert_eq!(listed(&app, &path).await, *keys, "{path}");
        }
    }
    let references = listed(&app, "columns?workspace=revenue&tableName=orders&columnName=customer_id").await;
    assert_eq!(references[0][15], "crm.people.id", "{references}");
    assert_eq!(listed(&app, "primaryKeys?workspace=revenue&tableName=orders").await[0][0], "revenue");
    assert_eq!(listed(&app, "primaryKeys?workspace=revenue&schemaName=archive&tableName=orders").await, json!([]));
}
