//! Results as Apache Arrow IPC streams, read back by Arrow's own reader.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, TimeUnit};
use reqwest::Response;
use serde_json::json;

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, on_both};

const ARROW: &str = "application/vnd.apache.arrow.stream";

on_both! {
    rows_and_counts_are_record_batches
    the_first_batch_does_not_wait_for_the_last
    a_failure_breaks_the_stream_off
}

async fn query(app: &TestApp, query: &str) -> Response {
    app.post("/api/query").header("accept", ARROW).json(&json!({"query": query})).send().await.unwrap()
}

async fn batches(app: &TestApp, text: &str) -> Vec<RecordBatch> {
    let response = query(app, text).await;
    assert_eq!((response.status().as_u16(), &response.headers()["content-type"]), (200, &ARROW.parse().unwrap()));
    let octets = response.bytes().await.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(octets.ends_with(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]), "the stream has its end");
    let reader = StreamReader::try_new(Cursor::new(octets), None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    if batches.is_empty() { vec![RecordBatch::new_empty(schema)] } else { batches }
}

async fn rows_and_counts_are_record_batches(app: &TestApp) {
    let found = batches(app, "SELECT id, name, city, id FROM customers ORDER BY id").await;
    let labels: Vec<String> = found[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(labels, ["id", "name", "city", "id_2"]);
    let names: Vec<Option<&str>> = found.iter().flat_map(|batch| batch.column(1).as_string::<i32>().iter()).collect();
    assert_eq!(names, [Some("Łukasz"), Some("José"), Some("美咲")]);
    let cities: Vec<Option<&str>> = found.iter().flat_map(|batch| batch.column(2).as_string::<i32>().iter()).collect();
    assert_eq!(cities, [Some("Gdańsk"), None, Some("東京")]);
    let none = batches(app, "SELECT id, name FROM customers WHERE id > 10").await;
    assert_eq!((none[0].num_rows(), none[0].num_columns()), (0, 2), "without rows there is still a schema");
    let changed = batches(app, "DELETE FROM orders WHERE id < 3").await;
    assert_eq!(changed[0].schema().field(0).name(), "affectedRows");
    assert_eq!(changed[0].column(0).as_primitive::<Int64Type>().value(0), 2);
}

async fn the_first_batch_does_not_wait_for_the_last(app: &TestApp) {
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' AS x FROM n";
    let mut response = query(app, endless).await;
    let mut octets = Vec::new();
    // The statement has no end, so that whatever comes has come before it.
    let rows = loop {
        octets.extend_from_slice(&response.chunk().await.unwrap().expect("it has no end"));
        let whole =
            StreamReader::try_new(Cursor::new(&octets), None).map(|reader| reader.map_while(Result::ok).count());
        if let Ok(batches @ 3..) = whole {
            break batches;
        }
    };
    assert!(rows >= 3);
}

async fn a_failure_breaks_the_stream_off(app: &TestApp) {
    // Many batches come before the failure: some of them have gone out by then.
    let failing = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200001) \
        SELECT i, abs(-9223372036854775807 - (CASE WHEN i = 200000 THEN 1 ELSE 0 END)) AS x FROM n";
    let request = app.post("/api/query").header("accept", ARROW).json(&json!({"query": failing}));
    // Broken off at once, it may also be that nothing arrives at all.
    let received = match request.send().await {
        Ok(response) => response.bytes().await,
        Err(error) => Err(error),
    };
    assert!(received.is_err(), "a broken transfer looked complete");
    let refused = query(app, "SELECT nope FROM orders").await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["content-type"]),
        (400, &"application/json".parse().unwrap())
    );
}

#[actix_web::test]
async fn types_of_postgresql_are_as_narrow_as_their_values() {
    let app = fixture::on_postgres().await;
    let micros = |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    for (value, type_, shown) in [
        ("1::int2", DataType::Int16, "1"),
        ("-2::int4", DataType::Int32, "-2"),
        ("9223372036854775807::int8", DataType::Int64, "9223372036854775807"),
        ("0.5::float4", DataType::Float32, "0.5"),
        ("'-Infinity'::float8", DataType::Float64, "-inf"),
        ("true", DataType::Boolean, "true"),
        ("'\\x00ff'::bytea", DataType::Binary, "[0, 255]"),
        ("'1969-12-31'::date", DataType::Date32, "-1"),
        ("'0001-12-31 BC'::date", DataType::Date32, "-719163"),
        ("'0001-12-31 BC'::timestamptz - interval '1 us'", micros(Some("UTC")), "-62135683200000001"),
        ("'23:59:59.000001'::time", DataType::Time64(TimeUnit::Microsecond), "86399000001"),
        ("'12:00+02'::timetz", DataType::Utf8, "12:00:00+02"),
        ("'2026-01-02 03:04:05.6'::timestamp", micros(None), "1767323045600000"),
        ("'1969-12-31 23:00-01'::timestamptz", micros(Some("UTC")), "0"),
        ("'-12.5'::numeric(10, 2)", DataType::Decimal128(10, 2), "-1250"),
        ("1::numeric(38, 0)", DataType::Decimal128(38, 0), "1"),
        ("0.1::numeric(50, 40)", DataType::Decimal256(50, 40), "1000000000000000000000000000000000000000"),
        ("1.50::numeric", DataType::Utf8, "1.50"),
        ("1::numeric(100, 0)", DataType::Utf8, "1"),
        ("'NaN'::numeric", DataType::Utf8, "NaN"),
        ("ARRAY[1, NULL]", DataType::Utf8, "[1,null]"),
        ("'{\"a\": 1}'::jsonb", DataType::Utf8, "{\"a\": 1}"),
        ("'1 day'::interval", DataType::Utf8, "1 day"),
        ("12.5::money", DataType::Utf8, "$12.50"),
    ] {
        let found = batches(&app, &format!("SELECT {value} AS v")).await;
        let schema = found[0].schema();
        assert_eq!(schema.field(0).data_type(), &type_, "{value}");
        let cells: Vec<String> = found.iter().flat_map(shown_cells).collect();
        assert_eq!(cells, [shown], "{value}");
    }
    let wide = batches(&app, &format!("SELECT '-{}'::numeric(76, 0) AS v", "9".repeat(76))).await;
    let value = wide[0].column(0).as_primitive::<Decimal256Type>().value(0);
    assert_eq!(value.to_string(), format!("-{}", "9".repeat(76)));
    // What a type has no room for is told with its remedy, before anything is sent.
    for (value, type_) in [
        ("'infinity'::date", DataType::Date32),
        ("'NaN'::numeric(5, 2)", DataType::Decimal128(5, 2)),
        ("'24:00'::time", DataType::Time64(TimeUnit::Microsecond)),
        ("'294276-12-31'::timestamp", micros(None)),
    ] {
        let response = query(&app, &format!("SELECT {value} AS v")).await;
        let (status, answer) = read(response).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)), "{value}: {answer}");
        let message = format!("column \"v\" holds a value in row 1 that Arrow's type {type_} has no room for");
        assert_eq!(answer["error"]["message"], json!(message));
        let hint = answer["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("cast this column to text") && hint.contains("application/json"), "{hint}");
    }
}

/// A value in the units of its type.
fn shown(column: &ArrayRef, row: usize) -> String {
    match column.data_type() {
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row).to_string(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Binary => format!("{:?}", column.as_binary::<i32>().value(row)),
        DataType::Date32 => column.as_primitive::<Date32Type>().value(row).to_string(),
        DataType::Time64(_) => column.as_primitive::<Time64MicrosecondType>().value(row).to_string(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(row).to_string(),
        DataType::Decimal128(..) => column.as_primitive::<Decimal128Type>().value(row).to_string(),
        DataType::Decimal256(..) => column.as_primitive::<Decimal256Type>().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        other => panic!("{other}"),
    }
}

/// The values of a batch's one column as text.
fn shown_cells(batch: &RecordBatch) -> Vec<String> {
    let column = batch.column(0);
    (0..column.len()).map(|row| if column.is_null(row) { "null".to_owned() } else { shown(column, row) }).collect()
}
