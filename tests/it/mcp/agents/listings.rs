//! Listings as agents ask for them, on a real PostgreSQL: names in any form, several with commas, and an empty answer says why.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::postgres::connect;

const TABLES: &str = r#"
CREATE SCHEMA hr;
CREATE SCHEMA "Sales";
CREATE TABLE hr.staff (id int, name text);
CREATE TABLE "Sales"."Customers" (id int, name text);
CREATE FUNCTION hr.add(a int, b int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + b';
CREATE FUNCTION hr.add(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT a || b';
CREATE FUNCTION "Mixed Case"(one int) RETURNS int LANGUAGE sql STABLE AS 'SELECT one';
CREATE FUNCTION noted(what text) RETURNS int LANGUAGE sql AS $$INSERT INTO hr.staff VALUES (1, what) RETURNING id$$;
CREATE SEQUENCE numbers;
CREATE TYPE status AS ENUM ('new', 'paid');
CREATE TABLE payments (id int, state status);
CREATE FUNCTION paid(state status) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE TABLE documents (id int, body jsonb);
INSERT INTO documents SELECT n, jsonb_build_object('text', repeat('long ', 2000)) FROM generate_series(1, 2) n;
"#;

async fn app(settings: &str) -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(TABLES).await.unwrap();
    fixture::with_postgres(&url, settings).await
}

/// One column of a listing's rows, and its hint.
async fn listed(app: &TestApp, tool: &str, arguments: Value, column: usize) -> (Vec<String>, String) {
    let result = app.tool(tool, arguments.clone()).await;
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    let content = &result["structuredContent"];
    let names = content["rows"].as_array().unwrap().iter().map(|row| row[column].as_str().unwrap().to_owned());
    (names.collect(), content["hint"].as_str().unwrap_or_default().to_owned())
}

#[actix_web::test]
async fn names_stand_in_any_form_and_several_with_commas() {
    let app = app("").await;
    for (tool, arguments, column, expected) in [
        ("get_schemas", json!({"schemaName": "hr,Sales"}), 1, &["Sales", "hr"][..]),
        ("get_tables", json!({"schemaName": "hr,Sales"}), 2, &["staff", "Customers"]),
        ("get_tables", json!({"schemaName": "hr , Sales", "tableName": "customers"}), 2, &["Customers"]),
        ("get_tables", json!({"schemaName": "hr", "tableType": "view,base table"}), 2, &["staff"]),
        ("get_tables", json!({"schemaName": "hr,Sales", "search": "customer"}), 2, &["Customers"]),
        ("get_columns", json!({"schemaName": "hr,Sales", "columnName": "name"}), 2, &["staff", "Customers"]),
        ("get_columns", json!({"tableName": "hr.staff", "columnName": "name,id"}), 3, &["name", "id"]),
        ("get_procedures", json!({"procedureName": "HR.Add"}), 2, &["add", "add"]),
        ("get_procedures", json!({"procedureName": "\"Mixed Case\",hr.a%"}), 2, &["Mixed Case", "add", "add"]),
        ("get_procedures", json!({"procedureName": ["shop.hr.add"], "schemaName": "hr,Sales"}), 2, &["add", "add"]),
        ("get_procedures", json!({"schemaName": "hr,Sales"}), 2, &["add", "add"]),
        ("get_procedure_parameters", json!({"procedureName": "hr.add", "paramName": "b,a"}), 3, &["b", "b", "a", "a"]),
    ] {
        let (mut names, hint) = listed(&app, tool, arguments.clone(), column).await;
        let mut expected = expected.to_vec();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{tool} {arguments}: {hint}");
    }
}

#[actix_web::test]
async fn an_empty_listing_says_why() {
    let app = app("").await;
    for (tool, arguments, hint) in [
        ("get_schemas", json!({"schemaName": "SALES"}), "did you mean Sales"),
        ("get_procedures", json!({"schemaName": "HR"}), "did you mean hr"),
        (
            "get_procedures",
            json!({"procedureName": "ad"}),
            "no procedure or function ad that you may see; did you mean hr.add",
        ),
        ("get_procedure_parameters", json!({"procedureName": "hr.add", "paramName": "c"}), "no parameter matches c"),
        (
            "get_tables",
            json!({"tableType": "SYNONYM"}),
            "no table of type SYNONYM that you may see; there are TABLE, VIEW",
        ),
        ("get_tables", json!({"catalogName": "postgres"}), "is not this connection, which is shop"),
        ("get_columns", json!({"tableName": "hr.staff", "columnName": "nam,ident"}), "no column matches nam,ident"),
    ] {
        let result = app.tool(tool, arguments.clone()).await;
        let text = result.to_string();
        assert!(text.contains(hint), "{tool} {arguments}: {text}");
    }
}

/// A failure names the tool, the quotes or the part of a value that lead on.
#[actix_web::test]
async fn failures_lead_on() {
    let app = app("access = \"read-write\"").await;
    for (tool, arguments, hint) in [
        ("execute_select", json!({"query": "SELECT noted('x')"}), "execute_sql takes this statement"),
        ("execute_select", json!({"query": "SELECT nextval('numbers')"}), "execute_sql takes this statement"),
        ("execute_select", json!({"query": "SELECT pg_advisory_lock(1)"}), "execute_sql takes this statement"),
        ("execute_select", json!({"query": "DO $$BEGIN END$$"}), "use execute_sql"),
        ("execute_select", json!({"query": "SELECT id FROM \"hr.staff\""}), "did you mean hr.staff? each part"),
        (
            "execute_select",
            json!({"query": "SELECT id FROM \"Sales.Customers\""}),
            "did you mean \"Sales\".\"Customers\"?",
        ),
        ("execute_procedure", json!({"procedure": "Mixed_Case"}), "did you mean public.\"Mixed Case\"?"),
        ("execute_procedure", json!({"procedure": "Mixed Case"}), "in double quotes"),
        ("execute_procedure", json!({"procedure": "paid", "parameters": {"state": "payed"}}), "did you mean 'paid'"),
    ] {
        let words = app.tool_error(tool, arguments.clone()).await;
        assert!(words.contains(hint), "{tool} {arguments}: {words}");
    }
    let quoted = json!({"procedure": "\"Mixed Case\"", "parameters": {"one": 5}, "defaultSchema": "\"public\""});
    assert_eq!(app.tool("execute_procedure", quoted).await["structuredContent"]["rows"], json!([[5]]));
    let cut = app.tool("execute_select", json!({"query": "SELECT id, body FROM documents"})).await;
    let hint = cut["structuredContent"]["hint"].as_str().unwrap();
    assert!(hint.contains("substr(CAST(… AS text), 1, 2000)"), "{hint}");
    let followed = json!({"query": "SELECT id, substr(CAST(body AS text), 1, 2000) FROM documents"});
    assert_eq!(app.tool("execute_select", followed).await["structuredContent"]["truncated"], false);
}

#[actix_web::test]
async fn instructions_name_no_procedure_that_is_refused() {
    let read_only = app("").await;
    let text = read_only.tool("get_instructions", json!({})).await["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("\"Mixed Case\"(") && !text.contains("noted("), "{text}");
    assert!(text.contains("1 more may change data"), "{text}");
    let writing = app("access = \"read-write\"").await;
    let text = writing.tool("get_instructions", json!({})).await["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("noted(") && !text.contains("more may change data"), "{text}");
}
