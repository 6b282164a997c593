//! The forms of a single result, what stands in for a failure in each, and compression that does
//! not hold the stream back.

use std::io::Read;

use flate2::read::GzDecoder;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;

const CSV: &str = "text/csv";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const NDJSON: &str = "application/x-ndjson";
/// Fails at its 2,000th row: by then the status has gone out.
const FAILING: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
    SELECT i, CASE WHEN i = 2000 THEN abs(-9223372036854775808) ELSE i END AS same FROM n";
/// Never ends by itself.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

async fn query(app: &TestApp, accept: &str, query: &str) -> Response {
    app.post("/api/query").header("accept", accept).json(&json!({"query": query})).send().await.unwrap()
}

async fn text(app: &TestApp, accept: &str, sql: &str) -> String {
    let response = query(app, accept, sql).await;
    assert_eq!(response.status(), 200);
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with(accept));
    response.text().await.unwrap()
}

async fn rows_in_each_form(app: &TestApp) {
    let orders = "SELECT id, total, placed, 'a, \"b\"' AS \"a,b\", '' AS id FROM orders ORDER BY 1 LIMIT 2";
    assert_eq!(
        text(app, CSV, orders).await,
        "id,total,placed,\"a,b\",id\r\n1,10.50,2026-01-02,\"a, \"\"b\"\"\",\"\"\r\n2,0.10,,\"a, \"\"b\"\"\",\"\"\r\n"
    );
    assert_eq!(
        text(app, NDJSON, orders).await,
        concat!(
            r#"{"id":1,"total":10.50,"placed":"2026-01-02","a,b":"a, \"b\"","id_2":""}"#,
            "\n",
            r#"{"id":2,"total":0.10,"placed":null,"a,b":"a, \"b\"","id_2":""}"#,
            "\n"
        )
    );
    assert_eq!(text(app, CSV, "SELECT name FROM customers WHERE 1 = 0").await, "name\r\n");
    assert_eq!(text(app, NDJSON, "SELECT name FROM customers WHERE 1 = 0").await, "");
    let update = "UPDATE orders SET total = total + 1 WHERE customer_id = 1";
    assert_eq!(text(app, CSV, update).await, "affectedRows\r\n2\r\n");
    assert_eq!(text(app, NDJSON, update).await, "{\"affectedRows\":2}\n");
    // A failure before the first byte is an error in every form.
    let (status, answer) = read(query(app, CSV, "SELECT nope FROM customers").await).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)));
    let tables = app.get("/api/tables?tableName=orders").header("accept", CSV).send().await.unwrap();
    let tables = tables.text().await.unwrap();
    assert!(
        tables.starts_with("TABLE_CATALOG,TABLE_SCHEMA,TABLE_NAME,TABLE_TYPE,REMARKS,ROW_ESTIMATE\r\nshop,"),
        "{tables}"
    );
}

#[actix_web::test]
async fn rows_in_each_form_on_sqlite() {
    rows_in_each_form(&fixture::on_sqlite().await).await;
}

#[actix_web::test]
async fn rows_in_each_form_on_postgres() {
    let app = fixture::on_postgres().await;
    rows_in_each_form(&app).await;
    let odd = "SELECT true AS a, NULL::text AS b, 'NaN'::float8 AS c, '\\x00ff'::bytea AS d, ''::bytea AS e, '{\"x\": 1}'::jsonb AS f";
    assert_eq!(text(&app, CSV, odd).await, "a,b,c,d,e,f\r\ntrue,,NaN,AP8=,\"\",\"{\"\"x\"\": 1}\"\r\n");
    assert_eq!(
        text(&app, NDJSON, odd).await,
        "{\"a\":true,\"b\":null,\"c\":\"NaN\",\"d\":\"AP8=\",\"e\":\"\",\"f\":\"{\\\"x\\\": 1}\"}\n"
    );
}

#[actix_web::test]
async fn what_no_form_fits_is_refused_before_it_runs() {
    let app = fixture::on_sqlite().await;
    let refused = query(&app, "application/xml", "DELETE FROM orders").await;
    let (status, answer) = read(refused).await;
    assert_eq!((status, &answer["error"]["code"]), (406, &json!(1000)), "{answer}");
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

#[actix_web::test]
async fn several_results_are_refused_before_anything_runs_where_one_has_room() {
    let app = fixture::on_sqlite().await;
    let script = json!({"query": "DELETE FROM orders; SELECT 1"});
    let sets = json!({"query": "DELETE FROM orders WHERE id = @id", "parameters": [{"id": 1}, {"id": 2}]});
    for accept in [CSV, NDJSON, ARROW] {
        for (path, body) in [("/api/query", &script), ("/api/batch", &sets)] {
            let (status, answer) = read(app.post(path).header("accept", accept).json(body).send().await.unwrap()).await;
            assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{accept} {path}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().starts_with("Accept: "), "{answer}");
        }
        let one = json!({"query": "DELETE FROM orders WHERE id = @id", "parameters": [{"id": 99}]});
        let response = app.post("/api/batch").header("accept", accept).json(&one).send().await.unwrap();
        assert_eq!(response.status(), 200);
    }
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
}

#[actix_web::test]
async fn a_failure_behind_the_first_row_is_told_in_each_form() {
    let app = fixture::on_sqlite().await;
    let lines = text(&app, NDJSON, FAILING).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2000, "1,999 rows and the error");
    assert_eq!(lines[1999]["error"]["code"], 1400);
    // CSV has no place for it: the client sees that its transfer is not complete.
    let mut response = query(&app, CSV, FAILING).await;
    assert_eq!(response.status(), 200);
    let mut received = Vec::new();
    let failed = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => received.extend_from_slice(&chunk),
            Ok(None) => break false,
            Err(_) => break true,
        }
    };
    assert!(failed, "a broken transfer looked complete");
    assert!(received.starts_with(b"i,same\r\n1,1\r\n"));
}

/// Appends to `plain` what `packed` holds.
fn unpack(encoding: &str, packed: &[u8], plain: &mut Vec<u8>) -> std::io::Result<usize> {
    match encoding {
        "zstd" => zstd::Decoder::new(packed)?.read_to_end(plain),
        _ => GzDecoder::new(packed).read_to_end(plain),
    }
}

#[actix_web::test]
async fn compression_does_not_hold_the_stream_back() {
    let app = fixture::with_server("compression = true", "access = \"read-write\"").await;
    for (accept, encodings, encoding) in [
        (CSV, "br;q=1, gzip;q=0.5", "gzip"),
        (NDJSON, "gzip, zstd;q=0.9", "gzip"),
        ("application/json", "gzip, zstd", "zstd"),
        (CSV, "gzip;q=0.1, br, zstd;q=0.2", "zstd"),
    ] {
        let body = json!({"query": ENDLESS});
        let request = app.post("/api/query").header("accept", accept).header("accept-encoding", encodings);
        let mut response = request.json(&body).send().await.unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding, "{encodings}");
        // The statement has no end, so that whatever comes has come before it.
        let (mut packed, mut plain) = (Vec::new(), Vec::new());
        while !String::from_utf8_lossy(&plain).contains("100") {
            packed.extend_from_slice(&response.chunk().await.unwrap().expect("it has no end"));
            plain.clear();
            // What follows is missing, and that is all that is wrong with it.
            assert!(unpack(encoding, &packed, &mut plain).is_err());
        }
    }
}

#[actix_web::test]
async fn compressed_answers_are_the_same_answers() {
    let app = fixture::with_server("compression = true", "access = \"read-write\"").await;
    let get =
        async |encodings: &str| app.get("/api/columns").header("accept-encoding", encodings).send().await.unwrap();
    let plain = get("identity").await;
    assert!(plain.headers().get("content-encoding").is_none());
    assert!(plain.headers()["vary"].to_str().unwrap().contains("accept-encoding"));
    let plain = plain.bytes().await.unwrap();
    for encoding in ["gzip", "zstd"] {
        let packed = get(encoding).await;
        assert_eq!(packed.headers()["content-encoding"], encoding);
        let packed = packed.bytes().await.unwrap();
        let mut unpacked = Vec::new();
        unpack(encoding, &packed, &mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
        assert!(packed.len() * 2 < plain.len(), "{encoding}: {} of {} bytes", packed.len(), plain.len());
    }
    // Neither what is refused, nor what is too small, is packed.
    assert!(get("gzip;q=0").await.headers().get("content-encoding").is_none());
    let small = app.get("/api/connections").header("accept-encoding", "gzip").send().await.unwrap();
    assert!(small.headers().get("content-encoding").is_none());
}
