//! The same answer in each form that holds one result: what the document tells of a statement, CSV and
//! newline-delimited JSON tell too, value by value, NULL and empty texts apart.

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Answer;
use crate::support::app::TestApp;

/// In what one of the forms differs from `answer`, the only result of this statement.
pub(super) async fn difference(
    app: &TestApp,
    (text, parameters): (&str, &Map<String, Value>),
    answer: &Answer,
    form: &str,
) -> Option<String> {
    let body = json!({"query": text, "parameters": parameters, "dryRun": true, "timeout": 10});
    let response = app.post("/api/query").header("accept", form).json(&body).send().await.unwrap();
    let (status, told) = (response.status().as_u16(), response.text().await.unwrap());
    if status != 200 {
        return Some(format!("{form}: {status}: {told}"));
    }
    let labels: Vec<&str> = answer.schema.iter().map(|column| column["columnLabel"].as_str().unwrap()).collect();
    let same = if form == "text/csv" { csv(&told, &labels, answer) } else { lines(&told, &labels, answer) };
    (!same).then(|| format!("{form}: {}", told.chars().take(600).collect::<String>()))
}

/// The records of a text in CSV: fields, and whether each stands in quotes.
fn records(text: &str) -> Vec<Vec<(String, bool)>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    let mut within = false;
    while let Some(each) = rest.next() {
        match each {
            '"' if within && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => (within, quoted) = (!within, true),
            _ if within => field.push(each),
            ',' => record.push((std::mem::take(&mut field), std::mem::take(&mut quoted))),
            '\r' => {}
            '\n' => {
                record.push((std::mem::take(&mut field), std::mem::take(&mut quoted)));
                records.push(std::mem::take(&mut record));
            }
            each => field.push(each),
        }
    }
    assert!(!within && field.is_empty() && record.is_empty(), "the last record has no end: {text:?}");
    records
}

fn csv(told: &str, labels: &[&str], answer: &Answer) -> bool {
    let records = records(told);
    if labels.is_empty() {
        return told == format!("affectedRows\r\n{}\r\n", answer.affected);
    }
    let Some((header, rows)) = records.split_first() else { return false };
    let null = if labels.len() == 1 { "NULL" } else { "" };
    let is = |(field, quoted): &(String, bool), cell: &RawValue| match cell.get() {
        "null" => field == null && !quoted,
        cell if cell.starts_with('"') => {
            let text: String = serde_json::from_str(cell).unwrap();
            *field == text && (*quoted || text != null)
        }
        cell => field == cell,
    };
    header.iter().map(|(label, _)| label.as_str()).eq(labels.iter().copied())
        && rows.len() == answer.rows.len()
        && rows.iter().zip(&answer.rows).all(|(fields, cells)| {
            fields.len() == cells.len() && fields.iter().zip(cells).all(|(field, cell)| is(field, cell))
        })
}

fn lines(told: &str, labels: &[&str], answer: &Answer) -> bool {
    if labels.is_empty() {
        return told == format!("{{\"affectedRows\":{}}}\n", answer.affected);
    }
    let rows: Vec<HashMap<String, Box<RawValue>>> =
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Of equal labels the later ones are numbered.
    let is_first = |at: usize| !labels[..at].contains(&labels[at]);
    rows.len() == answer.rows.len()
        && rows.iter().zip(&answer.rows).all(|(row, cells)| {
            let same = |at: usize, cell: &RawValue| {
                !is_first(at) || row.get(labels[at]).is_some_and(|told| told.get() == cell.get())
            };
            row.len() == cells.len() && cells.iter().enumerate().all(|(at, cell)| same(at, cell))
        })
}
