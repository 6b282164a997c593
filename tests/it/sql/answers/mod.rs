//! The service beside the server itself: ordinary statements, each as it stands and rewritten as callers of such
//! services write them (the connection's name in front of a table, brackets, `@name` for a number), once
//! through `/api/query` and once in a session of its own. Labels, values, counts and errors are the same, and of
//! some the answer is asked for in CSV or newline-delimited JSON too.
//!
//! `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it longer. `PORTICO_REGRESSION` names a folder of the
//! server's own regression tests (`src/test/regress`), which are then run too.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::app::{TestApp, within};
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

mod forms;
mod regression;

/// What is the same for both: the driver's own settings (`session.rs`), and what a database may choose.
const SETTINGS: &str = "SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex';
    SET extra_float_digits = 1; SET statement_timeout = '10s'; SET client_min_messages = error";

/// What came of a statement: labels and rows of the last result, and how many rows it changed; or SQLSTATE and
/// position.
#[derive(Debug, PartialEq)]
enum Said {
    Rows { labels: Vec<String>, rows: Vec<Vec<Option<String>>> },
    Changed(u64),
    Refused { state: String, position: Option<usize> },
}

async fn by_server(admin: &Client, text: &str) -> Said {
    let (mut labels, mut rows) = (None, Vec::new());
    let messages = match within("the server's own answer", admin.simple_query(text)).await {
        Ok(messages) => messages,
        Err(error) => {
            let Some(error) = error.as_db_error() else {
                return Said::Refused { state: format!("{error}"), position: None };
            };
            let position = match error.position() {
                Some(tokio_postgres::error::ErrorPosition::Original(position)) => usize::try_from(*position).ok(),
                _ => None,
            };
            return Said::Refused { state: error.code().code().to_owned(), position };
        }
    };
    let mut last = Said::Changed(0);
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                labels = Some(columns.iter().map(|column| column.name().to_owned()).collect());
            }
            SimpleQueryMessage::Row(row) => {
                rows.push((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect());
            }
            SimpleQueryMessage::CommandComplete(count) => {
                let rows = std::mem::take(&mut rows);
                last = labels.take().map_or(Said::Changed(count), |labels| Said::Rows { labels, rows });
            }
            _ => {}
        }
    }
    last
}

/// The same, of which nothing stays.
async fn undone(admin: &Client, text: &str) -> Said {
    admin.batch_execute("BEGIN").await.unwrap();
    let said = by_server(admin, text).await;
    admin.batch_execute("ROLLBACK").await.unwrap();
    said
}

async fn by_portico(app: &TestApp, text: &str, parameters: &Map<String, Value>) -> Said {
    said(&asked(app, text, parameters).await)
}

async fn asked(app: &TestApp, text: &str, parameters: &Map<String, Value>) -> Document {
    let body = json!({"query": text, "parameters": parameters, "dryRun": true, "timeout": 10});
    let answer = app.post("/api/query").json(&body).send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{text}: {error}: {answer}"))
}

fn said(document: &Document) -> Said {
    if let Some(error) = &document.error {
        let state = error["sqlState"].as_str().map_or_else(|| error.to_string(), str::to_owned);
        let message = error["message"].as_str().unwrap();
        let position = message.rsplit_once("(at position ");
        return Said::Refused {
            state,
            position: position.and_then(|(_, rest)| rest.trim_end_matches(')').parse().ok()),
        };
    }
    let result = document.results.last().unwrap();
    if let Ok(count) = u64::try_from(result.affected)
        && result.schema.is_empty()
    {
        return Said::Changed(count);
    }
    let labels = result.schema.iter().map(|column| column["columnLabel"].as_str().unwrap().to_owned()).collect();
    let row = |row: &Vec<Box<RawValue>>| {
        let cells = row.iter().zip(&result.schema);
        cells.map(|(cell, column)| shown(cell.get(), column["dataTypeName"].as_str().unwrap())).collect()
    };
    Said::Rows { labels, rows: result.rows.iter().map(row).collect() }
}

/// What `/api/query` answers with; numbers keep all their digits.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    results: Vec<Answer>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Answer {
    schema: Vec<Value>,
    rows: Vec<Vec<Box<RawValue>>>,
    #[serde(rename = "affectedRows")]
    affected: i64,
}

/// A value as the server prints it.
fn shown(cell: &str, type_: &str) -> Option<String> {
    let text = match cell {
        "null" => return None,
        "true" => return Some("t".to_owned()),
        "false" => return Some("f".to_owned()),
        cell if cell.starts_with('"') => serde_json::from_str(cell).unwrap(),
        number => number.to_owned(),
    };
    Some(match type_ {
        "BINARY" => {
            let octets = base64::engine::general_purpose::STANDARD.decode(&text).unwrap();
            octets.iter().fold("\\x".to_owned(), |hex, octet| format!("{hex}{octet:02x}"))
        }
        "TIMESTAMP" => text.replacen('T', " ", 1).replace('Z', "+00"),
        _ => text,
    })
}

/// Whether both are one value: arrays are told as JSON, and the digits of a floating number are those of its
/// shortest form.
fn is_same(ours: Option<&String>, theirs: Option<&String>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return ours.is_none() && theirs.is_none() };
    if ours == theirs {
        return true;
    }
    // Only floating numbers are told with an exponent or without.
    if let (Ok(ours), Ok(theirs)) = (ours.parse::<f64>(), theirs.parse::<f64>())
        && ours.to_bits() == theirs.to_bits()
    {
        return true;
    }
    if !ours.starts_with('[') || !theirs.contains('{') {
        return false;
    }
    // Bounds in front of an array are not told.
    let theirs =
        theirs.split_once('=').filter(|(bounds, _)| bounds.starts_with('[')).map_or(&**theirs, |(_, array)| array);
    let bare = |text: &str| -> String {
        let bare = text.chars().filter(|c| !matches!(c, '{' | '}' | '[' | ']' | '"' | '\\' | ' '));
        format!("{},", bare.collect::<String>())
            .replace(".0,", ",")
            .to_lowercase()
            .replace("true", "t")
            .replace("false", "f")
            .replace('t', " ")
            .replace('z', "+00")
    };
    bare(ours) == bare(theirs)
}

fn agree(ours: &Said, theirs: &Said, is_ordered: bool, moved: bool) -> bool {
    match (ours, theirs) {
        (Said::Rows { labels, rows }, Said::Rows { labels: their_labels, rows: their_rows }) => {
            let same = |rows: &[Vec<Option<String>>], theirs: &[Vec<Option<String>>]| {
                let cells = |(ours, theirs): (&Vec<Option<String>>, &Vec<Option<String>>)| {
                    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| is_same(a.as_ref(), b.as_ref()))
                };
                rows.len() == theirs.len() && rows.iter().zip(theirs).all(cells)
            };
            let sorted = |rows: &[Vec<Option<String>>]| {
                let mut rows = rows.to_vec();
                rows.sort();
                rows
            };
            labels == their_labels
                && (same(rows, their_rows) || (!is_ordered && same(&sorted(rows), &sorted(their_rows))))
        }
        (Said::Refused { state, position }, Said::Refused { state: their_state, position: theirs }) => {
            state == their_state && (position == theirs || moved)
        }
        // How many rows a definition has made is not told.
        (Said::Changed(0), Said::Changed(_)) => true,
        (ours, theirs) => ours == theirs,
    }
}

/// Where two answers differ first.
fn difference(ours: &Said, theirs: &Said) -> String {
    if let (Said::Rows { labels, rows }, Said::Rows { labels: their_labels, rows: their_rows }) = (ours, theirs)
        && labels == their_labels
        && rows.len() == their_rows.len()
    {
        for (row, (ours, theirs)) in rows.iter().zip(their_rows).enumerate() {
            for (column, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                if !is_same(ours.as_ref(), theirs.as_ref()) {
                    return format!("row {row}, column {column}: {ours:?} for {theirs:?}");
                }
            }
        }
    }
    let cut = |said: &Said| format!("{said:?}").chars().take(600).collect::<String>();
    format!("{} for {}", cut(ours), cut(theirs))
}

/// A statement as a caller writes it, and how it differs from `text`.
struct Written {
    text: String,
    parameters: Map<String, Value>,
}

/// Rewrites what stands behind FROM or JOIN, and numbers behind a comparison.
fn written(text: &str, tables: &[String], dice: &mut Random) -> Written {
    let mut written = Written { text: String::new(), parameters: Map::new() };
    let numbers = dice.below(3) == 0;
    // A name with the connection in front is never that of a list of WITH.
    let names = if text.to_lowercase().contains("with ") { 0 } else { dice.below(4) };
    let mut before = String::new();
    for piece in text.split_inclusive([' ', '\n', ',', '(', ')', ';']) {
        let (word, end) = piece.split_at(piece.trim_end_matches([' ', '\n', ',', '(', ')', ';']).len());
        let in_text = written.text.matches('\'').count() % 2 == 1;
        let is_table =
            !in_text && matches!(before.as_str(), "from" | "join") && tables.iter().any(|table| table == word);
        let is_number = !in_text && numbers && matches!(before.as_str(), "=" | "<" | ">" | "<=" | ">=" | "<>");
        let value = word.parse::<i32>().ok().filter(|_| is_number && !end.starts_with('('));
        match value {
            Some(value) => {
                let name = format!("@p{}", written.parameters.len());
                written.text.push_str(&name);
                written.parameters.insert(name, json!({"dataType": 8, "value": value}));
            }
            None if is_table && names == 1 => written.text.push_str(&format!("shop.public.{word}")),
            None if is_table && names == 2 => written.text.push_str(&format!("[{word}]")),
            None if is_table && names == 3 => written.text.push_str(&format!("[shop].[public].[{word}]")),
            None => written.text.push_str(word),
        }
        written.text.push_str(end);
        if !word.is_empty() {
            before = word.to_lowercase();
        } else if end != " " && end != "\n" {
            before.clear();
        }
    }
    written
}

/// The statements of the corpus without values of their own (`walls/corpus`).
fn corpus() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls/corpus");
    let mut all = Vec::new();
    for file in ["selects.sql", "tools.sql", "writes.sql"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let blocks = text.split("\n--# ").skip(1).filter_map(|block| block.split_once('\n'));
        all.extend(
            blocks
                .map(|(_, text)| text.trim().to_owned())
                .filter(|text| !text.starts_with("--@") && !text.contains("SELECT [")),
        );
    }
    all
}

async fn service() -> (TestApp, Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone = ''UTC''', current_database()); END $$; SET TimeZone = 'UTC'").await.unwrap();
    admin.batch_execute(SETTINGS).await.unwrap();
    (fixture::with_postgres(&url, "access = \"read-write\"").await, admin)
}

#[actix_web::test]
async fn answers_are_the_server_s() {
    let (app, admin) = service().await;
    admin.batch_execute("DROP TABLE orders, customers CASCADE").await.unwrap();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/walls/corpus");
    admin.batch_execute(&fs::read_to_string(folder.join("fixture.sql")).unwrap()).await.unwrap();
    let named =
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v')";
    let tables: Vec<String> = admin.query(named, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let mut corpus = corpus();
    // Chance may say the same twice.
    corpus.retain(|text| !["random()", "tablesample"].iter().any(|word| text.to_lowercase().contains(word)));
    assert!(corpus.len() > 200, "{}", corpus.len());
    let (mut dice, count) = (Random::seeded("answers"), cases(600));
    let (mut answers, mut refusals, mut forms, mut wrong) = (0, 0, 0, Vec::new());
    for number in 0..count {
        // Each of them once as it stands.
        let text = corpus.get(number).cloned().unwrap_or_else(|| corpus[dice.below(corpus.len())].clone());
        let text = match dice.below(8) {
            // What is misspelt is refused in the same place. Of an EXPLAIN whose options nobody understands it is
            // said first that it may write.
            0 if number >= corpus.len() && !text.starts_with("EXPLAIN") => {
                let words: Vec<&str> = text.split(' ').collect();
                let left_out = dice.below(words.len());
                let kept = words.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, word)| *word);
                // What stands in brackets is a name here where it is none of the server's.
                if text.contains('[') { text } else { kept.collect::<Vec<_>>().join(" ") }
            }
            _ => text,
        };
        let written = if number < corpus.len() {
            Written { text: text.clone(), parameters: Map::new() }
        } else {
            written(&text, &tables, &mut dice)
        };
        // Of the server's own database there is no other name.
        let own = text.replace("\"shop\".", "").replace("shop.", "");
        let theirs = undone(&admin, &own).await;
        // What tells the time, or chance, or the plan's costs is another each time.
        if undone(&admin, &own).await != theirs {
            continue;
        }
        let document = asked(&app, &written.text, &written.parameters).await;
        let ours = said(&document);
        if let (None, [answer]) = (&document.error, document.results.as_slice())
            && dice.once_in(4)
        {
            let form = dice.one(&["text/csv", "application/x-ndjson"]);
            let asked = (written.text.as_str(), &written.parameters);
            wrong.extend(
                forms::difference(&app, asked, answer, form).await.map(|told| format!("{}\n    {told}", written.text)),
            );
            forms += 1;
        }
        let is_ordered = text.to_lowercase().contains("order by");
        if agree(&ours, &theirs, is_ordered, written.text != own) {
            *(if matches!(ours, Said::Refused { .. }) { &mut refusals } else { &mut answers }) += 1;
        } else {
            wrong.push(format!("{}\n    {}", written.text, difference(&ours, &theirs)));
        }
    }
    say(&format!("{answers} answers, {forms} of them in another form, {refusals} refusals, {} differ", wrong.len()));
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
