//! Behind PgBouncer in transaction mode: nothing depends on a session, and nothing is left in one.

use serde_json::{Value, json};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::app::{TestApp, eventually};
use crate::support::fixture;
use crate::support::mcp::modern;
use crate::support::pgbouncer::PgBouncer;
use crate::support::postgres::connect;
use crate::support::stream::Events;

const POOLED: &str = "access = \"read-write\"\npooler = \"transaction\"\npool = 6\nqueue = 200";

/// What a server session behind the pooler holds that could meet somebody else.
const LEFT: &str = "SELECT pg_backend_pid(), concat_ws(', ', \
    (SELECT string_agg(name, ' ') FROM pg_prepared_statements), \
    (SELECT string_agg(locktype, ' ') FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'), \
    nullif(current_setting('search_path'), '\"$user\", public'), \
    nullif(current_setting('default_transaction_read_only'), 'off'), \
    nullif(current_setting('statement_timeout'), '0'), nullif(current_setting('client_encoding'), 'UTF8'), \
    (SELECT string_agg(relname, ' ') FROM pg_class WHERE relpersistence = 't'))";

async fn started(setup: &str) -> (TestApp, PgBouncer, String, Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute(setup).await.unwrap();
    let pooler = PgBouncer::start(&url).await;
    let app = fixture::with_postgres(&pooler.url(&url), POOLED).await;
    (app, pooler, url, admin)
}

/// Looks into both sessions that the pooler has at the server.
async fn nothing_is_left(pooler: &PgBouncer, url: &str) {
    let (one, two) = (connect(&pooler.url(url)).await, connect(&pooler.url(url)).await);
    let mut processes = Vec::new();
    for client in [&one, &two] {
        // Held open, so that the other one meets the other session.
        client.batch_execute("BEGIN").await.unwrap();
        let answer = client.simple_query(LEFT).await.unwrap();
        let Some(SimpleQueryMessage::Row(row)) = answer.into_iter().nth(1) else { panic!("no row") };
        assert_eq!(row.get(1), Some(""), "this is left in a session of the server");
        processes.push(row.get(0).unwrap().to_owned());
    }
    assert_ne!(processes[0], processes[1]);
    one.batch_execute("ROLLBACK").await.unwrap();
    two.batch_execute("ROLLBACK").await.unwrap();
}

async fn call(app: &TestApp, path: &str, body: Value) -> Value {
    let (status, answer) = crate::support::app::read(app.post(path).json(&body).send().await.unwrap()).await;
    assert_eq!(status, 200, "{body}: {answer}");
    assert!(answer.get("error").is_none(), "{body}: {answer}");
    answer
}

#[actix_web::test]
async fn every_way_to_ask_works_and_leaves_nothing() {
    let setup = "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE person (id int PRIMARY KEY, mood mood);
        INSERT INTO person VALUES (1, 'happy');
        CREATE FUNCTION twice(n int) RETURNS TABLE (a int, m mood) LANGUAGE sql AS $$SELECT n * 2, 'sad'::mood$$;
        CREATE PROCEDURE add(n int) LANGUAGE sql AS $$INSERT INTO person VALUES (n, 'sad')$$;
        CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$BEGIN COMMIT; END$$";
    let (app, pooler, url, _admin) = started(setup).await;
    for round in 0..3 {
        assert_eq!(app.rows("SELECT id, mood FROM person WHERE id = 1").await, json!([[1, "happy"]]));
        let bound = json!({"query": "SELECT mood, @n + 1 FROM person WHERE id = @id AND mood = @mood",
            "parameters": {"@n": {"value": round, "dataType": 8}, "@id": {"value": 1}, "@mood": {"value": "happy"}}});
        assert_eq!(call(&app, "/api/query", bound).await["results"][0]["rows"], json!([["happy", round + 1]]));
        let insert = format!("INSERT INTO person VALUES ({}, 'sad') RETURNING id, mood", 10 + round);
        assert_eq!(app.rows(&insert).await, json!([[10 + round, "sad"]]));
        let script = format!("UPDATE person SET mood = 'happy' WHERE id = {}; SELECT count(*) FROM person", 10 + round);
        let answer = call(&app, "/api/query", json!({"query": script})).await;
        assert_eq!(answer["results"][0]["affectedRows"], 1);
        let batch = json!({"query": "INSERT INTO person VALUES (@id, 'sad')",
            "parameters": [{"@id": {"value": 100 + round * 2}}, {"@id": {"value": 101 + round * 2}}]});
        assert_eq!(call(&app, "/api/batch", batch).await["results"].as_array().unwrap().len(), 2);
        let exec = json!({"procedure": "twice", "parameters": {"@n": {"value": 4}}});
        assert_eq!(call(&app, "/api/exec", exec).await["results"][0]["rows"], json!([[8, "sad"]]));
        call(&app, "/api/exec", json!({"procedure": "add", "parameters": {"@n": 1000 + round}})).await;
        assert_eq!(app.rows("SELECT 1 WHERE false").await, json!([]));
        let (status, _) = app.query(json!({"query": "SELECT nothing FROM person"})).await;
        assert_eq!(status, 400);
        call(&app, "/api/query", json!({"query": "SELECT id, mood FROM person", "schemaOnly": true})).await;
        let columns = app.get("/api/columns?tableName=person").send().await.unwrap();
        assert_eq!(crate::support::app::read(columns).await.1["results"][0]["rows"].as_array().unwrap().len(), 2);
    }
    assert_eq!(app.rows("SELECT count(*) FROM person").await, json!([[13]]));
    let (status, answer) = app.exec(json!({"procedure": "commits"})).await;
    assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("2D000")), "{answer}");
    assert!(answer["error"]["hint"].as_str().unwrap().contains("pooler"), "{answer}");
    nothing_is_left(&pooler, &url).await;
}

#[actix_web::test]
async fn many_callers_share_few_sessions_and_never_meet() {
    let (app, pooler, url, admin) = started("CREATE TABLE seen (id int PRIMARY KEY)").await;
    let calls = (0..60).map(|number| {
        let app = &app;
        async move {
            let (query, expected) = match number % 3 {
                0 => ("SELECT @n::int".to_owned(), json!([[number]])),
                1 => ("INSERT INTO seen VALUES (@n) RETURNING id".to_owned(), json!([[number]])),
                _ => (
                    format!("SELECT {number}, array_agg(g) FROM generate_series(1, @n - @n + 3) g"),
                    json!([[number, "[1,2,3]"]]),
                ),
            };
            let body = json!({"query": query, "parameters": {"@n": {"value": number}}});
            let (status, answer) = app.query(body).await;
            assert_eq!((status, &answer["results"][0]["rows"]), (200, &expected), "{answer}");
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(admin.query_one("SELECT count(*) FROM seen", &[]).await.unwrap().get::<_, i64>(0), 20);
    nothing_is_left(&pooler, &url).await;
}

#[actix_web::test]
async fn what_a_function_leaves_behind_meets_nobody() {
    let setup = "CREATE FUNCTION litter() RETURNS int LANGUAGE plpgsql AS $$BEGIN
        PERFORM pg_advisory_lock(42); PERFORM set_config('search_path', 'pg_catalog', false);
        PERFORM set_config('statement_timeout', '12345', false);
        EXECUTE 'CREATE TEMP TABLE mine (id int)'; EXECUTE 'PREPARE theirs AS SELECT 1'; RETURN 1; END$$;
        CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'too late'; END$$;
        CREATE TABLE late (id int);
        CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fails()";
    let (app, pooler, url, _admin) = started(setup).await;
    for _ in 0..4 {
        let litter = json!({"query": "DELETE FROM late WHERE id = @n RETURNING id; SELECT litter()",
            "parameters": {"@n": {"value": 1}}});
        let (status, answer) = app.query(litter).await;
        assert_eq!(status, 200, "{answer}");
        // COMMIT itself fails.
        let late = json!({"query": "INSERT INTO late VALUES (@n) RETURNING id", "parameters": {"@n": {"value": 1}}});
        let (_, answer) = app.query(late).await;
        assert_eq!(answer["error"]["message"], "too late", "{answer}");
    }
    nothing_is_left(&pooler, &url).await;
    assert_eq!(app.rows("SELECT count(*) FROM late").await, json!([[0]]));
}

#[actix_web::test]
async fn dry_runs_change_nothing_and_leave_nothing() {
    let setup = "CREATE TABLE parent (id int PRIMARY KEY);
        CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
        CREATE PROCEDURE note(INOUT word text) LANGUAGE plpgsql
        AS $$BEGIN INSERT INTO parent VALUES (5); PERFORM set_config('search_path', 'pg_catalog', false); word := word || '!'; END$$;
        CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$BEGIN COMMIT; END$$";
    let (app, pooler, url, _admin) = started(setup).await;
    for _ in 0..3 {
        let insert =
            json!({"query": "INSERT INTO parent VALUES (@id) RETURNING id", "parameters": {"@id": 1}, "dryRun": true});
        assert_eq!(call(&app, "/api/query", insert).await["results"][0]["rows"], json!([[1]]));
        let script = "INSERT INTO child VALUES (1, 1); CREATE TEMP TABLE mine (id int); INSERT INTO parent VALUES (1)";
        let answer = call(&app, "/api/query", json!({"query": script, "dryRun": true})).await;
        assert_eq!(answer["results"][2]["affectedRows"], 1);
        let batch =
            json!({"query": "INSERT INTO parent VALUES (@id)", "parameters": [{"id": 1}, {"id": 2}], "dryRun": true});
        assert_eq!(call(&app, "/api/batch", batch).await["results"].as_array().unwrap().len(), 2);
        let exec = json!({"procedure": "note", "parameters": ["a"], "dryRun": true});
        assert_eq!(call(&app, "/api/exec", exec).await["results"][0]["rows"], json!([["a!"]]));
        // What a commit would have refused is refused.
        let (_, answer) = app.query(json!({"query": "INSERT INTO child VALUES (1, 7)", "dryRun": true})).await;
        assert_eq!(answer["error"]["code"], 1401, "{answer}");
        let (status, answer) = app.exec(json!({"procedure": "commits", "dryRun": true})).await;
        assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!("2D000")), "{answer}");
        assert!(answer["error"]["hint"].as_str().unwrap().contains("pooler"), "{answer}");
    }
    let counts = "SELECT (SELECT count(*) FROM public.parent), (SELECT count(*) FROM public.child)";
    assert_eq!(app.rows(counts).await, json!([[0, 0]]));
    nothing_is_left(&pooler, &url).await;
}

#[actix_web::test]
async fn values_that_only_the_source_can_print_come_through() {
    let setup = "CREATE TYPE spot AS (id int, name text);
        CREATE PROCEDURE change(INOUT m money, INOUT s spot, OUT n int) LANGUAGE plpgsql
        AS $$BEGIN m := m * 2; n := 7; END$$;
        CREATE FUNCTION sets() RETURNS SETOF refcursor LANGUAGE plpgsql AS $$DECLARE a refcursor; b refcursor; BEGIN
        OPEN a FOR SELECT g, ROW(g, 'x')::spot FROM generate_series(1, 600) g; RETURN NEXT a;
        OPEN b FOR SELECT 'only'; RETURN NEXT b; END$$";
    let (app, pooler, url, _admin) = started(setup).await;
    for _ in 0..3 {
        let exec =
            json!({"procedure": "change", "parameters": {"m": {"value": "2.50"}, "s": {"value": "(1,\"a b\")"}}});
        assert_eq!(call(&app, "/api/exec", exec).await["results"][0]["rows"], json!([["$5.00", "(1,\"a b\")", 7]]));
        let answer = call(&app, "/api/exec", json!({"procedure": "sets"})).await;
        let rows = answer["results"][0]["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[599]), (600, &json!([600, "(600,x)"])));
        assert_eq!(answer["results"][1]["rows"], json!([["only"]]));
        let batch = json!({"query": "CALL change(CAST(@m AS numeric)::money, NULL, NULL)",
            "parameters": [{"m": {"value": "1"}}, {"m": {"value": "2"}}]});
        let answer = call(&app, "/api/batch", batch).await;
        assert_eq!(answer["results"][1]["rows"], json!([["$4.00", null, 7]]), "{answer}");
    }
    nothing_is_left(&pooler, &url).await;
}

#[actix_web::test]
async fn notices_reach_the_caller_whose_statement_it_is() {
    let setup = "CREATE FUNCTION work(word text) RETURNS text LANGUAGE plpgsql AS $$BEGIN \
        RAISE NOTICE 'at %', word; RETURN word; END$$";
    let (app, _pooler, _url, _admin) = started(setup).await;
    let asked = |word: String| {
        let app = &app;
        async move {
            let params = json!({"name": "execute_sql", "arguments": {"query": "SELECT work(@word)", "parameters": {"@word": word}},
                "_meta": {"io.modelcontextprotocol/logLevel": "notice"}});
            let response = modern(app, &app.writer, &json!(1), "tools/call", params).send().await.unwrap();
            let messages = Events::new(response).rest().await;
            assert_eq!(messages.len(), 2, "{messages:?}");
            assert_eq!(messages[0]["params"]["data"]["message"], format!("at {word}"));
            assert_eq!(messages[1]["result"]["structuredContent"]["rows"], json!([[word]]));
        }
    };
    futures_util::future::join_all((0..12).map(|number| asked(format!("word {number}")))).await;
}

async fn until_asleep(admin: &Client, count: i64) {
    let question = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%pooled_nap%'";
    eventually(&format!("{count} naps at the server"), async || {
        admin.query_one(question, &[]).await.unwrap().get::<_, i64>(0) == count
    })
    .await;
}

#[actix_web::test]
async fn deadlines_and_callers_who_leave_end_the_statement() {
    let (app, pooler, url, admin) = started("").await;
    let nap = |timeout: u32| json!({"query": "SELECT pg_sleep(250) AS pooled_nap", "timeout": timeout});
    let (status, answer) = app.query(nap(1)).await;
    assert_eq!((status, &answer["error"]["code"]), (408, &json!(1500)), "{answer}");
    until_asleep(&admin, 0).await;
    let query = tokio::spawn(app.post("/api/query").json(&nap(300)).send());
    until_asleep(&admin, 1).await;
    query.abort();
    until_asleep(&admin, 0).await;
    assert_eq!(app.rows("SELECT 1").await, json!([[1]]));
    nothing_is_left(&pooler, &url).await;
}

#[actix_web::test]
async fn texts_are_read_alike_in_every_transaction() {
    let setup = "CREATE TABLE texts (a text);
        CREATE FUNCTION quietly(name text, value text, local bool) RETURNS text LANGUAGE sql AS
            'SELECT set_config(name, value, local)'";
    let (app, pooler, url, admin) = started(setup).await;
    for setting in ["'standard_conforming_strings', 'off'", "'client_encoding', 'LATIN1'"] {
        for query in [
            format!("SELECT quietly({setting}, true)"),
            format!("SELECT quietly({setting}, false)"),
            format!("INSERT INTO texts SELECT quietly({setting}, true)"),
            format!("SELECT quietly({setting}, true); SELECT 1"),
        ] {
            let (status, answer) = app.query(json!({"query": query})).await;
            let error = &answer["error"];
            let told = (&error["code"], &error["sqlState"]);
            assert_eq!(told, (&json!(1400), &json!("55P02")), "{query}: {status} {answer}");
            let shown = "SELECT current_setting('standard_conforming_strings'), current_setting('client_encoding')";
            assert_eq!(app.rows(shown).await, json!([["on", "UTF8"]]), "behind {query}");
        }
    }
    assert_eq!(app.rows("SELECT count(*) FROM texts").await, json!([[0]]), "what was refused is undone");
    nothing_is_left(&pooler, &url).await;
    // The database's own settings are in nobody's way.
    let database = url.rsplit('/').next().unwrap();
    admin.batch_execute(&format!("ALTER DATABASE {database} SET standard_conforming_strings = off")).await.unwrap();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    admin.batch_execute(cut).await.unwrap();
    eventually("an answer by new sessions", async || app.query(json!({"query": "SELECT 1"})).await.0 == 200).await;
    app.rows("INSERT INTO texts VALUES ('a\\b') RETURNING a").await;
    assert_eq!(app.rows("SELECT a, length(a) FROM texts").await, json!([["a\\b", 3]]));
}
