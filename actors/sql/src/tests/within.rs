//! Statements over names of a workspace.

use portico_core::workspace::{Asset, View, Workspace};

use super::*;

fn table(connection: &str, schema: &str, table: &str, alias: Option<&str>, folder: Option<&str>) -> Asset {
    Asset::Table {
        connection: connection.into(),
        schema: schema.into(),
        table: table.into(),
        alias: alias.map(Into::into),
        folder: folder.map(Into::into),
    }
}

fn view(name: &str, folder: Option<&str>, query: &str) -> View {
    View { name: name.into(), folder: folder.map(Into::into), description: None, query: query.into() }
}

fn store() -> Workspace {
    Workspace {
        name: "store".into(),
        description: None,
        instructions: None,
        instructions_tokens: 1,
        lookup_rows: false,
        max_rows: 1,
        max_bytes: 1,
        tool_rows: 1,
        tool_bytes: 1,
        max_source_tools: 1,
        assets: vec![
            table("sales", "public", "orders", None, None),
            table("sales", "crm", "Customers", Some("people"), Some("crm")),
            table("other", "main", "cities", None, Some("crm")),
            table("sales", "arch%", "%", None, Some("archive")),
            Asset::Procedure { connection: "sales".into(), schema: "public".into(), name: "close_month".into() },
        ],
        views: vec![
            view("recent", None, "SELECT id, total FROM orders WHERE id > 5 -- those"),
            view("rich", Some("reports"), "WITH recent AS (SELECT * FROM recent) SELECT * FROM recent WHERE total > 9"),
            view("cities", Some("reports"), "SELECT * FROM crm.cities"),
        ],
        relations: Vec::new(),
    }
}

fn within(text: &str, dialect: Dialect, folder: Option<&str>) -> Result<(Vec<Statement>, Vec<Renamed>)> {
    let workspace = store();
    let schema_of = |_: &Asset, table: &str| (table == "orders").then(|| "archive".to_owned());
    let within = InWorkspace { workspace: &workspace, connection: "sales", folder, schema_of: &schema_of };
    statements_within(text, dialect, within, &ParameterNames::new())
}

#[track_caller]
fn sent(text: &str, dialect: Dialect) -> String {
    let (mut statements, _) = within(text, dialect, None).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(statements.len(), 1, "{text}");
    statements.remove(0).text
}

const ORDERS: &str = "\"public\".\"orders\" AS \"orders\"";
const PEOPLE: &str = "\"crm\".\"Customers\" AS \"people\"";

#[test]
fn names_become_those_of_the_connection() {
    for dialect in [Dialect::POSTGRESQL, Dialect::SQLITE] {
        for name in ["orders", "ORDERS", "\"orders\"", "[orders]", "main.orders", "store.main.orders", "main . orders"]
        {
            assert_eq!(sent(&format!("SELECT * FROM {name}"), dialect), format!("SELECT * FROM {ORDERS}"), "{name}");
        }
        for (text, expected) in [
            ("SELECT p.id FROM crm.people p", "SELECT p.id FROM \"crm\".\"Customers\" p".to_owned()),
            (
                "SELECT crm.people.id, people.*, crm.people.* FROM crm.people, orders o WHERE store.crm.people.id = 1",
                format!(
                    "SELECT people.id, people.*, people.* FROM {PEOPLE}, \"public\".\"orders\" o WHERE people.id = 1"
                ),
            ),
            (
                "SELECT (SELECT max(id) FROM orders) FROM crm.people",
                format!("SELECT (SELECT max(id) FROM {ORDERS}) FROM {PEOPLE}"),
            ),
            ("INSERT INTO orders (id) VALUES (1)", format!("INSERT INTO {ORDERS} (id) VALUES (1)")),
            (
                "INSERT INTO orders AS o SELECT * FROM archive.orders",
                "INSERT INTO \"public\".\"orders\" AS o SELECT * FROM \"archive\".\"orders\" AS \"orders\"".to_owned(),
            ),
            (
                "UPDATE crm.people SET name = 'orders' WHERE id = 1",
                format!("UPDATE {PEOPLE} SET name = 'orders' WHERE id = 1"),
            ),
            (
                "DELETE FROM orders WHERE id IN (SELECT id FROM crm.people)",
                format!("DELETE FROM {ORDERS} WHERE id IN (SELECT id FROM {PEOPLE})"),
            ),
            ("SELECT orders FROM orders", format!("SELECT orders FROM {ORDERS}")),
        ] {
            assert_eq!(sent(text, dialect), expected, "{text}");
        }
    }
    assert_eq!(sent("TABLE orders", Dialect::POSTGRESQL), "TABLE \"public\".\"orders\"");
    assert_eq!(
        sent("SELECT * FROM orders *", Dialect::POSTGRESQL),
        "SELECT * FROM \"public\".\"orders\" * AS \"orders\""
    );
    assert_eq!(
        sent("SELECT close_month(1), main.close_month(2)", Dialect::POSTGRESQL),
        "SELECT \"public\".\"close_month\"(1), \"public\".\"close_month\"(2)"
    );
    assert_eq!(sent("REPLACE INTO orders VALUES (1)", Dialect::SQLITE), format!("REPLACE INTO {ORDERS} VALUES (1)"));
    assert_eq!(
        sent("INSERT OR IGNORE INTO orders VALUES (@a)", Dialect::SQLITE),
        format!("INSERT OR IGNORE INTO {ORDERS} VALUES (@a)")
    );
    let returning = "INSERT INTO crm.people (id) VALUES (1) RETURNING crm.people.id, people.name, id";
    assert_eq!(
        sent(returning, Dialect::POSTGRESQL),
        format!("INSERT INTO {PEOPLE} (id) VALUES (1) RETURNING people.id, people.name, id")
    );
    assert_eq!(
        sent(returning, Dialect::SQLITE),
        format!("INSERT INTO {PEOPLE} (id) VALUES (1) RETURNING id, name, id")
    );
    for (text, expected) in [
        (
            "SELECT 1 FROM orders WHERE a GLOB 'x*' AND b NOT GLOB @b",
            "SELECT 1 FROM {} WHERE a GLOB 'x*' AND b NOT GLOB @b",
        ),
        (
            "SELECT 1 FROM orders WHERE a == 1 AND b IS NOT 2 AND c IS NOT NULL",
            "SELECT 1 FROM {} WHERE a == 1 AND b IS NOT 2 AND c IS NOT NULL",
        ),
        ("EXPLAIN QUERY PLAN SELECT * FROM orders", "EXPLAIN QUERY PLAN SELECT * FROM {}"),
        ("SELECT match, `glob` FROM orders", "SELECT match, `glob` FROM {}"),
    ] {
        assert_eq!(sent(text, Dialect::SQLITE), expected.replace("{}", ORDERS), "{text}");
    }
    let (statements, renamed) = within("SELECT * FROM people, orders", Dialect::POSTGRESQL, Some("crm")).unwrap();
    assert_eq!(statements[0].text, format!("SELECT * FROM {PEOPLE}, {ORDERS}"), "the default folder, and the main one");
    let named = |at: usize| (renamed[at].folder.as_str(), renamed[at].name.as_str(), renamed[at].table.as_str());
    assert_eq!((named(0), named(1)), (("crm", "people", "Customers"), ("main", "orders", "orders")));
}

#[test]
fn what_with_names_is_no_table_of_the_workspace() {
    for dialect in [Dialect::POSTGRESQL, Dialect::SQLITE] {
        for text in [
            "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM a, b",
            "WITH a AS (SELECT 1) SELECT 1 UNION SELECT * FROM a",
            "WITH a AS (SELECT 1) SELECT * FROM (SELECT * FROM a) x WHERE EXISTS (SELECT 1 FROM a)",
            "WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 9) SELECT * FROM a",
            "WITH \"a b\" AS (SELECT 1) SELECT * FROM \"a b\"",
        ] {
            assert_eq!(sent(text, dialect), text);
        }
    }
    // The inner one is the workspace's table; in SQLite it is the expression itself.
    let own = "WITH orders AS (SELECT * FROM orders) SELECT * FROM orders";
    let expected = format!("WITH orders AS (SELECT * FROM {ORDERS}) SELECT * FROM orders");
    assert_eq!(sent(own, Dialect::POSTGRESQL), expected);
    assert_eq!(sent(own, Dialect::SQLITE), own);
    // Out of sight, and as a target.
    for text in [
        "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a",
        "SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a",
        "(WITH a AS (SELECT 1) SELECT * FROM a) UNION SELECT * FROM a",
        "WITH a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a",
    ] {
        assert_eq!(within(text, Dialect::POSTGRESQL, None).unwrap_err().kind, Failure::NotFound, "{text}");
    }
    let target = "WITH a AS (SELECT 1) INSERT INTO a SELECT * FROM a";
    assert_eq!(within(target, Dialect::POSTGRESQL, None).unwrap_err().kind, Failure::NotFound);
}

#[test]
fn views_are_read_in_their_place() {
    let of = |comment: &str| format!("(SELECT id, total FROM {ORDERS} WHERE id > 5{comment}\n)");
    for (dialect, comment) in [(Dialect::POSTGRESQL, ""), (Dialect::SQLITE, " -- those")] {
        let recent = of(comment);
        assert_eq!(sent("SELECT * FROM recent", dialect), format!("SELECT * FROM {recent} AS \"recent\""));
        assert_eq!(sent("SELECT r.id FROM recent AS r", dialect), format!("SELECT r.id FROM {recent} AS r"));
    }
    let recent = of("");
    let rich = format!(
        "SELECT * FROM (WITH recent AS (SELECT * FROM {recent} AS \"recent\") SELECT * FROM recent WHERE total > 9\n) AS \"rich\""
    );
    assert_eq!(sent("SELECT * FROM reports.rich", Dialect::POSTGRESQL), rich);
    for (text, words) in [
        ("DELETE FROM recent", "views only read"),
        ("INSERT INTO recent VALUES (1)", "views only read"),
        ("TABLE recent", "write SELECT * FROM recent"),
        ("SELECT * FROM reports.cities", "cities is a table of other"),
    ] {
        let error = within(text, Dialect::POSTGRESQL, None).unwrap_err();
        assert!(error.kind == Failure::Invalid && error.message.contains(words), "{text}: {error:?}");
    }
}

#[test]
fn what_is_not_of_the_workspace_is_refused_with_its_place() {
    for (text, kind, position) in [
        ("SELECT * FROM secret", Failure::NotFound, Some(15)),
        ("SELECT *\nFROM public.orders", Failure::NotFound, Some(15)),
        ("SELECT * FROM sales.public.orders", Failure::NotFound, Some(15)),
        ("SELECT * FROM archive.nothing", Failure::NotFound, Some(15)),
        ("SELECT 1; SELECT * FROM crm.orders", Failure::NotFound, Some(25)),
        ("INSERT INTO orders SELECT * FROM crm.cities", Failure::Invalid, Some(34)),
        ("SELECT * FROM crm.cities", Failure::Invalid, Some(15)),
        ("SELECT * FROM U&\"ord\\0065rs\"", Failure::Invalid, Some(15)),
        ("DROP TABLE orders", Failure::Invalid, None),
        ("SELECT * INTO x FROM orders", Failure::Invalid, None),
        ("CREATE TABLE x AS SELECT * FROM orders", Failure::Invalid, None),
        ("TRUNCATE orders", Failure::Invalid, None),
        ("SHOW search_path", Failure::Invalid, None),
        ("SELECT * FROM orders WHERE WHERE", Failure::Invalid, None),
        ("COPY orders TO STDOUT", Failure::Invalid, None),
    ] {
        let error = within(text, Dialect::POSTGRESQL, None).unwrap_err();
        assert_eq!((error.kind, error.get_position()), (kind, position), "{text}: {error:?}");
    }
    for text in ["PRAGMA table_info(orders)", "SELECT * FROM 'orders'", "VACUUM"] {
        assert_eq!(within(text, Dialect::SQLITE, None).unwrap_err().kind, Failure::Invalid, "{text}");
    }
    let (statements, _) = within("SELECT wrong FROM crm.people", Dialect::POSTGRESQL, None).unwrap();
    assert_eq!(statements[0].original_position(8), 8, "positions lead back");
}
