//! What columns are called that the statement gives no name: as PostgreSQL calls them. Its own answer to the same statement
//! over tables of one server is what is compared with.

use serde_json::Value;

use super::{answer, two_sources};

/// `{o}` and `{c}` stand for the tables of orders and of customers.
const STATEMENTS: &[&str] = &[
    "SELECT count(*), count(*) FROM {o} o JOIN {c} c ON c.id = o.customer_id",
    "SELECT o.id, o.id FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT name, name FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY name",
    "SELECT - o.id, - o.id FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY 1",
    "SELECT o.id, c.id, o.id FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT 1, 1, 'x', NULL FROM {o} o JOIN {c} c ON c.id = o.id",
    "SELECT sum(o.total), sum(o.id), max(c.name) FROM {o} o JOIN {c} c ON c.id = o.customer_id",
    "SELECT c.name, sum(o.total)::numeric(12, 2) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY c.name ORDER BY sum DESC",
    "SELECT upper(c.name), count(*) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY upper ORDER BY upper",
    "SELECT DISTINCT upper(c.name), 7 FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY upper(c.name)",
    "SELECT o.id::text FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY id DESC, o.id",
    "SELECT o.id::text, o.id FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT c.id FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY c.id HAVING c.id > 1 ORDER BY id",
    "SELECT CASE WHEN o.id > 1 THEN 1 ELSE 2 END, coalesce(c.name, 'x'), extract(year FROM o.placed), \
         CASE WHEN true THEN 1 ELSE o.id END FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT (SELECT max(total) FROM {o}), (SELECT min(c.id) FROM {c} c), o.id + 1 AS \"Next\" FROM {o} o ORDER BY \"Next\"",
    "SELECT x.count, x.max FROM (SELECT count(*), max(o.id) FROM {o} o JOIN {c} c ON c.id = o.id) x",
    "SELECT x.* FROM (SELECT o.id, o.id, count(*), count(*) FROM {o} o JOIN {c} c ON c.id = o.id GROUP BY o.id) x ORDER BY 1",
    "SELECT *, count(*) OVER () FROM (SELECT c.name, o.total FROM {o} o JOIN {c} c ON c.id = o.customer_id) x ORDER BY total",
    "SELECT *, total FROM (SELECT c.name, o.total FROM {o} o JOIN {c} c ON c.id = o.customer_id) x ORDER BY x.total",
    "SELECT x.*, x.total FROM (SELECT c.name, o.total FROM {o} o JOIN {c} c ON c.id = o.customer_id) x ORDER BY x.total",
    "WITH x AS (SELECT o.customer_id, count(*) FROM {o} o GROUP BY 1) SELECT c.name, x.count FROM x JOIN {c} c ON c.id = x.customer_id ORDER BY 1",
    "SELECT max(o.id) FROM {o} o UNION ALL SELECT min(c.id) FROM {c} c ORDER BY max DESC",
    "SELECT o.id, o.id FROM {o} o UNION SELECT c.id, c.id FROM {c} c ORDER BY 1",
    "SELECT o.id AS a, c.id AS a FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT row_number() OVER (ORDER BY o.id), rank() OVER (ORDER BY o.id), rank() OVER (ORDER BY o.id) FROM {o} o JOIN {c} c ON c.id = o.id ORDER BY 1",
    "SELECT trim(c.name), substring(c.name FROM 1 FOR 2), position('a' IN c.name), date '2026-01-01' FROM {o} o JOIN {c} c ON c.id = o.id ORDER BY o.id",
    "SELECT count(*) FROM {o} o JOIN {c} c ON c.id = o.id HAVING count(*) > 0 ORDER BY count",
    "SELECT extract(year FROM o.placed)::int AS y, count(*), rank() OVER (PARTITION BY extract(year FROM o.placed) ORDER BY count(*)) \
         FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY 1, extract(year FROM o.placed) ORDER BY 1",
    "SELECT sum(o.total), sum(o.total::int), sum(o.total::float8), count(o.id::text) FROM {o} o JOIN {c} c ON c.id = o.customer_id",
    "SELECT o.id::text, o.id::float8, o.id, count(*) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY o.id::text, o.id::float8, o.id ORDER BY o.id",
    "SELECT lag(o.id) OVER (ORDER BY o.id), lag(o.id::text) OVER (ORDER BY o.id) FROM {o} o JOIN {c} c ON c.id = o.customer_id ORDER BY o.id",
    "SELECT date_trunc('month', o.placed)::date, date_trunc('month', o.placed), count(*) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY 1, 2 ORDER BY 2",
    "SELECT upper(c.name::varchar(2)), upper(c.name), max(c.name::varchar(2)), max(c.name) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY 1, 2 ORDER BY 2",
    "SELECT c.id::text, max(o.total) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY c.id, (c.id)::text HAVING max(o.total)::int > 0 ORDER BY c.id",
    "SELECT x.a, x.b FROM (SELECT max(o.id) AS a, max(o.id::text) AS b FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY c.name) x ORDER BY x.a",
    "SELECT c.name, o.id::text, o.id, count(*) FROM {o} o JOIN {c} c ON c.id = o.customer_id GROUP BY GROUPING SETS ((c.name), (o.id, o.id::text)) ORDER BY 1, 3",
    "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT \"?column?\" + 1 FROM t WHERE \"?column?\" < 3) SELECT \"?column?\", name FROM t JOIN {c} c ON c.id = \"?column?\" JOIN {o} o ON o.id = c.id ORDER BY 1",
];

fn labels(result: &Value) -> Vec<&str> {
    result["schema"].as_array().unwrap().iter().map(|column| column["columnLabel"].as_str().unwrap()).collect()
}

#[actix_web::test]
async fn columns_without_a_name_are_called_as_postgresql_calls_them() {
    let app = two_sources("", "").await;
    for statement in STATEMENTS {
        let over = |o: &str, c: &str| statement.replace("{o}", o).replace("{c}", c);
        let own = answer(&app, &over("shop.public.orders", "shop.public.customers")).await;
        for (orders, customers) in
            [("shop.public.orders", "crm.main.customers"), ("crm.main.orders", "shop.public.customers")]
        {
            let text = over(orders, customers);
            let crossing = answer(&app, &text).await;
            assert_eq!(labels(&crossing), labels(&own), "{text}");
            assert_eq!(crossing["rows"], own["rows"], "{text}");
            let (status, described) = app.query(serde_json::json!({"query": text, "schemaOnly": true})).await;
            assert_eq!((status, labels(&described["results"][0])), (200, labels(&own)), "{text}");
        }
    }
}

/// Names of columns in errors and in plans are those that the statement has.
#[actix_web::test]
async fn nobody_is_told_how_equal_names_are_told_apart() {
    let app = two_sources("", "").await;
    for statement in [
        "SELECT x.nothing FROM (SELECT count(*), count(o.id), o.id, o.id FROM shop.public.orders o \
             JOIN crm.main.customers c ON c.id = o.id GROUP BY o.id) x",
        "EXPLAIN SELECT sum(o.id), sum(c.id), o.id::text FROM shop.public.orders o JOIN crm.main.customers c \
             ON c.id = o.id GROUP BY o.id ORDER BY id",
    ] {
        let (_, document) = app.query(serde_json::json!({"query": statement})).await;
        assert!(!document.to_string().contains("\\u0001"), "{statement}: {document}");
    }
}
