//! `get_tables` and `get_columns` as agents call them, what clients are told at first, and resources and completions.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{SQLITE, database, on_postgres, on_sqlite};
use crate::support::app::TestApp;
use crate::support::configuration::Configuration;

/// The cells under `labels`, row by row, and the hint.
async fn listed(app: &TestApp, tool: &str, arguments: Value, labels: &[&str]) -> (Vec<Value>, Value) {
    let answer = app.tool(tool, arguments.clone()).await;
    assert_eq!(answer["isError"], false, "{arguments}: {answer}");
    let content = &answer["structuredContent"];
    let columns = content["columns"].as_array().unwrap();
    let place = |label: &&str| columns.iter().position(|column| column["name"] == **label).unwrap();
    let places: Vec<usize> = labels.iter().map(place).collect();
    let row = |row: &Value| places.iter().map(|place| row[*place].clone()).collect::<Value>();
    (content["rows"].as_array().unwrap().iter().map(row).collect(), content["hint"].clone())
}

async fn tables(app: &TestApp, arguments: Value) -> (Vec<String>, Value) {
    let (rows, hint) = listed(app, "get_tables", arguments, &["TABLE_NAME"]).await;
    (rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect(), hint)
}

/// The tables of the columns that are listed, each once, in their order.
async fn described(app: &TestApp, arguments: Value) -> (Vec<String>, Value) {
    let (rows, hint) = listed(app, "get_columns", arguments, &["TABLE_NAME"]).await;
    let mut names: Vec<String> = rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect();
    names.dedup();
    (names, hint)
}

/// Both engines, and a workspace over each of them.
async fn everywhere() -> Vec<(TestApp, &'static str)> {
    const WORKSPACE: &str = "[[workspaces]]\nname = \"market\"\nassets = [{ table = \"trade.SCHEMA.%\" }]\n";
    let mut all = vec![(on_postgres("").await, "public"), (on_sqlite("").await, "main")];
    let configuration = Configuration::new().connection("trade", &database().await, "");
    let configuration = configuration.with(&WORKSPACE.replace("SCHEMA", "public"));
    all.push((configuration.start().await.at("/mcp/workspaces/market"), "main"));
    let configuration = Configuration::new();
    Connection::open(configuration.path().join("trade.db")).unwrap().execute_batch(SQLITE).unwrap();
    let configuration = configuration.connection("trade", "sqlite:trade.db", "");
    let configuration = configuration.with(&WORKSPACE.replace("SCHEMA", "main"));
    all.push((configuration.start().await.at("/mcp/workspaces/market"), "main"));
    all
}

#[actix_web::test]
async fn tables_are_found_by_words_the_best_first() {
    for (app, _) in everywhere().await {
        let (found, hint) = tables(&app, json!({"search": "orders"})).await;
        assert_eq!(found[0], "orders", "{found:?}");
        assert!(found.contains(&"open_orders".to_owned()) && found.contains(&"order_line".to_owned()), "{found:?}");
        assert_eq!(hint, Value::Null);
        // A comment, and a column's.
        assert_eq!(tables(&app, json!({"search": "basket"})).await.0, ["orders"]);
        assert_eq!(tables(&app, json!({"search": "weight"})).await.0, ["product"]);
        assert_eq!(tables(&app, json!({"search": "yearly audit", "tableName": "select, orders"})).await.0, ["select"]);
        let (none, hint) = tables(&app, json!({"search": "zeppelin"})).await;
        assert!(none.is_empty() && hint.as_str().unwrap().contains("try others"), "{hint}");
    }
}

#[actix_web::test]
async fn columns_of_several_tables_are_found_as_agents_write_them() {
    for (app, schema) in everywhere().await {
        for (name, expected) in [
            (json!("customer"), &["customer"][..]),
            (json!("ORDERS"), &["orders"]),
            (json!("customernote"), &["CustomerNote"]),
            (json!("orders, order_line"), &["orders", "order_line"]),
            (json!(["orders", "exchange rate"]), &["orders", "exchange rate"]),
            (json!("order%"), &["order_line", "orders"]),
            (json!(format!("{schema}.customer")), &["customer"]),
            (json!(format!("{schema}.Customer, {schema}.stock")), &["customer", "stock"]),
            (json!("\"select\""), &["select"]),
        ] {
            let (found, hint) = described(&app, json!({"tableName": name})).await;
            assert_eq!((found.as_slice(), &hint), (expected.map_names().as_slice(), &Value::Null), "{name}");
        }
        for (arguments, words) in [
            (
                json!({"tableName": "custmer"}),
                format!("no table or view custmer that you may see; did you mean {schema}.customer"),
            ),
            (json!({"tableName": "%zzz%"}), "matches %zzz%".to_owned()),
            (json!({"tableName": "orders", "columnName": "placed"}), "placed_at".to_owned()),
        ] {
            let (found, hint) = described(&app, arguments.clone()).await;
            let hint = hint.as_str().unwrap_or_default();
            assert!(found.is_empty(), "{arguments}: {found:?}");
            assert!(hint.contains(&words) || arguments.get("columnName").is_some(), "{arguments}: {hint:?}");
            assert!(!hint.is_empty(), "{arguments}");
        }
        // What is there comes all the same.
        let (found, hint) = described(&app, json!({"tableName": "orders,nothing"})).await;
        assert_eq!(found, ["orders"]);
        assert!(hint.as_str().unwrap().contains("nothing"), "{hint}");
    }
}

trait Names {
    fn map_names(&self) -> Vec<String>;
}

impl Names for &[&str] {
    fn map_names(&self) -> Vec<String> {
        self.iter().map(|name| (*name).to_owned()).collect()
    }
}

#[actix_web::test]
async fn keys_references_and_values_are_told_with_the_columns() {
    for (app, schema) in everywhere().await {
        let labels = ["COLUMN_NAME", "IS_KEY", "REFERENCES", "VALUES"];
        let (rows, _) = listed(&app, "get_columns", json!({"tableName": "orders"}), &labels).await;
        let of = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
        assert_eq!(of("customer_id")[2], format!("{schema}.customer.id"));
        assert_eq!(of("id")[1], true);
        let values = |name: &str| serde_json::from_str::<Value>(of(name)[3].as_str().unwrap()).unwrap();
        assert_eq!(values("status"), json!(["draft", "placed", "paid", "shipped", "returned"]));
        assert_eq!(values("priority"), json!(["low", "normal", "rush"]));
        assert_eq!(values("currency"), json!(["EUR", "USD", "GBP"]));
        let (rows, _) = listed(&app, "get_columns", json!({"tableName": "complaint"}), &labels).await;
        assert!(
            rows.iter().any(|row| row[0] == "line_no" && row[2] == format!("{schema}.order_line.line_no")),
            "{rows:?}"
        );
        let (rows, _) =
            listed(&app, "get_tables", json!({"tableName": "country"}), &["ROW_ESTIMATE", "TABLE_TYPE"]).await;
        assert_eq!(rows, [json!([4, "TABLE"])]);
    }
}

#[actix_web::test]
async fn a_schema_that_is_not_there_is_told_with_those_that_are() {
    for (app, schema) in [(on_postgres("").await, "public"), (on_sqlite("").await, "main")] {
        for tool in ["get_tables", "get_columns"] {
            let wrong = &schema[..schema.len() - 1];
            let answer = app.tool(tool, json!({"schemaName": wrong})).await;
            let content = &answer["structuredContent"];
            assert_eq!((&content["rowCount"], &content["truncated"]), (&json!(0), &json!(false)), "{answer}");
            assert!(content["hint"].as_str().unwrap().contains(&format!("did you mean {schema}?")), "{answer}");
        }
        let wrong = app.tool_error("get_columns", json!({"tableName": 7})).await;
        assert!(wrong.contains("tableName: give a string"), "{wrong}");
    }
}

#[actix_web::test]
async fn clients_are_told_at_first_what_is_here_and_how_to_begin() {
    let keys = format!("instructions = \"Amounts are in euros. {}\"", "x".repeat(5_000));
    for (app, product) in [(on_postgres(&keys).await, "PostgreSQL"), (on_sqlite(&keys).await, "SQLite")] {
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let (_, body) = app.mcp(&app.reader, "initialize", params).await;
        let text = body["result"]["instructions"].as_str().unwrap();
        for words in [
            "trade: ",
            product,
            "You may only read.",
            "get_instructions",
            "execute_select",
            "get_columns",
            "Amounts are in euros.",
        ] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
        assert_eq!(text.chars().count(), 2_000, "{text}");
    }
}

#[actix_web::test]
async fn a_resource_is_a_line_of_the_digest_and_completions_rank() {
    for (app, schema) in [(on_postgres("").await, "public"), (on_sqlite("").await, "main")] {
        let uri = format!("portico://trade/{schema}/product");
        let (_, body) = app.mcp(&app.writer, "resources/read", json!({"uri": uri})).await;
        let text = body["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("\n{schema}.product(id int PK, sku text NOT NULL")), "{text}");
        assert!(text.contains(&format!("category_id int NOT NULL → {schema}.category.id")), "{text}");
        assert!(text.contains("\n- price_cents: Net price in euro cents.\n"), "{text}");
        let complete = async |begun: &str| {
            let reference = json!({"type": "ref/resource", "uri": "portico://trade/{schemaName}/{tableName}"});
            let params = json!({"ref": reference, "argument": {"name": "tableName", "value": begun}});
            let (_, body) = app.mcp(&app.writer, "completion/complete", params).await;
            body["result"]["completion"]["values"].clone()
        };
        assert_eq!(complete("order").await, json!(["order_line", "orders", "open_orders"]));
        assert_eq!(complete("custmer").await[0], "customer");
        assert_eq!(complete("zzzz").await, json!([]));
    }
}
