//! Values beside the same literals: expressions over the operators and functions of the server's own
//! catalogue, each once with `@name` through the service and once with the literal in a session of its own.
//! Both say the same, or fail with the same SQLSTATE.
//!
//! Where a literal is refused for its type, the type that the source infers decides whether the value is
//! taken: then the answer is the one that the quoted literal has.
//!
//! `PORTICO_SEED` repeats a run, `PORTICO_CASES` makes it longer.

use std::fmt::Write;

use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::app::{TestApp, within};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::attack::{Random, cases};
use crate::walls::server::say;

/// What numbers and truth values are tried.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "5",
    "7",
    "10",
    "255",
    "32767",
    "-32768",
    "70000",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "0.1",
    "0.5",
    "1.0",
    "2.0",
    "2.5",
    "-2.5",
    "3.5",
    "7.0",
    "1e3",
    "1e0",
    "1.10",
    "1.5e-3",
    "123456789012345678901234567890",
    "0.000001",
    "true",
    "false",
    "null",
];
/// Those of them that no function takes long for.
const SMALL: &[&str] =
    &["0", "1", "-1", "2", "3", "5", "7", "2.0", "2.5", "-2.5", "0.1", "7.0", "1e0", "true", "false", "null"];

/// What else stands in an expression, by its type.
const SAMPLES: &[(&str, &[&str])] = &[
    ("bool", &["true", "false"]),
    ("int2", &["'7'::int2", "'32767'::int2"]),
    ("int4", &["7", "2147483647"]),
    ("int8", &["'7'::int8"]),
    ("numeric", &["7.25", "'7'::numeric"]),
    ("float4", &["'0.1'::float4", "'7'::float4"]),
    ("float8", &["'0.1'::float8", "'7'::float8"]),
    ("money", &["'7.5'::money"]),
    ("oid", &["'23'::oid"]),
    ("text", &["'ab cd'::text", "'7'::text"]),
    ("varchar", &["'ab'::varchar"]),
    ("bpchar", &["'ab'::bpchar"]),
    ("name", &["'ab'::name"]),
    ("bytea", &["'\\x0102'::bytea"]),
    ("date", &["'2024-02-29'::date"]),
    ("time", &["'01:02:03'::time"]),
    ("timetz", &["'01:02:03+02'::timetz"]),
    ("timestamp", &["'2024-02-29 01:02:03'::timestamp"]),
    ("timestamptz", &["'2024-02-29 01:02:03+00'::timestamptz"]),
    ("interval", &["'1 day 02:00'::interval"]),
    ("json", &["'{\"a\": [1, 2]}'::json", "'[1, 2]'::json"]),
    ("jsonb", &["'{\"a\": [1, 2], \"1\": 2}'::jsonb", "'[1, 2, 2.5]'::jsonb", "'7'::jsonb"]),
    ("jsonpath", &["'$.a'::jsonpath"]),
    ("bit", &["B'101'"]),
    ("varbit", &["'101'::varbit"]),
    ("inet", &["'10.0.0.1/8'::inet"]),
    ("cidr", &["'10.0.0.0/8'::cidr"]),
    ("point", &["'(1,2)'::point"]),
    ("box", &["'(1,1),(0,0)'::box"]),
    ("circle", &["'<(0,0),2>'::circle"]),
    ("path", &["'[(0,0),(1,1)]'::path"]),
    ("polygon", &["'((0,0),(1,1),(1,0))'::polygon"]),
    ("uuid", &["'6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11'::uuid"]),
    ("tsvector", &["'a b'::tsvector"]),
    ("tsquery", &["'a & b'::tsquery"]),
    ("int4range", &["'[1,5)'::int4range"]),
    ("int8range", &["'[1,5)'::int8range"]),
    ("numrange", &["'[1,5.5)'::numrange"]),
    ("anyrange", &["'[1,5)'::int4range", "'[1,5.5)'::numrange"]),
    ("anymultirange", &["'{[1,5)}'::int4multirange"]),
    ("anyarray", &["array[1, 2]", "array[1.5, 2]", "array['a', 'b']", "array[true]"]),
    ("anycompatiblearray", &["array[1, 2]", "array[1.5, 2]"]),
    ("anyelement", &["7", "'7'::int8", "7.5", "'x'::text", "true"]),
    ("anycompatible", &["7", "'7'::int8", "7.5"]),
    ("anynonarray", &["7", "'x'::text"]),
    ("any", &["7", "'x'::text"]),
    ("_int4", &["array[1, 2]"]),
    ("_int8", &["'{1,2}'::int8[]"]),
    ("_numeric", &["array[1.5, 2]"]),
    ("_float8", &["'{1,2}'::float8[]"]),
    ("_text", &["array['a', 'b']"]),
];

/// Types of whose values a number or a truth value is one, or which may be any.
const OPEN: &[&str] = &[
    "bool",
    "int2",
    "int4",
    "int8",
    "numeric",
    "float4",
    "float8",
    "money",
    "oid",
    "anyelement",
    "anycompatible",
    "anynonarray",
    "any",
    "anycompatiblenonarray",
];

/// What the grammar has of its own; `?` is a value, `#` an operand with a type.
const FORMS: &[&str] = &[
    "? between ? and ?",
    "# between ? and ?",
    "greatest(?, ?)",
    "least(#, ?)",
    "coalesce(?, ?)",
    "coalesce(#, ?)",
    "nullif(?, ?)",
    "nullif(#, ?)",
    "? in (?, ?)",
    "# in (?, ?)",
    "array[?, ?]",
    "array[#, ?]",
    "array[?]",
    "? is null",
    "? is distinct from ?",
    "# is distinct from ?",
    "(?, ?) < (?, ?)",
    "row(?, #) = row(#, ?)",
    "? = any (array[?, ?])",
    "# = any (array[?, ?])",
    "case when ? then ? else ? end",
    "case ? when ? then 1 else 2 end",
    "case # when ? then 1 end",
    "(? is null or # = ?)",
    "substring('abcdef' from ? for ?)",
    "substring('abcdef' from ?)",
    "overlay('abcdef' placing 'x' from ?)",
    "not ?",
    "? and ?",
    "? or #",
    "(array[1, 2, 3])[?]",
    "(array[1, 2, 3])[? : ?]",
    "?::text",
    "?::int4",
    "?::numeric",
    "?::jsonb",
    "?::bool",
    "?::float4",
    "?::int2",
    "?::money",
    "?::interval",
    "?::date",
    "cast(? as int8)",
    "# || ?",
    "? || #",
    "(select max(v) from (values (?), (?)) as x(v))",
    "(select v from (values (?), (?)) as x(v) order by v limit 1)",
    "(select sum(v) from generate_series(1, ?) as x(v) where ? > 0)",
    "(select ? union select ? order by 1 limit 1)",
    "(select count(*) from generate_series(1, 3) as x(v) where v > ?)",
    "(select 1 limit ?)",
    "(select 1 offset ?)",
    "(select ?)",
    "exists (select 1 where ? = ?)",
    "# / ?",
    "? % #",
    "'2024-02-29'::date + ?",
    "'1 day'::interval * ?",
    "'[1,2]'::jsonb -> ?",
    "'[1,2]'::jsonb - ?",
    "'{\"1\":2}'::json ->> ?",
    "'[1,5)'::int4range @> ?",
    "'[1,5.5)'::numrange @> ?",
    "array[1,2] || ?",
    "? || array[1.5]",
    "array[1,2] @> array[?]",
];

/// An expression; its values stand between the pieces.
struct Expression {
    pieces: Vec<String>,
    values: Vec<&'static str>,
}

impl Expression {
    fn query(&self, value: impl Fn(usize, &str) -> String) -> String {
        let mut text = self.pieces[0].clone();
        for (index, (given, piece)) in self.values.iter().zip(&self.pieces[1..]).enumerate() {
            // Writing to a text cannot fail.
            let _ = write!(text, "{}{piece}", value(index, given));
        }
        format!("SELECT pg_typeof(x)::text, x::text FROM (SELECT {text} AS x LIMIT 3) AS q")
    }

    /// With literals. For each value the lowest digit of `forms`, to base 3, says how: as it is, between
    /// quotes, or as a whole number between quotes.
    fn literal(&self, forms: usize) -> String {
        self.query(|index, value| {
            let form = (0..index).fold(forms, |rest, _| rest / 3) % 3;
            let whole = match value {
                "1e3" => "1000",
                "1e0" => "1",
                number => number.strip_suffix(".0").unwrap_or(number),
            };
            match (form, value) {
                (_, "null") => "null".to_owned(),
                (1, _) => format!("'{value}'"),
                (2, _) => format!("'{whole}'"),
                _ if value.starts_with('-') => format!("({value})"),
                _ => value.to_owned(),
            }
        })
    }

    fn body(&self) -> String {
        let values = self.values.iter().enumerate().map(|(index, value)| format!("\"p{index}\":{value}"));
        let query = self.query(|index, _| format!("@p{index}"));
        format!(
            "{{\"query\":{},\"parameters\":{{{}}},\"timeout\":10}}",
            json!(query),
            values.collect::<Vec<_>>().join(",")
        )
    }
}

/// What can be called, from the catalogue: the text in which `?` and `#type` stand for operands.
struct Catalogue(Vec<String>);

impl Catalogue {
    async fn read(admin: &Client) -> Self {
        let operators = "SELECT CASE WHEN l.oid IS NULL THEN '' ELSE '#' || l.typname || ' ' END || oprname || ' #' || r.typname || ' '
            FROM pg_operator o LEFT JOIN pg_type l ON l.oid = oprleft JOIN pg_type r ON r.oid = oprright
            WHERE 'record'::regtype <> ALL (ARRAY[oprleft, oprright]) AND NOT (oprname = '-' AND oprleft = 0) ORDER BY o.oid";
        // No value is a record, and a minus in front of a literal is part of it. Of the functions is left
        // out what is internal, what looks at the time or at the state of the server, and what makes large
        // answers.
        let functions = "SELECT format('pg_catalog.%I(', proname) ||
                (SELECT string_agg('#' || typname || ' ', ', ' ORDER BY i) FROM unnest(proargtypes) WITH ORDINALITY AS a(t, i)
                    JOIN pg_type ON pg_type.oid = t) || ')'
            FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND provolatile IN ('i', 's')
                AND pronargs BETWEEN 1 AND 4 AND provariadic = 0 AND prorettype NOT IN ('internal'::regtype, 'trigger'::regtype)
                AND NOT proargtypes::oid[] && ARRAY['internal', 'cstring', 'record', 'regclass', 'xid']::regtype[]::oid[]
                AND proname !~ '^(pg_|ts_|has_|brin|gin|gist|spg|hash|bt|to_reg|inet_|current_|row_security|age|mxid_age|txid_|binary_|fmgr_|lo_|array_fill|unknown)'
                AND proname !~ '(recv|send|_to_xml|_xmlschema|_support|_transfn|_accum|_validator|typmodin|typmodout|sel)$'
            ORDER BY p.oid";
        let mut all = Vec::new();
        for query in [operators, functions] {
            all.extend(admin.query(query, &[]).await.unwrap().iter().map(|row| row.get::<_, String>(0)));
        }
        assert!(all.len() > 2_000, "{}", all.len());
        Self(all)
    }

    fn draw(&self, random: &mut Random) -> Expression {
        let of_grammar = random.once_in(4);
        let template = if of_grammar { (*random.choose(FORMS)).to_owned() } else { random.choose(&self.0).clone() };
        let values = if of_grammar || random.once_in(4) { VALUES } else { SMALL };
        let mut expression = Expression { pieces: vec![String::new()], values: Vec::new() };
        let mut rest = template.as_str();
        while let Some(at) = rest.find(['?', '#']) {
            // An operator may be spelled with these characters.
            let is_operand = if rest[at..].starts_with('#') {
                of_grammar || rest[at + 1..].starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            } else {
                of_grammar
            };
            let (before, behind) = rest.split_at(at);
            expression.pieces.last_mut().unwrap().push_str(before);
            if !is_operand {
                expression.pieces.last_mut().unwrap().push_str(&behind[..1]);
                rest = &behind[1..];
                continue;
            }
            let is_open = behind.starts_with('?');
            let end = if of_grammar { 1 } else { behind.find(' ').unwrap() };
            let type_ = if of_grammar { random.choose(SAMPLES).0 } else { &behind[1..end] };
            rest = &behind[end..];
            let is_value =
                is_open || (!of_grammar && (random.once_in(8) || (OPEN.contains(&type_) && !random.once_in(3))));
            if is_value {
                let value = if is_open || OPEN.contains(&type_) { *random.choose(values) } else { "null" };
                expression.values.push(value);
                expression.pieces.push(String::new());
                continue;
            }
            let samples = SAMPLES.iter().find(|(name, _)| *name == type_).map_or(&[][..], |(_, samples)| samples);
            let operand =
                if samples.is_empty() { format!("null::{type_}") } else { (*random.choose(samples)).to_owned() };
            expression.pieces.last_mut().unwrap().push_str(&operand);
        }
        expression.pieces.last_mut().unwrap().push_str(rest);
        // The grammar makes IS NOT NULL of the literal, also for types that have no equality; a parameter has to
        // be compared.
        if template.starts_with("# is distinct from") {
            expression.values[0] = if expression.values[0] == "null" { "1" } else { expression.values[0] };
        }
        // The grammar makes two literals of this one, and one parameter has one type.
        if ["? between", "? in ("].iter().any(|form| template.starts_with(form)) && expression.values[0] == "null" {
            expression.values[0] = "1";
        }
        expression
    }
}

/// The rows as JSON, or the SQLSTATE.
type Said = Result<Value, String>;

async fn by_psql(admin: &Client, query: &str) -> Said {
    match within("the server's own answer", admin.simple_query(query)).await {
        Ok(messages) => Ok(messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(json!([row.get(0), row.get(1)])),
                _ => None,
            })
            .collect()),
        Err(error) => Err(error.code().unwrap_or_else(|| panic!("{query}: {error}")).code().to_owned()),
    }
}

async fn by_portico(app: &TestApp, expression: &Expression) -> Said {
    let request = app.post("/api/query").header("content-type", "application/json").body(expression.body());
    let document: Value = request.send().await.unwrap().json().await.unwrap();
    match document.get("error") {
        None => Ok(document["results"][0]["rows"].clone()),
        Some(error) => Err(error["sqlState"].as_str().map_or_else(|| error.to_string(), str::to_owned)),
    }
}

/// SQLSTATEs of a literal that is refused for its type.
const FOR_ITS_TYPE: [&str; 6] = ["42883", "42725", "42804", "42846", "42P18", "42P08"];

#[actix_web::test]
async fn values_mean_what_literals_mean() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin
        .batch_execute(
            "SET extra_float_digits = 1; SET statement_timeout = '2s'; SET DateStyle = 'ISO';
            SET default_transaction_read_only = on",
        )
        .await
        .unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"").await;
    let catalogue = Catalogue::read(&admin).await;
    let mut random = Random::seeded("values beside literals");
    let (mut answers, mut refusals, mut inferred) = (0, 0, 0);
    let mut wrong = Vec::new();
    let count = cases(800);
    while answers + refusals + inferred + wrong.len() < count {
        let expression = catalogue.draw(&mut random);
        if expression.values.is_empty() {
            continue;
        }
        let expected = by_psql(&admin, &expression.literal(0)).await;
        if expected.as_ref().is_err_and(|code| code == "57014") {
            continue;
        }
        let got = by_portico(&app, &expression).await;
        if got == expected {
            *(if got.is_ok() { &mut answers } else { &mut refusals }) += 1;
            continue;
        }
        let refused = expected.as_ref().is_err_and(|code| FOR_ITS_TYPE.contains(&code.as_str()));
        let forms = if refused { expression.values.iter().fold(1, |forms, _| forms * 3) } else { 0 };
        let mut agreed = false;
        for form in 1..forms {
            agreed = agreed || by_psql(&admin, &expression.literal(form)).await == got;
        }
        if agreed {
            inferred += 1;
        } else {
            wrong.push(format!(
                "{}\n    {}: {got:?}\n    literal: {expected:?}",
                expression.literal(0),
                expression.body()
            ));
        }
    }
    say(&format!("{answers} answers, {refusals} refusals, {inferred} by the inferred type, {} differ", wrong.len()));
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
