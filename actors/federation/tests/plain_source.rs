//! A driver without a pushdown dialect works with everything left to the engine: two connections of a test driver
//! that can only return the columns of a table.

// Everything here is a test: a failed unwrap fails it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use portico_core::call::{Limits, MetadataKind, Mode, Op};
use portico_core::error::{Error, Result};
use portico_core::reply::{Cell, Column, DataType, Part, Results};
use portico_federation::{Connections, Engine, Settings, SourceConnection, Statement};
use portico_sources::catalog::{self, Assembled};
use portico_sources::{Capabilities, Driver};
use portico_sql::Dialect;
use uuid::Uuid;

/// A kind of database without pushdown.
static PLAIN: Driver = Driver {
    name: "plain",
    product: "Plain",
    system_name: "other_sql",
    example: "plain:",
    dialect: Dialect { name: "Plain", ..Dialect::POSTGRESQL },
    keys: &[],
    capabilities: Capabilities { roles: false, procedures: false, statement_comments: false, judges_schemas: false },
    recognizes: |_| false,
    locate: |_| panic!("nothing is opened here"),
    is_system_schema: |_| false,
    explain: None,
    pushdown: None,
};

/// Name, moons and day of each planet.
const PLANETS: [(&str, i64, &str); 4] = [
    ("Mercury", 0, "2026-01-01"),
    ("Earth", 1, "2026-01-02"),
    ("Mars", 2, "2026-01-03"),
    ("Jupiter", 95, "2026-01-04"),
];
const COLUMNS: [(&str, DataType); 3] =
    [("name", DataType::Varchar), ("moons", DataType::BigInt), ("seen", DataType::Date)];

fn text(text: &str) -> Cell<'static> {
    Cell::Text(text.to_owned().into())
}

/// Each planet of one connection with its like of the other.
const BOTH: &str = "near.sky.planets n JOIN far.sky.planets f ON f.name = n.name";

/// Two connections with the same table, and the statements sent to them.
#[derive(Debug)]
struct Plain {
    members: Vec<SourceConnection>,
    sent: Mutex<Vec<String>>,
}

impl Plain {
    fn new() -> Arc<Self> {
        let member = |(place, name): (u128, &str)| SourceConnection {
            id: Uuid::from_u128(place),
            name: name.into(),
            driver: &PLAIN,
            is_reached: true,
        };
        Arc::new(Self { members: [(1, "near"), (2, "far")].map(member).into(), sent: Mutex::default() })
    }
}

/// Executes a statement: it is `SELECT t."…" AS c0, … FROM "sky"."planets" AS t`, or without the names to read the
/// first values of columns whose type the source does not report, and nothing more.
fn selected(statement: &str) -> Results {
    let (columns, from) = statement.strip_prefix("SELECT ").unwrap().split_once(" FROM ").unwrap();
    assert!(["\"sky\".\"planets\" AS t", "\"sky\".\"planets\" LIMIT 1000"].contains(&from), "{statement}");
    let place = |column: &str| {
        let name = column.split_once(" AS ").map_or(column, |(name, _)| name).trim_start_matches("t.");
        COLUMNS.iter().position(|(known, _)| name == format!("\"{known}\""))
    };
    // Only the number of rows of a table is requested.
    let places: Vec<Option<usize>> = columns.split(", ").map(place).collect();
    let described = places.iter().map(|place| match place {
        Some(place) => Column::computed(COLUMNS[*place].0, COLUMNS[*place].1),
        None => Column::computed("c0", DataType::Integer),
    });
    let described = Part::Columns(described.collect());
    let rows = PLANETS.iter().map(|(name, moons, seen)| {
        let cells = [text(name), Cell::Integer(*moons), text(seen)];
        places.iter().map(|place| place.map_or(Cell::Integer(1), |place| cells[place].clone())).collect()
    });
    let rows = Part::Rows(Box::new(Assembled(rows.collect())));
    Results::new(false, stream::iter([described, rows, Part::Done { affected: -1 }].map(Ok)))
}

/// Returns the primary key, which the source does not report with its columns.
fn key(catalog: &str) -> Results {
    let row = catalog::labels(MetadataKind::PrimaryKeys).iter().map(|(label, _)| match *label {
        "TABLE_CAT" => text(catalog),
        "TABLE_SCHEM" => text("sky"),
        "TABLE_NAME" => text("planets"),
        "COLUMN_NAME" => text("name"),
        _ => Cell::Null,
    });
    catalog::assembled(MetadataKind::PrimaryKeys, vec![row.collect()])
}

impl Connections for Plain {
    fn members(&self) -> &[SourceConnection] {
        &self.members
    }

    fn ask(&self, place: usize, op: Op, _: Limits) -> BoxFuture<'static, Result<Results>> {
        let answer = match op {
            Op::Script(Mode::Describe, sql) if sql.text == "SELECT * FROM \"sky\".\"planets\"" => {
                let columns = COLUMNS.iter().map(|(name, type_)| Column::computed(*name, *type_));
                Ok(Results::new(false, stream::iter([Ok(Part::Columns(columns.collect()))])))
            }
            Op::Script(Mode::Describe, sql) => Err(Error::not_found(format!("there is nothing in {}", sql.text))),
            Op::Script(Mode::Run, sql) => Ok(selected(&sql.text)),
            Op::Describe(MetadataKind::PrimaryKeys, _) => Ok(key(&self.members[place].name)),
            other => panic!("{other:?}"),
        };
        async { answer }.boxed()
    }

    fn note(&self, place: usize, statement: &str) {
        self.sent.lock().unwrap().push(format!("{}: {statement}", self.members[place].name));
    }
}

fn statement(text: &str) -> Statement {
    Statement {
        principal: "ann".to_owned(),
        text: text.to_owned(),
        parameters: Vec::new(),
        workspace: None,
        default_catalog: None,
        default_schema: None,
        limits: Limits { timeout: Duration::from_secs(60), rows: None },
        describes: false,
    }
}

/// The rows of a statement as texts.
async fn rows(engine: &Engine, connections: &Arc<Plain>, query: &str) -> Result<Vec<Vec<String>>> {
    let connections: Arc<dyn Connections> = Arc::<Plain>::clone(connections);
    let mut results = engine.run(connections, statement(query)).await?;
    let (mut rows, mut width) = (Vec::new(), 0);
    while let Some(part) = results.next().await {
        match part? {
            Part::Columns(columns) => width = columns.len(),
            Part::Rows(batch) => rows.extend((0..batch.rows()).map(|row| {
                let cell = |column| match batch.cell(row, column).unwrap() {
                    Cell::Text(text) | Cell::Decimal(text) => text.into_owned(),
                    Cell::Integer(number) => number.to_string(),
                    Cell::Null => "NULL".to_owned(),
                    other => format!("{other:?}"),
                };
                (0..width).map(cell).collect::<Vec<_>>()
            })),
            Part::Done { .. } => {}
        }
    }
    Ok(rows)
}

#[test]
fn a_source_without_a_dialect_hands_over_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Settings {
        memory: 64 << 20,
        statement_memory: 64 << 20,
        spill_dir: folder.path().join("spill"),
        spill_limit: 1 << 20,
        threads: 1,
        pushdown: true,
    })
    .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let plain = Plain::new();
        for (query, expected) in [
            (format!("SELECT n.name, f.moons FROM {BOTH} WHERE n.moons > 1 ORDER BY 1"), vec![
                vec!["Jupiter", "95"],
                vec!["Mars", "2"],
            ]),
            (format!("SELECT count(*), sum(f.moons), max(n.seen) FROM {BOTH}"), vec![vec!["4", "98", "2026-01-04"]]),
            (format!("SELECT n.name FROM {BOTH} WHERE f.seen < DATE '2026-01-03' ORDER BY n.moons DESC LIMIT 1"), vec![
                vec!["Earth"],
            ]),
            (
                "SELECT name FROM near.sky.planets WHERE moons NOT IN (SELECT moons FROM far.sky.planets WHERE moons < 2) \
                 ORDER BY 1"
                    .to_owned(),
                vec![vec!["Jupiter"], vec!["Mars"]],
            ),
            (
                "SELECT n.name, f.name FROM near.sky.planets n LEFT JOIN far.sky.planets f ON f.moons = n.moons + 1 \
                 ORDER BY n.moons"
                    .to_owned(),
                vec![
                    vec!["Mercury", "Earth"],
                    vec!["Earth", "Mars"],
                    vec!["Mars", "NULL"],
                    vec!["Jupiter", "NULL"],
                ],
            ),
            ("SELECT count(*) FROM near.sky.planets, far.sky.planets".to_owned(), vec![vec!["16"]]),
            (
                format!("SELECT count(*) FROM {BOTH} JOIN near.sky.planets t ON t.moons = f.moons AND t.name LIKE 'M%'"),
                vec![vec!["2"]],
            ),
        ] {
            assert_eq!(rows(&engine, &plain, &query).await.unwrap(), expected, "{query}");
        }
        // Every statement went through `selected`, which accepts only columns.
        let sent = plain.sent.lock().unwrap();
        assert!(sent.iter().any(|sent| sent.starts_with("near: ")) && sent.iter().any(|sent| sent.starts_with("far: ")));
    });
    let told = runtime.block_on(rows(&engine, &Plain::new(), "SELECT * FROM near.sky.stars, far.sky.planets"));
    let error = told.unwrap_err();
    assert!(error.message.contains("near"), "{error:?}");
}
