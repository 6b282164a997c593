//! What came of a statement, by whomever it was asked, and whether two say the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::app::TestApp;

/// What came of a statement: labels and rows of the last result, and how many rows it changed; or SQLSTATE and
/// position.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Rows { labels: Vec<String>, rows: Vec<Vec<Option<String>>> },
    Changed(u64),
    Refused { state: String, position: Option<usize> },
}

/// What `/api/query` answers with; numbers keep all their digits.
#[derive(Deserialize)]
pub(super) struct Document {
    #[serde(default)]
    pub(super) results: Vec<Answer>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) schema: Vec<Value>,
    pub(super) rows: Vec<Vec<Box<RawValue>>>,
    #[serde(rename = "affectedRows")]
    pub(super) affected: i64,
}

impl Answer {
    pub(super) fn labels(&self) -> Vec<&str> {
        self.schema.iter().map(|column| column["columnLabel"].as_str().unwrap()).collect()
    }

    pub(super) fn types(&self) -> Vec<&str> {
        self.schema.iter().map(|column| column["dataTypeName"].as_str().unwrap()).collect()
    }
}

/// No parameters.
pub(super) const NONE: &str = "{}";

/// What asks for a statement of which nothing is to stay. Its parameters are JSON, in which numbers keep all their
/// digits.
pub(super) fn request(app: &TestApp, text: &str, parameters: &str) -> RequestBuilder {
    let body = format!("{{\"query\":{},\"parameters\":{parameters},\"dryRun\":true,\"timeout\":60}}", json!(text));
    app.post("/api/query").header("content-type", "application/json").body(body)
}

pub(super) async fn asked(app: &TestApp, text: &str, parameters: &str) -> Document {
    let answer = request(app, text, parameters).send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{text}: {error}: {answer}"))
}

/// SQLSTATE and position of an error as `/api` tells it.
pub(super) fn refused(error: &Value) -> Said {
    let state = error["sqlState"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    let position = error["message"].as_str().unwrap().rsplit_once("(at position ");
    Said::Refused { state, position: position.and_then(|(_, rest)| rest.trim_end_matches(')').parse().ok()) }
}

/// The last result of a document, or its error.
pub(super) fn said(document: &Document) -> Said {
    if let Some(error) = &document.error {
        return refused(error);
    }
    let result = document.results.last().unwrap();
    if let Ok(count) = u64::try_from(result.affected)
        && result.schema.is_empty()
    {
        return Said::Changed(count);
    }
    let labels = result.labels().into_iter().map(str::to_owned).collect();
    let types = result.types();
    let row = |row: &Vec<Box<RawValue>>| row.iter().zip(&types).map(|(cell, type_)| shown(cell.get(), type_)).collect();
    Said::Rows { labels, rows: result.rows.iter().map(row).collect() }
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
        "BINARY" => hex(&text).unwrap(),
        "TIMESTAMP" => stamped(&text),
        _ => text,
    })
}

/// Octets in base64 as the server prints them.
fn hex(base64: &str) -> Option<String> {
    let octets = STANDARD.decode(base64).ok()?;
    Some(octets.iter().fold("\\x".to_owned(), |hex, octet| format!("{hex}{octet:02x}")))
}

/// A timestamp as the server prints it.
fn stamped(text: &str) -> String {
    text.replacen('T', " ", 1).replace('Z', "+00")
}

/// Whether both are one value: arrays are told as JSON, and the digits of a floating number are those of its
/// shortest form.
pub(super) fn is_same(ours: Option<&str>, theirs: Option<&str>) -> bool {
    let (Some(ours), Some(theirs)) = (ours, theirs) else { return ours.is_none() && theirs.is_none() };
    ours == theirs || is_same_number(ours, theirs) || is_same_array(ours, theirs)
}

/// Only floating numbers are told with an exponent or without.
fn is_same_number(ours: &str, theirs: &str) -> bool {
    matches!((ours.parse::<f64>(), theirs.parse::<f64>()), (Ok(ours), Ok(theirs)) if ours.to_bits() == theirs.to_bits())
}

/// What stands in an array as the server prints it.
enum Element {
    Null,
    One(String),
    List(Vec<Self>),
}

fn is_same_array(ours: &str, theirs: &str) -> bool {
    // Bounds in front of an array are not told. Boxes are told apart by another character than all else.
    let bounded = theirs.split_once('=').filter(|(bounds, _)| bounds.starts_with('['));
    let theirs = bounded.map_or(theirs, |(_, array)| array);
    ours.starts_with('[')
        && theirs.starts_with('{')
        && [',', ';'].into_iter().any(|between| {
            let mut rest = theirs.chars().peekable();
            let read = list(&mut rest, between).filter(|_| rest.peek().is_none());
            read.is_some_and(|list| is_same_element(ours, &list))
        })
}

fn list(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, between: char) -> Option<Element> {
    rest.next_if_eq(&'{')?;
    let mut elements = Vec::new();
    if rest.next_if_eq(&'}').is_some() {
        return Some(Element::List(elements));
    }
    loop {
        elements.push(match rest.peek()? {
            '{' => list(rest, between)?,
            '"' => {
                rest.next();
                let mut text = String::new();
                loop {
                    match rest.next()? {
                        '"' => break Element::One(text),
                        '\\' => text.push(rest.next()?),
                        other => text.push(other),
                    }
                }
            }
            _ => {
                let mut text = String::new();
                while let Some(next) = rest.next_if(|next| *next != between && *next != '}') {
                    text.extend(if next == '\\' { rest.next() } else { Some(next) });
                }
                if text == "NULL" { Element::Null } else { Element::One(text) }
            }
        });
        match rest.next()? {
            '}' => return Some(Element::List(elements)),
            next if next == between => {}
            _ => return None,
        }
    }
}

fn is_same_element(ours: &str, theirs: &Element) -> bool {
    match theirs {
        Element::Null => ours == "null",
        Element::List(theirs) => serde_json::from_str::<Vec<&RawValue>>(ours).is_ok_and(|ours| {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(ours, theirs)| is_same_element(ours.get(), theirs))
        }),
        // A JSON value stands there as it is, and so does an array of a domain of arrays.
        Element::One(theirs) if ours == theirs.trim() || is_same_array(ours, theirs) => true,
        Element::One(theirs) => match serde_json::from_str::<String>(ours) {
            Ok(text) => text == *theirs || stamped(&text) == *theirs || hex(&text).as_ref() == Some(theirs),
            Err(_) => match ours {
                "true" => theirs == "t",
                "false" => theirs == "f",
                number => is_same_number(number, theirs),
            },
        },
    }
}

/// Whether two say the same. Where the text was `moved` the position of an error is another.
pub(super) fn agree(ours: &Said, theirs: &Said, is_ordered: bool, moved: bool) -> bool {
    match (ours, theirs) {
        (Said::Rows { labels, rows }, Said::Rows { labels: their_labels, rows: their_rows }) => {
            let same = |rows: &[Vec<Option<String>>], theirs: &[Vec<Option<String>>]| {
                let cells = |(ours, theirs): (&Vec<Option<String>>, &Vec<Option<String>>)| {
                    ours.len() == theirs.len()
                        && ours.iter().zip(theirs).all(|(ours, theirs)| is_same(ours.as_deref(), theirs.as_deref()))
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
pub(super) fn difference(ours: &Said, theirs: &Said) -> String {
    if let (Said::Rows { labels, rows }, Said::Rows { labels: their_labels, rows: their_rows }) = (ours, theirs)
        && labels == their_labels
        && rows.len() == their_rows.len()
    {
        for (row, (ours, theirs)) in rows.iter().zip(their_rows).enumerate() {
            for (column, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                if !is_same(ours.as_deref(), theirs.as_deref()) {
                    return format!("row {row}, column {column}: {ours:?} for {theirs:?}");
                }
            }
        }
    }
    let cut = |said: &Said| format!("{said:?}").chars().take(600).collect::<String>();
    format!("{} for {}", cut(ours), cut(theirs))
}
