//! Every type that PostgreSQL ships, through HTTP: expression, JSON and dataType in one table.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const SETUP: &str = "
CREATE TYPE mood AS ENUM ('sad', 'it''s \"ok\"');
CREATE DOMAIN positive AS numeric(12, 3) CHECK (VALUE > 0);
CREATE DOMAIN moods AS mood[];
CREATE TYPE pair AS (a int4, b text);
CREATE TYPE nested AS (p pair, t timestamptz[]);
CREATE TYPE span AS RANGE (subtype = float8);
CREATE TYPE temperature;
CREATE FUNCTION temperature_in(cstring) RETURNS temperature LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION temperature_out(temperature) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE temperature (INPUT = temperature_in, OUTPUT = temperature_out, LIKE = int4);
CREATE TABLE counted AS SELECT 1 AS n, 'sad'::mood AS feeling, 'a \"b\"'::text AS word, '2024-02-29'::date AS d
    FROM generate_series(1, 20);
ANALYZE counted;";

/// Expression, the JSON text of its value, and its dataType.
const CASES: &[(&str, &str, u8)] = &[
    ("true", "true", 14),
    ("NULL::bool", "null", 14),
    ("(-32768)::int2", "-32768", 7),
    ("2147483647", "2147483647", 8),
    ("9223372036854775807", "9223372036854775807", 9),
    ("4294967295::oid", "4294967295", 9),
    ("0.1::float4", "0.1", 10),
    ("'NaN'::float4", r#""NaN""#, 10),
    ("1e300::float8", "1e300", 11),
    ("'-infinity'::float8", r#""-Infinity""#, 11),
    ("1.10", "1.10", 13),
    ("123456789012345678901234567890.00000000000000000001", "123456789012345678901234567890.00000000000000000001", 13),
    ("'NaN'::numeric", r#""NaN""#, 13),
    ("'Infinity'::numeric", r#""Infinity""#, 13),
    ("1.5::positive", "1.500", 13),
    ("'é\"\\'::text", r#""é\"\\""#, 5),
    ("'a'::char(3)", r#""a  ""#, 5),
    ("'n'::name", r#""n""#, 5),
    ("'x'::\"char\"", r#""x""#, 5),
    (r"'\x00ff'::bytea", r#""AP8=""#, 1),
    ("'2024-02-29'::date", r#""2024-02-29""#, 15),
    ("'infinity'::date", r#""infinity""#, 15),
    ("'0044-03-15 BC'::date", r#""0044-03-15 BC""#, 15),
    ("'12345-01-02'::date", r#""12345-01-02""#, 15),
    ("'23:59:59.000001'::time", r#""23:59:59.000001""#, 16),
    ("'24:00'::time", r#""24:00:00""#, 16),
    ("'2024-01-02 03:04:05.678901'::timestamp", r#""2024-01-02T03:04:05.678901""#, 17),
    ("'2024-01-02 03:04:05+02'::timestamptz", r#""2024-01-02T01:04:05Z""#, 17),
    ("'-infinity'::timestamptz", r#""-infinity""#, 17),
    ("'6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11'::uuid", r#""6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11""#, 18),
    ("'{\"b\": 1.10,  \"a\": [null]}'::json", r#""{\"b\": 1.10,  \"a\": [null]}""#, 5),
    ("'{\"b\": 1.10}'::jsonb", r#""{\"b\": 1.10}""#, 5),
    ("'$.a ? (@ > 1)'::jsonpath", r#""$.\"a\"?(@ > 1)""#, 5),
    ("'<a>1</a>'::xml", r#""<a>1</a>""#, 5),
    ("interval '1 year 2 days 03:04:05.5'", r#""1 year 2 days 03:04:05.5""#, 5),
    ("12.5::money", r#""$12.50""#, 5),
    ("'10.0.0.0/8'::inet", r#""10.0.0.0/8""#, 5),
    ("'::1'::inet", r#""::1""#, 5),
    ("'10.0.0.0/8'::cidr", r#""10.0.0.0/8""#, 5),
    ("'08:00:2b:01:02:03'::macaddr", r#""08:00:2b:01:02:03""#, 5),
    ("'08:00:2b:01:02:03:04:05'::macaddr8", r#""08:00:2b:01:02:03:04:05""#, 5),
    ("B'101'", r#""101""#, 5),
    ("'1010'::varbit(8)", r#""1010""#, 5),
    ("'(1,2.5)'::point", r#""(1,2.5)""#, 5),
    ("'{1,2,3}'::line", r#""{1,2,3}""#, 5),
    ("'[(0,0),(1,1)]'::lseg", r#""[(0,0),(1,1)]""#, 5),
    ("'(1,1),(0,0)'::box", r#""(1,1),(0,0)""#, 5),
    ("'[(0,0),(1,1)]'::path", r#""[(0,0),(1,1)]""#, 5),
    ("'((0,0),(1,1))'::polygon", r#""((0,0),(1,1))""#, 5),
    ("'<(0,0),2>'::circle", r#""<(0,0),2>""#, 5),
    ("'a fat cat'::tsvector", r#""'a' 'cat' 'fat'""#, 5),
    ("'fat & !rat'::tsquery", r#""'fat' & !'rat'""#, 5),
    ("'16/B374D848'::pg_lsn", r#""16/B374D848""#, 5),
    ("'pg_class'::regclass", r#""pg_class""#, 5),
    ("'int4'::regtype", r#""integer""#, 5),
    ("'now'::regproc", r#""now""#, 5),
    ("'10:20:10,14'::pg_snapshot", r#""10:20:10,14""#, 5),
    ("'(0,1)'::tid", r#""(0,1)""#, 5),
    ("'5'::xid", r#""5""#, 5),
    ("'5'::xid8", r#""5""#, 5),
    ("'1 2'::int2vector", r#""1 2""#, 5),
    ("'[1,5)'::int4range", r#""[1,5)""#, 5),
    ("'empty'::tsrange", r#""empty""#, 5),
    ("'{[1,2),[5,)}'::int8multirange", r#""{[1,2),[5,)}""#, 5),
    ("'[1.5,2]'::span", r#""[1.5,2]""#, 5),
    ("'it''s \"ok\"'::mood", r#""it's \"ok\"""#, 5),
    ("ROW(1, 'x,y')::pair", r#""(1,\"x,y\")""#, 5),
    ("ROW(1, NULL)", r#""(1,)""#, 5),
    ("'-7'::temperature", r#""-7""#, 5),
    ("'{}'::int4[]", r#""[]""#, 5),
    ("'{{1,2},{3,NULL}}'::int4[]", r#""[[1,2],[3,null]]""#, 5),
    ("'[5:6]={1,2}'::int4[]", r#""[1,2]""#, 5),
    ("ARRAY['a,b', NULL, '\"']", r#""[\"a,b\",null,\"\\\"\"]""#, 5),
    ("ARRAY[1.10, 'NaN']::numeric[]", r#""[1.10,\"NaN\"]""#, 5),
    ("ARRAY[true, NULL]", r#""[true,null]""#, 5),
    ("ARRAY['{\"a\": 1}']::jsonb[]", r#""[{\"a\": 1}]""#, 5),
    ("ARRAY['2024-01-02 03:04:05+00']::timestamptz[]", r#""[\"2024-01-02T03:04:05Z\"]""#, 5),
    ("ARRAY['sad']::mood[]", r#""[\"sad\"]""#, 5),
    ("ARRAY['sad']::moods", r#""[\"sad\"]""#, 5),
    ("ARRAY[ROW(1, 'x')::pair]", r#""[\"(1,x)\"]""#, 5),
    ("ARRAY[ROW(1, 'a b'), NULL]", r#""[\"(1,\\\"a b\\\")\",null]""#, 5),
    ("ARRAY[ROW()]", r#""[\"()\"]""#, 5),
    ("(SELECT array_agg(whole) FROM (VALUES (1, NULL), (2, 'x')) whole)", r#""[\"(1,)\",\"(2,x)\"]""#, 5),
    ("NULL::record[]", "null", 5),
    ("(SELECT most_common_vals FROM pg_stats WHERE tablename = 'counted' AND attname = 'n')", r#""[1]""#, 5),
    (
        "(SELECT most_common_vals FROM pg_stats WHERE tablename = 'counted' AND attname = 'feeling')",
        r#""[\"sad\"]""#,
        5,
    ),
    (
        "(SELECT most_common_vals FROM pg_stats WHERE tablename = 'counted' AND attname = 'word')",
        r#""[\"a \\\"b\\\"\"]""#,
        5,
    ),
    (
        "(SELECT most_common_vals FROM pg_stats WHERE tablename = 'counted' AND attname = 'd')",
        r#""[\"2024-02-29\"]""#,
        5,
    ),
    ("(SELECT histogram_bounds FROM pg_stats WHERE tablename = 'counted' AND attname = 'n')", "null", 5),
    ("ARRAY['-7']::temperature[]", r#""[\"-7\"]""#, 5),
    ("ARRAY[1.5]::money[]", r#""[\"$1.50\"]""#, 5),
    ("'{\"[1,5)\"}'::int4range[]", r#""[\"[1,5)\"]""#, 5),
];

/// The one row and the dataTypes of a query, with its JSON as it stands.
async fn answer(app: &TestApp, body: Value) -> (String, Vec<u8>) {
    let response = app.post("/api/query").json(&body).send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{body}: {text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert!(document.get("error").is_none(), "{body}: {text}");
    let types = document["results"][0]["schema"].as_array().unwrap().iter();
    let types = types.map(|column| u8::try_from(column["dataType"].as_u64().unwrap()).unwrap()).collect();
    let rows = text.split_once("\"rows\":[[").unwrap().1.rsplit_once("]],\"affectedRows\"").unwrap().0;
    (rows.to_owned(), types)
}

#[actix_web::test]
async fn every_type_has_its_form() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(SETUP).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let mut wrong = Vec::new();
    for (expression, expected, data_type) in CASES {
        let (rows, types) = answer(&app, json!({"query": format!("SELECT {expression} AS it")})).await;
        if (rows.as_str(), types.as_slice()) != (*expected, &[*data_type]) {
            wrong.push(format!("{expression}: {rows} {types:?}, expected {expected} [{data_type}]"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // All at once, with one name for all of them, whether prepared with values or sent directly.
    let columns: Vec<String> = CASES.iter().map(|(expression, ..)| format!("{expression} AS same")).collect();
    let expected: Vec<&str> = CASES.iter().map(|(_, expected, _)| *expected).collect();
    let query = format!("SELECT {}", columns.join(", "));
    let (rows, types) = answer(&app, json!({"query": query})).await;
    assert_eq!(rows, expected.join(","));
    assert_eq!(types, CASES.iter().map(|case| case.2).collect::<Vec<_>>());
    let bound = json!({"query": format!("{query} WHERE 1 = @one"), "parameters": {"one": 1}});
    assert_eq!(answer(&app, bound).await.0, expected.join(","));
}

/// Behind a WITH that changes data too, where nothing of ours may stand around the statement.
#[actix_web::test]
async fn no_type_fails_a_statement_that_changes_data() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(&format!("{SETUP} CREATE TABLE log (n int4)")).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let columns: Vec<String> = CASES.iter().map(|(expression, ..)| format!("{expression} AS same")).collect();
    let expected: Vec<&str> = CASES.iter().map(|(_, expected, _)| *expected).collect();
    for (head, tail) in [
        ("WITH a AS (INSERT INTO log VALUES (@n) RETURNING n) SELECT", "FROM a"),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 2) SEARCH DEPTH FIRST BY n SET o,
            a AS NOT MATERIALIZED (UPDATE log SET n = n + @n RETURNING *) -- a ( and a '\n SELECT",
            "FROM r WHERE n = 2",
        ),
        ("WITH a AS (SELECT @n::int4 AS n) INSERT INTO log SELECT n FROM a RETURNING", ""),
        ("WITH a AS (SELECT @n::int4 AS n) UPDATE log SET n = a.n FROM a WHERE log.n = 1 RETURNING", ""),
        ("INSERT INTO log VALUES (@n) RETURNING", ""),
        ("DELETE FROM log WHERE n >= @n RETURNING", "; -- the end"),
    ] {
        connect(&url).await.batch_execute("TRUNCATE log; INSERT INTO log VALUES (1)").await.unwrap();
        let query = format!("{head} {} {tail}", columns.join(", "));
        for query in [query.clone(), format!("SELECT 1; {query}")] {
            if query.starts_with("SELECT 1") {
                connect(&url).await.batch_execute("TRUNCATE log; INSERT INTO log VALUES (1)").await.unwrap();
            }
            let (status, document) = app.query(json!({"query": query, "parameters": {"n": 1}})).await;
            assert_eq!((status, document.get("error")), (200, None), "{head}: {document}");
        }
        connect(&url).await.batch_execute("TRUNCATE log; INSERT INTO log VALUES (1)").await.unwrap();
        let (rows, _) = answer(&app, json!({"query": query, "parameters": {"n": 1}})).await;
        assert_eq!(rows, expected.join(","), "{head}");
    }
    // The place of an error is that in the caller's text, or none.
    let query = "WITH a AS (INSERT INTO log VALUES (1) RETURNING n) SELECT point(1, 1), nothing FROM a";
    let (status, answer) = app.query(json!({"query": query})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("42703")), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().ends_with("(at position 72)"), "{answer}");
}
