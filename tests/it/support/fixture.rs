//! The same small schema on every driver, so that what they share is tested once on each.

use rusqlite::Connection;
use tempfile::TempDir;

use super::app::TestApp;
use super::configuration::Configuration;
use super::postgres::{TestPostgres, connect};

/// Runs on every driver alike.
const SCHEMA: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, city VARCHAR(40));
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    total NUMERIC(10, 2) NOT NULL CHECK (total >= 0),
    placed DATE
);
CREATE VIEW cities AS SELECT city, count(*) AS customers FROM customers GROUP BY city;
INSERT INTO customers VALUES (1, 'Łukasz', 'Gdańsk'), (2, 'José', NULL), (3, '美咲', '東京');
INSERT INTO orders VALUES (1, 1, 10.50, '2026-01-02'), (2, 1, 0.10, NULL), (3, 3, 99999.99, '2025-12-31');
";

/// A declared procedure that reads: a key of a connection, as those below.
pub(crate) const ORDERS_OF: &str = r#"
[[connections.procedures]]
name = "orders_of"
description = "The orders of one customer."
read_only = true
sql = "SELECT id, total FROM orders WHERE customer_id = @customer AND (@least IS NULL OR total >= @least) ORDER BY id"
[[connections.procedures.parameters]]
name = "customer"
type = "integer"
[[connections.procedures.parameters]]
name = "least"
type = "decimal"
optional = true
"#;

/// One that reads and has no parameter.
pub(crate) const CITIES_OF: &str = r#"
[[connections.procedures]]
name = "cities_of"
description = "All cities."
read_only = true
sql = "SELECT * FROM cities"
"#;

/// One that writes.
pub(crate) const RENAME: &str = r#"
[[connections.procedures]]
name = "rename"
description = "Renames a customer."
sql = "UPDATE customers SET name = @name WHERE id = @id RETURNING id, name"
[[connections.procedures.parameters]]
name = "id"
type = "integer"
[[connections.procedures.parameters]]
name = "name"
type = "text"
"#;

/// A tool of an administrator's own that reads what is in this schema.
pub(crate) fn orders_above(schema: &str) -> String {
    format!(
        r#"
[[connections.tools]]
name = "orders_above"
title = "Large orders"
description = "The orders above a total, the largest first."
sql = "SELECT id, total FROM shop.{schema}.orders WHERE total > @least AND (@placed IS NULL OR placed >= @placed) ORDER BY total DESC"
[[connections.tools.parameters]]
name = "least"
type = "decimal"
description = "The least total"
default = 5
[[connections.tools.parameters]]
name = "placed"
type = "date"
optional = true
"#
    )
}

/// A SQLite file with the schema.
pub(crate) fn sqlite(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(name);
    let database = Connection::open(&path).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    database.execute_batch(SCHEMA).unwrap();
    format!("sqlite:{}", path.display())
}

/// A service with one read-write SQLite connection named `shop`.
pub(crate) async fn on_sqlite() -> TestApp {
    with_sqlite("access = \"read-write\"").await
}

/// The same with further keys of the connection.
pub(crate) async fn with_sqlite(more: &str) -> TestApp {
    Configuration::new().sqlite("shop", more).start().await
}

/// The same with further keys of `[server]`.
pub(crate) async fn with_server(server: &str, more: &str) -> TestApp {
    Configuration::new().server(server).sqlite("shop", more).start().await
}

/// A service with these `[limits]`.
pub(crate) async fn limited(limits: &str) -> TestApp {
    Configuration::new().sqlite("shop", "").with(&format!("[limits]\n{limits}")).start().await
}

/// A service with two SQLite connections, `shop` to be written and `archive` only to be read.
pub(crate) async fn two_connections() -> TestApp {
    two_with("access = \"read-only\"").await
}

/// A service with two SQLite connections, `shop` and `archive`, both to be written.
pub(crate) async fn two_writable_connections() -> TestApp {
    two_with("access = \"read-write\"").await
}

async fn two_with(archive: &str) -> TestApp {
    Configuration::new().sqlite("shop", "access = \"read-write\"").sqlite("archive", archive).start().await
}

/// A PostgreSQL database with the schema.
pub(crate) async fn postgres() -> String {
    let url = TestPostgres::shared().database("it").await;
    connect(&url).await.batch_execute(SCHEMA).await.unwrap();
    url
}

/// A service with one read-write PostgreSQL connection named `shop`.
pub(crate) async fn on_postgres() -> TestApp {
    with_postgres(&postgres().await, "access = \"read-write\"").await
}

/// A service with one connection named `shop` to the database at `url`.
pub(crate) async fn with_postgres(url: &str, more: &str) -> TestApp {
    Configuration::new().connection("shop", url, more).start().await
}

/// Makes each test run on SQLite and on PostgreSQL.
macro_rules! on_both {
    ($($test:ident)*) => {
        mod on_sqlite {
            $(#[actix_web::test] async fn $test() {
                super::$test(&$crate::support::fixture::on_sqlite().await).await;
            })*
        }
        mod on_postgres {
            $(#[actix_web::test] async fn $test() {
                super::$test(&$crate::support::fixture::on_postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both;
