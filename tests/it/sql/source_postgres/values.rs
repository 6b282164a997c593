//! Every type's data type and form on the wire, and values bound to parameters.

use portico_actors::error::Kind;
use portico_actors::reply::DataType::{self, *};

use super::subject;

const SETUP: &str = "
CREATE TYPE mood AS ENUM ('sad', 'very happy');
CREATE DOMAIN positive AS int4 CHECK (VALUE > 0);
CREATE TYPE pair AS (a int4, b text);
CREATE TABLE measured (id int4 PRIMARY KEY, price numeric(12,2), name varchar(20) NOT NULL, at timestamptz(3));";

/// Expressions with their data type and cell as `support/results.rs` shows it.
const CASES: &[(&str, DataType, &str)] = &[
    ("true", Boolean, "true"),
    ("NULL::bool", Boolean, "null"),
    ("'\\x00ff'::bytea", Binary, "bytes:[0, 255]"),
    ("'grüß'::text", Varchar, "\"grüß\""),
    ("'ab'::char(4)", Varchar, "\"ab  \""),
    ("'x'::\"char\"", Varchar, "\"x\""),
    ("'n'::name", Varchar, "\"n\""),
    ("(-32768)::int2", SmallInt, "-32768"),
    ("2147483647", Integer, "2147483647"),
    ("9223372036854775807", BigInt, "9223372036854775807"),
    ("4294967295::oid", BigInt, "4294967295"),
    ("1.5::float4", Float, "1.5"),
    ("'NaN'::float4", Float, "NaN"),
    ("0.1::float8 + 0.2::float8", Double, "0.30000000000000004"),
    ("'-Infinity'::float8", Double, "-inf"),
    ("123456789012345678901234567890.0100", Numeric, "123456789012345678901234567890.0100"),
    ("0.00000012::numeric", Numeric, "0.00000012"),
    ("-0.5::numeric(5,3)", Numeric, "-0.500"),
    ("'NaN'::numeric", Numeric, "NaN"),
    ("'-Infinity'::numeric", Numeric, "-Infinity"),
    ("'{\"b\": 1, \"a\": [1.10]}'::json", Varchar, "json:{\"b\": 1, \"a\": [1.10]}"),
    ("'{\"b\":1,\"a\":2}'::jsonb", Varchar, "json:{\"a\": 2, \"b\": 1}"),
    ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", Uuid, "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
    ("'2024-02-29'::date", Date, "\"2024-02-29\""),
    ("'0044-03-15 BC'::date", Date, "\"0044-03-15 BC\""),
    ("'infinity'::date", Date, "\"infinity\""),
    ("'12345-06-07'::date", Date, "\"12345-06-07\""),
    ("'24:00'::time", Time, "\"24:00:00\""),
    ("'04:05:06.7-03:30'::timetz", Time, "\"04:05:06.7-03:30\""),
    ("'1999-12-31 23:59:59.999999'::timestamp", Timestamp, "\"1999-12-31T23:59:59.999999\""),
    ("'0044-03-15 12:00 BC'::timestamp", Timestamp, "\"0044-03-15 12:00:00 BC\""),
    ("'2024-01-01 00:00+02'::timestamptz", Timestamp, "\"2023-12-31T22:00:00Z\""),
    ("'-infinity'::timestamptz", Timestamp, "\"-infinity\""),
    ("'1 year -2 mons +3 days -04:05:06.7'::interval", Varchar, "\"10 mons 3 days -04:05:06.7\""),
    ("'192.168.0.1'::inet", Varchar, "\"192.168.0.1\""),
    ("'10.0.0.0/8'::cidr", Varchar, "\"10.0.0.0/8\""),
    ("'::ffff:1.2.3.4/96'::inet", Varchar, "\"::ffff:1.2.3.4/96\""),
    ("'08:00:2b:01:02:03'::macaddr", Varchar, "\"08:00:2b:01:02:03\""),
    ("'<a/>'::xml", Varchar, "\"<a/>\""),
    ("'very happy'::mood", Varchar, "\"very happy\""),
    ("5::positive", Integer, "5"),
    ("ARRAY[1,NULL,3]", Varchar, "json:[1,null,3]"),
    ("'{}'::int4[]", Varchar, "json:[]"),
    ("'[0:1][2:3]={{a,\"b\\\"\"},{NULL,d}}'::text[]", Varchar, "json:[[\"a\",\"b\\\"\"],[null,\"d\"]]"),
    ("ARRAY['NaN'::float8, 1.5]", Varchar, "json:[\"NaN\",1.5]"),
    ("ARRAY[1.10, 'NaN']::numeric[]", Varchar, "json:[1.10,\"NaN\"]"),
    ("ARRAY['very happy'::mood]", Varchar, "json:[\"very happy\"]"),
    ("ARRAY['2024-01-01'::timestamp]", Varchar, "json:[\"2024-01-01T00:00:00\"]"),
    // Only the source itself can print these.
    ("12.5::money", Varchar, "\"$12.50\""),
    ("'(1,2)'::point", Varchar, "\"(1,2)\""),
    ("B'101'", Varchar, "\"101\""),
    ("int4range(1,5)", Varchar, "\"[1,5)\""),
    ("int4multirange(int4range(1,5))", Varchar, "\"{[1,5)}\""),
    ("'a b'::tsvector", Varchar, "\"'a' 'b'\""),
    ("'pg_class'::regclass", Varchar, "\"pg_class\""),
    ("'1/2'::pg_lsn", Varchar, "\"1/2\""),
    ("makeaclitem(10, 10, 'SELECT', false)", Varchar, "\"postgres=r/postgres\""),
    ("ROW(1, 'x y')::pair", Varchar, "\"(1,\\\"x y\\\")\""),
    ("ROW(1, 2)", Varchar, "\"(1,2)\""),
    ("ARRAY[ROW(1,'x')::pair]", Varchar, "json:[\"(1,x)\"]"),
    ("ARRAY[12.5::money, NULL]", Varchar, "json:[\"$12.50\",null]"),
    ("'1 2'::int2vector", Varchar, "\"1 2\""),
];

#[tokio::test]
async fn every_type_has_its_form() {
    let (subject, admin) = subject(SETUP).await;
    admin.batch_execute("ALTER DATABASE postgres SET lc_monetary = 'C'").await.unwrap();
    for (expression, data_type, cell) in CASES {
        // Two columns, since a column read as text must not disturb its neighbour.
        let read = subject.read(&format!("SELECT {expression} AS it, 7 AS next")).await.unwrap();
        assert_eq!(read.columns[0].data_type, *data_type, "{expression}");
        assert_eq!(read.columns[0].label, "it", "{expression}");
        assert_eq!(read.rows, [[(*cell).to_owned(), "7".to_owned()]], "{expression}");
    }
}

#[tokio::test]
async fn times_and_intervals_agree_with_the_source() {
    let (subject, _admin) = subject("").await;
    let read = subject
        .read(
            "SELECT i, i::text FROM (SELECT make_interval(months => m, days => d, secs => s) i
            FROM unnest(ARRAY[0, 1, -1, 12, -13, 25]) m, unnest(ARRAY[0, 1, -1, 40]) d,
                unnest(ARRAY[0, 1.5, -3661.000001, 360000]) s) x
            UNION ALL SELECT NULL, NULL",
        )
        .await
        .unwrap();
    assert_eq!(read.rows.len(), 97);
    for row in &read.rows {
        assert_eq!(row[0], row[1]);
    }
    let days = subject
        .read(
            "SELECT d::date, d::date::text FROM generate_series('0001-01-01'::timestamp - interval '9 years', \
            '11000-01-01', interval '997 days') d",
        )
        .await
        .unwrap();
    assert!(days.rows.len() > 4000);
    for row in &days.rows {
        assert_eq!(row[0], row[1]);
    }
}

#[tokio::test]
async fn columns_are_described_in_full() {
    let (subject, _admin) = subject(SETUP).await;
    let read = subject.read("SELECT name AS n, price, id + 1, at FROM measured").await.unwrap();
    assert!(read.rows.is_empty(), "the columns of an empty answer are described too");
    let [name, price, sum, at] = &read.columns[..] else { panic!("{:?}", read.columns) };
    assert_eq!((name.label.as_str(), name.name.as_str(), name.nullable, name.length), ("n", "name", false, 20));
    assert_eq!(
        (name.table.as_deref(), name.schema.as_deref(), name.catalog.as_deref()),
        (Some("measured"), Some("public"), Some("test"))
    );
    assert_eq!((price.precision, price.scale, price.nullable), (12, 2, true));
    assert_eq!((sum.name.as_str(), sum.table.as_deref(), sum.nullable), ("?column?", None, true));
    assert_eq!((at.data_type, at.scale), (Timestamp, 3));
    let joined = subject.read("SELECT m.name FROM (VALUES (1)) v(i) LEFT JOIN measured m ON m.id = i").await.unwrap();
    assert!(joined.columns[0].nullable, "an outer join may put NULL anywhere");
}

#[tokio::test]
async fn values_are_bound_as_their_inferred_types() {
    let (subject, _admin) = subject(SETUP).await;
    let long = "12345678901234567890123456789.000000000000000000010";
    let cases: &[(&str, &str, &str)] = &[
        ("@v::numeric", long, long),
        ("@v::int4 + 0", "1.0", "1"),
        ("@v::bool", "true", "true"),
        ("@v::text", "\"'; DROP TABLE measured; --\"", "\"'; DROP TABLE measured; --\""),
        ("@v::text", "null", "null"),
        ("@v::jsonb", "{\"a\": [1, 2.50]}", "json:{\"a\": [1, 2.50]}"),
        ("@v::bytea", "\"AP8\"", "bytes:[0, 255]"),
        ("@v::text[]", "[\"a,b\", \"c\\\"d\", null, \"{}\"]", "json:[\"a,b\",\"c\\\"d\",null,\"{}\"]"),
        ("@v::int4[]", "[[1,2],[3,4]]", "json:[[1,2],[3,4]]"),
        ("@v::mood", "\"sad\"", "\"sad\""),
        ("@v::timestamptz", "\"2024-01-01T00:00:00Z\"", "\"2024-01-01T00:00:00Z\""),
        ("@v::money", "12.5", "\"$12.50\""),
        ("@v", "\"alone\"", "\"alone\""),
        ("@v + @v", "20", "40"),
        ("@v + @v", "3000000000", "6000000000"),
    ];
    for (expression, json, cell) in cases {
        let read = subject.bind(&format!("SELECT {expression} AS it"), &[("v", json)]).await;
        assert_eq!(read.unwrap().rows, [[*cell]], "{expression} <- {json}");
    }
    let wrong = subject.bind("SELECT @v::int4", &[("v", "{}")]).await.unwrap_err();
    assert_eq!((wrong.kind, wrong.message.as_str()), (Kind::Invalid, "parameter @v: int4 expects a whole number"));
    let refused = subject.bind("SELECT @a::text, @v::int4", &[("v", "\"abc\""), ("a", "\"x\"")]).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Invalid);
    assert!(refused.message.starts_with("parameter @v: invalid input syntax"), "{}", refused.message);
    let missing = subject.bind("SELECT @a::int4", &[]).await.unwrap_err();
    assert_eq!((missing.kind, missing.message.as_str()), (Kind::Invalid, "parameters: there is no value for @a"));
    let unused = subject.bind("SELECT @a::int4", &[("a", "1"), ("b", "1")]).await.unwrap_err();
    assert_eq!(unused.message, "parameters: the statement has no @b");
    // A failed binding leaves the sessions as they were.
    assert_eq!(subject.bind("SELECT @a::int4", &[("a", "1")]).await.unwrap().rows, [["1"]]);
}
