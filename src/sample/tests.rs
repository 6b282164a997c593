//! Tests of the sample's promises.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt as _;
use portico_actors::call::{Argument, MetadataFilter, MetadataKind};
use portico_actors::reply::{Cell, Part};
use portico_actors::source::sqlite::DatabaseFile;
use portico_actors::source::{Access, Invocation, Location, Plan, Prepared, Settings, Task};
use portico_actors::sql::{Dialect, Naming, statements};
use rusqlite::Connection;
use serde_json::value::RawValue;
use tempfile::TempDir;

use super::{CONFIGURATION, create, create_crm};
use crate::config::Config;

fn procedures() -> std::sync::Arc<[portico_actors::source::DeclaredProcedure]> {
    let config = Config::parse(CONFIGURATION, std::path::Path::new(""), &|_| None).unwrap();
    config.connections[0].procedures.clone()
}

fn sample() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("shop.db");
    create(&path).unwrap();
    (directory, path)
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn it_has_the_rows_it_promises_and_they_refer_to_each_other() {
    let (_directory, path) = sample();
    let connection = Connection::open(path).unwrap();
    let mut rows = 0;
    for (table, least, most) in [
        ("categories", 16, 16),
        ("products", 300, 300),
        ("customers", 2_000, 2_000),
        ("orders", 12_000, 12_000),
        ("order_lines", 25_000, 31_000),
        ("payments", 10_000, 12_000),
    ] {
        let count = number(&connection, &format!("SELECT count(*) FROM {table}"));
        assert!((least..=most).contains(&count), "{table}: {count}");
        rows += count;
    }
    assert!((48_000..=56_000).contains(&rows), "{rows}");
    assert_eq!(number(&connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn its_support_belongs_to_its_customers_and_orders() {
    let (directory, path) = sample();
    let support = directory.path().join("crm.db");
    create_crm(&support).unwrap();
    let again = directory.path().join("again.db");
    create_crm(&again).unwrap();
    assert!(std::fs::read(&support).unwrap() == std::fs::read(again).unwrap(), "two samples differ");
    let connection = Connection::open(path).unwrap();
    connection.execute("ATTACH ?1 AS crm", [support.to_str().unwrap()]).unwrap();
    for (table, least, most) in [("agents", 8, 8), ("contacts", 700, 1_200), ("tickets", 1_200, 4_000)] {
        let count = number(&connection, &format!("SELECT count(*) FROM crm.{table}"));
        assert!((least..=most).contains(&count), "{table}: {count}");
    }
    for wrong in [
        "SELECT count(*) FROM pragma_foreign_key_check(NULL, 'crm')",
        "SELECT count(*) FROM crm.contacts WHERE customer_id NOT IN (SELECT id FROM customers)",
        "SELECT count(*) FROM crm.tickets t WHERE order_id IS NOT NULL AND NOT EXISTS
            (SELECT 1 FROM orders o WHERE o.id = t.order_id AND o.customer_id = t.customer_id AND o.ordered_at <= t.opened_at)",
        "SELECT count(*) FROM crm.tickets WHERE solved_at <= opened_at",
        "SELECT count(*) FROM crm.tickets t JOIN crm.contacts c USING (customer_id) WHERE t.opened_at < c.first_contact_at",
        "SELECT count(*) FROM crm.tickets one JOIN crm.tickets next ON next.id = one.id + 1 WHERE next.opened_at < one.opened_at",
    ] {
        assert_eq!(number(&connection, wrong), 0, "{wrong}");
    }
    for some in [
        "SELECT count(*) FROM crm.tickets WHERE status <> 'solved'",
        "SELECT count(*) FROM crm.tickets WHERE order_id IS NULL",
        "SELECT count(*) FROM crm.tickets WHERE rating IS NOT NULL",
        "SELECT count(*) FROM crm.contacts WHERE segment = 'loyal'",
    ] {
        assert!(number(&connection, some) > 20, "{some}");
    }
}

#[test]
fn it_is_the_same_every_time() {
    let ((_one, first), (_other, second)) = (sample(), sample());
    assert!(std::fs::read(first).unwrap() == std::fs::read(second).unwrap(), "two samples differ");
}

#[test]
fn its_amounts_agree() {
    let (_directory, path) = sample();
    let connection = Connection::open(path).unwrap();
    for wrong in [
        // Paid orders are paid exactly, others not at all.
        "SELECT count(*) FROM order_totals WHERE status IN ('paid', 'shipped', 'delivered') AND paid <> total",
        "SELECT count(*) FROM order_totals WHERE status IN ('pending', 'cancelled') AND paid <> 0",
        "SELECT count(*) FROM orders WHERE id NOT IN (SELECT order_id FROM order_lines)",
        "SELECT count(*) FROM order_totals WHERE total <= 0",
        "SELECT count(*) FROM orders WHERE (status IN ('shipped', 'delivered')) <> (shipped_on IS NOT NULL)",
        "SELECT count(*) FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE c.created_at > o.ordered_at",
        "SELECT count(*) FROM orders AS o JOIN payments AS p ON p.order_id = o.id WHERE p.paid_at < o.ordered_at",
        "SELECT count(*) FROM order_lines AS l JOIN orders AS o ON o.id = l.order_id JOIN products AS p
          ON p.id = l.product_id WHERE p.discontinued_on < substr(o.ordered_at, 1, 10)",
        "SELECT count(*) FROM customers WHERE email NOT GLOB '[a-z]*.[a-z]*@example.???'",
        "SELECT count(*) FROM orders AS one JOIN orders AS next ON next.id = one.id + 1 WHERE next.ordered_at < one.ordered_at",
    ] {
        assert_eq!(number(&connection, wrong), 0, "{wrong}");
    }
    for some in [
        "SELECT count(*) FROM customers WHERE date_of_birth IS NULL",
        "SELECT count(*) FROM customers WHERE first_name IN ('Łukasz', 'Søren', 'José', '美咲')",
        "SELECT count(*) FROM orders WHERE note IS NOT NULL",
        "SELECT count(*) FROM products WHERE discontinued_on IS NOT NULL",
        "SELECT count(*) FROM monthly_revenue WHERE revenue > 0",
        "SELECT count(*) FROM orders WHERE id IN (SELECT order_id FROM payments GROUP BY order_id HAVING count(*) > 1)",
    ] {
        assert!(number(&connection, some) > 20, "{some}");
    }
}

#[test]
fn decimals_sum_and_sort_as_numbers() {
    let (_directory, path) = sample();
    let connection = Connection::open(path).unwrap();
    let classes = "SELECT count(*) FROM order_lines WHERE typeof(unit_price) NOT IN ('integer', 'real')";
    assert_eq!(number(&connection, classes), 0);
    // The sum by SQLite equals the sum in whole cents, to the cent.
    let cents = number(&connection, "SELECT sum(CAST(round(amount * 100) AS INTEGER)) FROM payments");
    assert_eq!(number(&connection, "SELECT CAST(round(sum(amount) * 100) AS INTEGER) FROM payments"), cents);
    let two_digits = "SELECT count(*) FROM products WHERE price <> round(price, 2) OR cost <> round(cost, 2)";
    assert_eq!(number(&connection, two_digits), 0);
    let mut sorted =
        connection.prepare("SELECT CAST(round(price * 100) AS INTEGER) FROM products ORDER BY price").unwrap();
    let prices: Vec<i64> = sorted.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(prices.is_sorted() && prices[0] < 1_000 && prices[299] > 10_000);
}

#[test]
fn it_never_replaces_a_database_and_leaves_nothing_behind() {
    let (directory, path) = sample();
    let before = std::fs::read(&path).unwrap();
    assert!(create(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists));
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(create(&directory.path().join("no such directory/shop.db")).is_err());
}

/// The rows of `task`, each cell that is text as its words.
async fn run(path: &std::path::Path, task: Task, access: Access) -> Vec<Vec<Option<String>>> {
    let source = DatabaseFile(path.to_owned())
        .open(Settings {
            name: "shop".into(),
            access,
            pool: 1,
            connect_timeout: Duration::from_secs(10),
            declared: procedures(),
            has_roles: false,
            exposure: std::sync::Arc::default(),
            budget: portico_actors::budget::Budget::default(),
        })
        .unwrap();
    let plan = Plan::alone(task, access);
    let mut results = source.run(plan).await.unwrap();
    let (mut rows, mut width) = (Vec::new(), 0);
    while let Some(part) = results.next().await {
        match part.unwrap() {
            Part::Columns(columns) => width = columns.len(),
            Part::Rows(batch) => {
                for row in 0..batch.rows() {
                    let texts = (0..width).map(|column| match batch.cell(row, column).unwrap() {
                        Cell::Text(text) | Cell::Decimal(text) | Cell::Json(text) => Some(text.into_owned()),
                        Cell::Integer(number) => Some(number.to_string()),
                        Cell::Double(number) => Some(number.to_string()),
                        _ => None,
                    });
                    rows.push(texts.collect());
                }
            }
            Part::Done { .. } => {}
        }
    }
    source.close().await;
    rows
}

#[tokio::test]
async fn every_table_column_procedure_and_parameter_has_its_remark() {
    let (_directory, path) = sample();
    for (what, named, remark, count) in [
        (MetadataKind::Tables, 2, 4, 8),
        (MetadataKind::Columns, 3, 9, 3 + 8 + 9 + 8 + 6 + 6 + 8 + 5),
        (MetadataKind::Procedures, 2, 3, 3),
        (MetadataKind::ProcedureParameters, 3, 10, 6),
    ] {
        let rows = run(&path, Task::Describe(what, MetadataFilter::default()), Access::ReadOnly).await;
        assert_eq!(rows.len(), count, "{what:?}");
        for row in rows {
            let words = row[remark].as_deref().unwrap_or("");
            assert!(words.len() > 8 && words.ends_with('.'), "{:?} {:?}: {words:?}", row[2], row[named]);
            assert!(words.starts_with(char::is_uppercase) || words.starts_with("pending") || words.starts_with("card"));
        }
    }
}

#[test]
fn procedures_are_statements_that_sqlite_accepts() {
    let (_directory, path) = sample();
    let connection = Connection::open(path).unwrap();
    for declared in procedures().iter() {
        let procedure = &declared.procedure;
        let statement = connection.prepare(&declared.sql).unwrap();
        assert_eq!(statement.readonly(), procedure.reads_only, "{}", procedure.name);
        let mut used: Vec<_> =
            (1..=statement.parameter_count()).filter_map(|at| statement.parameter_name(at)).collect();
        used.sort_unstable();
        let mut declared_names: Vec<_> = procedure.parameters.iter().map(|p| format!("@{}", p.name)).collect();
        declared_names.sort_unstable();
        assert_eq!(used, declared_names, "{}", procedure.name);
    }
    let all = procedures();
    let mut orders = connection.prepare(&all[0].sql).unwrap();
    let customer = number(&connection, "SELECT customer_id FROM orders GROUP BY 1 ORDER BY count(*) DESC LIMIT 1");
    let count = |orders: &mut rusqlite::Statement<'_>, since: Option<&str>| {
        orders
            .query(rusqlite::named_params! {"@customer_id": customer, "@since": since})
            .unwrap()
            .mapped(|_| Ok(()))
            .count()
    };
    let (every, later) = (count(&mut orders, None), count(&mut orders, Some("2025-01-01")));
    assert!(every > later && later > 0, "{every} {later}");
    let mut top = connection.prepare(&all[1].sql).unwrap();
    let mut best = |country: Option<&str>, top_most: Option<i64>| {
        top.query(rusqlite::named_params! {"@country": country, "@top": top_most}).unwrap().mapped(|_| Ok(())).count()
    };
    assert_eq!((best(None, None), best(Some("Japan"), Some(3)), best(Some("Atlantis"), None)), (10, 3, 0));
    let changed: String = connection
        .query_row(&all[2].sql, rusqlite::named_params! {"@order_id": 7, "@note": "Grüße"}, |row| row.get("note"))
        .unwrap();
    assert_eq!(changed, "Grüße");
}

fn argument(name: &str, json: &str) -> Argument {
    Argument { name: name.to_owned(), value: RawValue::from_string(json.to_owned()).unwrap(), data_type: None }
}

#[tokio::test]
async fn procedures_and_decimals_come_through_the_driver() {
    let (_directory, path) = sample();
    let call = |name: &str, arguments: Vec<Argument>| {
        Task::Procedure(Invocation {
            schema: None,
            name: name.to_owned(),
            arguments,
            default_schema: None,
            overload: None,
        })
    };
    let top = run(&path, call("top_products", vec![argument("top", "3")]), Access::ReadOnly).await;
    assert_eq!(top.len(), 3);
    let first = vec![argument("1", "1"), argument("since", "\"2023-06-01\"")];
    for order in run(&path, call("customer_orders", first), Access::ReadOnly).await {
        assert!(order[1].as_deref().unwrap() >= "2023-06-01T", "{order:?}");
    }
    let noted = vec![argument("@order_id", "7"), argument("@note", "\"Grüße\"")];
    let noted = run(&path, call("add_note", noted), Access::ReadWrite).await;
    assert_eq!(noted[0][4].as_deref(), Some("Grüße"));
    let naming = Naming { connection: "shop", others: &[] };
    let statement =
        statements("SELECT price, cost FROM shop.main.products", Dialect::SQLITE, naming).unwrap().remove(0);
    let prepared = Prepared { statement, values: Vec::new(), default_schema: None, by_administrator: false };
    let prices = run(&path, Task::Statement(prepared), Access::ReadOnly).await;
    assert_eq!(prices.len(), 300);
    for amount in prices.into_iter().flatten() {
        let amount = amount.unwrap();
        assert_eq!(amount.rsplit_once('.').map(|(_, cents)| cents.len()), Some(2), "{amount}");
    }
}
