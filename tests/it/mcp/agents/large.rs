//! Results that are larger than what an agent reads: what is shown of them, and what is said of the rest.

use serde_json::{Value, json};

use super::tokens;
use crate::support::app::TestApp;
use crate::support::fixture::{self, on_both};

async fn text(app: &TestApp, arguments: Value) -> String {
    let result = app.tool("execute_select", arguments).await;
    assert_eq!(result["isError"], false, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                    SELECT i, 'customer number ' || i AS name, i * 1.5 AS total FROM n";

async fn many_rows_cost_little_and_say_how_to_aggregate(app: &TestApp) {
    let shown = text(app, json!({"query": MANY})).await;
    println!("50,000 rows: {} tokens", tokens(&shown));
    assert!(tokens(&shown) <= 8_000, "{}", tokens(&shown));
    // What is left out is told before the rows.
    let head = shown.split("\"rows\"").next().unwrap();
    assert!(head.contains("\"truncated\":true") && head.contains("aggregate in SQL"), "{head}");
    let result: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(result["rowCount"], 200);
    assert!(result["hint"].as_str().unwrap().contains("OFFSET 200"), "{}", result["hint"]);
    // Who asks for more gets more, up to the connection's own bounds.
    let more = app.tool("execute_select", json!({"query": MANY, "maxRows": 1000})).await;
    assert_eq!(more["structuredContent"]["rowCount"], 1000);
    let fewer = app.tool("execute_select", json!({"query": MANY, "maxRows": 3})).await;
    assert_eq!(fewer["structuredContent"]["rowCount"], 3);
    let beyond = app.tool_error("execute_select", json!({"query": MANY, "maxRows": 50_000})).await;
    assert!(beyond.contains("at most 1000 rows") && beyond.contains("aggregate in SQL"), "{beyond}");
    for format in ["csv", "markdown"] {
        let shown = text(app, json!({"query": MANY, "format": format})).await;
        assert!(tokens(&shown) <= 8_000 && shown.contains("aggregate in SQL"), "{format}: {}", tokens(&shown));
    }
}

async fn a_long_value_is_cut_and_never_costs_its_row(app: &TestApp) {
    let long = "replace('                              ', ' ', 'äbcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ .,-+#*!?()[]{}/=%&')";
    let rows = async |query: String| {
        let shown = text(app, json!({"query": query})).await;
        let result: Value = serde_json::from_str(&shown).unwrap();
        (result["rows"].clone(), result["truncated"].clone(), result["hint"].to_string())
    };
    let (rows_of_two, truncated, hint) =
        rows(format!("SELECT 1 AS id, {long} AS body UNION ALL SELECT 2, 'short'")).await;
    assert_eq!((rows_of_two.as_array().unwrap().len(), &truncated), (2, &json!(true)), "{rows_of_two}");
    let body = rows_of_two[0][1].as_str().unwrap();
    assert!(body.len() < 2_050 && body.contains("… (") && body.ends_with(" bytes)"), "{body}");
    assert!(hint.contains("long values are cut"), "{hint}");
    // One value alone is shown as a whole, up to the cap.
    let (alone, truncated, _) = rows(format!("SELECT {long} AS body")).await;
    assert!(alone[0][0].as_str().unwrap().len() > 2_050 && truncated == false, "{alone}");
    // Of several rows with one column each value is cut.
    let (several, ..) = rows(format!("SELECT {long} AS body UNION ALL SELECT 'short'")).await;
    assert_eq!(several.as_array().unwrap().len(), 2);
    assert!(several.to_string().len() < 2_100, "{several}");
    // A row of many long values has room all the same.
    let columns = (0..40).map(|number| format!("{long} AS c{number}")).collect::<Vec<_>>().join(", ");
    let (wide, truncated, _) = rows(format!("SELECT {columns}")).await;
    assert_eq!((wide[0].as_array().map(Vec::len), truncated), (Some(40), json!(true)));
}

on_both! {
    many_rows_cost_little_and_say_how_to_aggregate
    a_long_value_is_cut_and_never_costs_its_row
}

#[actix_web::test]
async fn a_cut_json_value_is_a_string_and_a_whole_one_stays_json() {
    let app = fixture::on_postgres().await;
    let query = "SELECT 1 AS id, jsonb_build_object('a', repeat('x', 3000)) AS long, '{\"b\": 2}'::jsonb AS short, \
                 decode(repeat('00', 3000), 'hex') AS octets";
    let row = app.tool("execute_select", json!({"query": query})).await["structuredContent"]["rows"][0].clone();
    assert!(
        row[1].as_str().unwrap().starts_with("{\"a\": \"xxx") && row[1].as_str().unwrap().ends_with("of 3009 bytes)"),
        "{row}"
    );
    assert_eq!(row[2], json!({"b": 2}));
    assert!(row[3].as_str().unwrap().ends_with("… (1500 of 3000 bytes)"), "{row}");
    let alone = app.tool("execute_select", json!({"query": "SELECT jsonb_build_object('a', repeat('x', 3000))"})).await;
    assert_eq!(alone["structuredContent"]["rows"][0][0]["a"].as_str().map(str::len), Some(3000));
    // Beyond the cap it is cut there.
    let beyond = app.tool("execute_select", json!({"query": "SELECT repeat('\"', 100000) AS quotes"})).await;
    let text = beyond["content"][0]["text"].as_str().unwrap();
    assert!(text.len() <= 24_500 && text.contains("of 100000 bytes)"), "{}", text.len());
    assert_eq!(beyond["structuredContent"]["truncated"], true);
}
