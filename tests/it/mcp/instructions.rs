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
async fn the_examples_run_and_everything_named_is_there() {
    let app = fixture::with_sqlite(&(MORE.to_owned() + CITIES_OF)).await;
    let result = app.tool("get_instructions", json!({})).await;
    let text = result["structuredContent"]["instructions"].as_str().unwrap();
    assert_eq!(result["content"][0]["text"], text);
    for words in [
        "Connection shop",
        "SQLite 3",
        "you may read and write",
        "at most 50 rows and 1048576 bytes",
        "Amounts are in euros.",
        "- orders_above: The orders above a total.",
        "- main.cities_of: All cities.",
        "Schema `main`: 2 tables, 1 views",
        "- cities (view)",
        "`shop.schema.table`",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let examples: Vec<&str> = text.split("```sql\n").skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect();
    assert_eq!(examples.len(), 2, "{text}");
    assert!(examples[0].contains("JOIN customers"), "the first follows the foreign key: {}", examples[0]);
    let joined = app.tool("execute_select", json!({"query": examples[0]})).await;
    assert_eq!(joined["structuredContent"]["rows"], json!([["Łukasz", 2], ["美咲", 1]]), "{joined}");
    let parameters = text.split_once("with `parameters` ").unwrap().1.lines().next().unwrap();
    let parameters: Value = serde_json::from_str(parameters).unwrap();
    let found = app.tool("execute_select", json!({"query": examples[1], "parameters": parameters})).await;
    assert_eq!((&found["isError"], &found["structuredContent"]["rowCount"]), (&json!(false), &json!(1)), "{found}");
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
    assert!(text.len() <= 16 * 1024 && text.contains("302 tables, 1 views"), "{}", text.len());
    let last = text.lines().last().unwrap();
    let missing: usize = last.trim_start_matches("- … and ").split(' ').next().unwrap().parse().unwrap();
    let named =
        text.lines().skip_while(|line| !line.starts_with("Schema ")).filter(|line| line.starts_with("- ")).count();
    assert_eq!(named - 1 + missing, 303, "{last}");
}

at_the_address_of_all! {
    the_examples_run_and_everything_named_is_there
    the_text_is_bounded_and_says_how_much_is_missing
}
