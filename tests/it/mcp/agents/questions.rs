//! Twelve questions in one conversation. A scripted agent knows their right SQL; code checks that each of its words and
//! literals stands in the question or in a text that the agent was shown, and counts what all of it costs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{listed, shown, tokens};
use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};

/// A question, the call that answers it, and the answer.
struct Question {
    asks: &'static str,
    tool: &'static str,
    arguments: Value,
    answer: Value,
}

fn select(asks: &'static str, query: &str, answer: Value) -> Question {
    Question { asks, tool: "execute_select", arguments: json!({"query": query}), answer }
}

fn questions() -> Vec<Question> {
    vec![
        select(
            "How many customers from Poland are active?",
            "SELECT count(*) FROM customers WHERE country_code = 'PL' AND deleted_at IS NULL",
            json!([[2]]),
        ),
        select("How many orders are shipped?", "SELECT count(*) FROM orders WHERE status = 'shipped'", json!([[1]])),
        select(
            "Who reports to Ada?",
            "SELECT e.name FROM employees e JOIN employees m ON m.id = e.manager_id WHERE m.name = 'Ada' ORDER BY e.name",
            json!([["Bo"], ["Cy"]]),
        ),
        select(
            "Which products came back because they were damaged?",
            "SELECT p.name FROM returns r JOIN order_lines l ON l.order_id = r.order_id AND l.line_no = r.line_no \
             JOIN products p ON p.id = l.product_id WHERE r.reason_code = 1",
            json!([["Shirt"]]),
        ),
        select(
            "How many returns are there by meaning of their reason?",
            "SELECT c.meaning, count(*) FROM returns r JOIN reason_codes c ON c.code = r.reason_code GROUP BY c.meaning ORDER BY c.meaning",
            json!([["damaged", 1], ["wrong size", 1]]),
        ),
        select(
            "What is the average of the stars that customer 1 has given?",
            "SELECT avg(\"Stars\") FROM \"CustomerRating\" WHERE \"customerId\" = 1",
            json!([[4.5]]),
        ),
        select(
            "What is the budget of all campaigns in the channel web?",
            "SELECT sum((settings ->> 'budget')::int) FROM campaigns WHERE settings ->> 'channel' = 'web'",
            json!([[500]]),
        ),
        select(
            "How many pages were seen in February 2026?",
            "SELECT sum(pages) FROM visits WHERE seen_on >= '2026-02-01' AND seen_on < '2026-03-01'",
            json!([[9]]),
        ),
        select(
            "Which product weighs more than 2 kg?",
            "SELECT name FROM products WHERE weight > 2 * 1000",
            json!([["Atlas"]]),
        ),
        select(
            "How many employees have a contract for a fixed term?",
            "SELECT count(*) FROM employees WHERE contract = 'fixed_term'",
            json!([[1]]),
        ),
        select(
            "How many pieces of the Boot are in all warehouses together?",
            "SELECT sum(s.pieces) FROM stock s JOIN products p ON p.id = s.product_id WHERE p.name = 'Boot'",
            json!([[12]]),
        ),
        Question {
            asks: "What is the turnover with Portugal?",
            tool: "execute_procedure",
            arguments: json!({"procedure": "turnover", "parameters": {"of_country": "PT"}}),
            answer: json!([[4000]]),
        },
    ]
}

/// SQL's own words, and what anybody knows of its functions.
const SQL: &[&str] = &[
    "select", "from", "where", "and", "join", "on", "is", "null", "group", "by", "order", "count", "sum", "avg", "int",
];

/// What a call says that is not SQL's own: its names but for aliases, and its literals.
fn facts(arguments: &Value) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    if let Some(parameters) = arguments["parameters"].as_object() {
        facts.insert(arguments["procedure"].as_str().unwrap().to_owned());
        for (name, value) in parameters {
            facts.extend([name.clone(), value.as_str().unwrap().to_owned()]);
        }
    }
    let text = arguments["query"].as_str().unwrap_or_default();
    for (at, piece) in text.split('\'').enumerate() {
        if at % 2 == 1 {
            facts.insert(piece.to_owned());
            continue;
        }
        let words = piece.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        // An alias is one letter.
        let words = words.filter(|word| word.len() > 1 || word.chars().all(|c| c.is_ascii_digit()));
        facts.extend(words.filter(|word| !SQL.contains(&word.to_lowercase().as_str())).map(str::to_owned));
    }
    facts
}

/// What is known without being told: months in figures, and what a kilogram is.
fn is_common(fact: &str) -> bool {
    ["2026-02-01", "2026-03-01", "1000"].contains(&fact)
}

async fn app() -> TestApp {
    let url = TestPostgres::shared().database("questions").await;
    connect(&url).await.batch_execute(include_str!("questions.sql")).await.unwrap();
    fixture::with_postgres(&url, "access = \"read-write\"").await
}

/// Calls a tool: what was said and what was answered.
async fn turn(app: &TestApp, tool: &str, arguments: &Value) -> (String, String, Value) {
    let result = app.tool(tool, arguments.clone()).await;
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(result["isError"], false, "{tool} {arguments}: {text}");
    (format!("{tool} {arguments}"), text, result["structuredContent"]["rows"].clone())
}

#[actix_web::test]
async fn twelve_questions_are_answered_with_what_was_shown() {
    let app = app().await;
    let tools = tokens(&shown(&listed(&app, "").await));
    let (said, instructions, _) = turn(&app, "get_instructions", &json!({})).await;
    let (mut calls, mut spent) = (1, tokens(&said) + tokens(&instructions));
    let (mut seen, mut alone, mut alone_calls) = (instructions.clone(), 0, 0);
    let mut missing = Vec::new();
    for Question { asks, tool, arguments, answer } in questions() {
        for fact in facts(&arguments) {
            if !is_common(&fact) && !seen.contains(&fact) && !asks.contains(&fact) {
                missing.push(format!("{fact:?} for {asks}"));
            }
        }
        let (said, text, rows) = turn(&app, tool, &arguments).await;
        let found: Vec<Vec<Value>> = serde_json::from_value(rows).unwrap();
        let same = |one: &Value, other: &Value| {
            one == other || one.as_f64().zip(other.as_f64()).is_some_and(|(a, b)| (a - b).abs() < 1e-9)
        };
        let wanted: Vec<Vec<Value>> = serde_json::from_value(answer).unwrap();
        assert!(
            found.len() == wanted.len()
                && found.iter().zip(&wanted).all(|(one, other)| one.iter().zip(other).all(|(a, b)| same(a, b))),
            "{asks}: {found:?} and not {wanted:?}"
        );
        let cost = tokens(asks) + tokens(&said) + tokens(&text);
        (calls, spent) = (calls + 1, spent + cost);
        // By itself: the model reads the tools at each turn, and all that was said before.
        let head = tools + tokens(asks);
        alone += head + (head + tokens(&instructions)) + (head + tokens(&instructions) + cost);
        alone_calls += 2;
        seen += &text;
    }
    println!(
        "tools {tools} tokens, instructions {}; twelve questions in one conversation: {calls} calls, {spent} tokens; each by itself: \
         {alone_calls} calls, {alone} tokens as read over all turns",
        tokens(&instructions)
    );
    assert!(missing.is_empty(), "not shown: {}\n{instructions}", missing.join(", "));
    assert!(tools <= 1_800 && calls <= 20 && spent <= 4_500, "{tools}, {calls}, {spent}");
    assert!(alone_calls <= 30 && alone <= 100_000, "{alone_calls}, {alone}");
}
