//! What a server sends is bounded while it is read: rows, errors, notices. And what texts are read by
//! stays as it is.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use portico_actors::call::Notices;
use portico_actors::error::{Error, Kind};
use portico_actors::source::{Access, Plan};
use tokio_postgres::Client;

use super::subject;
use crate::support::app::eventually;
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::results::{Subject, plan, read};

/// Waits until no other session of this database runs anything.
async fn until_idle(admin: &Client) {
    let question = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()";
    eventually("idle sessions", async || admin.query_one(question, &[]).await.unwrap().get::<_, i64>(0) == 0).await;
}

async fn refused(subject: &Subject, sql: &str) -> Error {
    let plan = plan(sql, Access::ReadOnly);
    let error = match subject.source.run(plan).await {
        Ok(results) => read(results).await.expect_err(sql),
        Err(error) => error,
    };
    assert_eq!((error.kind, error.get_sqlstate()), (Kind::TooLarge, Some("54000")), "{sql}: {error:?}");
    error
}

#[tokio::test]
async fn a_row_that_is_too_large_is_refused_before_it_is_read() {
    let url = TestPostgres::shared().database("bounds").await;
    let admin = connect(&url).await;
    // Under TLS where the server has it, without, and over a socket in the file system.
    let shapes = [
        "SELECT repeat('x', 150000000)",
        "SELECT repeat('x', 30000000), repeat('y', 30000000), repeat('z', 30000000)",
        "SELECT CASE WHEN g = 2000 THEN repeat('x', 150000000) ELSE 'x' END FROM (SELECT generate_series(1, 100000000) AS g) s",
        "SELECT convert_to(repeat('x', 150000000), 'UTF8')",
        "SELECT array_agg(repeat('x', 1000000)) FROM generate_series(1, 150)",
        "SELECT repeat('x', 80000000)::xml",
    ];
    let own = TestPostgres::shared().socket_url(&url);
    for (url, shapes) in [(&url, &shapes[..]), (&format!("{url}?sslmode=disable"), &shapes[..1]), (&own, &shapes[..1])]
    {
        let subject = Subject::open(url, 1);
        for sql in shapes {
            let error = refused(&subject, sql).await;
            assert!(error.message.contains("64 MiB") && error.get_hint().unwrap().contains("substring"), "{error:?}");
            until_idle(&admin).await;
            assert_eq!(subject.read("SELECT 1").await.unwrap().rows, [["1"]], "{sql}");
        }
    }
}

#[tokio::test]
async fn a_value_of_64_mib_is_read() {
    let (subject, _admin) = subject(
        "CREATE TABLE large (t text, b bytea);
         INSERT INTO large VALUES (repeat('x', 67108864), NULL), (NULL, convert_to(repeat('y', 67108864), 'UTF8'))",
    )
    .await;
    for (sql, octets) in
        [("SELECT t FROM large WHERE b IS NULL", 67_108_864), ("SELECT b FROM large WHERE t IS NULL", 67_108_864)]
    {
        let value = subject.read(sql).await.unwrap().rows.remove(0).remove(0);
        assert!(value.len() >= octets, "{sql}: {}", value.len());
    }
}

#[tokio::test]
async fn what_a_source_says_is_cut() {
    let subject = Subject::open(&TestPostgres::shared().database("bounds").await, 1);
    let raise = |words: &str| format!("DO $$ BEGIN RAISE {words}; END $$");
    let cases = [
        "SELECT repeat('x', 20000000)::int".to_owned(),
        raise("EXCEPTION '%', repeat('é', 5000000)"),
        raise("EXCEPTION 'm' USING DETAIL = repeat('x', 5000000), HINT = repeat('y', 5000000)"),
        // It says that the server goes down, and would have been told to the log as the cause.
        raise("EXCEPTION '%', repeat('x', 5000000) USING ERRCODE = '57P01'"),
        raise("EXCEPTION 'gone' USING ERRCODE = '08006'"),
        raise("EXCEPTION 'gone' USING ERRCODE = '53300'"),
    ];
    let process = async || subject.read("SELECT pg_backend_pid()").await.unwrap().rows;
    for sql in cases {
        // A session that is not in order again in time is replaced: on a busy machine that can happen.
        eventually(&format!("a session in order behind {sql}"), async || {
            let before = process().await;
            let error = subject.write(&sql).await.unwrap_err();
            assert_eq!((error.kind, error.cause()), (Kind::Rejected, None), "{sql}: {:?}", error.kind);
            for text in [Some(error.message.as_str()), error.get_detail(), error.get_hint()].into_iter().flatten() {
                assert!(!text.is_empty() && text.len() <= 8192, "{sql}: {}", text.len());
            }
            process().await == before
        })
        .await;
    }

    let heard = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&heard);
    let notices = Notices::new(move |notice| tell.lock().unwrap().push(notice));
    let sql = raise("WARNING '%', repeat('é', 20000000) USING HINT = repeat('h', 100000)");
    let plan = Plan { notices: Some(notices), ..plan(&sql, Access::ReadWrite) };
    read(subject.source.run(plan).await.unwrap()).await.unwrap();
    let heard = heard.lock().unwrap();
    let [notice] = heard.as_slice() else { panic!("{} notices", heard.len()) };
    assert!(notice.message.starts_with("éé") && notice.message.ends_with("(cut)") && notice.message.len() <= 8192);
    assert!(notice.hint.as_ref().is_some_and(|hint| hint.len() <= 8192));
}

#[tokio::test]
async fn what_is_refused_costs_little() {
    let url = TestPostgres::shared().database("bounds").await;
    let mut service = Configuration::new().connection("shop", &url, "access = \"read-write\"").serve().await;
    assert_eq!(service.query("SELECT 1").await.0, 200);
    let before = service.resident_peak();
    for (sql, status, code) in [
        ("SELECT repeat('x', 150000000)", 413, 1800),
        ("SELECT repeat('x', 30000000), repeat('y', 30000000), repeat('z', 30000000)", 413, 1800),
        ("SELECT repeat('x', 20000000)::int", 400, 1400),
        ("DO $$ BEGIN RAISE EXCEPTION '%', repeat('x', 5000000) USING ERRCODE = '57P01'; END $$", 400, 1400),
    ] {
        let (answered, document) = service.query(sql).await;
        assert_eq!((answered, document["error"]["code"].as_i64()), (status, Some(code)), "{sql}");
        assert!(document.to_string().len() < 20_000, "{sql}");
    }
    let grown = service.resident_peak().saturating_sub(before);
    assert!(grown < 48 * 1024, "{grown} KiB");
    service.signal("TERM");
    let log = service.rest().await;
    assert!(log.iter().all(|line| line.len() < 2_000 && !line.contains("xxxxxxxx")), "a caller's text in the log");
}

#[tokio::test]
async fn a_session_whose_texts_are_read_otherwise_is_closed() {
    let (_, admin) = subject(
        "CREATE FUNCTION quietly(name text, value text, local bool) RETURNS text LANGUAGE sql AS \
         'SELECT set_config(name, value, local)'",
    )
    .await;
    let database: String = admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    let url = TestPostgres::shared().url_as("postgres", &database);
    let subject = Subject::open(&url, 1);
    let shown = "SELECT current_setting('client_encoding'), current_setting('standard_conforming_strings')";
    for setting in ["'client_encoding', 'LATIN1'", "'standard_conforming_strings', 'off'"] {
        for local in [true, false] {
            let sql = format!("SELECT quietly({setting}, {local})");
            let process = subject.read("SELECT pg_backend_pid()").await.unwrap().rows;
            for access in [Access::ReadOnly, Access::ReadWrite] {
                let error = match subject.source.run(plan(&sql, access)).await {
                    Ok(results) => read(results).await.expect_err(&sql),
                    Err(error) => error,
                };
                assert_eq!((error.kind, error.get_sqlstate()), (Kind::Rejected, Some("55P02")), "{sql}: {error:?}");
                assert_eq!(subject.read(shown).await.unwrap().rows, [["\"UTF8\"", "\"on\""]]);
            }
            assert_ne!(subject.read("SELECT pg_backend_pid()").await.unwrap().rows, process, "another session");
        }
    }
    // Neither a role's nor a database's own settings are in the way.
    let alter = format!("ALTER DATABASE {database} SET standard_conforming_strings = off");
    admin.batch_execute(&alter).await.unwrap();
    let subject = Subject::open(&url, 1);
    subject.source.ping().await.unwrap();
    subject.write("CREATE TABLE t (a text)").await.unwrap();
    subject.write("INSERT INTO t VALUES ('a\\b')").await.unwrap();
    assert_eq!(subject.read("SELECT a, length(a) FROM t").await.unwrap().rows, [["\"a\\\\b\"", "3"]]);
    let mut results = subject.source.run(plan(shown, Access::ReadOnly)).await.unwrap();
    while let Some(part) = results.next().await {
        part.unwrap();
    }
}
