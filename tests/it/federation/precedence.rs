//! Whether the engine reads operators as PostgreSQL does: random expressions without brackets have the same value.

use serde_json::{Value, json};

use super::two_sources;
use crate::support::dice::{Random, cases};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::walls::server::say;

const OPERANDS: &[&str] =
    &["1", "2", "-3", "7", "0.5", "true", "false", "NULL", "'a'", "'ab'", "'%'", "i.one", "i.yes"];
const INFIX: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "AND",
    "OR",
    "AND",
    "OR",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
    "LIKE",
    "NOT LIKE",
    "~",
    "!~*",
];
const PREFIX: &[&str] = &["NOT ", "- ", "+ "];
const POSTFIX: &[&str] = &[
    " IS NULL",
    " IS NOT NULL",
    " IS TRUE",
    " IS NOT FALSE",
    " IN (1, 2)",
    " NOT IN (1, 3)",
    " BETWEEN 1 AND 5",
    " NOT BETWEEN 0 AND 1",
    "::int",
    "::text",
    " IN (true, false)",
];

fn expression(random: &mut Random) -> String {
    let mut text = String::new();
    for place in 0..2 + random.below(4) {
        if place > 0 {
            text.push_str(&format!(" {} ", INFIX[random.below(INFIX.len())]));
        }
        if random.below(5) == 0 {
            text.push_str(PREFIX[random.below(PREFIX.len())]);
        }
        text.push_str(OPERANDS[random.below(OPERANDS.len())]);
        if random.below(4) == 0 {
            text.push_str(POSTFIX[random.below(POSTFIX.len())]);
        }
    }
    text
}

#[actix_web::test]
async fn operators_bind_as_they_do_in_postgresql() {
    let tables = "CREATE TABLE i (one int, yes boolean); INSERT INTO i VALUES (1, true)";
    let app = two_sources(tables, "CREATE TABLE single (one INTEGER); INSERT INTO single VALUES (1)").await;
    let database = connect(&fixture::postgres().await).await;
    database.batch_execute(tables).await.unwrap();
    let mut random = Random::seeded("precedence");
    let (mut compared, mut tried) = (0, 0);
    let mut differ = Vec::new();
    while compared < cases(200) {
        tried += 1;
        let expression = expression(&mut random);
        // As text, so that only what is computed counts and not how it is typed.
        let Ok(row) = database.query_one(&format!("SELECT ({expression})::text FROM i"), &[]).await else { continue };
        let expected: Option<String> = row.get(0);
        let query = format!("SELECT {expression} AS value FROM shop.public.i JOIN crm.main.single s ON s.one = i.one");
        let (status, answer) = app.query(json!({"query": query})).await;
        if status != 200 {
            // What the engine does not know is refused; it is no other value.
            continue;
        }
        compared += 1;
        let told = match &answer["results"][0]["rows"][0][0] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
        let is_same = match (number(&told), number(&expected)) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-9,
            _ => told == expected,
        };
        if !is_same {
            differ.push(format!("{expression}\n  PostgreSQL: {expected:?}\n  Portico:    {told:?}"));
        }
    }
    say(&format!("{compared} of {tried} expressions compared"));
    assert!(differ.is_empty(), "{} of {compared} differ:\n{}", differ.len(), differ.join("\n"));
}
