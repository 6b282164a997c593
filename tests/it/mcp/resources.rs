//! Tables as resources, an administrator's prompts, and completions, in both eras.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::mcp::at_the_address_of_all;
use crate::support::postgres::connect;

const MORE: &str = r#"access = "read-write"
[connections.hidden]
tables = ["customers"]
[[connections.prompts]]
name = "explain"
title = "Explain a table"
description = "What a table holds."
text = "Explain {{table}} in {{tone}} words."
[[connections.prompts.arguments]]
name = "table"
description = "The table"
required = true
completes = "tables"
[[connections.prompts.arguments]]
name = "tone"
values = ["plain", "precise"]
"#;

async fn stateless(app: &TestApp, method: &str, name: Option<&str>, mut params: Value) -> (u16, Value) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).body(body);
    request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    read(request.send().await.unwrap()).await
}

async fn result(app: &TestApp, method: &str, params: Value) -> Value {
    let (status, mut body) = app.mcp(&app.writer, method, params).await;
    assert!(status == 200 && body.get("error").is_none(), "{method}: {status} {body}");
    body["result"].take()
}

async fn error(app: &TestApp, method: &str, params: Value) -> Value {
    let (status, mut body) = app.mcp(&app.writer, method, params).await;
    assert_eq!(status, 200, "{body}");
    body["error"].take()
}

#[actix_web::test]
async fn a_definition_shows_what_foreign_keys_refer_to() {
    for (app, schema) in [(fixture::on_sqlite().await, "main"), (fixture::on_postgres().await, "public")] {
        let uri = format!("portico://shop/{schema}/orders");
        let read = result(&app, "resources/read", json!({"uri": uri})).await;
        let text = read["contents"][0]["text"].as_str().unwrap();
        let expected = format!("customer_id int NOT NULL → {schema}.customers.id, ");
        assert!(text.contains(&expected), "{text}");
    }
}

#[actix_web::test]
async fn a_definition_shows_types_that_exist() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    let table = "(a timestamptz, b time(3), c numeric(10, 2), d numeric(5), e numeric, f varchar(20), g int, h char(3), \
        i name, j text, k bit(8), l double precision, m interval, n numeric(3, -2), o timestamp(0), p bigint)";
    admin.batch_execute(&format!("CREATE TABLE typed {table}")).await.unwrap();
    let app = fixture::with_postgres(&url, "").await;
    let read = result(&app, "resources/read", json!({"uri": "portico://shop/public/typed"})).await;
    let text = read["contents"][0]["text"].as_str().unwrap();
    let line = text.lines().find(|line| line.starts_with("public.typed(")).unwrap();
    let columns = line.trim_start_matches("public.typed(").trim_end_matches(')').split(", ");
    let types: Vec<&str> = columns.map(|column| column.split_once(' ').unwrap().1).collect();
    assert_eq!(
        types,
        [
            "timestamptz",
            "time",
            "numeric(10,2)",
            "numeric(5)",
            "numeric",
            "varchar(20)",
            "int",
            "char(3)",
            "name",
            "text",
            "bit(8)",
            "float8",
            "interval",
            "numeric(3,-2)",
            "timestamp",
            "bigint",
        ],
        "{text}"
    );
    for type_ in types {
        admin.batch_execute(&format!("SELECT NULL::{type_}")).await.unwrap();
    }
}

#[actix_web::test]
async fn tables_are_listed_and_read_as_resources() {
    let app = fixture::with_sqlite(MORE).await;
    let list = result(&app, "resources/list", json!({})).await;
    let uris: Vec<&str> = list["resources"].as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["portico://shop/main/cities", "portico://shop/main/orders"], "what is hidden is not listed");
    let read = result(&app, "resources/read", json!({"uri": uris[1]})).await;
    insta::assert_snapshot!(read["contents"][0]["text"].as_str().unwrap(), @r"
    # main.orders

    ```sql
    main.orders(id int PK auto, customer_id int NOT NULL, total numeric(10,2) NOT NULL, placed date) ~3
    ```
    ");
    assert_eq!(
        (&read["contents"][0]["uri"], &read["contents"][0]["mimeType"]),
        (&json!(uris[1]), &json!("text/markdown"))
    );
    let templates = result(&app, "resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "portico://shop/{schemaName}/{tableName}");
    for unknown in ["portico://shop/main/customers", "portico://shop/main/nothing", "portico://shop/main/order_", "x"] {
        let failure = error(&app, "resources/read", json!({"uri": unknown})).await;
        assert_eq!((&failure["code"], &failure["data"]["uri"]), (&json!(-32002), &json!(unknown)), "{failure}");
        let (status, body) = stateless(&app, "resources/read", Some(unknown), json!({"uri": unknown})).await;
        assert_eq!(
            (status, &body["error"]["code"], &body["error"]["data"]["uri"]),
            (200, &json!(-32602), &json!(unknown))
        );
    }
    assert_eq!(error(&app, "resources/list", json!({"cursor": "!"})).await["code"], -32602);
    assert_eq!(error(&app, "resources/read", json!({})).await["code"], -32602);
}

#[actix_web::test]
async fn resources_come_in_pages_and_follow_the_source() {
    let app = fixture::with_sqlite("access = \"read-write\"").await;
    for number in 0..250 {
        app.tool("execute_sql", json!({"query": format!("CREATE TABLE \"t {number}\" (id INTEGER)")})).await;
    }
    let (mut cursor, mut seen) = (json!(null), Vec::new());
    loop {
        let page = result(&app, "resources/list", json!({"cursor": cursor})).await;
        seen.extend(page["resources"].as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap().to_owned()));
        if page.get("nextCursor").is_none() {
            break;
        }
        cursor = page["nextCursor"].clone();
    }
    assert_eq!(seen.len(), 253);
    let unique: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!(unique.len(), 253, "each once");
    let read = result(&app, "resources/read", json!({"uri": "portico://shop/main/t%207"})).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("# main.t 7"), "{read}");
}

#[actix_web::test]
async fn prompts_are_filled_with_their_arguments() {
    let app = fixture::with_sqlite(MORE).await;
    let list = result(&app, "prompts/list", json!({})).await;
    assert_eq!(
        list["prompts"][0],
        json!({
            "name": "explain",
            "arguments": [
                {"name": "table", "required": true, "description": "The table"},
                {"name": "tone", "required": false},
            ],
            "title": "Explain a table",
            "description": "What a table holds.",
        })
    );
    let get = json!({"name": "explain", "arguments": {"table": "orders {{tone}}", "tone": "plain"}});
    let message = &result(&app, "prompts/get", get).await["messages"][0];
    assert_eq!(
        (&message["role"], &message["content"]["text"]),
        (&json!("user"), &json!("Explain orders {{tone}} in plain words."))
    );
    for wrong in [
        json!({"name": "explain"}),
        json!({"name": "explain", "arguments": {"table": "a", "other": "b"}}),
        json!({"name": "explain", "arguments": {"table": 5}}),
        json!({"name": "nothing", "arguments": {}}),
        json!({}),
    ] {
        assert_eq!(error(&app, "prompts/get", wrong.clone()).await["code"], -32602, "{wrong}");
    }
}

#[actix_web::test]
async fn names_are_completed_as_far_as_they_are_shown() {
    let app = fixture::with_sqlite(MORE).await;
    let complete = async |reference: Value, name: &str, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        result(&app, "completion/complete", params).await["completion"].clone()
    };
    let template = json!({"type": "ref/resource", "uri": "portico://shop/{schemaName}/{tableName}"});
    let prompt = json!({"type": "ref/prompt", "name": "explain"});
    let all = json!({"values": ["cities", "orders"], "total": 2, "hasMore": false});
    assert_eq!(complete(template.clone(), "tableName", "").await, all);
    assert_eq!(complete(template.clone(), "tableName", "OR").await["values"], json!(["orders"]));
    assert_eq!(complete(template.clone(), "tableName", "c%").await["values"], json!([]), "a value is no pattern");
    assert_eq!(complete(template, "schemaName", "m").await["values"], json!(["main"]));
    assert_eq!(complete(prompt.clone(), "table", "").await, all);
    assert_eq!(complete(prompt.clone(), "tone", "p").await["values"], json!(["plain", "precise"]));
    for wrong in [
        json!({}),
        json!({"ref": prompt, "argument": {"name": "nothing", "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "table", "value": ""}}),
        json!({"ref": {"type": "ref/resource", "uri": "x"}, "argument": {"name": "tableName", "value": ""}}),
    ] {
        assert_eq!(error(&app, "completion/complete", wrong.clone()).await["code"], -32602, "{wrong}");
    }
}

#[actix_web::test]
async fn the_stateless_era_mirrors_names_and_says_how_long_lists_are_good() {
    let app = fixture::with_sqlite(MORE).await;
    for (method, params, name, kept) in [
        ("resources/list", json!({}), None, true),
        ("resources/templates/list", json!({}), None, true),
        ("resources/read", json!({"uri": "portico://shop/main/orders"}), Some("portico://shop/main/orders"), true),
        ("prompts/list", json!({}), None, true),
        ("prompts/get", json!({"name": "explain", "arguments": {"table": "orders"}}), Some("explain"), false),
    ] {
        let (status, body) = stateless(&app, method, name, params.clone()).await;
        assert_eq!((status, &body["result"]["resultType"]), (200, &json!("complete")), "{method}: {body}");
        let hints = (body["result"]["ttlMs"].is_u64(), body["result"]["cacheScope"] == "private");
        assert_eq!(hints, (kept, kept), "{method}: {body}");
        if name.is_some() {
            let (status, body) = stateless(&app, method, Some("other"), params).await;
            assert_eq!((status, &body["error"]["code"]), (400, &json!(-32020)), "{method}: {body}");
        }
    }
    let (_, body) = stateless(&app, "server/discover", None, json!({})).await;
    for capability in ["tools", "resources", "prompts", "completions"] {
        assert!(body["result"]["capabilities"][capability].is_object(), "{body}");
    }
}

at_the_address_of_all! {
    a_definition_shows_what_foreign_keys_refer_to
    a_definition_shows_types_that_exist
    resources_come_in_pages_and_follow_the_source
    prompts_are_filled_with_their_arguments
    names_are_completed_as_far_as_they_are_shown
    the_stateless_era_mirrors_names_and_says_how_long_lists_are_good
}
