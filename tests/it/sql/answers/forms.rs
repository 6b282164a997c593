//! The same answer in each form that holds one result: what the document tells of a statement, CSV,
//! newline-delimited JSON and Arrow tell too, value by value, NULL and empty texts apart.

use std::collections::HashMap;
use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use super::said::{Answer, Document, request, said};
use crate::support::app::TestApp;

const ARROW: &str = "application/vnd.apache.arrow.stream";
pub(super) const FORMS: [&str; 3] = ["text/csv", "application/x-ndjson", ARROW];

/// Whether a row behind the first one may have a value of another type than its column's.
fn may_not_fit(answer: &Answer) -> bool {
    let fits = |cell: &str, type_: &str| match (cell, type_) {
        ("null", _) | (_, "VARCHAR") => true,
        ("true" | "false", type_) => type_ == "BOOLEAN",
        (cell, "BIGINT") => cell.parse::<i64>().is_ok(),
        (cell, "DOUBLE") => cell.parse::<f64>().is_ok(),
        (cell, "BINARY") => cell.starts_with('"') && !cell.starts_with("\"X'"),
        // The others have room for some digits, days or letters only.
        _ => false,
    };
    let types = answer.types();
    answer.rows.iter().skip(1).any(|row| row.iter().zip(&types).any(|(cell, type_)| !fits(cell.get(), type_)))
}

/// In what one of the forms differs from `document`, what this statement is answered with.
pub(super) async fn difference(
    app: &TestApp,
    (text, parameters): (&str, &str),
    document: &Document,
    form: &str,
) -> Option<String> {
    // Broken off at once, it may be that nothing arrives at all.
    let (status, told) = match request(app, text, parameters).header("accept", form).send().await {
        Ok(response) => (response.status().as_u16(), response.bytes().await),
        Err(error) => (0, Err(error)),
    };
    let shown = |told: &[u8]| {
        format!("{form}: {status}: {}", String::from_utf8_lossy(told).chars().take(600).collect::<String>())
    };
    let Ok(told) = told else {
        // A failure behind the first octet breaks these off. Of Arrow's it may be a value that its column has no room for,
        // which SQLite may hold in a later row.
        let may_fail = document.error.is_some() || (form == ARROW && document.results.last().is_some_and(may_not_fit));
        return (!may_fail || form == "application/x-ndjson").then(|| format!("{form}: broken off"));
    };
    let error = || {
        let last = told.trim_ascii_end().rsplit(|octet| *octet == b'\n').next()?;
        Some(serde_json::from_slice::<Value>(last).ok()?.get("error")?.clone())
    };
    // What a type of Arrow's has no room for is told with its remedy.
    let is_wide = || {
        let has_no_room =
            |error: &Value| error["message"].as_str().is_some_and(|words| words.contains("has no room for"));
        form == ARROW && error().as_ref().is_some_and(has_no_room)
    };
    let is_one = |error: &Value| error["message"].as_str().is_some_and(|words| words.contains("room for one result"));
    if document.error.is_some() {
        // Before anything is run it is said that there would be several.
        if error().is_some_and(|error| is_one(&error)) {
            return (!text.contains(';')).then(|| shown(&told));
        }
        let place = |error: &Value| [error["code"].clone(), error["sqlState"].clone()];
        let (ours, meant) = (error().as_ref().map(place), document.error.as_ref().map(place));
        return (ours != meant && !is_wide()).then(|| shown(&told));
    }
    let [answer] = document.results.as_slice() else {
        // There is room for one.
        return (!error().is_some_and(|error| is_one(&error))).then(|| shown(&told));
    };
    if status != 200 {
        return (!is_wide()).then(|| shown(&told));
    }
    let labels = answer.labels();
    let same = match form {
        "text/csv" => csv(&String::from_utf8_lossy(&told), &labels, answer),
        ARROW => arrow(&told, answer),
        _ => lines(&String::from_utf8_lossy(&told), &labels, answer),
    };
    (!same).then(|| format!("{} for {:?}", shown(&told), said(document)).chars().take(1200).collect())
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

fn arrow(told: &[u8], answer: &Answer) -> bool {
    let Ok(reader) = StreamReader::try_new(Cursor::new(told), None) else { return false };
    let schema = reader.schema();
    let Ok(batches) = reader.collect::<Result<Vec<RecordBatch>, _>>() else { return false };
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if answer.schema.is_empty() {
        return rows == 1
            && schema.field(0).name() == "affectedRows"
            && batches[0].column(0).as_primitive::<Int64Type>().value(0) == answer.affected;
    }
    let labels = answer.labels();
    let is_first = |at: usize| !labels[..at].contains(&labels[at]);
    let named = (0..labels.len()).all(|at| !is_first(at) || schema.field(at).name() == labels[at]);
    let mut cells = answer.rows.iter();
    named
        && schema.fields().len() == labels.len()
        && rows == answer.rows.len()
        && batches.iter().all(|batch| {
            (0..batch.num_rows()).all(|row| {
                let cells = cells.next().unwrap();
                cells.iter().enumerate().all(|(column, cell)| is_cell(batch.column(column), row, cell.get()))
            })
        })
}

/// Whether a value of an array is what `cell` tells as JSON.
fn is_cell(column: &ArrayRef, row: usize, cell: &str) -> bool {
    if column.is_null(row) || cell == "null" {
        return column.is_null(row) && cell == "null";
    }
    let text = || serde_json::from_str::<String>(cell).unwrap_or_else(|_| cell.to_owned());
    let number = |cell: &str| text().trim_start_matches('+').parse::<f64>().ok().filter(|_| !cell.is_empty());
    match column.data_type() {
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).to_string() == cell,
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string() == cell,
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string() == cell,
        DataType::Float32 => {
            let value = column.as_primitive::<Float32Type>().value(row);
            text()
                .parse::<f32>()
                .is_ok_and(|told| told.to_bits() == value.to_bits() || (told.is_nan() && value.is_nan()))
        }
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            number(cell).is_some_and(|told| told.to_bits() == value.to_bits() || (told.is_nan() && value.is_nan()))
        }
        DataType::Boolean => column.as_boolean().value(row).to_string() == cell,
        DataType::Binary => STANDARD.encode(column.as_binary::<i32>().value(row)) == text(),
        DataType::Date32 => {
            let (day, era) = day(i64::from(column.as_primitive::<Date32Type>().value(row)));
            format!("{day}{era}") == text()
        }
        DataType::Time64(_) => clock(column.as_primitive::<Time64MicrosecondType>().value(row)) == text(),
        DataType::Timestamp(_, zone) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
            let (day, era) = day(days);
            let (between, utc) = if era.is_empty() { ('T', "Z") } else { (' ', "+00") };
            format!("{day}{between}{}{}{era}", clock(rest), if zone.is_some() { utc } else { "" }) == text()
        }
        DataType::Decimal128(..) => column.as_primitive::<Decimal128Type>().value_as_string(row) == text(),
        DataType::Decimal256(..) => column.as_primitive::<Decimal256Type>().value_as_string(row) == text(),
        DataType::Utf8 => column.as_string::<i32>().value(row) == text(),
        other => panic!("{other}"),
    }
}

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// A day since 1970 as it is written.
fn day(days: i64) -> (String, &'static str) {
    // Years that begin in March, in eras of four hundred (Howard Hinnant, `civil_from_days`).
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + i64::from(month < 3);
    // There is no year 0.
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    (format!("{year:04}-{month:02}-{date:02}"), era)
}

/// Microseconds since midnight as they are written.
fn clock(micros: i64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    let fraction = fraction.trim_end_matches('0');
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}
