//! Callers under roles of their own: what `examples/row-level-security` promises, over HTTP.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::call::RequestId;
use portico_actors::identity::Mapping;
use portico_actors::principal::{Claims, Principal, Rights, Scope, Validity};
use portico_actors::source::Access;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{Caller, TestApp, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::portico;
use crate::support::results::{self, Subject};

/// The example on a database of its own. Roles belong to the whole server, so each test has its own.
struct Example {
    app: TestApp,
    url: String,
    roles: String,
}

impl Example {
    async fn start(pool: u32) -> Self {
        let url = TestPostgres::shared().database("rls").await;
        let database = url.rsplit('/').next().unwrap().to_owned();
        let roles = format!("{database}_");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/row-level-security");
        let setup = std::fs::read_to_string(folder.join("setup.sql")).unwrap().replace("shop_", &roles);
        connect(&url).await.batch_execute(&setup).await.unwrap();
        let config = std::fs::read_to_string(folder.join("config.toml")).unwrap();
        let (_, identity) = config.split_once("[connections.identity.principals]").unwrap();
        let identity = identity.replace("shop_", &roles).replace("reporting", "agent");
        let identity = identity.replace("ann@example.org", "Writer@example.com");
        let identity = identity.replace("ben@example.org", "reader@example.com");
        let gateway = TestPostgres::shared().url_as(&format!("{roles}gateway"), &database);
        let keys = format!("access = \"read-write\"\npool = {pool}\n[connections.identity.principals]{identity}");
        let app = Configuration::new().connection("shop", &gateway, &keys).with("[audit]\nfile = \"audit.jsonl\"");
        let app = app.start().await;
        Self { app, url, roles }
    }

    async fn send(&self, by: &Caller, path: &str, body: Value) -> (u16, Value) {
        let request = self.app.http.post(format!("{}{path}", self.app.url));
        read(request.basic_auth(&by.name, Some(&by.secret)).json(&body).send().await.unwrap()).await
    }

    async fn rows(&self, by: &Caller, query: &str) -> Value {
        let (status, mut document) = self.send(by, "/api/query", json!({"query": query})).await;
        assert!(status == 200 && document.get("error").is_none(), "{query}: {document}");
        document["results"][0]["rows"].take()
    }

    async fn list(&self, by: &Caller, metadata: &str) -> Vec<String> {
        let request = self.app.http.request(Method::GET, format!("{}/api/{metadata}", self.app.url));
        let request = request.basic_auth(&by.name, Some(&by.secret));
        let (status, document) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 200, "{document}");
        let rows = document["results"][0]["rows"].as_array().unwrap();
        rows.iter().map(|row| row[2].as_str().unwrap().to_owned()).collect()
    }

    async fn tool(&self, by: &Caller, name: &str, arguments: Value) -> Value {
        let (_, mut body) = self.app.mcp(by, "tools/call", json!({"name": name, "arguments": arguments})).await;
        body["result"].take()
    }

    /// A caller whom no rule gives a role.
    fn stranger(&self) -> Caller {
        let mut store = self.app.store();
        let email = "stranger@example.com".to_owned();
        let user = NewUser { email: email.clone(), rights: Rights::all(Scope::Write) };
        store.add_user(user).unwrap();
        let (_, pat) = store.create_pat(&email, NewPat::default()).unwrap();
        Caller { name: email, secret: pat.expose_secret().to_owned() }
    }
}

#[actix_web::test]
async fn each_caller_sees_the_rows_of_its_role_whatever_the_way() {
    let example = Example::start(2).await;
    let (north, south) = (&example.app.writer, &example.app.reader);
    let orders = "SELECT id FROM shop.public.orders ORDER BY id";
    assert_eq!(example.rows(north, orders).await, json!([[1], [2]]));
    assert_eq!(example.rows(south, orders).await, json!([[3]]));

    // With a value, and as a script, which are prepared first.
    let bound = json!({"query": "SELECT id FROM orders WHERE id > @id", "parameters": {"@id": {"value": 0}}});
    for (by, expected) in [(north, json!([[1], [2]])), (south, json!([[3]]))] {
        assert_eq!(example.send(by, "/api/query", bound.clone()).await.1["results"][0]["rows"], expected);
        let script = json!({"query": format!("SELECT 1; {orders}")});
        assert_eq!(example.send(by, "/api/query", script).await.1["results"][1]["rows"], expected);
        let sets = json!([{"@id": {"value": 1}}, {"@id": {"value": 3}}]);
        let batch = json!({"query": "SELECT id FROM orders WHERE id = @id", "parameters": sets});
        let (status, batch) = example.send(by, "/api/batch", batch).await;
        assert_eq!(status, 200, "{batch}");
        let (first, last) = (&batch["results"][0]["rows"], &batch["results"][1]["rows"]);
        assert_eq!((first == &json!([[1]]), last == &json!([[3]])), (by.name == north.name, by.name == south.name));
        let call = example.tool(by, "execute_select", json!({"query": orders})).await;
        assert_eq!(call["structuredContent"]["rows"], expected, "{call}");
    }
    let total = json!({"procedure": "order_total"});
    assert_eq!(example.send(north, "/api/exec", total.clone()).await.1["results"][0]["rows"], json!([[30.5]]));
    assert_eq!(example.send(south, "/api/exec", total).await.1["results"][0]["rows"], json!([[99.9]]));
    assert_eq!(example.tool(south, "order_total", json!({})).await["structuredContent"]["rows"], json!([[99.9]]));

    // The trail knows each caller's role, whatever the way.
    let trail = example.app.config.with_file_name("audit.jsonl");
    let records = || {
        let text = std::fs::read_to_string(&trail).unwrap();
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.filter(|record| record["event"] == "call").collect::<Vec<_>>()
    };
    eventually("the records of all calls", async || records().len() == 13).await;
    for record in records() {
        let role = if record["principal"] == north.name.as_str() { "north" } else { "south" };
        assert_eq!(record["role"], format!("{}{role}", example.roles), "{record}");
    }

    // Writing is held to the same rows.
    let insert = |region| json!({"query": format!("INSERT INTO orders (id, region, total) VALUES (9, '{region}', 1)")});
    let (status, refused) = example.send(north, "/api/query", insert("south")).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!(1200)), "{refused}");
    assert_eq!(example.send(north, "/api/query", insert("north")).await.0, 200);
    assert_eq!(
        example.rows(north, "SELECT placed_by FROM orders WHERE id = 9").await,
        json!([["writer@example.com"]]),
        "a statement that writes knows its caller"
    );
    assert_eq!(example.rows(north, "UPDATE orders SET total = 0 WHERE id = 3 RETURNING id").await, json!([]));
}

#[actix_web::test]
async fn the_database_can_read_the_claims_of_the_call() {
    let example = Example::start(1).await;
    let query = "SELECT current_user::text, current_setting('request.jwt.claims'), current_setting('portico.principal'), \
                 current_setting('portico.client_id'), current_setting('portico.scope'), \
                 current_setting('portico.request_id')";
    let id = "0192f0c1-2345-7abc-8def-0123456789ab";
    let token = example.app.token().await;
    let request = example.app.http.post(format!("{}/api/query", example.app.url)).bearer_auth(token);
    let request = request.header("x-request-id", id).json(&json!({"query": query}));
    let (status, document) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{document}");
    let row = &document["results"][0]["rows"][0];
    let (role, agent) = (format!("{}south", example.roles), &example.app.agent.name);
    let claims: Value = serde_json::from_str(row[1].as_str().unwrap()).unwrap();
    assert_eq!(claims, json!({"client_id": agent, "name": "agent", "sub": agent, "scope": "read write", "role": role}));
    assert_eq!([&row[0], &row[2], &row[3], &row[4], &row[5]], [&role, agent, agent, "read write", id]);

    // The only session, and another caller: nothing of the last one is left.
    let (north, south) = (&example.app.writer, &example.app.reader);
    let note = |words| json!({"query": format!("INSERT INTO notes (words) VALUES ('{words}')")});
    assert_eq!(example.send(north, "/api/query", note("mine")).await.0, 200);
    assert_eq!(example.rows(south, "SELECT words FROM notes").await, json!([]));
    assert_eq!(example.rows(north, "SELECT words, owner FROM notes").await, json!([["mine", "writer@example.com"]]));
    let who = "SELECT current_user::text, current_setting('portico.client_id')";
    assert_eq!(example.rows(north, who).await, json!([[format!("{}north", example.roles), ""]]));
}

#[actix_web::test]
async fn a_caller_without_a_role_is_refused_and_runs_nothing() {
    let example = Example::start(1).await;
    let stranger = example.stranger();
    for (path, body) in [
        ("/api/query", json!({"query": "SELECT 1"})),
        ("/api/query", json!({"query": "SELECT 1; SELECT 2"})),
        ("/api/query", json!({"query": "SELECT 1", "schemaOnly": true})),
        ("/api/batch", json!({"query": "SELECT @a", "parameters": [{"@a": {"value": 1}}]})),
        ("/api/exec", json!({"procedure": "order_total"})),
    ] {
        let (status, refused) = example.send(&stranger, path, body).await;
        assert_eq!((status, &refused["error"]["code"]), (403, &json!(1200)), "{path}: {refused}");
        assert!(refused["error"]["hint"].as_str().unwrap().contains("[connections.identity]"), "{refused}");
    }
    let refused = example.tool(&stranger, "execute_sql", json!({"query": "SELECT 1"})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("no role"), "{refused}");

    // A role that is not there, or is not the connection's to take on, is refused by the database.
    let admin = connect(&example.url).await;
    let revoke = format!("REVOKE {0}north FROM {0}gateway", example.roles);
    admin.batch_execute(&revoke).await.unwrap();
    for body in [json!({"query": "SELECT 1"}), json!({"query": "INSERT INTO notes (words) VALUES ('x')"})] {
        let (status, refused) = example.send(&example.app.writer, "/api/query", body).await;
        assert_eq!((status, &refused["error"]["code"]), (403, &json!(1200)), "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("cannot be taken on"), "{refused}");
    }
    assert_eq!(example.rows(&example.app.reader, "SELECT count(*) FROM orders").await, json!([[1]]));
    let check = portico(example.app.config.parent().unwrap(), &["check"]);
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(!check.status.success() && said.contains(&format!("{}north", example.roles)), "{said}");
}

#[actix_web::test]
async fn statements_that_could_leave_the_role_are_refused() {
    let example = Example::start(1).await;
    for query in [
        "RESET ROLE",
        "SET ROLE none",
        "SET LOCAL ROLE none",
        "SET SESSION AUTHORIZATION DEFAULT",
        "SELECT set_config('role', 'none', true)",
        "SELECT 1; SELECT set_config('request.jwt.claims', '{}', true)",
        "DO $$ BEGIN RESET ROLE; END $$",
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RESET ROLE; RETURN 1; END'",
        "SELECT query_to_xml('SELECT set_config(''role'', ''none'', false)', true, true, '')",
    ] {
        let (status, refused) = example.send(&example.app.writer, "/api/query", json!({"query": query})).await;
        assert!(matches!(status, 400 | 403), "{query}: {refused}");
    }
    // Should a function of the database leave its caller's role all the same, there is less to see.
    let leave = "CREATE FUNCTION leave() RETURNS bigint LANGUAGE plpgsql AS \
                 'BEGIN PERFORM set_config(''role'', ''none'', false); RETURN (SELECT count(*) FROM orders); END'";
    connect(&example.url).await.batch_execute(leave).await.unwrap();
    let (status, refused) = example.send(&example.app.writer, "/api/query", json!({"query": "SELECT leave()"})).await;
    assert_eq!((status, &refused["error"]["sqlState"]), (403, &json!("42501")), "{refused}");
    let who = "SELECT current_user::text";
    let north = json!([[format!("{}north", example.roles)]]);
    assert_eq!(example.rows(&example.app.writer, who).await, north, "the session is as good as new");
}

#[actix_web::test]
async fn listings_and_tools_are_those_of_the_role() {
    let example = Example::start(2).await;
    let (north, south) = (&example.app.writer, &example.app.reader);
    assert_eq!(example.list(north, "tables").await, ["notes", "orders"]);
    assert_eq!(example.list(south, "tables").await, ["notes", "orders", "payroll"]);
    assert_eq!(example.list(north, "procedures").await, ["order_total"]);
    assert_eq!(example.list(south, "procedures").await, ["order_total", "payroll_total"]);
    let tools = async |by: &Caller| {
        let (_, body) = example.app.mcp(by, "tools/list", json!({})).await;
        let tools = body["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(tools(south).await.contains(&"payroll_total".to_owned()));
    let shown = tools(north).await;
    assert!(shown.contains(&"order_total".to_owned()) && !shown.contains(&"payroll_total".to_owned()), "{shown:?}");
    let (status, unknown) = example.send(north, "/api/exec", json!({"procedure": "payroll_total"})).await;
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!(1300)), "{unknown}");
    assert_eq!(
        example.send(south, "/api/exec", json!({"procedure": "payroll_total"})).await.1["results"][0]["rows"],
        json!([[300.0]])
    );
    for (by, knows) in [(north, false), (south, true)] {
        let text = example.tool(by, "get_instructions", json!({})).await["content"][0]["text"].clone();
        assert_eq!(text.as_str().unwrap().contains("payroll"), knows, "{text}");
    }
}

#[actix_web::test]
async fn a_procedure_that_commits_keeps_its_callers_role() {
    let example = Example::start(1).await;
    let setup = format!(
        "CREATE TABLE seen (who text, sub text);
         GRANT SELECT, INSERT ON seen TO {0}north, {0}south;
         CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO seen VALUES (current_user, current_setting('portico.principal'));
             COMMIT;
             INSERT INTO seen VALUES (current_user, current_setting('portico.principal'));
         END $$;",
        example.roles
    );
    let admin = connect(&example.url).await;
    admin.batch_execute(&setup).await.unwrap();
    let (status, done) = example.send(&example.app.writer, "/api/exec", json!({"procedure": "twice"})).await;
    assert_eq!(status, 200, "{done}");
    let both = json!([[format!("{}north", example.roles), "writer@example.com"]]);
    assert_eq!(example.rows(&example.app.reader, "SELECT DISTINCT who, sub FROM seen").await, both);
    let who = "SELECT current_user::text, current_setting('portico.principal')";
    let south = json!([[format!("{}south", example.roles), "reader@example.com"]]);
    assert_eq!(example.rows(&example.app.reader, who).await, south);
}

#[actix_web::test]
async fn a_session_carries_nothing_over_to_a_caller_without_an_identity() {
    let url = TestPostgres::shared().database("rls").await;
    let role = format!("{}_member", url.rsplit('/').next().unwrap());
    let setup = "CREATE PROCEDURE nothing() LANGUAGE plpgsql AS 'BEGIN COMMIT; END'; CREATE TABLE t (who text)";
    connect(&url).await.batch_execute(&format!("CREATE ROLE {role}; {setup}; GRANT ALL ON t TO {role}")).await.unwrap();
    let subject = Subject::open(&url, 1);
    subject.source.ping().await.unwrap();
    let principals = HashMap::from([("ann".to_owned(), role.clone())]);
    let mapping = Mapping { principals, ..Mapping::default() };
    let ann = Principal {
        subject: "ann".to_owned(),
        rights: Rights::all(Scope::Write),
        claims: Claims::default(),
        credential: None,
        validity: Validity::default(),
    };
    let who = "SELECT pg_backend_pid(), current_user::text, session_user::text, \
               current_setting('portico.principal', true), current_setting('request.jwt.claims', true)";
    for (sql, access) in [
        (who, Access::ReadOnly),
        ("SELECT * FROM nowhere", Access::ReadOnly),
        ("INSERT INTO t SELECT current_user", Access::ReadWrite),
        ("INSERT INTO nowhere VALUES (1)", Access::ReadWrite),
        ("CALL nothing()", Access::ReadWrite),
    ] {
        let mut plan = results::plan(sql, access);
        plan.identity = Some(Arc::new(mapping.identity("test", &ann, RequestId::fresh()).unwrap()));
        let answer = match subject.source.run(plan).await {
            Ok(results) => results::read(results).await,
            Err(error) => Err(error),
        };
        assert_eq!(answer.is_err(), sql.contains("nowhere"), "{sql}");
        if sql == who {
            assert_eq!(
                answer.unwrap().rows[0][1..4],
                [format!("{role:?}"), "\"postgres\"".to_owned(), "\"ann\"".to_owned()]
            );
        }
        let next = subject.read(who).await.unwrap().rows.remove(0);
        assert_eq!(next[1..3], ["\"postgres\"", "\"postgres\""], "behind {sql}");
        assert!(next[3..].iter().all(|left| left == "\"\"" || left == "null"), "behind {sql}: {next:?}");
    }
    assert_eq!(subject.read("SELECT who FROM t").await.unwrap().rows, [[format!("{role:?}")]]);
}
