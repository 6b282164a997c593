//! `get_instructions`: what an agent reads before its first query, and whether it is true.

use serde_json::{Value, json};

use crate::support::fixture::{self, CITIES_OF};
use crate::support::mcp::at_the_address_of_all;

const MORE: &str = r#"access = "read-write"
max_rows = 50
instructions = "Amounts are in euros."
[connections.disabled]
tools = ["execute_update"]
[[connections.tools]]
name = "orders_above"
description = "The orders above a total."
sql = "SELECT id FROM orders WHERE total > @least"
[[connections.tools.parameters]]
name = "least"
type = "number"
"#;

#[actix_web::test]
async fn the_example_runs_and_everything_named_is_there() {
    let app = fixture::with_sqlite(&(MORE.to_owned() + CITIES_OF)).await;
    let result = app.tool("get_instructions", json!({})).await;
    let text = result["structuredContent"]["instructions"].as_str().unwrap();
    assert_eq!(result["content"][0]["text"], text);
    for words in [
        "Connection shop",
        "SQLite 3",
        "you may read and write",
        "50 rows and 24000 bytes",
        "Amounts are in euros.",
        "- orders_above: The orders above a total.",
        "- cities_of(): All cities.",
        "customer_id int NOT NULL → customers.id",
        "VIEW cities(city",
        "`shop.schema.table`",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let (query, parameters) = example(text);
    let found = app.tool("execute_select", json!({"query": query, "parameters": parameters})).await;
    assert_eq!((&found["isError"], &found["structuredContent"]["rowCount"]), (&json!(false), &json!(1)), "{found}");
}

/// The statement that the text shows, and its values.
pub(crate) fn example(text: &str) -> (&str, Value) {
    let (query, rest) = text.split_once("Example: execute_select `").unwrap().1.split_once('`').unwrap();
    let parameters = rest.split_once("parameters `").unwrap().1.split_once('`').unwrap().0;
    (query, serde_json::from_str(parameters).unwrap())
}

#[actix_web::test]
async fn the_text_is_bounded_and_says_how_much_is_missing() {
    let app = fixture::with_sqlite("access = \"read-write\"").await;
    for number in 0..300 {
        let query =
            format!("CREATE TABLE a_name_so_long_that_three_hundred_of_them_do_not_fit_into_one_text_{number} (a)");
        let made = app.tool("execute_sql", json!({"query": query})).await;
        assert_eq!(made["isError"], false, "{made}");
    }
    let result = app.tool("get_instructions", json!({})).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.len() <= 2_000 * 4, "{}", text.len());
    let last = text.lines().rev().find(|line| line.starts_with("Also")).unwrap();
    let (names, missing) = last.split_once(" … and ").unwrap();
    let missing: usize = missing.split(' ').next().unwrap().parse().unwrap();
    let named = names.split_once("):").unwrap().1.split(", ").count();
    let tables = text.split_once("## Tables").unwrap().1;
    let whole = tables.lines().filter(|line| line.contains('(') && line.split('(').next().unwrap().len() > 60).count();
    let whole = whole + ["customers(", "orders(", "VIEW cities("].iter().filter(|start| text.contains(**start)).count();
    assert_eq!(whole + named + missing, 303, "{text}");
}

at_the_address_of_all! {
    the_example_runs_and_everything_named_is_there
    the_text_is_bounded_and_says_how_much_is_missing
}
