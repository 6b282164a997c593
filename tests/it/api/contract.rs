//! The contract's small print, each rule as a client meets it.

use std::collections::BTreeSet;

use portico_actors::event::Event;
use reqwest::Response;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, eventually, read};
use crate::support::fixture::{self, on_both};
use crate::support::mcp::modern;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
/// Octets of a text of an error at most.
const LONGEST_TEXT: usize = 8 * 1024;

/// Status and body of a ping at the connection `word`.
async fn ping(app: &TestApp, word: &str, bearer: &str) -> (u16, Value) {
    let request = app.http.post(format!("{}/mcp/connections/{word}", app.url)).bearer_auth(bearer);
    read(request.header("content-type", "application/json").body(PING).send().await.unwrap()).await
}

fn words(answer: &Value) -> (&str, &str) {
    (answer["error"]["message"].as_str().unwrap(), answer["error"]["hint"].as_str().unwrap_or_default())
}

#[actix_web::test]
async fn a_personal_access_token_is_a_bearer_too() {
    let app = fixture::on_sqlite().await;
    let Caller { name, secret } = &app.reader;
    let get = async |path: &str, token: &str| {
        read(app.http.get(format!("{}{path}", app.url)).bearer_auth(token).send().await.unwrap()).await
    };
    let query = app.http.post(format!("{}/api/query", app.url)).bearer_auth(secret);
    let (status, document) = read(query.json(&json!({"query": "SELECT 7 AS n"})).send().await.unwrap()).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[7]])), "{document}");
    assert_eq!(get("/api/tables", secret).await.0, 200);
    assert_eq!(ping(&app, &CONNECTION.to_string(), secret).await.0, 200);
    // It is the same caller, with the same rights.
    let write = app.http.post(format!("{}/api/query", app.url)).bearer_auth(secret);
    let (status, answer) = read(write.json(&json!({"query": "DELETE FROM orders"})).send().await.unwrap()).await;
    assert_eq!((status, &answer["error"]["code"]), (403, &json!(1200)), "{answer}");
    for wrong in [format!("{secret}x"), "ptc_pat_".to_owned(), "ptc_pat_wrong".to_owned()] {
        assert_eq!(get("/api/tables", &wrong).await.0, 401, "{wrong}");
        assert_eq!(ping(&app, &CONNECTION.to_string(), &wrong).await.0, 401, "{wrong}");
    }
    app.store().remove_user(name).unwrap();
    app.look().await;
    assert_eq!(get("/api/tables", secret).await.0, 401, "it outlived its user");
}

#[actix_web::test]
async fn a_string_for_a_json_parameter_is_json_text() {
    let app = fixture::on_postgres().await;
    let ask = async |value: Value| {
        let query = "SELECT jsonb_typeof(@v::jsonb), jsonb_typeof(@v::jsonb -> 'a')";
        app.query(json!({"query": query, "parameters": {"@v": {"dataType": 5, "value": value}}})).await
    };
    for (value, kinds) in [
        (json!("{\"a\": [1]}"), json!(["object", "array"])),
        (json!({"a": "x"}), json!(["object", "string"])),
        (json!("\"x\""), json!(["string", null])),
        (json!("12"), json!(["number", null])),
        (json!([1]), json!(["array", null])),
        (json!(true), json!(["boolean", null])),
        (Value::Null, json!([null, null])),
    ] {
        let (status, document) = ask(value.clone()).await;
        assert_eq!((status, &document["results"][0]["rows"][0]), (200, &kinds), "{value}: {document}");
    }
    let (status, answer) = ask(json!("not json")).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("22P02")), "the source's own error: {answer}");
    assert!(words(&answer).0.starts_with("parameter @v: invalid input syntax for type json"), "{answer}");
}

#[actix_web::test]
async fn a_default_schema_belongs_to_the_default_catalog() {
    let app = fixture::two_connections().await;
    let ask = async |query: &str| {
        app.query(json!({"query": query, "defaultCatalog": "SHOP", "defaultSchema": "nowhere"})).await
    };
    assert_ne!(ask("SELECT count(*) FROM customers").await.0, 200);
    let (status, document) = ask("SELECT count(*) FROM archive.main.customers").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "{document}");
}

#[actix_web::test]
async fn nothing_is_compressed_unless_that_is_switched_on() {
    let app = fixture::on_sqlite().await;
    let answer = app.get("/api/columns").header("accept-encoding", "gzip, zstd").send().await.unwrap();
    assert_eq!((answer.headers().get("content-encoding"), answer.status().as_u16()), (None, 200));
    let vary: Vec<_> = answer.headers().get_all("vary").iter().map(|vary| vary.to_str().unwrap()).collect();
    assert_eq!(vary, ["accept", "origin"]);
}

async fn as_many_rows_as_are_wanted(app: &TestApp) {
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n";
    for (most, rows) in [(1, 1), (2, 2), (4999, 4999), (5000, 5000), (9000, 5000)] {
        let (status, document) = app.query(json!({"query": many, "maxRows": most})).await;
        let result = &document["results"][0];
        assert_eq!((status, result["rows"].as_array().unwrap().len()), (200, rows), "{most}");
        assert_eq!(result["affectedRows"], -1);
        assert!(document.get("error").is_none());
    }
    // Of each result, and what is changed is changed.
    let change = "UPDATE orders SET total = total + 1 RETURNING id";
    let (_, document) = app.query(json!({"query": format!("{many}; {change}; {many}"), "maxRows": 2})).await;
    let counts: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|result| result["rows"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [2, 2, 2], "{document}");
    assert_eq!(document["results"][1]["affectedRows"], 3);
    let (_, document) = app.query(json!({"query": change, "maxRows": 1})).await;
    assert_eq!((&document["results"][0]["affectedRows"], &document["error"]), (&json!(3), &Value::Null), "{document}");
    let batch =
        json!({"query": "SELECT id FROM orders WHERE id >= @n", "parameters": [{"n": 1}, {"n": 2}], "maxRows": 2});
    let (status, document) = read(app.post("/api/batch").json(&batch).send().await.unwrap()).await;
    let counts: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|result| result["rows"].as_array().unwrap().len()).collect();
    assert_eq!((status, counts), (200, vec![2, 2]));
    let csv = app.post("/api/query").header("accept", "text/csv").json(&json!({"query": many, "maxRows": 3}));
    assert_eq!(csv.send().await.unwrap().text().await.unwrap(), "i\r\n1\r\n2\r\n3\r\n");
    // It ends there, and so does its statement.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let (status, document) = app.query(json!({"query": endless, "maxRows": 3, "timeout": 20})).await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[1], [2], [3]])));
    assert!(document.get("error").is_none(), "{document}");
    for wrong in [json!(0), json!(-1), json!("x"), json!(1.5)] {
        let (status, answer) = app.query(json!({"query": many, "maxRows": wrong})).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{wrong}");
        assert!(words(&answer).0.starts_with("maxRows: "), "{answer}");
    }
}

async fn what_is_unknown_or_given_twice_is_refused_by_name(app: &TestApp) {
    let unknown = |member: &str| format!("the body has no member {member:?}");
    let refused = async |path: &str, body: &str| {
        let request = app.post(path).header("content-type", "application/json").body(body.to_owned());
        let (status, answer) = read(request.send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{path} {body}: {answer}");
        (words(&answer).0.to_owned(), words(&answer).1.to_owned())
    };
    // It would have been kept.
    let delete = r#"{"query":"DELETE FROM orders","dryrun":true}"#;
    assert_eq!(refused("/api/query", delete).await, (unknown("dryrun"), "did you mean dryRun?".to_owned()));
    let batch = r#"{"query":"DELETE FROM orders WHERE id=@a","parameters":[{"a":1}],"defaultcatalog":"x"}"#;
    assert_eq!(refused("/api/batch", batch).await.0, unknown("defaultcatalog"));
    let (message, hint) = refused("/api/exec", r#"{"procedure":"p","zzz":1}"#).await;
    assert_eq!(message, unknown("zzz"));
    assert!(hint.starts_with("known here: procedure, "), "{hint}");
    for twice in [
        r#"{"query":"SELECT 1","query":"DELETE FROM orders"}"#,
        r#"{"query":"SELECT 1","qu\u0065ry":"DELETE FROM orders"}"#,
    ] {
        assert_eq!(refused("/api/query", twice).await.0, "the body has the member \"query\" more than once");
    }
    let value = r#"{"query":"SELECT @a","parameters":{"a":{"value":1,"value":2}}}"#;
    assert!(refused("/api/query", value).await.0.contains("@a has the member \"value\" more than once"));
    assert!(
        refused("/api/query", r#"{"query":"SELECT @a","parameters":{"a":1,"a":2}}"#)
            .await
            .0
            .contains("a is given twice")
    );
    for wrapper in [
        r#"{"value":"Zoe","datatype":5}"#,
        r#"{"Value":"Zoe","DataType":5}"#,
        r#"{"dataType":5,"valeu":"Zoe"}"#,
        r#"{"value":"Zoe","datatype":"5","direction":1}"#,
    ] {
        let (message, _) =
            refused("/api/query", &format!(r#"{{"query":"SELECT @d","parameters":{{"d":{wrapper}}}}}"#)).await;
        assert!(message.starts_with("parameters: @d has "), "{wrapper}: {message}");
    }
    assert_eq!(app.rows("SELECT count(*) FROM orders").await, json!([[3]]));
    for (path, message) in [
        ("/api/query?dryRun=true", "the query string has no member \"dryRun\""),
        ("/api/query?workspace=&workspace=", "workspace: this parameter is given twice"),
    ] {
        assert_eq!(refused(path, r#"{"query":"DELETE FROM orders"}"#).await.0, message);
    }
    for (path, message, hint) in [
        ("/api/tables?tablename=x", "the query string has no member \"tablename\"", "did you mean tableName"),
        ("/api/tables?unknown=", "the query string has no member \"unknown\"", ""),
        ("/api/tables?tableName=&tableName=x", "tableName: this parameter is given twice", "give it once"),
        ("/api/connections?name=x", "the query string has no member \"name\"", ""),
    ] {
        let (status, answer) = read(app.get(path).send().await.unwrap()).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(1000)), "{path}");
        assert!(words(&answer).0 == message && words(&answer).1.contains(hint), "{answer}");
    }
    // In the same words, where an agent reads them.
    let told = app.tool_error("execute_select", json!({"query": "SELECT 1", "maxrows": 2})).await;
    assert_eq!(told, "arguments has no member \"maxrows\"\nHint: did you mean maxRows?");
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_sql","arguments":{"query":"SELECT 1","query":"DELETE FROM orders"}}}"#;
    let request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).body(call);
    let (status, answer) = read(request.send().await.unwrap()).await;
    assert_eq!((status, &answer["result"]["isError"]), (200, &json!(true)), "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("arguments has the member \"query\" more than once"), "{text}");
    // What a specification says of its own members stays.
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", &app.agent.name),
        ("client_secret", &app.agent.secret),
        ("unknown", "x"),
    ];
    let token = app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap();
    assert_eq!(token.status(), 200, "RFC 6749, section 3.2: unrecognised parameters are ignored");
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping","extra":1}"#;
    let request = app.mcp_request().basic_auth(&app.writer.name, Some(&app.writer.secret)).body(ping);
    assert_eq!(read(request.send().await.unwrap()).await.0, 200);
}

on_both! {
    as_many_rows_as_are_wanted
    what_is_unknown_or_given_twice_is_refused_by_name
}

#[actix_web::test]
async fn a_name_stands_for_a_connection_s_id() {
    let app = fixture::two_connections().await;
    let (pat, agent) = (app.writer.secret.clone(), app.token().await);
    for word in ["shop", "SHOP", "archive", &CONNECTION.to_string(), &CONNECTION.to_string().to_uppercase()] {
        assert_eq!(ping(&app, word, &pat).await.0, 200, "{word}");
    }
    assert_eq!(ping(&app, "shop", &agent).await.0, 200);
    // One that exists and is out of reach is told as one that does not.
    let odd = [
        format!("urn:uuid:{CONNECTION}"),
        CONNECTION.simple().to_string(),
        "%7B1%7D".to_owned(),
        "shop;x".to_owned(),
        "sh%20op".to_owned(),
        "nothing".to_owned(),
    ];
    let mut told = BTreeSet::new();
    for word in odd.iter().map(String::as_str).chain(["archive"]) {
        let (status, body) = ping(&app, word, &agent).await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (400, &json!(1000), &Value::Null), "{word}");
        told.insert(body["error"]["message"].to_string());
    }
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(ping(&app, &OTHER.to_string(), &agent).await.0, 403);
    // A client finds its way to a token by the address that it has.
    let unknown = app.http.post(format!("{}/mcp/connections/shop", app.url)).body(PING).send().await.unwrap();
    let challenge = unknown.headers()["www-authenticate"].to_str().unwrap().to_owned();
    let document = format!("{}/.well-known/oauth-protected-resource/mcp/connections/shop", app.url);
    assert!(unknown.status() == 401 && challenge.contains(&format!("resource_metadata=\"{document}\"")), "{challenge}");
    let (status, described) = read(app.http.get(&document).send().await.unwrap()).await;
    assert_eq!((status, &described["resource"]), (200, &json!(format!("{}/mcp/connections/shop", app.url))));
    let token = async |word: &str| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &app.agent.name),
            ("client_secret", &app.agent.secret),
            ("resource", &format!("{}/mcp/connections/{word}", app.url)),
        ];
        read(app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap()).await
    };
    let (status, issued) = token("shop").await;
    assert_eq!(status, 200, "{issued}");
    let issued = issued["access_token"].as_str().unwrap();
    assert_eq!(ping(&app, "shop", issued).await.0, 200);
    assert_eq!(ping(&app, &CONNECTION.to_string(), issued).await.0, 200);
    assert_eq!(token("archive").await, token("nothing").await, "a client can probe which connections exist");
}

#[actix_web::test]
async fn a_connection_out_of_reach_is_told_as_one_that_is_not_there() {
    let app = fixture::two_connections().await;
    let token = app.token().await;
    let post = async |path: &str, body: Value| {
        read(app.http.post(format!("{}{path}", app.url)).bearer_auth(&token).json(&body).send().await.unwrap()).await
    };
    let get = async |path: String| {
        read(app.http.get(format!("{}{path}", app.url)).bearer_auth(&token).send().await.unwrap()).await
    };
    for name in ["archive", "nothing"] {
        for (status, answer) in [
            post("/api/query", json!({"query": format!("SELECT * FROM {name}.main.customers")})).await,
            post("/api/query", json!({"query": "SELECT 1", "defaultCatalog": name})).await,
            post("/api/exec", json!({"procedure": format!("{name}.main.p")})).await,
            get(format!("/api/tables?catalogName={name}")).await,
        ] {
            assert_eq!((status, &answer["error"]["code"]), (404, &json!(1300)), "{answer}");
            let (message, hint) = words(&answer);
            assert!(message.ends_with(&format!("there is no connection {name:?} for this caller")), "{answer}");
            assert!(!hint.contains("archive"), "{answer}");
        }
    }
}

/// The members of an error object, and that there are no others.
async fn members(response: Response) -> (u16, Value) {
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    let (status, mut answer) = read(response).await;
    let error = answer["error"].take();
    let object = error.as_object().unwrap();
    let known = ["code", "hint", "message", "requestId", "sqlState"];
    assert!(object.keys().all(|member| known.contains(&member.as_str())), "{error}");
    assert!(object["code"].is_u64() && object["message"].is_string(), "{error}");
    assert_eq!(object["requestId"], id);
    assert!(object.get("hint").is_none_or(Value::is_string) && object.get("sqlState").is_none_or(Value::is_string));
    (status, error)
}

#[actix_web::test]
async fn error_objects_have_these_members_and_no_more() {
    let app = fixture::on_postgres().await;
    let query = async |body: Value| members(app.post("/api/query").json(&body).send().await.unwrap()).await;
    for (body, status, code) in [
        (json!({"query": "SELECT nope FROM customers"}), 400, 1400),
        (json!({"query": "INSERT INTO customers VALUES (1, 'again')"}), 409, 1401),
        (json!({"query": "SELECT * FROM nowhere"}), 404, 1300),
        (json!({"query": "SELECT 1", "defaultCatalog": "shp"}), 404, 1300),
        (json!({"query": "SELECT pg_sleep(5)", "timeout": 1}), 408, 1500),
        (json!({"query": 5}), 400, 1000),
        (json!({}), 400, 1000),
    ] {
        let (found, error) = query(body.clone()).await;
        assert_eq!((found, &error["code"]), (status, &json!(code)), "{body}: {error}");
    }
    let url = |path: &str| format!("{}{path}", app.url);
    assert_eq!(members(app.http.get(url("/nothing")).send().await.unwrap()).await.0, 404);
    assert_eq!(members(app.http.get(url("/api/nothing")).send().await.unwrap()).await.0, 404);
    assert_eq!(members(app.http.get(url("/api/query")).send().await.unwrap()).await.0, 405);
    assert_eq!(members(app.http.get(url("/api/tables")).send().await.unwrap()).await.0, 401);
    assert_eq!(members(app.http.get(url("/a%61")).send().await.unwrap()).await.0, 400);
    let foreign = app.get("/api/tables").header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(members(foreign).await.0, 403);
    let form = app.post("/api/query").header("accept", "text/html").json(&json!({"query": "SELECT 1"}));
    assert_eq!(members(form.send().await.unwrap()).await.0, 406);
    // Behind /mcp they are JSON-RPC's.
    let (status, body) = read(app.http.get(url("/mcp/nothing")).send().await.unwrap()).await;
    assert_eq!(
        (status, &body["jsonrpc"], &body["id"], &body["error"]["code"]),
        (404, &json!("2.0"), &Value::Null, &json!(1300))
    );
}

#[actix_web::test]
async fn texts_of_errors_are_cut_and_a_caller_s_words_stay_out_of_the_log() {
    let app = fixture::on_postgres().await;
    let long = "SELECT repeat('canary', 20000)::int";
    let (status, answer) = app.query(json!({"query": long})).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(1400)));
    assert!(words(&answer).0.len() <= LONGEST_TEXT && words(&answer).0.contains("canary"), "{answer}");
    let told = app.tool_error("execute_select", json!({"query": long})).await;
    assert!(told.len() <= 3 * LONGEST_TEXT && told.contains("canary"), "{told}");
    // With the SQLSTATE of a server that goes away.
    for sqlstate in ["57P01", "08006", "P0001", "XX000"] {
        let raise = format!(
            "DO $$BEGIN RAISE EXCEPTION USING ERRCODE = '{sqlstate}', MESSAGE = repeat('canary', 100000), \
             DETAIL = repeat('canary', 100000), HINT = repeat('canary', 100000); END$$"
        );
        let (status, answer) = app.query(json!({"query": raise})).await;
        assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!(sqlstate)), "the source is there: {answer}");
        let (message, hint) = words(&answer);
        assert!(message.len() <= LONGEST_TEXT && hint.len() <= LONGEST_TEXT, "{sqlstate}");
        assert_eq!(app.rows("SELECT 1").await, json!([[1]]), "nobody else notices");
    }
    let ended = |event: &Event| matches!(event, Event::CallEnded(call) if call.what == "/api/query");
    eventually("the events of the calls", async || {
        app.events.lock().unwrap().iter().filter(|event| ended(event)).count() >= 9
    })
    .await;
    let events = format!("{:?}", app.events.lock().unwrap());
    assert!(!events.contains("canary"), "a caller's words are in the log");
}

#[actix_web::test]
async fn what_a_client_has_kept_is_bounded_in_bytes() {
    let app = fixture::on_sqlite().await;
    let initialize = async |capabilities: Value| {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "x".repeat(100_000), "version": "1"}});
        app.mcp(&app.reader, "initialize", params).await.1
    };
    let taken = initialize(json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}})).await;
    assert_eq!(taken["result"]["protocolVersion"], "2025-11-25", "{taken}");
    let refused = initialize(json!({"experimental": {"x": "y".repeat(5_000)}})).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("capabilities: ") && message.contains("4096 bytes"), "{refused}");
    let listen = async |id: Value| {
        let params = json!({"notifications": {"toolsListChanged": true}});
        modern(&app, &app.reader, &id, "subscriptions/listen", params).send().await.unwrap()
    };
    let (_, refused) = read(listen(json!("x".repeat(2_000))).await).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("id: ") && message.contains("1024 bytes"), "{refused}");
    assert_eq!(listen(json!("short")).await.status(), 200);
}
