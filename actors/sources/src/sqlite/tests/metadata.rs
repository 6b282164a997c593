//! The catalogue, with remarks.

use crate::sqlite::tests::{Fixture, Options, Whole, fixture, whole};
use crate::{Access, Plan, Task};
use portico_core::call::{MetadataFilter, MetadataKind};

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

async fn describe(fixture: &Fixture, metadata: MetadataKind, narrow: MetadataFilter) -> Whole {
    let plan = Plan::alone(Task::Describe(metadata, narrow), Access::ReadOnly);
    whole(fixture.source.run(plan).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn catalogs_and_schemas_are_one_each() {
    let fixture = fixture(SCRIPT, Options::default());
    assert_eq!(describe(&fixture, MetadataKind::Catalogs, MetadataFilter::default()).await.words(), ["shop"]);
    assert_eq!(describe(&fixture, MetadataKind::Schemas, MetadataFilter::default()).await.words(), ["shop|main"]);
    let other = MetadataFilter { catalog: Some("other".into()), ..MetadataFilter::default() };
    for metadata in [
        MetadataKind::Catalogs,
        MetadataKind::Schemas,
        MetadataKind::Tables,
        MetadataKind::Columns,
        MetadataKind::Procedures,
    ] {
        let none = describe(&fixture, metadata, other.clone()).await;
        assert_eq!((none.rows.len(), none.affected), (0, Some(-1)));
        assert_eq!(
            none.columns[0].label,
            if metadata == MetadataKind::Procedures { "PROCEDURE_CATALOG" } else { "TABLE_CATALOG" }
        );
    }
}

#[tokio::test]
async fn tables_and_views_are_listed_with_their_remarks() {
    let fixture = fixture(SCRIPT, Options::default());
    assert_eq!(
        describe(&fixture, MetadataKind::Tables, MetadataFilter::default()).await.words(),
        [
            "shop|main|active_customers|VIEW|Those who buy now.|NULL",
            "shop|main|broken|VIEW|NULL|NULL",
            "shop|main|customers|TABLE|Who buys.|0",
            "shop|main|memberships|TABLE|NULL|0",
            "shop|main|notes|TABLE|NULL|NULL",
        ]
    );
    for (narrow, expected) in [
        (MetadataFilter { table: Some("%customers".into()), ..MetadataFilter::default() }, 2),
        (
            MetadataFilter {
                table: Some("Customers".into()),
                schema: Some("MAIN".into()),
                ..MetadataFilter::default()
            },
            1,
        ),
        (MetadataFilter { table_type: Some("VIEW".into()), ..MetadataFilter::default() }, 2),
        (
            MetadataFilter {
                table_type: Some("TABLE".into()),
                table: Some("m%".into()),
                catalog: Some("sh_p".into()),
                ..MetadataFilter::default()
            },
            1,
        ),
        (MetadataFilter { schema: Some("public".into()), ..MetadataFilter::default() }, 0),
        (MetadataFilter { table: Some("'; DROP TABLE customers; --".into()), ..MetadataFilter::default() }, 0),
    ] {
        assert_eq!(describe(&fixture, MetadataKind::Tables, narrow.clone()).await.rows.len(), expected, "{narrow:?}");
    }
}

#[tokio::test]
async fn columns_are_listed_with_types_keys_and_remarks() {
    let fixture = fixture(SCRIPT, Options::default());
    let narrow = MetadataFilter { table: Some("customers".into()), ..MetadataFilter::default() };
    assert_eq!(
        describe(&fixture, MetadataKind::Columns, narrow).await.words(),
        [
            "shop|main|customers|id|9|INTEGER|19|19|NULL|Number of the customer.|1|false|true|true|false|NULL|NULL",
            "shop|main|customers|name|5|VARCHAR|80|NULL|NULL|As on the invoice: ünïcode.|2|false|false|false|false|NULL|NULL",
            "shop|main|customers|balance|12|DECIMAL|10|10|2|In euro.|3|true|false|false|false|NULL|NULL",
            "shop|main|customers|active|14|BOOLEAN|NULL|NULL|NULL|NULL|4|true|false|false|false|NULL|NULL",
            "shop|main|customers|initial|5|TEXT|NULL|NULL|NULL|Made from the name.|5|true|false|false|true|NULL|NULL",
        ]
    );
    let keys =
        MetadataFilter { table: Some("memberships".into()), column: Some("%_id".into()), ..MetadataFilter::default() };
    assert_eq!(
        describe(&fixture, MetadataKind::Columns, keys).await.words(),
        [
            "shop|main|memberships|customer_id|8|INT|10|10|NULL|NULL|1|false|true|false|false|NULL|NULL",
            "shop|main|memberships|club_id|8|INT|10|10|NULL|NULL|2|false|true|false|false|NULL|NULL",
        ]
    );
    let view = MetadataFilter {
        table: Some("active_customers".into()),
        column: Some("id".into()),
        ..MetadataFilter::default()
    };
    assert_eq!(describe(&fixture, MetadataKind::Columns, view).await.rows.len(), 1);
    // The hidden columns of a virtual table, and a view over a missing table, are left out.
    let all = describe(&fixture, MetadataKind::Columns, MetadataFilter::default()).await;
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
    let tables = describe(&fixture, MetadataKind::Tables, MetadataFilter::default()).await.words();
    assert_eq!((tables.len(), tables[699].as_str()), (700, "shop|main|t699|TABLE|NULL|0"));
    assert_eq!(describe(&fixture, MetadataKind::Columns, MetadataFilter::default()).await.rows.len(), 1400);
}
