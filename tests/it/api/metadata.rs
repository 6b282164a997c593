//! The metadata endpoints: columns, filters, keys and indexes on each driver, and one result of
//! several connections.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};

/// Keys and indexes as both drivers have them.
const KEYS: &str = "
CREATE TABLE region (country VARCHAR(2), code VARCHAR(8), PRIMARY KEY (country, code));
CREATE TABLE place (
    id INTEGER PRIMARY KEY,
    region_country VARCHAR(2), region_code VARCHAR(8), parent INTEGER REFERENCES place (id) ON DELETE SET NULL,
    FOREIGN KEY (region_country, region_code) REFERENCES region ON UPDATE CASCADE ON DELETE RESTRICT
);
CREATE UNIQUE INDEX place_code ON place (region_code DESC, id) WHERE region_code > 'a';
CREATE INDEX place_parent ON place (parent);
";

async fn on_sqlite() -> TestApp {
    let configuration = Configuration::new().sqlite("shop", "access = \"read-write\"");
    Connection::open(configuration.path().join("shop.db")).unwrap().execute_batch(KEYS).unwrap();
    configuration.start().await
}

async fn on_postgres() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(KEYS).await.unwrap();
    fixture::with_postgres(&url, "access = \"read-write\"").await
}

async fn document(app: &TestApp, path: &str) -> Value {
    let (status, document) = read(app.get(path).send().await.unwrap()).await;
    assert_eq!(status, 200, "{path}: {document}");
    assert!(document.get("error").is_none(), "{path}: {document}");
    document
}

/// The cells under `labels`, row by row.
async fn cells(app: &TestApp, path: &str, labels: &[&str]) -> Value {
    let document = document(app, path).await;
    let result = &document["results"][0];
    let schema = result["schema"].as_array().unwrap();
    let place = |label: &&str| schema.iter().position(|column| column["columnLabel"] == **label).unwrap();
    let places: Vec<usize> = labels.iter().map(place).collect();
    let row = |row: &Value| places.iter().map(|place| row[*place].clone()).collect::<Value>();
    result["rows"].as_array().unwrap().iter().map(row).collect()
}

/// A key that has an index of its own is not the row's id, and may hold NULL.
#[actix_web::test]
async fn only_a_row_s_id_is_handed_out_by_sqlite() {
    let configuration = Configuration::new().sqlite("shop", "access = \"read-write\"");
    let tables = "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE d (id INTEGER PRIMARY KEY DESC);
        CREATE TABLE k (id INT PRIMARY KEY); CREATE TABLE w (id INTEGER PRIMARY KEY) WITHOUT ROWID";
    Connection::open(configuration.path().join("shop.db")).unwrap().execute_batch(tables).unwrap();
    let app = configuration.start().await;
    for (table, may_be_null, is_row_id) in
        [("t", false, true), ("d", true, false), ("k", true, false), ("w", false, false)]
    {
        let path = format!("/api/columns?tableName={table}");
        let told = cells(&app, &path, &["IS_NULLABLE", "IS_AUTOINCREMENT"]).await;
        assert_eq!(told, json!([[may_be_null, is_row_id]]), "{table}");
    }
}

/// What an index holds beside the key is no part of it.
#[actix_web::test]
async fn a_key_is_its_own_columns() {
    let url = fixture::postgres().await;
    let tables = "CREATE TABLE keyed (a int4, b int4, c int4, PRIMARY KEY (c, a) INCLUDE (b)); CREATE VIEW seen AS SELECT * FROM keyed";
    connect(&url).await.batch_execute(tables).await.unwrap();
    let app = fixture::with_postgres(&url, "").await;
    for (table, keys) in [("keyed", [true, false, true]), ("seen", [false; 3])] {
        let told = cells(&app, &format!("/api/columns?tableName={table}"), &["COLUMN_NAME", "IS_KEY"]).await;
        assert_eq!(told, json!([["a", keys[0]], ["b", keys[1]], ["c", keys[2]]]), "{table}");
    }
    let places = cells(&app, "/api/primaryKeys?tableName=keyed", &["COLUMN_NAME", "KEY_SEQ"]).await;
    assert_eq!(places, json!([["c", 1], ["a", 2]]));
}

macro_rules! on_both {
    ($($test:ident)*) => {
        mod sqlite { $(#[actix_web::test] async fn $test() { super::$test(&super::on_sqlite().await, "main").await; })* }
        mod postgres { $(#[actix_web::test] async fn $test() { super::$test(&super::on_postgres().await, "public").await; })* }
    };
}

on_both! { metadata_have_the_columns_of_the_contract filters_narrow keys_are_described indexes_are_described }

async fn metadata_have_the_columns_of_the_contract(app: &TestApp, schema: &str) {
    for (path, labels) in [
        ("catalogs", "TABLE_CATALOG"),
        ("schemas", "TABLE_CATALOG TABLE_SCHEMA"),
        ("tables", "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE REMARKS ROW_ESTIMATE"),
        (
            "columns",
            "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE PRECISION SCALE REMARKS \
             ORDINAL_POSITION IS_NULLABLE IS_KEY IS_AUTOINCREMENT IS_GENERATEDCOLUMN REFERENCES VALUES",
        ),
        ("procedures", "PROCEDURE_CATALOG PROCEDURE_SCHEMA PROCEDURE_NAME REMARKS PROCEDURE_TYPE"),
        (
            "procedureParameters",
            "PROCEDURE_CATALOG PROCEDURE_SCHEMA PROCEDURE_NAME PARAM_NAME PARAM_TYPE DATA_TYPE TYPE_NAME COLUMN_SIZE \
             PRECISION SCALE REMARKS IS_NULLABLE ORDINAL_POSITION",
        ),
        ("primaryKeys", "TABLE_CAT TABLE_SCHEM TABLE_NAME COLUMN_NAME KEY_SEQ PK_NAME"),
        (
            "importedKeys",
            "PKTABLE_CAT PKTABLE_SCHEM PKTABLE_NAME PKCOLUMN_NAME FKTABLE_CAT FKTABLE_SCHEM FKTABLE_NAME FKCOLUMN_NAME \
             KEY_SEQ UPDATE_RULE DELETE_RULE FK_NAME PK_NAME DEFERRABILITY",
        ),
        (
            "indexes",
            "TABLE_CAT TABLE_SCHEM TABLE_NAME NON_UNIQUE INDEX_QUALIFIER INDEX_NAME TYPE ORDINAL_POSITION COLUMN_NAME \
             ASC_OR_DESC CARDINALITY PAGES FILTER_CONDITION",
        ),
    ] {
        let document = document(app, &format!("/api/{path}")).await;
        let columns = document["results"][0]["schema"].as_array().unwrap();
        let seen: Vec<&str> = columns.iter().map(|column| column["columnName"].as_str().unwrap()).collect();
        assert_eq!(seen, labels.split(' ').collect::<Vec<_>>(), "{path}");
        assert_eq!(document["results"][0]["affectedRows"], -1);
        if !path.starts_with("proc") {
            let row = document["results"][0]["rows"][0].as_array().unwrap();
            assert_eq!((row.len(), &row[0]), (seen.len(), &json!("shop")), "{path}");
            assert!(row.len() == 1 || row[1] == schema, "{path}: {row:?}");
        }
    }
}

async fn filters_narrow(app: &TestApp, schema: &str) {
    let names = async |query: &str| cells(app, &format!("/api/tables?{query}"), &["TABLE_NAME"]).await;
    assert_eq!(names("tableName=orders").await, json!([["orders"]]));
    assert_eq!(names("tableName=%25s&tableType=TABLE").await, json!([["customers"], ["orders"]]));
    assert_eq!(names("tableType=VIEW").await, json!([["cities"]]));
    assert_eq!(names("catalogName=SHOP&tableName=orders").await, json!([["orders"]]));
    assert_eq!(names("catalogName=sh%25&tableName=orders&schemaName=").await, json!([["orders"]]));
    assert_eq!(names("schemaName=nope").await, json!([]));
    // What stands in a filter is never a part of a statement.
    assert_eq!(names("tableName=x'%20OR%201=1%20--").await, json!([]));
    let columns = format!("/api/columns?schemaName={schema}&tableName=orders&columnName=%25id");
    assert_eq!(
        cells(app, &columns, &["COLUMN_NAME", "IS_KEY", "ORDINAL_POSITION"]).await,
        json!([["id", true, 1], ["customer_id", false, 2]])
    );
    for (path, code, status, words) in [
        ("tables?catalogName=shopp", 1300, 404, "did you mean shop?"),
        ("catalogs?catalogName=zzz%25", 1300, 404, "connections: shop"),
        ("tables?tablename=x", 1000, 400, "tableName"),
        ("tables?tableName=a&tableName=b", 1000, 400, "tableName"),
        ("tables?timeout=0", 1000, 400, "timeout"),
        ("tables?workspace=w", 1300, 404, "workspace"),
    ] {
        let (got, answer) = read(app.get(&format!("/api/{path}")).send().await.unwrap()).await;
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{path}: {answer}");
        assert!(answer.to_string().contains(words), "{path}: {answer}");
    }
    let posted = app.post("/api/tables").send().await.unwrap();
    assert_eq!((posted.status().as_u16(), &posted.headers()["allow"]), (405, &"GET, HEAD".parse().unwrap()));
    let unknown = app.http.get(format!("{}/api/tables", app.url)).send().await.unwrap();
    assert_eq!(unknown.status(), 401);
}

async fn keys_are_described(app: &TestApp, schema: &str) {
    let path = format!("/api/primaryKeys?schemaName={schema}&tableName=region");
    assert_eq!(
        cells(app, &path, &["TABLE_NAME", "COLUMN_NAME", "KEY_SEQ"]).await,
        json!([["region", "country", 1], ["region", "code", 2]])
    );
    let names = |name: &str| format!("/api/primaryKeys?schemaName={schema}&tableName={name}");
    assert_eq!(cells(app, &names("reg_on"), &["TABLE_NAME"]).await, json!([]), "a name with _ is a name");
    assert_eq!(cells(app, &names("reg_o%25"), &["TABLE_NAME"]).await, json!([["region"], ["region"]]));
    let labels =
        ["PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE"];
    let to_region = json!([
        ["region", "country", "place", "region_country", 1, 0, 1],
        ["region", "code", "place", "region_code", 2, 0, 1]
    ]);
    let to_place = json!(["place", "id", "place", "parent", 1, 3, 2]);
    let imported = cells(app, "/api/importedKeys?tableName=place", &labels).await;
    let imported = imported.as_array().unwrap();
    assert_eq!(imported.len(), 3, "{imported:?}");
    assert!(imported.contains(&to_place), "{imported:?}");
    assert_eq!(cells(app, "/api/exportedKeys?tableName=region", &labels).await, to_region);
    assert_eq!(cells(app, "/api/exportedKeys?tableName=place", &labels).await, json!([to_place]));
    assert_eq!(cells(app, "/api/importedKeys?tableName=region", &labels).await, json!([]));
    let orders = cells(app, "/api/importedKeys?tableName=orders", &labels).await;
    assert_eq!(orders, json!([["customers", "id", "orders", "customer_id", 1, 3, 3]]));
}

async fn indexes_are_described(app: &TestApp, _: &str) {
    let labels = ["INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC", "TYPE"];
    let rows = cells(app, "/api/indexes?tableName=place", &labels).await;
    let rows = rows.as_array().unwrap();
    for row in [
        json!(["place_code", false, 1, "region_code", "D", 3]),
        json!(["place_code", false, 2, "id", "A", 3]),
        json!(["place_parent", true, 1, "parent", "A", 3]),
    ] {
        assert!(rows.contains(&row), "{row} is not in {rows:?}");
    }
    let conditions = cells(app, "/api/indexes?tableName=place", &["INDEX_NAME", "FILTER_CONDITION"]).await;
    for row in conditions.as_array().unwrap() {
        let condition = row[1].as_str();
        assert_eq!(
            condition.is_some_and(|it| it.contains("region_code") && it.contains("> 'a'")),
            row[0] == "place_code"
        );
    }
}

#[actix_web::test]
async fn postgres_keys_have_their_names_and_shadows_are_left_out() {
    let url = fixture::postgres().await;
    let setup = "CREATE TABLE part (k int PRIMARY KEY) PARTITION BY RANGE (k);
        CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
        COMMENT ON TABLE part IS 'in pieces';
        CREATE TABLE points (k int CONSTRAINT points_part REFERENCES part DEFERRABLE INITIALLY DEFERRED);
        CREATE INDEX lowered ON customers (lower(name));
        CREATE MATERIALIZED VIEW frozen AS SELECT 1 AS one; COMMENT ON MATERIALIZED VIEW frozen IS 'kept';
        CREATE EXTENSION postgres_fdw; CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw;
        CREATE FOREIGN TABLE distant (n int) SERVER away; COMMENT ON FOREIGN TABLE distant IS 'elsewhere';";
    connect(&url).await.batch_execute(setup).await.unwrap();
    let app = fixture::with_postgres(&url, "").await;
    let labels = ["PKTABLE_NAME", "FK_NAME", "PK_NAME", "DEFERRABILITY"];
    assert_eq!(
        cells(&app, "/api/importedKeys?tableName=points", &labels).await,
        json!([["part", "points_part", "part_pkey", 5]])
    );
    let lowered = cells(&app, "/api/indexes?tableName=customers", &["INDEX_NAME", "COLUMN_NAME"]).await;
    assert!(lowered.as_array().unwrap().contains(&json!(["lowered", "lower(name::text)"])), "{lowered}");
    let labels = ["TABLE_NAME", "TABLE_TYPE", "REMARKS"];
    let tables = cells(&app, "/api/tables?tableType=%25%20%25", &labels).await;
    assert_eq!(
        tables,
        json!([
            ["distant", "FOREIGN TABLE", "elsewhere"],
            ["frozen", "MATERIALIZED VIEW", "kept"],
            ["part", "PARTITIONED TABLE", "in pieces"]
        ])
    );
}

#[actix_web::test]
async fn a_filter_that_is_no_text_is_refused_by_its_name() {
    let app = on_sqlite().await;
    for (query, remedy) in [("tableName=orders%FF", "UTF-8"), ("schemaName=main&tableName=%C3", "UTF-8")] {
        let (status, answer) = read(app.get(&format!("/api/tables?{query}")).send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{query}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("tableName: "), "{query}: {answer}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains(remedy), "{query}: {answer}");
    }
}

#[actix_web::test]
async fn several_connections_answer_in_one_result() {
    let app = fixture::two_connections().await;
    assert_eq!(cells(&app, "/api/catalogs", &["TABLE_CATALOG"]).await, json!([["archive"], ["shop"]]));
    let labels = ["TABLE_CATALOG", "TABLE_NAME"];
    assert_eq!(
        cells(&app, "/api/tables?tableName=orders", &labels).await,
        json!([["archive", "orders"], ["shop", "orders"]])
    );
    assert_eq!(
        cells(&app, "/api/tables?tableName=orders&catalogName=arch%25", &labels).await,
        json!([["archive", "orders"]])
    );
    // A token for one connection sees one.
    let request = app.http.get(format!("{}/api/schemas", app.url)).bearer_auth(app.token().await);
    let (status, document) = read(request.send().await.unwrap()).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([["shop", "main"]])));
}

#[actix_web::test]
async fn a_connection_that_is_away_takes_nothing_from_the_others() {
    // A user whom the server does not know.
    let away = TestPostgres::shared().url_as("nobody_at_all", "postgres");
    let app = Configuration::new().sqlite("shop", "").connection("away", &away, "").start().await;
    let (status, document) = read(app.get("/api/tables?tableName=orders").send().await.unwrap()).await;
    assert_eq!((status, document["results"][0]["rows"][0][2].as_str()), (200, Some("orders")), "{document}");
    assert_eq!(document["error"]["code"], 1700, "{document}");
    assert!(document["error"]["message"].as_str().unwrap().starts_with("away "), "{document}");
    let alone = app.get("/api/tables?catalogName=away").send().await.unwrap();
    assert!(alone.headers().contains_key("retry-after"));
    assert_eq!(read(alone).await.0, 503);
    let both = cells(&app, "/api/catalogs", &["TABLE_CATALOG"]).await;
    assert_eq!(both, json!([["away"], ["shop"]]), "the connections' names need no source");
}
