//! Regular expressions: random ones answer as they do in PostgreSQL.

use serde_json::{Value, json};
use tokio_postgres::Client;

use super::{answer, sent, two_sources};
use crate::support::app::TestApp;
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;

/// PostgreSQL tells letters of all alphabets by this collation.
const TEXTS: &str = r#"
CREATE TABLE texts (id int PRIMARY KEY, t text COLLATE "und-x-icu", c char(5) COLLATE "und-x-icu");
INSERT INTO texts SELECT row_number() OVER (), t, left(t, 5) FROM unnest(ARRAY['', 'a', 'ab', 'aab', 'abab', 'ba', 'B', 'AB', 'aBc', 'abc abc',
    'a-b', 'a.b', 'a b', E'a\nb', E'a\tb', '12', 'a1b22', '2026-11-29', 'x_y', 'ä', 'Ä', 'äb', 'é', '中a', 'foo.bar@example.org', 'a{2}', '[a]',
    'a|b', '(a)', 'a\b', '^a$', 'aaaa', 'bbbb', 'aabbaabb', 'A1', '_', '-', ']', 'word words wordy', NULL]) t"#;
const ONE: &str = "CREATE TABLE one (e TEXT); INSERT INTO one VALUES ('')";

const ATOMS: &[&str] = &[
    "a",
    "b",
    "A",
    "B",
    "ä",
    "1",
    ".",
    "\\.",
    "-",
    "\\d",
    "\\D",
    "\\s",
    "\\S",
    "\\w",
    "\\W",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[^a-c ]",
    "[]a]",
    "[^]]",
    "[a-]",
    "[\\d.]",
    "[\\w-]",
    "[[:alpha:]]",
    "[[:digit:]_]",
    "[^[:space:]]",
    "[[:upper:]]",
    "[[:lower:]1]",
    "[.{(|]",
    "(a)",
    "(ab)",
    "(a|b)",
    "(?:ab)",
    "(a(b))",
    "(a|ab)",
    "\\\\",
    "\\(",
    "\\[",
    "\\{",
    "{",
    "}",
    "]",
    "\\t",
    "\\n",
    "_",
    "ab",
    "word",
    "@",
    "[b-a]",
    "\\q",
    "()",
    "[a\\]b]",
    "[\\s\\d]",
    "[A-z]",
    "\\^",
    "[^^]",
    "[$^]",
];
const BOUNDS: &[&str] = &["^", "$", "\\A", "\\Z", "\\m", "\\M", "\\y", "\\Y", "|"];
const QUANTIFIERS: &[&str] =
    &["*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,1}", "*?", "+?", "??", "{1,2}?", "**", "{3,1}", "{300}", "{2", "{,2}"];
const REPLACEMENTS: &[&str] = &["", "-", "<\\&>", "\\1", "[\\1\\2]", "\\\\", "$1", "\\x"];

fn pattern(dice: &mut Random) -> String {
    let mut pattern = String::new();
    if dice.once_in(20) {
        pattern.push_str("(?i)");
    }
    for _ in 0..=dice.below(4) {
        let is_bound = dice.once_in(6);
        pattern.push_str(dice.one(if is_bound { BOUNDS } else { ATOMS }));
        if dice.once_in(if is_bound { 30 } else { 3 }) {
            pattern.push_str(if dice.once_in(4) { dice.one(QUANTIFIERS) } else { dice.one(&QUANTIFIERS[..3]) });
        }
    }
    pattern
}

/// The rows, or the code of the failure.
async fn truth(client: &Client, query: &str) -> Value {
    match client.simple_query(query).await {
        Ok(messages) => messages
            .iter()
            .filter_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            })
            .map(|row| (0..row.len()).map(|place| json!(row.get(place))).collect::<Value>())
            .collect(),
        Err(error) => json!(error.code().map(tokio_postgres::error::SqlState::code)),
    }
}

async fn here(app: &TestApp, query: &str) -> Value {
    let (_, told) = app.query(json!({"query": query})).await;
    let shown = |cell: &Value| match cell {
        Value::Bool(truth) => json!(if *truth { "t" } else { "f" }),
        Value::Number(number) => json!(number.to_string()),
        other => other.clone(),
    };
    match told["error"].as_object() {
        Some(error) => error["sqlState"].clone(),
        None => told["results"][0]["rows"]
            .as_array()
            .unwrap_or_else(|| panic!("{query}: {told}"))
            .iter()
            .map(|row| row.as_array().unwrap().iter().map(shown).collect::<Value>())
            .collect(),
    }
}

#[actix_web::test]
async fn random_ones_answer_as_in_postgresql() {
    let app = two_sources(TEXTS, ONE).await;
    let client = connect(&fixture::postgres().await).await;
    client.batch_execute(TEXTS).await.unwrap();
    let mut dice = Random::seeded("regular expressions");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let (mut differ, mut answered, mut refused) = (Vec::new(), 0, 0);
    for _ in 0..cases(200) {
        let pattern = quoted(&pattern(&mut dice));
        let (by, flags) = (quoted(dice.one(REPLACEMENTS)), dice.one(&["", ", 'g'", ", 'gi'", ", 'i'"]));
        for expressions in [
            format!("# ~ {pattern}, # !~* {pattern}"),
            format!("regexp_replace(#, {pattern}, {by}{flags})"),
            format!("x.c ~ {pattern}, regexp_replace(x.c, {pattern}, {by}{flags})"),
        ] {
            // What an empty text of the other source follows is the engine's to match.
            let ours = format!(
                "SELECT x.id, {} FROM shop.public.texts x, crm.main.one o ORDER BY 1",
                expressions.replace('#', "(x.t || o.e)")
            );
            let theirs = format!("SELECT x.id, {} FROM texts x ORDER BY 1", expressions.replace('#', "x.t"));
            let (here, there) = (here(&app, &ours).await, truth(&client, &theirs).await);
            if here == "0A000" {
                refused += 1;
            } else if here == there {
                answered += usize::from(here.is_array());
            } else {
                differ.push(format!("{ours}\n  PostgreSQL: {there}\n  Portico:    {here}"));
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
    assert!(answered > refused, "{answered} answered, {refused} refused");
}

#[actix_web::test]
async fn those_that_every_locale_reads_alike_go_to_their_source() {
    let app = two_sources(TEXTS, ONE).await;
    for (pattern, is_sent) in [
        ("~ '^a[b-d]+\\.'", true),
        ("!~ 'a|b{2}'", true),
        ("~ '\\d'", false),
        ("~* 'a'", false),
        ("~ '[[:alpha:]]'", false),
        ("~ '\\mab'", false),
    ] {
        let query = format!("SELECT count(*) FROM shop.public.texts x, crm.main.one o WHERE x.t {pattern}");
        answer(&app, &query).await;
        let statements = sent(&app);
        assert_eq!(
            statements.iter().any(|(_, statement)| statement.contains(" ~ ")),
            is_sent,
            "{pattern}: {statements:?}"
        );
    }
}

/// Padded texts beside casts of one value, and in windows.
#[actix_web::test]
async fn padded_texts_keep_their_rules_and_others_their_names() {
    let app = two_sources(TEXTS, ONE).await;
    for (select, expected) in [
        ("max(x.c), max(x.id::text), max(x.id)", json!([["中a", "9", 40]])),
        (
            "max(x.c), max(x.id::numeric), max(x.id::numeric(9, 1)), max(x.id::smallint), max(x.id)",
            json!([["中a", 40.0, 40.0, 40, 40]]),
        ),
        ("count(*) FILTER (WHERE w.top = '中a ')", json!([[40]])),
        ("mode() WITHIN GROUP (ORDER BY x.c) = ' '", json!([[true]])),
    ] {
        let from = "shop.public.texts x JOIN crm.main.one o ON x.id <> 0 JOIN (SELECT y.id, max(y.c) OVER () AS top FROM shop.public.texts y, crm.main.one) w ON w.id = x.id";
        assert_eq!(answer(&app, &format!("SELECT {select} FROM {from}")).await["rows"], expected, "{select}");
    }
}
