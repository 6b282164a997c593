//! Near names for what is misspelt: schemas for a schema, tables for a table, written so that the
//! next attempt finds them.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const SETUP: &str = "CREATE SCHEMA other; CREATE TABLE other.invoices (id int);
CREATE FUNCTION other.zeta_fn() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE FUNCTION stock_level() RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';";

async fn service() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(SETUP).await.unwrap();
    fixture::with_postgres(&url, "access = \"read-write\"").await
}

#[actix_web::test]
async fn a_near_name_is_one_that_can_be_used() {
    let app = service().await;
    let hint = async |query: &str, schema: Option<&str>| {
        let mut body = json!({"query": query});
        if let Some(schema) = schema {
            body["defaultSchema"] = Value::from(schema);
        }
        let (status, answer) = app.query(body.clone()).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{query}: {answer}");
        let words = app.tool_error("execute_select", body).await;
        let hint = answer["error"]["hint"].as_str().unwrap().to_owned();
        assert!(words.ends_with(&format!("Hint: {hint}")), "{query}: {words}");
        hint
    };
    for (table, schema, near) in [
        ("custmers", None, "customers"),
        ("publik.customers", None, "public.customers"),
        ("public.custmers", None, "public.customers"),
        ("other.custmers", None, "public.customers"),
        ("invoices", None, "other.invoices"),
        ("invoice", None, "other.invoices"),
        ("public.invoices", None, "other.invoices"),
        ("invoice", Some("other"), "invoices"),
    ] {
        let said = hint(&format!("SELECT * FROM {table}"), schema).await;
        assert_eq!(said, format!("did you mean {near}?"), "{table}");
        let body = json!({"query": format!("SELECT * FROM {near}"), "defaultSchema": schema.unwrap_or("public")});
        assert_eq!(app.query(body).await.0, 200, "{near}");
    }
    for (schema, said) in [
        ("othr", "did you mean other?"),
        ("publi", "did you mean public?"),
        ("custom", "no schema has a name like it: look for the right one in the list of schemas"),
    ] {
        assert_eq!(hint("SELECT 1", Some(schema)).await, said);
    }
    let far = "no table or view has a name like it: look for the right one in the list of tables";
    assert_eq!(hint("SELECT * FROM zzz", None).await, far);
}

#[actix_web::test]
async fn a_near_procedure_is_told_with_its_schema() {
    let app = service().await;
    for (procedure, schema, near) in [
        ("zeta_fn", None, "other.zeta_fn"),
        ("zeta_f", None, "other.zeta_fn"),
        ("public.zeta_fn", None, "other.zeta_fn"),
        ("stocklevel", None, "public.stock_level"),
        ("stock_level", Some("publi"), "public"),
    ] {
        let mut body = json!({"procedure": procedure});
        if let Some(schema) = schema {
            body["defaultSchema"] = Value::from(schema);
        }
        let (status, answer) = app.exec(body).await;
        let said = (status, &answer["error"]["code"], &answer["error"]["hint"]);
        assert_eq!(said, (404, &json!(1300), &json!(format!("did you mean {near}?"))), "{procedure}: {answer}");
    }
}

/// What follows a hint must not answer another question.
#[actix_web::test]
async fn a_text_in_double_quotes_is_told_to_be_one() {
    for app in [service().await, fixture::on_sqlite().await] {
        let (_, answer) = app.query(json!({"query": "SELECT id FROM customers WHERE name = \"Name 1\""})).await;
        let hint = answer["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("single quotes: 'Name 1'"), "{answer}");
    }
}

/// Each hint, and a statement that does what it says.
#[actix_web::test]
async fn what_a_hint_says_works() {
    let app = service().await;
    for (wrong, words, right) in [
        ("SELECT id FROM customers WHERE id IN (@l)", "= ANY(@l)", "SELECT id FROM customers WHERE id = ANY(@l)"),
        ("SELECT @l || 'x'", "@l::int[]", "SELECT @l::int[]"),
        ("SELECT id FROM customers WHERE name LIKE 5", "single quotes", "SELECT id FROM customers WHERE name LIKE '5'"),
        ("SELECT id || id FROM customers", "::text ||", "SELECT id::text || id FROM customers"),
        ("SELECT id FROM customers WHERE id == 1", "one = compares", "SELECT id FROM customers WHERE id = 1"),
        (
            "SELECT '{\"a\": 1}'::jsonb -> 'a' > 3",
            "->> 'key')::integer",
            "SELECT ('{\"a\": 1}'::jsonb ->> 'a')::integer > 3",
        ),
        ("SELECT current_date > 2024-01-01", "'2026-01-31'", "SELECT current_date > '2024-01-01'"),
        (
            "SELECT max(count(*)) FROM customers GROUP BY id",
            "subquery",
            "SELECT max(n) FROM (SELECT count(*) AS n FROM customers GROUP BY id) AS q",
        ),
        ("SELECT 'x' = ARRAY['x']", "= ANY(an_array)", "SELECT 'x' = ANY(ARRAY['x'])"),
        ("UPDATE customers c SET c.name = 'x'", "without c.", "UPDATE customers c SET name = 'x'"),
    ] {
        let ask = async |query: &str| {
            let given = if query.contains("@l") { json!({"l": [1, 2]}) } else { json!({}) };
            app.query(json!({"query": query, "parameters": given, "dryRun": true})).await
        };
        let (_, answer) = ask(wrong).await;
        assert!(answer["error"]["hint"].as_str().unwrap_or_default().contains(words), "{wrong}: {answer}");
        let (status, answer) = ask(right).await;
        assert_eq!(status, 200, "{right}: {answer}");
    }
}

#[actix_web::test]
async fn a_hint_for_a_column_keeps_to_the_table_that_was_named() {
    let app = service().await;
    for (query, told) in [
        ("SELECT c.customer_id FROM customers c", "that table has the columns id, name, city"),
        (
            "SELECT 1 FROM orders o JOIN customers c ON o.customer_id = c.customer_id",
            "that table has the columns c.id, c.name, c.city; there is o.customer_id",
        ),
        ("SELECT c.nam FROM customers c", "did you mean name?"),
        ("SELECT sum(total) s FROM orders WHERE s > 5", "s is an alias of the SELECT list"),
        ("SELECT sum(total) AS totl FROM orders HAVING totl > 5", "totl is an alias of the SELECT list"),
    ] {
        let (_, answer) = app.query(json!({"query": query})).await;
        let hint = answer["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with(told), "{query}: {answer}");
    }
}
