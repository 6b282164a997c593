//! Values and filters at their edges, where an answer could say one thing and mean another.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture::{self, on_both};

on_both! {
    a_filter_may_hold_a_backslash
    null_is_told_from_an_empty_text_in_csv
}

async fn a_filter_may_hold_a_backslash(app: &TestApp) {
    let (status, answer) = app.query(json!({"query": r#"CREATE TABLE "a\b" (x INTEGER)"#})).await;
    assert_eq!(status, 200, "{answer}");
    for (filter, expected) in [
        (r"\", json!([])),
        (r"a\", json!([])),
        (r"\\\", json!([])),
        (r"a\b", json!([r"a\b"])),
        (r"a\\b", json!([r"a\b"])),
        (r"%\%", json!([])),
        (r"%\\%", json!([r"a\b"])),
        (r"a\_", json!([])),
        (r"a_b", json!([r"a\b"])),
    ] {
        let response = app.get("/api/tables").query(&[("tableName", filter)]).send().await.unwrap();
        let (status, answer) = read(response).await;
        assert_eq!(status, 200, "{filter}: {answer}");
        let names: Vec<&Value> = answer["results"][0]["rows"].as_array().unwrap().iter().map(|row| &row[2]).collect();
        assert_eq!(json!(names), expected, "{filter}");
        for path in ["schemas", "columns", "primaryKeys", "importedKeys", "exportedKeys", "indexes", "procedures"] {
            for name in ["catalogName", "schemaName", "tableName", "columnName", "procedureName", "tableType"] {
                let query = [(name, filter)];
                let (status, answer) = read(app.get(&format!("/api/{path}")).query(&query).send().await.unwrap()).await;
                let unknown = status == 400 && answer["error"]["code"] == 1000;
                assert!(status == 200 || unknown || status == 404, "{path} {name} {filter}: {status} {answer}");
            }
        }
    }
}

async fn null_is_told_from_an_empty_text_in_csv(app: &TestApp) {
    let values =
        "(SELECT 1 AS i, NULL AS a UNION ALL SELECT 2, '' UNION ALL SELECT 3, 'NULL' UNION ALL SELECT 4, ',') t";
    for (columns, expected) in
        [("a", "a\r\nNULL\r\n\"\"\r\n\"NULL\"\r\n\",\"\r\n"), ("i, a", "i,a\r\n1,\r\n2,\"\"\r\n3,NULL\r\n4,\",\"\r\n")]
    {
        let query = format!("SELECT {columns} FROM {values} ORDER BY i");
        let request = app.post("/api/query").header("accept", "text/csv").json(&json!({"query": query}));
        assert_eq!(request.send().await.unwrap().text().await.unwrap(), expected, "{columns}");
        let result = app.tool("execute_select", json!({"query": query, "format": "csv"})).await;
        assert_eq!(result["content"][0]["text"], expected, "{columns}");
    }
}

#[actix_web::test]
async fn json_that_strict_parsers_cannot_read_is_text_in_tools() {
    let app = fixture::on_postgres().await;
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    for json in [r#""\ud800""#, r#"{"\udc00": 1}"#, r#"["\ud83d\u0041"]"#, "1e999", "[-1e400]", &deep] {
        let result = app.tool("execute_select", json!({"query": format!("SELECT '{json}'::json AS a")})).await;
        assert_eq!(result["structuredContent"]["rows"][0][0], json!(json));
    }
    let query = r#"SELECT '{"a": [1.50, "\ud83d\ude42"]}'::json AS a"#;
    let result = app.tool("execute_select", json!({"query": query})).await;
    assert_eq!(result["structuredContent"]["rows"][0][0], json!({"a": [1.5, "🙂"]}));
}

#[actix_web::test]
async fn octets_in_a_text_column_of_sqlite_are_told_from_texts() {
    let app = fixture::on_sqlite().await;
    let query = "CREATE TABLE odd (a TEXT, b BLOB, c INTEGER, d, e VARCHAR(9));
        INSERT INTO odd VALUES ('AQI=', x'0102', 1, x'0102', ''), (x'0102', x'', x'ff', x'', x'')";
    let (status, answer) = app.query(json!({"query": query})).await;
    assert_eq!(status, 200, "{answer}");
    let rows = app.rows("SELECT * FROM odd ORDER BY rowid").await;
    assert_eq!(rows, json!([["AQI=", "AQI=", 1, "AQI=", ""], ["X'0102'", "", "X'FF'", "", "X''"]]));
}

#[actix_web::test]
async fn intervals_at_their_ends_are_as_the_server_prints_them() {
    let app = fixture::on_postgres().await;
    let (mut texts, ends) = (
        Vec::new(),
        [
            "'178956970 years 7 mons 2147483647 days 2562047788:00:54.775807'::interval",
            "'-178956970 years -8 mons -2147483648 days -2562047788:00:54.775807'::interval - interval '1 microsecond'",
        ],
    );
    for end in ends {
        let query = format!("SELECT {end} AS a, ({end})::text AS b, ARRAY[({end})::text] AS c, ARRAY[{end}] AS d");
        let rows = app.rows(&query).await;
        assert_eq!(rows[0][0], rows[0][1], "{end}");
        assert_eq!(rows[0][2], rows[0][3], "{end}");
        texts.push(rows[0][0].clone());
    }
    let body = json!({"query": format!("SELECT {} AS a WHERE @a = 1", ends[0]), "parameters": [{"a": 1}]});
    let (_, document) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
    assert_eq!(document["results"][0]["rows"][0][0], texts[0], "{document}");
}

/// The server's own JSON of the same value says what it is.
#[actix_web::test]
async fn arrays_of_array_domains_are_arrays_of_arrays() {
    let app = fixture::on_postgres().await;
    let setup = "CREATE DOMAIN pair AS int4[]; CREATE DOMAIN costs AS money[]; CREATE DOMAIN pairs AS pair[]; CREATE DOMAIN spots AS point[];
        CREATE TABLE held (a pair[], b pairs, c costs, d costs[], e spots, f spots[]);
        INSERT INTO held VALUES ('{\"{1,2}\",\"{3}\",NULL}', '{\"{1,NULL}\"}', '{1.5,NULL}', '{\"{2}\"}', \
            ARRAY['(1,2)'::point], ('{' || to_json('{\"(1,2)\",\"(3,4)\"}'::text) || '}')::spots[])";
    let (status, answer) = app.query(json!({"query": setup})).await;
    assert_eq!(status, 200, "{answer}");
    for column in ["a", "b", "c", "d", "e", "f"] {
        let rows = app.rows(&format!("SELECT {column}, to_json({column})::text FROM held")).await;
        let values: Vec<Value> = rows[0]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap_or_else(|_| panic!("{column}: {rows}")))
            .collect();
        assert_eq!(values[0], values[1], "{column}");
    }
}
