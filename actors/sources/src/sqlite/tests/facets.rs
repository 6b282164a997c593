//! The catalogue, with remarks.

use crate::sqlite::tests::{Fixture, Options, Whole, fixture, whole};
use crate::{Access, Plan, Task};
use portico_core::call::{Facet, Narrow};

const SCRIPT: &str = "
    CREATE TABLE customers ( -- Who buys.
        id INTEGER PRIMARY KEY AUTOINCREMENT, -- Number of the customer.
        name VARCHAR(80) NOT NULL, -- As on the invoice: ünïcode.
        balance DECIMAL(10,2) DEFAULT (0), -- In euro.
        active BOOLEAN,
        initial TEXT AS (substr(name, 1, 1)) -- Made from the name.
    );
    CREATE TABLE memberships (customer_id INT, club_id INT, PRIMARY KEY (customer_id, club_id)) WITHOUT ROWID;
    CREATE VIEW active_customers AS -- Those who buy now.
        SELECT id, name FROM customers WHERE active;
    CREATE TABLE gone (a); CREATE VIEW broken AS SELECT a FROM gone; DROP TABLE gone;
    CREATE VIRTUAL TABLE notes USING fts5(body);
    CREATE INDEX by_name ON customers (name);";

async fn describe(fixture: &Fixture, facet: Facet, narrow: Narrow) -> Whole {
    let plan = Plan::alone(Task::Describe(facet, narrow), Access::ReadOnly);
    whole(fixture.source.run(plan).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn catalogs_and_schemas_are_one_each() {
    let fixture = fixture(SCRIPT, Options::default());
    assert_eq!(describe(&fixture, Facet::Catalogs, Narrow::default()).await.words(), ["shop"]);
    assert_eq!(describe(&fixture, Facet::Schemas, Narrow::default()).await.words(), ["shop|main"]);
    let other = Narrow { catalog: Some("other".into()), ..Narrow::default() };
    for facet in [Facet::Catalogs, Facet::Schemas, Facet::Tables, Facet::Columns, Facet::Procedures] {
        let none = describe(&fixture, facet, other.clone()).await;
        assert_eq!((none.rows.len(), none.affected), (0, Some(-1)));
        assert_eq!(
            none.columns[0].label,
            if facet == Facet::Procedures { "PROCEDURE_CATALOG" } else { "TABLE_CATALOG" }
        );
    }
}

#[tokio::test]
async fn tables_and_views_are_listed_with_their_remarks() {
    let fixture = fixture(SCRIPT, Options::default());
    assert_eq!(
        describe(&fixture, Facet::Tables, Narrow::default()).await.words(),
        [
            "shop|main|active_customers|VIEW|Those who buy now.|NULL",
            "shop|main|broken|VIEW|NULL|NULL",
            "shop|main|customers|TABLE|Who buys.|0",
            "shop|main|memberships|TABLE|NULL|0",
            "shop|main|notes|TABLE|NULL|NULL",
        ]
    );
    for (narrow, expected) in [
        (Narrow { table: Some("%customers".into()), ..Narrow::default() }, 2),
        (Narrow { table: Some("Customers".into()), schema: Some("MAIN".into()), ..Narrow::default() }, 1),
        (Narrow { table_type: Some("VIEW".into()), ..Narrow::default() }, 2),
        (
            Narrow {
                table_type: Some("TABLE".into()),
                table: Some("m%".into()),
                catalog: Some("sh_p".into()),
                ..Narrow::default()
            },
            1,
        ),
        (Narrow { schema: Some("public".into()), ..Narrow::default() }, 0),
        (Narrow { table: Some("'; DROP TABLE customers; --".into()), ..Narrow::default() }, 0),
    ] {
        assert_eq!(describe(&fixture, Facet::Tables, narrow.clone()).await.rows.len(), expected, "{narrow:?}");
    }
}

#[tokio::test]
async fn columns_are_listed_with_types_keys_and_remarks() {
    let fixture = fixture(SCRIPT, Options::default());
    let narrow = Narrow { table: Some("customers".into()), ..Narrow::default() };
    assert_eq!(
        describe(&fixture, Facet::Columns, narrow).await.words(),
        [
            "shop|main|customers|id|9|INTEGER|19|19|NULL|Number of the customer.|1|false|true|true|false|NULL|NULL",
            "shop|main|customers|name|5|VARCHAR|80|NULL|NULL|As on the invoice: ünïcode.|2|false|false|false|false|NULL|NULL",
            "shop|main|customers|balance|12|DECIMAL|10|10|2|In euro.|3|true|false|false|false|NULL|NULL",
            "shop|main|customers|active|14|BOOLEAN|NULL|NULL|NULL|NULL|4|true|false|false|false|NULL|NULL",
            "shop|main|customers|initial|5|TEXT|NULL|NULL|NULL|Made from the name.|5|true|false|false|true|NULL|NULL",
        ]
    );
    let keys = Narrow { table: Some("memberships".into()), column: Some("%_id".into()), ..Narrow::default() };
    assert_eq!(
        describe(&fixture, Facet::Columns, keys).await.words(),
        [
            "shop|main|memberships|customer_id|8|INT|10|10|NULL|NULL|1|false|true|false|false|NULL|NULL",
            "shop|main|memberships|club_id|8|INT|10|10|NULL|NULL|2|false|true|false|false|NULL|NULL",
        ]
    );
    let view = Narrow { table: Some("active_customers".into()), column: Some("id".into()), ..Narrow::default() };
    assert_eq!(describe(&fixture, Facet::Columns, view).await.rows.len(), 1);
    // The hidden columns of a virtual table, and a view over nothing, are left out.
    let all = describe(&fixture, Facet::Columns, Narrow::default()).await;
    let notes: Vec<_> = all.words().into_iter().filter(|row| row.contains("|notes|")).collect();
    assert_eq!(notes.len(), 1);
    assert!(!all.words().iter().any(|row| row.contains("|broken|")));
    let labels: Vec<_> = all.columns.iter().map(|column| column.label.as_str()).collect();
    assert_eq!(labels.len(), 17);
    assert_eq!((labels[3], labels[15], labels[16]), ("COLUMN_NAME", "REFERENCES", "VALUES"));
}

#[tokio::test]
async fn a_large_catalogue_comes_in_batches() {
    use std::fmt::Write as _;
    let mut script = String::new();
    for number in 0..700 {
        write!(script, "CREATE TABLE t{number:03} (a INT, b INT);").unwrap();
    }
    let fixture = fixture(&script, Options::default());
    let tables = describe(&fixture, Facet::Tables, Narrow::default()).await.words();
    assert_eq!((tables.len(), tables[699].as_str()), (700, "shop|main|t699|TABLE|NULL|0"));
    assert_eq!(describe(&fixture, Facet::Columns, Narrow::default()).await.rows.len(), 1400);
}
