//! A value at several places, and values beside each other: each place has a type of its own, as a literal has.

use serde_json::json;

use super::parameters::{answer, on_postgres};
use crate::support::dice::{Random, cases};
use crate::support::fixture;

/// Types, and values that are read by several of them in several ways.
const TYPES: &[&str] = &[
    "date",
    "timestamp",
    "timestamptz",
    "real",
    "double precision",
    "numeric",
    "integer",
    "bigint",
    "char(5)",
    "text",
    "name",
    "boolean",
    "uuid",
    "json",
    "jsonb",
    "inet",
    "interval",
    "integer[]",
];
const VALUES: &[&str] = &[
    "2024-01-02 10:00",
    "0.1",
    " 1",
    "1.50",
    "yes",
    "x ",
    "{6f0b1a528d0e4c579d1b6a7f3f0c2b11}",
    "{\"b\": 1,  \"a\": 2}",
    "10.0.0.1/32",
    "{1, 2}",
    "",
];

/// As one parameter for all of its places a value would have the type of the first, and be read by the others from that.
#[actix_web::test]
async fn each_place_of_a_value_has_a_type_of_its_own() {
    let app = on_postgres().await;
    let columns: Vec<String> = TYPES.iter().enumerate().map(|(at, type_)| format!("NULL::{type_} AS c{at}")).collect();
    let columns = columns.join(", ");
    let told = |answer: String| if answer.contains("\"error\"") { "an error".to_owned() } else { answer };
    let mut differ = Vec::new();
    for (first, one) in TYPES.iter().enumerate() {
        for (second, other) in TYPES.iter().enumerate() {
            for value in
                VALUES.iter().enumerate().filter(|(at, _)| (at + first + second) % 3 == 0).map(|(_, value)| value)
            {
                let (literal, given) = (format!("'{value}'"), json!({"a": value}).to_string());
                for query in [
                    format!("SELECT $::{one}, $::{other}"),
                    format!(
                        "SELECT coalesce(c{first}, $)::text, coalesce(c{second}, $)::text FROM (SELECT {columns}) AS c"
                    ),
                ] {
                    let written = told(answer(&app, &query.replace('$', &literal), "{}").await);
                    let bound = told(answer(&app, &query.replace('$', "@a"), &given).await);
                    if bound != written {
                        differ.push(format!("{query} with {literal}\n  literal: {written}\n  bound:   {bound}"));
                    }
                }
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Expressions over one row of `things`, each with a value.
const ALONE: &[(&str, &str)] = &[
    ("round($)", "2.5"),
    ("round($)", "2"),
    ("5 / $", "2.0"),
    ("weight = $", "0.1"),
    ("id <> $", "3000000000"),
    ("left('abcdef', $)", "2.0"),
    ("left('abcdef', $)", "2"),
    ("'1'::money / $", "3"),
    ("day + $", "1"),
    ("doc || $", "5"),
    ("doc || $", "true"),
    ("yes = $", "1"),
    ("yes = $", "true"),
    ("$::jsonb", "2.50"),
    ("small + $", "70000"),
    ("pg_typeof($)::text", "1e0"),
    ("($ IS NULL OR name = $)", "\"one\""),
    ("($ IS NULL OR name = $)", "null"),
    ("($ IS NULL OR day = $)", "\"2026-01-31\""),
    ("($ IS NULL OR id = ANY ($))", "[1, 2]"),
    ("($ IS NULL OR id = $)", "null"),
    ("name || $", "\"!\""),
    ("upper($)", "\"a\""),
    ("day >= $", "\"2026-01-01\""),
    ("span @> $", "3"),
    ("doc -> 't' -> $", "1"),
    ("coalesce($, 5)", "null"),
    ("greatest($, 3)", "2.5"),
];

/// What one value needs is no concern of the others: each means what it means where it stands alone.
#[actix_web::test]
async fn values_of_one_statement_do_not_concern_each_other() {
    let app = on_postgres().await;
    let ask = async |expressions: &[&(&str, &str)]| {
        let list: Vec<String> =
            expressions.iter().enumerate().map(|(at, (text, _))| text.replace('$', &format!("@p{at}"))).collect();
        let values: Vec<String> =
            expressions.iter().enumerate().map(|(at, (_, value))| format!("\"p{at}\": {value}")).collect();
        let query = format!("SELECT {} FROM things WHERE id = 1", list.join(", "));
        answer(&app, &query, &format!("{{{}}}", values.join(", "))).await
    };
    let mut alone = Vec::new();
    for expression in ALONE {
        let told = ask(&[expression]).await;
        assert!(!told.contains("\"error\""), "{expression:?}: {told}");
        alone.push(told);
    }
    let mut random = Random::seeded("values of one statement");
    let mut wrong = Vec::new();
    for _ in 0..cases(120) {
        let chosen: Vec<usize> = (0..2 + random.below(4)).map(|_| random.below(ALONE.len())).collect();
        let told = ask(&chosen.iter().map(|at| &ALONE[*at]).collect::<Vec<_>>()).await;
        let expected = chosen.iter().map(|at| alone[*at].as_str()).collect::<Vec<_>>().join(",");
        if told != expected {
            let chosen: Vec<_> = chosen.iter().map(|at| ALONE[*at]).collect();
            wrong.push(format!("{chosen:?}: {told}, alone: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Also where a value has parameters of its own at its places, whose numbers are longer or shorter than those of the
/// statement.
#[actix_web::test]
async fn an_error_has_its_position_whatever_is_sent_for_the_values() {
    let app = on_postgres().await;
    for mistake in ["^nope = 1", "day ^= 5", "id = 1 ^ordr", "id ^IN @a", "id = (SELECT 1 FROM ^gone)", "'ä' = ^nope"]
    {
        for (before, behind) in [(0, 0), (1, 0), (0, 1), (1, 2), (3, 9), (11, 1), (12, 12)] {
            let filters = |from: usize, count: usize| -> Vec<String> {
                let filter =
                    |at| format!("(@{0} IS NULL OR name = @{0} OR 'ä' = @{0} OR id = @n)", ["a", "b", "c"][at % 3]);
                (from..from + count).map(filter).collect()
            };
            let mut all = filters(0, before);
            all.push(mistake.to_owned());
            all.extend(filters(before, behind));
            let marked = format!("SELECT id FROM things WHERE {}", all.join(" AND "));
            let position = marked.chars().position(|each| each == '^').unwrap() + 1;
            let position = if mistake.contains("@a") { position + "IN ".len() } else { position };
            let query = marked.replacen('^', "", 1);
            let given = query.match_indices('@').map(|(at, _)| &query[at + 1..at + 2]);
            let given: serde_json::Map<_, _> = given
                .map(|name| (format!("@{name}"), if name == "n" { json!({"value": 3}) } else { json!({"value": "x"}) }))
                .collect();
            let (status, answer) = app.query(json!({"query": query, "parameters": given})).await;
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.ends_with(&format!(" (at position {position})")), "{query}: {status} {answer}");
            assert!(!message.contains('$'), "{query}: {answer}");
        }
    }
}

#[actix_web::test]
async fn a_name_that_stands_for_no_value_is_told_as_it_was_written() {
    let app = on_postgres().await;
    for query in [
        "SELECT count(*) FROM @t",
        "SELECT id FROM things WHERE (@u IS NULL OR name = @u) ORDER BY id @t",
        "SELECT 1 WHERE 1 IN @t",
        "UPDATE @t SET id = 1",
        "CREATE VIEW seen AS SELECT @t",
        "ALTER TABLE things ALTER name SET DEFAULT @t",
    ] {
        let mut given = json!({"@t": {"value": "x"}});
        if query.contains("@u") {
            given["@u"] = json!({"value": "y"});
        }
        let (status, answer) = app.query(json!({"query": query, "parameters": given, "dryRun": true})).await;
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap_or_default();
        assert!(status == 400 && message.contains("@t") && !message.contains('$'), "{query}: {answer}");
        assert!(error["hint"].as_str().unwrap_or_default().starts_with("@t stands for one value"), "{query}: {answer}");
    }
    let raising = "DO $do$ BEGIN RAISE EXCEPTION 'at or near \"$1\"' USING ERRCODE = '42601'; END $do$";
    let (_, answer) = app.query(json!({"query": raising})).await;
    assert!(answer["error"]["message"].as_str().unwrap_or_default().contains("$1"), "{answer}");
}

/// Before a statement runs that only reads, the server is asked how it understands it, by a function of our own.
#[actix_web::test]
async fn a_type_that_takes_no_value_is_told_without_a_word_of_how_the_statement_is_checked() {
    let app = fixture::with_postgres(&fixture::postgres().await, "access = \"read-only\"").await;
    for query in ["SELECT @x::record[]", "SELECT count(*) FROM orders WHERE id = @id AND @x::record[] IS NOT NULL"] {
        let mut given = json!({"@x": {"value": "{}"}});
        if query.contains("@id") {
            given["@id"] = json!({"value": 1});
        }
        let (status, answer) = app.query(json!({"query": query, "parameters": given})).await;
        let error = &answer["error"];
        assert_eq!((status, &error["code"], &error["sqlState"]), (400, &json!(1000), &json!("0A000")), "{answer}");
        assert_eq!(error["message"], "parameter @x: the type record[] takes no value from outside", "{query}");
        assert_eq!(error["hint"], "cast @x to text or jsonb", "{query}");
    }
}
