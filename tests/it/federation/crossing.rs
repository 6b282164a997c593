//! What a statement over several connections answers, and what its sources are asked.

use serde_json::{Value, json};

use super::{another_postgres, answer, recorded, sent, two_sources};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::connect;

#[actix_web::test]
async fn a_statement_joins_tables_of_two_connections() {
    let app = two_sources("", "").await;
    let query = "SELECT c.name, o.total AS amount, o.placed FROM shop.public.orders o \
                 JOIN [crm].[main].[customers] c ON c.id = o.customer_id ORDER BY o.id";
    let text = app.post("/api/query").json(&json!({"query": query})).send().await.unwrap().text().await.unwrap();
    assert!(text.contains("[\"Łukasz\",10.50,\"2026-01-02\"]"), "digits as the source has them: {text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    insta::assert_json_snapshot!(document);
    assert_eq!(answer(&app, "SELECT count(*) FROM shop.public.orders, crm.main.orders o").await["rows"], json!([[9]]));
}

/// Names of two parts are schema and table of `defaultCatalog`, also where the statement names another connection.
#[actix_web::test]
async fn the_default_connection_completes_names() {
    let app = two_sources("", "").await;
    let ask = async |query: &str, default: &str| {
        app.query(json!({"query": query, "defaultCatalog": default, "defaultSchema": "main"})).await
    };
    let query =
        "SELECT c.name FROM shop.public.orders o JOIN main.customers c ON c.id = o.customer_id ORDER BY o.id LIMIT 1";
    let (status, document) = ask(query, "crm").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["Łukasz"]])), "{document}");
    assert_eq!(sent(&app).into_iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>().len(), 2);
    // Nothing of the default one is named: it is no part of it.
    for query in [
        "SELECT count(*) FROM shop.public.orders o WHERE o.id > 0",
        "WITH c AS (SELECT 1 AS id) SELECT count(*) FROM shop.public.orders o JOIN c ON c.id > 0",
        "SELECT count(*) FROM shop.public.orders o WHERE o.id IN (SELECT order_id FROM shop.public.lines)",
    ] {
        let (_, document) = ask(query, "crm").await;
        assert!(recorded(&app)["sent"].is_null(), "one connection: {document}");
    }
    // Names of one part are tables of the default one too, and no writing statement takes them for another one's.
    for query in [
        "SELECT c.name FROM shop.public.orders o JOIN customers c ON c.id = o.customer_id ORDER BY o.id LIMIT 1",
        "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM shop.public.orders) ORDER BY id LIMIT 1",
    ] {
        let (status, document) = ask(query, "crm").await;
        assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["Łukasz"]])), "{query}: {document}");
        assert_eq!(sent(&app).into_iter().map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>().len(), 2);
    }
    for query in [
        "UPDATE shop.public.orders SET total = 1 WHERE id IN (SELECT id FROM main.orders)",
        "UPDATE shop.public.orders SET total = 1 WHERE id IN (SELECT id FROM customers)",
        "DELETE FROM customers WHERE EXISTS (SELECT 1 FROM shop.public.orders)",
        "WITH customers AS (SELECT 1) DELETE FROM customers WHERE EXISTS (SELECT 1 FROM shop.public.orders)",
        "DELETE FROM customers; SELECT id FROM shop.public.orders",
        "SELECT id FROM shop.public.orders; DELETE FROM main.customers",
        "INSERT INTO customers (id) SELECT id FROM shop.public.orders",
        "CREATE TABLE copied AS SELECT id FROM shop.public.orders",
        "TRUNCATE customers, shop.public.orders",
        "DROP TABLE customers, shop.public.orders",
        "LOCK TABLE customers, shop.public.orders",
        "TABLE shop.public.customers UNION TABLE customers; VACUUM customers",
    ] {
        let (status, document) = ask(query, "crm").await;
        assert_eq!((status, &document["error"]["code"]), (400, &json!(1000)), "{query}: {document}");
    }
}

#[actix_web::test]
async fn sources_do_what_they_can() {
    let app = two_sources("", "").await;
    let query = "SELECT c.name, sum(o.total) FROM shop.public.orders o JOIN shop.public.customers c \
                 ON c.id = o.customer_id WHERE o.total > 1 AND c.id IN (SELECT id FROM crm.main.customers \
                 WHERE city = 'Gdańsk') GROUP BY c.name ORDER BY 1 LIMIT 5";
    assert_eq!(answer(&app, query).await["rows"], json!([["Łukasz", 10.50]]));
    let sent = sent(&app);
    let [(_, of_shop)] = sent.iter().filter(|(name, _)| name == "shop").collect::<Vec<_>>()[..] else {
        panic!("one statement does for two tables of one source: {sent:?}")
    };
    assert!(of_shop.contains(" JOIN ") && of_shop.contains(" WHERE "), "joined and filtered there: {of_shop}");
    let [(_, of_crm)] = sent.iter().filter(|(name, _)| name == "crm").collect::<Vec<_>>()[..] else {
        panic!("{sent:?}")
    };
    assert!(of_crm.contains(" WHERE "), "{of_crm}");
}

#[actix_web::test]
async fn keys_of_one_source_narrow_the_other() {
    let app = two_sources(
        "CREATE TABLE events (id int PRIMARY KEY, who text, at uuid, day date, price numeric(10, 2), n bigint);
         INSERT INTO events SELECT i, 'p' || i, ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid,
             date '2026-01-01' + i, i / 100.0, i FROM generate_series(1, 3000) i; ANALYZE events",
        "CREATE TABLE wanted (who TEXT, at UUID, day DATE, price DECIMAL(10, 2), n BIGINT);
         INSERT INTO wanted VALUES ('p7', '00000000-0000-4000-8000-000000000007', '2026-01-08', 0.07, 7),
             ('p9', '00000000-0000-4000-8000-000000000009', '2026-01-10', 0.09, 9), (NULL, NULL, NULL, NULL, NULL)",
    )
    .await;
    for condition in [
        "e.who = w.who",
        "e.at = w.at",
        "e.day = w.day",
        "e.price = w.price",
        "e.n = w.n",
        "e.n = w.n AND e.who = w.who",
    ] {
        let query = format!("SELECT e.id FROM crm.main.wanted w JOIN shop.public.events e ON {condition} ORDER BY 1");
        assert_eq!(answer(&app, &query).await["rows"], json!([[7], [9]]), "{condition}");
        let of_shop: Vec<_> = sent(&app).into_iter().filter(|(name, _)| name == "shop").collect();
        let [(_, of_shop)] = &of_shop[..] else { panic!("{of_shop:?}") };
        assert!(of_shop.contains("= ANY ("), "{condition}: {of_shop}");
    }
    // Nothing to look for: nothing is asked.
    let none = "SELECT e.id FROM crm.main.wanted w JOIN shop.public.events e ON e.n = w.n WHERE w.n > 100";
    assert_eq!(answer(&app, none).await["rows"], json!([]));
}

#[actix_web::test]
async fn equal_names_are_told_apart() {
    let app = two_sources(
        "CREATE TABLE a (id int, k int); INSERT INTO a SELECT i, i % 10 FROM generate_series(1, 100) i;
         CREATE TABLE b (id int, k int); INSERT INTO b SELECT i, i % 7 FROM generate_series(1, 100) i",
        "CREATE TABLE c (id BIGINT, k BIGINT); INSERT INTO c VALUES (1, 3), (2, 5), (50, 1)",
    )
    .await;
    // Two columns named id and two named k on the side that is narrowed.
    let query = "SELECT count(*), sum(a.id), sum(b.id) FROM shop.public.a a JOIN shop.public.b b ON a.k = b.k \
                 JOIN crm.main.c c ON c.id = b.id";
    assert_eq!(answer(&app, query).await["rows"], json!([[30, 1390, 530]]));
}

#[actix_web::test]
async fn refusals_name_the_connection_and_the_remedy() {
    let app = two_sources("", "").await;
    let cases = [
        (
            "SELECT * FROM shop.public.nothing n JOIN crm.main.orders o ON o.id = n.id",
            404,
            1300,
            "connection shop: relation",
        ),
        ("SELECT * FROM shop.public.orders o JOIN elsewhere.main.orders p ON o.id = p.id", 404, 1300, "\"elsewhere\""),
        ("SELECT o.nope FROM shop.public.orders o JOIN crm.main.orders p ON o.id = p.id", 400, 1400, "nope"),
        ("SELECT id FROM shop.public.orders o JOIN crm.main.orders p ON o.id = p.id", 400, 1400, "id"),
        ("SELECT 1 / (o.id - o.id) FROM shop.public.orders o JOIN crm.main.orders p ON o.id = p.id", 400, 1400, "zero"),
        ("DELETE FROM shop.public.orders WHERE id IN (SELECT id FROM crm.main.orders)", 400, 1000, "DELETE"),
        ("SELECT * FROM shop.public.orders, crm.main.orders; SELECT 1", 400, 1000, "must be sent alone"),
        ("SELECT * FROM shop.public.orders, crm.main.orders WHERE shop.public.orders.id = @x", 400, 1000, "@x"),
    ];
    for (query, status, code, words) in cases {
        let (answered, document) = app.query(json!({"query": query})).await;
        let error = &document["error"];
        assert_eq!((answered, &error["code"]), (status, &json!(code)), "{query}: {document}");
        assert!(error["message"].as_str().unwrap().contains(words), "{query}: {document}");
    }
}

#[actix_web::test]
async fn parameters_are_values() {
    let app = two_sources("", "").await;
    let query = "SELECT o.id FROM shop.public.orders o JOIN crm.main.customers c ON c.id = o.customer_id \
                 WHERE c.name = @name AND o.total > @least AND o.placed >= @from ORDER BY 1";
    let parameters = json!({"@name": {"value": "Łukasz"}, "least": 10.49, "@from": {"value": "2026-01-01"}});
    let (status, document) = app.query(json!({"query": query, "parameters": parameters})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1]])), "{document}");
    let hostile = json!({"@name": {"value": "x' OR 1=1 --"}, "least": 0, "@from": {"value": "2020-01-01"}});
    let (status, document) = app.query(json!({"query": query, "parameters": hostile})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([])), "{document}");
}

#[actix_web::test]
async fn columns_are_told_without_running() {
    let app = two_sources("", "").await;
    let query = "SELECT o.id, c.name FROM shop.public.orders o JOIN crm.main.customers c ON c.id = o.customer_id";
    let (status, document) = app.query(json!({"query": query, "schemaOnly": true})).await;
    assert_eq!(status, 200, "{document}");
    let labels: Vec<_> =
        document["results"][0]["schema"].as_array().unwrap().iter().map(|c| &c["columnLabel"]).collect();
    assert_eq!((labels, &document["results"][0]["rows"]), (vec![&json!("id"), &json!("name")], &json!([])));
}

#[actix_web::test]
async fn rights_are_the_callers_at_each_connection() {
    let (one, other) = (fixture::postgres().await, another_postgres().await);
    connect(&other).await.batch_execute("CREATE TABLE secret (id int); CREATE TABLE plain (id int)").await.unwrap();
    let app = Configuration::new()
        .connection("shop", &one, "")
        .connection("vault", &other, "[connections.hidden]\ntables = [\"secret\"]")
        .start()
        .await;
    let joined =
        |table: &str| format!("SELECT count(*) FROM shop.public.orders o JOIN vault.public.{table} s ON s.id = o.id");
    assert_eq!(answer(&app, &joined("plain")).await["rows"], json!([[0]]));
    for query in [joined("secret"), joined("no_such")] {
        let (status, document) = app.query(json!({"query": query})).await;
        assert_eq!((status, &document["error"]["code"]), (404, &json!(1300)), "{query}: {document}");
    }
    // Who reaches one of two connections is told nothing of the other.
    let agent = app.token().await;
    let response = app.http.post(format!("{}/api/query", app.url)).bearer_auth(agent);
    let response = response.json(&json!({"query": joined("plain")})).send().await.unwrap();
    assert_eq!(response.status(), 404);
}
