//! What is told of a result's columns is proven: where a value may be NULL, `nullable` is true, and a column
//! is only named that all of its values come from.

use serde_json::{Value, json};

use crate::support::app::{TestApp, eventually, read};
use crate::support::cluster::Cluster;
use crate::support::fixture;
use crate::support::postgres::connect;

/// For each column whether it may be NULL, and which column of which table it is.
async fn told(app: &TestApp, query: &str) -> Vec<(bool, Value)> {
    let (status, document) = app.query(json!({"query": query})).await;
    assert_eq!((status, document.get("error")), (200, None), "{query}: {document}");
    let last = document["results"].as_array().unwrap().last().unwrap();
    // What is told holds for the rows that came.
    let schema = last["schema"].as_array().unwrap();
    for row in last["rows"].as_array().unwrap() {
        for (cell, column) in row.as_array().unwrap().iter().zip(schema) {
            assert!(!cell.is_null() || column["nullable"] == true, "{query}: {document}");
        }
    }
    schema
        .iter()
        .map(|column| (column["nullable"].as_bool().unwrap(), json!([column["tableName"], column["columnName"]])))
        .collect()
}

const ON_SQLITE: &str = "
CREATE TABLE t (id INTEGER PRIMARY KEY, n INT NOT NULL);
CREATE TABLE d (id INTEGER PRIMARY KEY DESC, n INT NOT NULL);
CREATE TABLE k (id INT PRIMARY KEY, n INT NOT NULL);
CREATE TABLE w (id INTEGER, n INT, PRIMARY KEY (id DESC));
INSERT INTO t VALUES (1, 10);
INSERT INTO d VALUES (NULL, 1);
INSERT INTO k VALUES (NULL, 1);
CREATE VIEW outer_view AS SELECT t.id, d.n FROM t LEFT JOIN d ON d.n = t.n;
CREATE VIEW union_view AS SELECT id FROM t UNION ALL SELECT id FROM d;
CREATE VIEW plain_view AS SELECT id, n FROM t;";

const WINDOW: &str = "sum(max(n)) OVER (ORDER BY max(n) ROWS UNBOUNDED PRECEDING EXCLUDE GROUP)";

#[actix_web::test]
async fn sqlite_tells_what_is_proven() {
    let app = fixture::on_sqlite().await;
    for statement in ON_SQLITE.split(';').filter(|text| !text.trim().is_empty()) {
        let (status, document) = app.query(json!({"query": statement})).await;
        assert_eq!(status, 200, "{document}");
    }
    let none = |name: &str| json!([null, name]);
    for (query, expected) in [
        ("SELECT id, n FROM t", vec![(false, json!(["t", "id"])), (false, json!(["t", "n"]))]),
        ("SELECT id FROM w", vec![(false, json!(["w", "id"]))]),
        ("SELECT t.id, d.n FROM t JOIN d ON d.n <= t.n", vec![(false, json!(["t", "id"])), (false, json!(["d", "n"]))]),
        (
            "INSERT INTO t (n) VALUES (20) RETURNING id, n",
            vec![(false, json!(["t", "id"])), (false, json!(["t", "n"]))],
        ),
        ("SELECT id FROM d", vec![(true, json!(["d", "id"]))]),
        ("SELECT id FROM k", vec![(true, json!(["k", "id"]))]),
        (
            "SELECT t.id, d.n FROM t LEFT JOIN d ON d.n = t.n",
            vec![(true, json!(["t", "id"])), (true, json!(["d", "n"]))],
        ),
        ("SELECT d.n FROM d RIGHT JOIN t ON d.n = t.n", vec![(true, json!(["d", "n"]))]),
        ("SELECT id FROM t UNION ALL SELECT id FROM d", vec![(true, none("id"))]),
        ("SELECT (SELECT id FROM t WHERE 0) AS it", vec![(true, json!(["t", "id"]))]),
        ("SELECT id, max(n) FROM t WHERE 0", vec![(true, json!(["t", "id"])), (true, none("max(n)"))]),
        ("SELECT id, n FROM outer_view", vec![(true, json!(["t", "id"])), (true, json!(["d", "n"]))]),
        ("SELECT id FROM union_view", vec![(true, none("id"))]),
        ("WITH c AS (SELECT d.n FROM t LEFT JOIN d ON d.n = t.n) SELECT n FROM c", vec![(true, json!(["d", "n"]))]),
        ("SELECT id FROM 'union_view'", vec![(true, none("id"))]),
        ("VALUES ((SELECT id FROM t WHERE 0))", vec![(true, none("column1"))]),
        ("VALUES ((SELECT id FROM t)), (NULL), (5)", vec![(true, none("column1"))]),
        ("WITH c (x) AS (VALUES ((SELECT id FROM t)), (NULL)) SELECT x FROM c", vec![(true, none("x"))]),
        ("INSERT INTO t (n) VALUES (3) RETURNING (SELECT id FROM t WHERE 0) AS it", vec![(true, none("it"))]),
        ("UPDATE t SET n = n RETURNING (SELECT id FROM k WHERE 0) AS it", vec![(true, json!(["k", "id"]))]),
        (
            "SELECT id, max(n), sum(max(n)) OVER (ORDER BY max(n) ROWS UNBOUNDED PRECEDING EXCLUDE GROUP) FROM t WHERE 0",
            vec![(true, json!(["t", "id"])), (true, none("max(n)")), (true, none(WINDOW))],
        ),
        ("SELECT id, [max](n) FROM t WHERE 0", vec![(true, json!(["t", "id"])), (true, none("[max](n)"))]),
    ] {
        assert_eq!(told(&app, query).await, expected, "{query}");
    }
    assert_eq!(told(&app, "SELECT id FROM plain_view").await[0].1, json!(["t", "id"]));
    // A definition that finds nothing to do changes nothing either.
    for statement in ["DROP TRIGGER IF EXISTS nope", "DROP TABLE IF EXISTS nope"] {
        let (_, document) = app.query(json!({"query": statement})).await;
        assert_eq!(document["results"][0]["affectedRows"], 0, "{statement}: {document}");
    }
}

const ON_POSTGRES: &str = "
CREATE TABLE t (id int4 PRIMARY KEY, n int4 NOT NULL);
CREATE TABLE child () INHERITS (t);
ALTER TABLE child ALTER n DROP NOT NULL;
INSERT INTO t VALUES (1, 10);
INSERT INTO child VALUES (2, NULL);
CREATE TABLE part (id int4 NOT NULL, n int4) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
CREATE VIEW v AS SELECT id FROM t;
CREATE TABLE far_1 (id int4, n int4); INSERT INTO far_1 VALUES (11, NULL);
CREATE TABLE far (id int4 NOT NULL, n int4 NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE far_0 PARTITION OF far FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
CREATE EXTENSION postgres_fdw;
DO $$ BEGIN EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw
    OPTIONS (host ''127.0.0.1'', port %L, dbname %L)', current_setting('port'), current_database()); END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER here OPTIONS (user 'postgres');
CREATE FOREIGN TABLE far_foreign PARTITION OF far_0 FOR VALUES FROM (10) TO (20)
    SERVER here OPTIONS (schema_name 'public', table_name 'far_1');";

#[actix_web::test]
async fn postgresql_tells_what_is_proven() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(ON_POSTGRES).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    for (query, expected) in [
        ("SELECT id, name FROM customers", [false, false]),
        ("SELECT id, n FROM part", [false, true]),
        ("SELECT id, n FROM t", [true, true]),
        ("SELECT c.id, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id", [true, true]),
        ("SELECT id, name FROM customers UNION ALL SELECT 1, NULL", [true, true]),
        ("SELECT (SELECT id FROM customers WHERE false), count(*) FROM customers", [true, true]),
        ("SELECT id, name FROM customers GROUP BY GROUPING SETS ((id), (name))", [true, true]),
        ("INSERT INTO customers VALUES (9, 'fresh') RETURNING id, name", [false, false]),
        ("SELECT id, n FROM far", [true, true]),
        ("SELECT id, NULL FROM v", [true, true]),
    ] {
        let nullable: Vec<bool> = told(&app, query).await.into_iter().map(|(nullable, _)| nullable).collect();
        assert_eq!(nullable, expected, "{query}");
    }
}

/// The first result's columns of each way to ask for `query`: as a text, with a value, among others, as a batch,
/// and without running it; each as label, table, column and whether it may be NULL.
async fn told_in_each_way(app: &TestApp, query: &str) -> Vec<(&'static str, Value)> {
    let bound = format!("{query} WHERE @p = 1");
    let value = json!({"@p": {"dataType": 8, "value": 1}});
    let mut told = Vec::new();
    for (way, path, body) in [
        ("text", "/api/query", json!({"query": query})),
        ("value", "/api/query", json!({"query": bound, "parameters": value})),
        ("script", "/api/query", json!({"query": format!("SELECT 1; {query}")})),
        ("batch", "/api/batch", json!({"query": bound, "parameters": [value]})),
        ("schema", "/api/query", json!({"query": query, "schemaOnly": true})),
    ] {
        let (status, document) = read(app.post(path).json(&body).send().await.unwrap()).await;
        assert_eq!((status, document.get("error")), (200, None), "{way}: {query}: {document}");
        let last = document["results"].as_array().unwrap().last().unwrap();
        let columns = last["schema"].as_array().unwrap().iter();
        let members = ["columnLabel", "schemaName", "tableName", "columnName", "nullable"];
        told.push((way, columns.map(|column| members.map(|member| column[member].clone())).collect::<Vec<_>>().into()));
    }
    told
}

#[actix_web::test]
async fn what_another_session_changes_is_told_at_once() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute("CREATE SCHEMA other; CREATE TABLE t (id int4 PRIMARY KEY, n int4 NOT NULL)").await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let id = json!(["id", "public", "t", "id", false]);
    // The first call learns; the next one finds what it learnt.
    for _ in 0..2 {
        for (way, told) in told_in_each_way(&app, "SELECT id, n FROM t").await {
            assert_eq!(told, json!([id, ["n", "public", "t", "n", false]]), "{way}");
        }
    }
    for (change, query, expected) in [
        ("ALTER TABLE t ALTER n DROP NOT NULL", "SELECT id, n FROM t", json!([id, ["n", "public", "t", "n", true]])),
        ("ALTER TABLE t ALTER n SET NOT NULL", "SELECT id, n FROM t", json!([id, ["n", "public", "t", "n", false]])),
        ("ALTER TABLE t RENAME n TO m", "SELECT id, m AS n FROM t", json!([id, ["n", "public", "t", "m", false]])),
        (
            "ALTER TABLE t RENAME m TO k; ALTER TABLE t RENAME id TO m",
            "SELECT m AS id, k AS n FROM t",
            json!([["id", "public", "t", "m", false], ["n", "public", "t", "k", false]]),
        ),
        (
            "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ALTER m DROP NOT NULL; ALTER TABLE t ADD PRIMARY KEY (k)",
            "SELECT m AS id, k AS n FROM t",
            json!([["id", "public", "t", "m", true], ["n", "public", "t", "k", false]]),
        ),
        ("ALTER TABLE t RENAME TO u", "SELECT m FROM u", json!([["m", "public", "u", "m", true]])),
        ("ALTER TABLE u SET SCHEMA other", "SELECT m FROM other.u", json!([["m", "other", "u", "m", true]])),
        (
            "CREATE TABLE other.child () INHERITS (other.u)",
            "SELECT k FROM other.u",
            json!([["k", "other", "u", "k", true]]),
        ),
    ] {
        admin.batch_execute(change).await.unwrap();
        for (way, told) in told_in_each_way(&app, query).await {
            assert_eq!(told, expected, "{change}: {way}");
        }
    }
}

#[actix_web::test]
async fn what_the_call_itself_changes_is_told() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute("CREATE TABLE t (id int4 PRIMARY KEY, n int4 NOT NULL)").await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    assert_eq!(told(&app, "SELECT n FROM t").await, [(false, json!(["t", "n"]))]);
    let script = "ALTER TABLE t ALTER n DROP NOT NULL; ALTER TABLE t RENAME n TO m; INSERT INTO t VALUES (1, NULL); SELECT m FROM t";
    assert_eq!(told(&app, script).await, [(true, json!(["t", "m"]))]);
}

#[actix_web::test]
async fn what_changes_while_a_statement_waits_for_its_table_is_told() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute("CREATE TABLE t (id int4 PRIMARY KEY, n int4 NOT NULL)").await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    for _ in 0..2 {
        assert_eq!(told(&app, "SELECT n FROM t").await, [(false, json!(["t", "n"]))]);
    }
    admin.batch_execute("BEGIN; ALTER TABLE t ALTER n DROP NOT NULL; INSERT INTO t VALUES (1, NULL)").await.unwrap();
    let changed = async {
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 't'::regclass";
        eventually("a statement that waits", async || admin.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) != 0)
            .await;
        admin.query("SELECT pg_sleep(0.2)", &[]).await.unwrap();
        admin.batch_execute("COMMIT").await.unwrap();
    };
    let (told, ()) = futures_util::future::join(told(&app, "SELECT n FROM t"), changed).await;
    assert_eq!(told, [(true, json!(["t", "n"]))]);
}

/// Where a newer server is at hand: one side of a change may not be there.
#[actix_web::test]
async fn the_sides_of_a_change_are_told_as_they_may_be() {
    let Some(server) = Cluster::newer() else { return };
    let url = server.url("postgres", "postgres");
    connect(&url).await.batch_execute("CREATE TABLE t (id int4 PRIMARY KEY, n int4 NOT NULL)").await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    for (number, returning) in [
        "old . id",
        "\"old\".id",
        "OLD/**/.id",
        "WITH (OLD  AS o) o.id",
        "WITH (old as o, new AS n) o.id",
        "U&\"\\006fld\".id",
    ]
    .into_iter()
    .enumerate()
    {
        let query = format!("INSERT INTO t VALUES ({number}, 1) RETURNING {returning}");
        let (status, document) = app.query(json!({"query": query})).await;
        // Older ones know none of it.
        if status == 200 {
            let again = query.replace(&format!("({number}"), &format!("({}", number + 100));
            assert!(told(&app, &again).await[0].0, "{query}: {document}");
        }
    }
}
