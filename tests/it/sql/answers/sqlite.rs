//! The service beside the engine itself, in this process on the same file: statements as they stand, with `@name` for
//! values and with other names for tables, in each form. Labels, types, values, counts, and an error's words and
//! place are the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, ErrorCode, Statement};
use serde_json::Value;

use super::said::{Answer, Document, NONE, asked};
use super::samples::LABELS;
use super::sqlite_drawn::{COLUMNS, Drawn, MADE, SAMPLES};
use super::written::{NAMES, Written, changed, written};
use super::{AT_A_TIME, COUNT, Tally, forms};
use crate::support::app::TestApp;
use crate::support::dice::{Random, cases};
use crate::support::fixture;

/// Instructions of the engine's after which it is looked at how many there were, and how often that is done for one text.
const STEPS: i32 = 1_000_000;
const MOST_LOOKS: u32 = 20;

/// A value as the engine holds it.
#[derive(Clone, Debug, PartialEq)]
enum Held {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Held {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Real(value) => Self::Real(value),
            ValueRef::Text(octets) => Self::Text(octets.to_vec()),
            ValueRef::Blob(octets) => Self::Blob(octets.to_vec()),
        }
    }
}

/// What came of a statement: the last result, or the engine's words and their place.
#[derive(Debug)]
enum Said {
    Result {
        labels: Vec<String>,
        declared: Vec<bool>,
        rows: Vec<Vec<Held>>,
        affected: i64,
    },
    Refused {
        words: String,
        position: Option<usize>,
    },
    /// It has placeholders of its own, takes transactions into its own hand, or has no end.
    Another,
}

fn refused(error: &rusqlite::Error) -> Said {
    match error {
        rusqlite::Error::SqliteFailure(cause, _) if cause.code == ErrorCode::OperationInterrupted => Said::Another,
        rusqlite::Error::SqlInputError { msg, offset, sql, .. } => {
            let before = usize::try_from(*offset).ok().and_then(|offset| sql.get(..offset));
            Said::Refused { words: msg.clone(), position: before.map(|before| before.chars().count() + 1) }
        }
        rusqlite::Error::SqliteFailure(_, words) => {
            Said::Refused { words: words.clone().unwrap_or_default(), position: None }
        }
        other => panic!("{other}"),
    }
}

fn run(engine: &Connection, statement: &mut Statement<'_>) -> Result<Said, rusqlite::Error> {
    let labels: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let declared = statement.columns().map(|column| column.decl_type().is_some()).collect();
    let (reads, before) = (statement.readonly() || statement.is_explain() != 0, engine.total_changes());
    let text = statement.expanded_sql().unwrap_or_default().trim_start().to_lowercase();
    let defines = ["create", "drop", "alter", "analyze", "reindex"].iter().any(|verb| text.starts_with(verb));
    let (mut rows, mut all) = (statement.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        all.push((0..labels.len()).map(|at| Held::from(row.get_ref(at).unwrap())).collect());
    }
    drop(rows);
    let affected = match (reads, defines) {
        (true, _) => -1,
        (_, true) => 0,
        _ if engine.total_changes() == before => 0,
        _ => i64::try_from(engine.changes()).unwrap(),
    };
    Ok(Said::Result { labels, declared, rows: all, affected })
}

/// What the engine says, of which nothing stays.
fn by_engine(Engine { connection: engine, left }: &Engine, text: &str) -> Said {
    engine.execute_batch("BEGIN").unwrap();
    // The service ends what goes on for ever by its limits.
    left.store(MOST_LOOKS, Ordering::Relaxed);
    let mut batch = Batch::new(engine, text);
    let mut last = Said::Another;
    loop {
        match batch.next() {
            Ok(Some(statement)) if statement.parameter_count() > 0 => last = Said::Another,
            Ok(Some(mut statement)) => match run(engine, &mut statement) {
                Ok(said) => {
                    last = said;
                    continue;
                }
                Err(error) => last = refused(&error),
            },
            Ok(None) => {}
            Err(error) => last = refused(&error),
        }
        break;
    }
    if engine.is_autocommit() {
        return Said::Another;
    }
    engine.execute_batch("ROLLBACK").unwrap();
    last
}

/// Whether `cell` tells that value in a column of that type.
fn is_value(cell: &str, type_: &str, held: &Held) -> bool {
    let text = || serde_json::from_str::<String>(cell).ok();
    let trimmed = |number: &str| number.trim_end_matches('0').trim_end_matches('.').to_owned();
    match held {
        Held::Null => cell == "null",
        Held::Integer(value @ (0 | 1)) if type_ == "BOOLEAN" => cell == if *value == 1 { "true" } else { "false" },
        Held::Integer(value) => {
            cell == value.to_string()
                || (type_ == "DECIMAL" && cell.contains('.') && trimmed(cell) == value.to_string())
        }
        Held::Real(value) if value.is_infinite() => text().and_then(|text| text.parse::<f64>().ok()) == Some(*value),
        Held::Real(value) => cell.parse::<f64>().is_ok_and(|cell| cell.to_bits() == value.to_bits()),
        Held::Text(octets) => {
            let held = String::from_utf8_lossy(octets);
            let told = text();
            // A decimal that has more digits than a float is a text to the engine.
            told.as_deref() == Some(&*held)
                || (["DECIMAL", "NUMERIC"].contains(&type_) && cell == held)
                || (type_ == "TIMESTAMP" && told == Some(held.replacen(' ', "T", 1)))
        }
        Held::Blob(octets) if type_ == "BINARY" => text() == Some(STANDARD.encode(octets)),
        Held::Blob(octets) => {
            let hex = octets.iter().fold(String::new(), |hex, octet| format!("{hex}{octet:02X}"));
            text() == Some(format!("X'{hex}'"))
        }
    }
}

/// In what the last answer of `document` differs.
fn difference(document: &Document, theirs: &Said, moved: bool) -> Option<String> {
    let told = |error: &Value| error["message"].as_str().unwrap().to_owned();
    let (answer, said) = match (&document.error, document.results.last(), theirs) {
        (Some(error), _, Said::Refused { words, position }) => {
            let message = told(error);
            let (ours, at) = message.rsplit_once(" (at position ").unwrap_or((&message, ""));
            let place = at.trim_end_matches(')').parse().ok();
            let same = ours == words && (moved || place == *position);
            return (!same).then(|| format!("{message} for {words} at {position:?}"));
        }
        (None, Some(answer), Said::Result { .. }) => (answer, theirs),
        (Some(error), ..) => return Some(format!("{} for {theirs:?}", told(error)).chars().take(600).collect()),
        (None, ..) => return Some(format!("an answer for {theirs:?}")),
    };
    let Said::Result { labels, declared, rows, affected } = said else { return None };
    let types = answer.types();
    if answer.labels() != *labels || answer.affected != *affected {
        return Some(format!("{:?}, {} for {labels:?}, {affected}", answer.labels(), answer.affected));
    }
    if let Some(first) = rows.first() {
        let of = |held: &Held| match held {
            Held::Integer(_) => "BIGINT",
            Held::Real(_) => "DOUBLE",
            Held::Blob(_) => "BINARY",
            Held::Text(_) | Held::Null => "VARCHAR",
        };
        let wrong = (0..types.len()).find(|at| !declared[*at] && types[*at] != of(&first[*at]));
        if let Some(at) = wrong {
            return Some(format!("column {at} is {} for {:?}", types[at], first[at]));
        }
    }
    of_rows(answer, &types, rows)
}

fn of_rows(answer: &Answer, types: &[&str], rows: &[Vec<Held>]) -> Option<String> {
    if answer.rows.len() != rows.len() {
        return Some(format!("{} rows for {}", answer.rows.len(), rows.len()));
    }
    for (number, (ours, theirs)) in answer.rows.iter().zip(rows).enumerate() {
        for (at, (cell, held)) in ours.iter().zip(theirs).enumerate() {
            if !is_value(cell.get(), types[at], held) {
                return Some(format!("row {number}, column {at} ({}): {cell} for {held:?}", types[at]));
            }
        }
    }
    None
}

/// The engine itself.
struct Engine {
    connection: Connection,
    /// Looks at what runs until it is ended.
    left: Arc<AtomicU32>,
}

impl Engine {
    fn new(mut connection: Connection) -> Self {
        let left = Arc::new(AtomicU32::new(MOST_LOOKS));
        let looked = Arc::clone(&left);
        connection.progress_handler(STEPS, Some(move || looked.fetch_sub(1, Ordering::Relaxed) == 1)).unwrap();
        Self { connection, left }
    }
}

/// A service, and the engine on its file.
struct Shop {
    app: TestApp,
    engine: Engine,
    tables: Vec<String>,
}

impl Shop {
    async fn open(dice: &mut Random) -> Self {
        let app = fixture::on_sqlite().await;
        let engine = Connection::open(app.config.parent().unwrap().join("shop.db")).unwrap();
        // As the service has them (`connect/limits.rs`).
        engine.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false).unwrap();
        engine.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).unwrap();
        engine.execute_batch(MADE).unwrap();
        for _ in 0..12 {
            let values: Vec<&str> = COLUMNS.iter().map(|_| dice.choose(SAMPLES).0).collect();
            let row = format!("INSERT INTO typed ({}) VALUES ({})", COLUMNS.join(", "), values.join(", "));
            engine.execute_batch(&row).unwrap();
        }
        let named = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')";
        let tables =
            engine.prepare(named).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        Self { app, engine: Engine::new(engine), tables }
    }

    async fn tries(&self, dice: &mut Random, tally: &mut Tally) {
        let drawn = Drawn::draw(dice, LABELS);
        let mut text = drawn.literal();
        let is_changed = dice.once_in(5);
        if is_changed {
            text = changed(&text, dice);
        }
        let theirs = by_engine(&self.engine, &text);
        if matches!(theirs, Said::Another) {
            return;
        }
        tally.statements += 1;
        let document = asked(&self.app, &text, NONE).await;
        // What the service says itself has no SQLSTATE: it keeps transactions and settings for itself.
        let is_several = text.trim_end_matches([';', ' ']).contains(';');
        let is_own = document.error.as_ref().is_some_and(|error| error.get("sqlState").is_none());
        if matches!(theirs, Said::Refused { .. }) && (is_own || (is_several && document.error.is_some())) {
            return;
        }
        let judge = |tally: &mut Tally, text: &str, document: &Document, moved: bool| {
            if let Some(told) = difference(document, &theirs, moved) {
                return tally.differs(text, &told);
            }
            *(if document.error.is_some() { &mut tally.refusals } else { &mut tally.answers }) += 1;
        };
        judge(tally, &text, &document, is_several);
        let (bound, parameters) = drawn.bound();
        let names = if is_changed { 0 } else { dice.below(NAMES) };
        let renamed = written(&text, "main", &self.tables, names, false);
        let mut others = vec![renamed];
        if !is_changed {
            others.push(Written { text: bound, parameters });
        }
        for other in &others {
            let document = asked(&self.app, &other.text, &other.parameters).await;
            judge(tally, &other.text, &document, true);
        }
        for form in forms::FORMS {
            // A refusal is the same in each, and a long run asks for one of them.
            if (document.error.is_some() || cases(COUNT) > COUNT) && !dice.once_in(forms::FORMS.len()) {
                continue;
            }
            let asked = (others[0].text.as_str(), NONE);
            if let Some(told) = forms::difference(&self.app, asked, &document, form).await {
                tally.differs(asked.0, &told);
            }
            tally.forms += 1;
        }
        self.app.events.lock().unwrap().clear();
    }
}

#[actix_web::test]
async fn answers_are_the_engine_s() {
    let (count, seed) = (cases(COUNT), Random::seeded("answers of SQLite"));
    let runs = (0..AT_A_TIME).map(|place| {
        let mut dice = seed.clone().apart(place);
        async move {
            let (shop, mut tally) = (Shop::open(&mut dice).await, Tally::default());
            for _ in 0..count / AT_A_TIME {
                shop.tries(&mut dice, &mut tally).await;
            }
            tally
        }
    });
    let mut all = Tally::default();
    join_all(runs).await.into_iter().for_each(|tally| all.add(tally));
    all.end(count);
}
