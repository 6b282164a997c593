//! Workspaces as ways around what a connection hides: by patterns, by names that are known, by way of another connection,
//! by views over what their reader may not see, and by the words of errors.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::postgres::{TestPostgres, connect};

const HIDES: &str = "access = \"read-write\"\n[connections.hidden]\ntables = [\"canary%\"]\n";

const WORKSPACES: &str = r#"
[[workspaces]]
name = "wide"
assets = [
    { table = "shop.public.%" },
    { table = "shop.public.canary_ledger", alias = "ledger", folder = "named" },
    { table = "beside.main.%", folder = "beside" },
    { table = "beside.main.canary_ledger", alias = "other", folder = "named" },
]
views = [
    { name = "above", folder = "named", query = "SELECT word FROM named.ledger" },
    { name = "across", folder = "named", query = "SELECT o.word FROM named.other o JOIN orders ON orders.id = o.id" },
]
[[workspaces]]
name = "narrow"
assets = [
    { table = "shop.public.orders" },
    { table = "shop.public.canary_ledger", alias = "ledger" },
]
views = [{ name = "above", query = "SELECT word FROM ledger" }]
[[workspaces]]
name = "canary_workspace"
assets = [{ table = "beside.main.orders" }]
"#;

const CANARY: &str = "CREATE TABLE canary_ledger (id INTEGER PRIMARY KEY, word TEXT);
    INSERT INTO canary_ledger VALUES (1, 'CANARY-WORD'), (2, 'CANARY-WORD');";

async fn start() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(CANARY).await.unwrap();
    let configuration = Configuration::new().connection("shop", &url, HIDES).sqlite("beside", HIDES).with(WORKSPACES);
    let file = rusqlite::Connection::open(configuration.path().join("beside.db")).unwrap();
    file.execute_batch(CANARY).unwrap();
    configuration.start().await
}

async fn ask(app: &TestApp, workspace: &str, text: &str) -> (u16, Value) {
    let request = app.post(&format!("/api/query?workspace={workspace}")).json(&json!({"query": text}));
    read(request.send().await.unwrap()).await
}

#[actix_web::test]
async fn what_a_connection_hides_is_in_no_workspace() {
    let app = start().await;
    for (workspace, text) in [
        ("wide", "SELECT * FROM canary_ledger"),
        ("wide", "SELECT word FROM named.ledger"),
        ("wide", "SELECT word FROM beside.canary_ledger"),
        ("wide", "SELECT word FROM named.other"),
        ("wide", "SELECT * FROM named.above"),
        ("wide", "SELECT * FROM named.across"),
        ("wide", "SELECT o.id FROM orders o JOIN named.other n ON n.id = o.id AND n.word LIKE 'CANARY%'"),
        ("wide", "EXPLAIN SELECT word FROM named.ledger"),
        ("wide", "INSERT INTO canary_ledger VALUES (7, 'x')"),
        ("wide", "INSERT INTO orders SELECT id, 1, 1, NULL FROM named.ledger"),
        ("wide", "DELETE FROM named.other WHERE word LIKE 'CANARY%'"),
        ("narrow", "SELECT * FROM ledger"),
        ("narrow", "SELECT * FROM above"),
        ("narrow", "TABLE ledger"),
        ("narrow", "EXPLAIN SELECT * FROM above"),
        ("narrow", "INSERT INTO orders SELECT id, 1, 1, NULL FROM ledger"),
        ("narrow", "UPDATE orders SET total = 0 WHERE id IN (SELECT id FROM above)"),
        ("narrow", "UPDATE ledger SET word = 'x'"),
        ("narrow", "WITH l AS (SELECT * FROM ledger) SELECT * FROM l, orders"),
        ("narrow", "SELECT query_to_xml('TABLE canary_ledger', true, true, '') FROM orders"),
    ] {
        let (status, document) = ask(&app, workspace, text).await;
        assert!(status >= 400, "{workspace}: {text}: {document}");
        assert!(!document.to_string().contains("CANARY"), "{workspace}: {text}: {document}");
        let said = document["error"].to_string();
        assert!(!said.contains("canary_ledger") || text.contains("canary_ledger"), "{workspace}: {text}: {document}");
    }
    let (status, document) =
        ask(&app, "wide", "SELECT count(*) FROM orders o JOIN beside.orders b ON b.id = o.id").await;
    assert_eq!((status, &document["results"][0]["rows"]), (200, &json!([[3]])), "what is shown is: {document}");
    for workspace in ["wide", "narrow"] {
        for metadata in ["tables", "columns", "primaryKeys", "indexes"] {
            let path = format!("/api/{metadata}?workspace={workspace}&schemaName=named");
            let (_, document) = read(app.get(&path).send().await.unwrap()).await;
            let text = document["results"][0]["rows"].to_string();
            assert!(!text.contains("ledger") && !text.contains("\"other\""), "{path}: {document}");
        }
    }
}

#[actix_web::test]
async fn errors_tell_of_no_workspace_that_is_not_within_reach() {
    let app = start().await;
    let token = app.token().await;
    for path in ["/api/query?workspace=canary_workspac", "/api/query?workspace=nothing", "/api/tables?workspace=wid"] {
        let url = format!("{}{path}", app.url);
        let request = if path.starts_with("/api/query") { app.http.post(url) } else { app.http.get(url) };
        let request = request.bearer_auth(&token).json(&json!({"query": "SELECT 1 FROM canary_workspace.main.orders"}));
        let (status, document) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 404, "{document}");
        let hint = document["error"]["hint"].to_string();
        assert!(!hint.contains("canary_workspace") && !hint.contains("wide"), "{path}: {document}");
    }
    // In a workspace the names of another one are nothing.
    let (status, document) = ask(&app, "narrow", "SELECT * FROM canary_workspace.main.orders").await;
    assert_eq!((status, &document["error"]["code"]), (404, &json!(1300)), "{document}");
}

const BROKEN: &str = r#"
[[workspaces]]
name = "broken"
assets = [
    { table = "shop.public.orders" },
    { table = "shop.public.raising", folder = "away" },
    { table = "shop.public.denied", alias = "plain", folder = "away" },
    { table = "shop.public.through", folder = "away" },
    { table = "beside.main.gone", folder = "away" },
    { table = "beside.main.lost", folder = "away" },
    { table = "beside.main.canary_nothing", alias = "absent", folder = "away" },
    { table = "beside.main.canary_loose", alias = "loose", folder = "away" },
]
views = [
    { name = "over", folder = "away", query = "SELECT g.word FROM away.gone g JOIN orders o ON o.id = g.id" },
    { name = "denied", folder = "away", query = "SELECT p.word, o.id FROM away.plain p JOIN orders o ON o.id = p.id" },
]
[[workspaces]]
name = "single"
assets = [{ table = "beside.main.orders" }, { table = "beside.main.gone" }, { table = "beside.main.lost" }]
"#;

/// What fails with words of its source that name what the workspace does not have.
const FAILING: &str = "CREATE TABLE canary_base (id int, word text);
    CREATE FUNCTION canary_raise() RETURNS text LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'no canary_thing' USING DETAIL = 'canary_detail', HINT = 'canary_hint'; END$$;
    CREATE VIEW raising AS SELECT 1 AS id, canary_raise() AS word;
    CREATE VIEW through AS SELECT id, word FROM canary_base;
    CREATE TABLE denied (id int, word text);
    CREATE ROLE canary_owner; ALTER TABLE denied OWNER TO canary_owner; ALTER VIEW through OWNER TO canary_owner;
    CREATE ROLE plain_reader LOGIN; GRANT USAGE ON SCHEMA public TO plain_reader;
    GRANT SELECT ON orders, raising, through TO plain_reader";

/// Statements and listings whose sources fail tell who has the workspace alone in no words what it does not have.
#[actix_web::test]
async fn failures_of_sources_name_nothing_that_a_workspace_does_not_have() {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(FAILING).await.unwrap();
    let url = TestPostgres::shared().url_as("plain_reader", url.rsplit('/').next().unwrap());
    let configuration = Configuration::new().connection("shop", &url, "").sqlite("beside", "").with(BROKEN);
    let file = rusqlite::Connection::open(configuration.path().join("beside.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE canary_base (id INTEGER, canary_word TEXT);
         CREATE VIEW gone AS SELECT id, canary_word AS word FROM canary_base;
         CREATE VIEW lost AS SELECT o.id, o.canary_other AS word FROM orders o;
         CREATE TABLE canary_loose (id INTEGER, word INT); INSERT INTO canary_loose VALUES (1, 'x');
         DROP TABLE canary_base",
    )
    .unwrap();
    let app = configuration.start().await;
    let hold = |name: &str| (name.into(), WorkspaceGrant::Given(Scope::Read));
    let rights = Rights::each([]).with_workspaces([hold("broken"), hold("single")]);
    let name = "reader@example.org".to_owned();
    app.store().add_user(NewUser { email: name.clone(), rights }).unwrap();
    let secret = app.store().create_pat(&name, NewPat::default()).unwrap().1.expose_secret().to_owned();
    app.look().await;
    let mut failed = 0;
    let mut judge = |what: &str, status: u16, document: &Value| {
        let said = document.to_string();
        failed += usize::from(status >= 400 || document.get("error").is_some() || said.contains("\"isError\":true"));
        assert!(!said.contains("canary"), "{what}: {status} {document}");
        assert!(status < 500, "{what}: {status} {document}");
    };
    let tables = ["gone", "lost", "raising", "plain", "through", "absent", "loose", "over", "denied"];
    let both = tables.map(|table| ("broken", format!("away.{table}")));
    let single = ["gone", "lost"].map(|table| ("single", table.to_owned()));
    for (workspace, table) in both.iter().chain(&single) {
        for text in [
            format!("SELECT * FROM {table}"),
            format!("SELECT t.id FROM {table} t JOIN orders o ON o.id = t.id"),
            format!("SELECT word FROM {table}"),
            format!("SELECT nothing FROM {table}"),
            format!("SELECT count(*) FROM orders WHERE id IN (SELECT id FROM {table})"),
            format!("EXPLAIN SELECT * FROM {table}"),
            format!("EXPLAIN ANALYZE SELECT * FROM {table}"),
        ] {
            for body in [json!({"query": text}), json!({"query": text, "schemaOnly": true})] {
                let request = app.http.post(format!("{}/api/query?workspace={workspace}", app.url)).json(&body);
                let (status, document) = read(request.basic_auth(&name, Some(&secret)).send().await.unwrap()).await;
                judge(&format!("{workspace}: {body}"), status, &document);
            }
        }
        let kinds = ["tables", "columns", "primaryKeys", "importedKeys", "exportedKeys", "indexes", "schemas"];
        let (schema, table) = table.split_once('.').unwrap_or(("main", table));
        for metadata in kinds {
            for narrow in [format!("&schemaName={schema}&tableName={table}"), String::new()] {
                let path = format!("/api/{metadata}?workspace={workspace}{narrow}");
                let request = app.http.get(format!("{}{path}", app.url)).basic_auth(&name, Some(&secret));
                let (status, document) = read(request.send().await.unwrap()).await;
                judge(&path, status, &document);
            }
        }
        for (tool, arguments) in [
            ("get_columns", json!({"tableName": table, "schemaName": schema})),
            ("get_tables", json!({"search": table})),
            ("get_instructions", json!({})),
            ("execute_select", json!({"query": format!("SELECT * FROM {schema}.{table}")})),
        ] {
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": tool, "arguments": arguments}});
            let request = app.http.post(format!("{}/mcp/workspaces/{workspace}", app.url)).json(&call);
            let (status, document) = read(request.basic_auth(&name, Some(&secret)).send().await.unwrap()).await;
            judge(&format!("{workspace}: {call}"), status, &document);
        }
    }
    assert!(failed > 60, "{failed} of them fail");
}

const PROCEDURES: &str = "
CREATE TABLE orders (id int); CREATE TABLE outside (id int);
CREATE FUNCTION sizeof(t regclass) RETURNS text LANGUAGE sql STABLE AS $$ SELECT t::text || ' ' || pg_relation_size(t) $$;
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql STABLE AS 'SELECT 2 * n';";

/// Also where the connection itself hides nothing.
#[actix_web::test]
async fn a_procedure_takes_no_name_of_what_its_workspace_has_not() {
    let url = TestPostgres::shared().database("workspace_procedures").await;
    connect(&url).await.batch_execute(PROCEDURES).await.unwrap();
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.public.orders\" }, \
        { procedure = \"shop.public.sizeof\" }, \
        { procedure = \"shop.public.twice\" }]\n";
    let app = Configuration::new().connection("shop", &url, "").with(workspace).start().await;
    let call = async |procedure: &str, parameters: Value| {
        let body = json!({"procedure": procedure, "parameters": parameters});
        read(app.post("/api/exec?workspace=store").json(&body).send().await.unwrap()).await
    };
    let mut answers = Vec::new();
    for name in ["outside", "public.outside", "pg_catalog.pg_class", "pg_authid", "nosuch"] {
        let (status, answer) = call("sizeof", json!({"t": name})).await;
        assert!(status >= 400, "{name}: {answer}");
        answers.push(answer["error"]["message"].to_string().replace(name, "NAME"));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "what is there is told from what is not: {answers:?}");
    let (status, answer) = call("twice", json!({"n": 4})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[8]])), "{answer}");
}
