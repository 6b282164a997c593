//! What a text is, beside the databases themselves: where its statements end, what is open at its end, what a
//! bracket in it means. The texts are made at random, from a seed that is printed (`PORTICO_SEED` sets it,
//! `PORTICO_CASES` how many there are).

use portico_actors::sql::{Class, Dialect, Naming, Statement, statements};
use rusqlite::fallible_iterator::FallibleIterator;
use serde_json::{Value, json};
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::support::app::TestApp;
use crate::support::dice::{Random, cases};
use crate::support::fixture::{self, on_both};
use crate::support::postgres::{TestPostgres, connect};

const NAMING: Naming<'static> = Naming { connection: "shop", others: &[] };

/// What both read alike.
const WHOLE: &[&str] = &[
    "select 1",
    "select 'a;b'",
    "select 'it''s;'",
    "select 'a\\'",
    "select 1 as \"x;y\"",
    "select case when 1 = 1 then 2 end",
    "select 1 -- c;\n",
    "select /* ; */ 1",
    "select 1 as begin",
    "select 1 as \"end\"",
    "(select 1)",
    "values (1), (2)",
    "select x'ab'",
    "select '--', '/*'",
    "select 1 /**/",
];
const PIECES: &[&str] = &[
    ";", ";;", " ", "\n", "\r", "-- c;\n", "--", "-- c", "/* ; */", "/*", "*/", "/* open", "/**", "/*/", "'", "\"",
    "'a", "\"b", "\\", "(", ")", "begin", "end", "case", "1e", "1", ".", "é", "\u{feff}", "\u{b}", " \u{b}", "\u{c}",
    "\u{a0}", "$", "+", "x'", "'';'", ", 2", "`", "`a;`", "#", "?",
];
const WHOLE_POSTGRES: &[&str] = &[
    "select E'it\\'s;'",
    "select e'a'\n'\\';'",
    "select E'a' -- c\n ';\\''",
    "select $$;$$",
    "select $q$;$$;$q$",
    "select $q$ $q $q$",
    "select U&'d\\0061;'",
    "select 1 as U&\"d;\"",
    "select B'1', N'a;'",
    "select 1 /* /* ; */ ; */",
    "select 1 as end",
    "select 1 end",
    "select 1 as a$b$c",
    "create or replace function f() returns int begin atomic select 1; select 2; end",
    "create or replace function f() returns int begin atomic select 1 as end; select 2 end; end",
    "create or replace function f() returns int begin atomic select case when true then 1 end; select 2 as case; end",
    "create or replace procedure p() begin atomic end",
    "create or replace function f(begin int) returns int return 1",
    "create table if not exists begin (atomic int)",
    "create trigger t before insert on begin execute function suppress_redundant_updates_trigger()",
    "create rule r as on insert to it do also (select 1; select 2)",
    "do $$ begin null; end $$",
];
const PIECES_POSTGRES: &[&str] = &[
    "/* /* */",
    "/* /* ; */ */",
    "$$",
    "$q$",
    "$q",
    "E'",
    "e'\\",
    "U&'",
    "u&\"",
    "\\'",
    "n'",
    "begin atomic",
    "end;",
    "@",
    "1$$",
];
const WHOLE_SQLITE: &[&str] = &[
    "select `a;`, [b;] from it",
    "create trigger t after insert on it begin select 1; select case when 1 then 2 end; end",
    "create temp trigger if not exists begin after insert on it begin delete from it; end",
    "explain create trigger t after insert on it begin select 1 as end; end",
    "select $a(;), :b::c, ?1, $d(x y)",
    "select 1 /* runs on",
    "create table u (\"end\" int, [begin;] text)",
];
const PIECES_SQLITE: &[&str] =
    &["[", "]", "[a;", "create trigger t", "$a(", "$a(;", "::", ":a", "begin select 1;", "end;", "/* a */;"];

fn read(text: &str, dialect: Dialect) -> Option<Vec<Statement>> {
    match statements(text, dialect, NAMING) {
        Ok(all) => Some(all),
        Err(error) if error.message.contains("holds no statement") => Some(Vec::new()),
        Err(_) => None,
    }
}

/// What texts came to: of each statement what it answered, or how which of them failed.
type Outcome = Result<Vec<Vec<Option<String>>>, Failed>;

#[derive(Debug, PartialEq)]
struct Failed {
    number: usize,
    code: String,
    words: String,
    position: Option<usize>,
}

/// Runs `texts` one after another as psql would, and undoes them. Of a failure behind another one it counts
/// that a text is not understood: the server reads all of it before it runs any.
async fn run(client: &Client, texts: &[&str]) -> Outcome {
    // What lexer and grammar refuse says where (`scanner_yyerror`), but for escapes; other refusals may bear the
    // same code.
    let unreadable = |failed: &Failed| {
        let words = failed.words.as_str();
        words.contains(" at or near ") || words.ends_with(" at end of input") || words.starts_with("invalid Unicode")
    };
    client.batch_execute("BEGIN").await.unwrap();
    let (mut all, mut failure): (Vec<_>, Option<Failed>) = (Vec::new(), None);
    for (number, text) in texts.iter().enumerate() {
        match client.simple_query(text).await {
            Ok(messages) => {
                let mut rows = Vec::new();
                for message in messages {
                    match message {
                        SimpleQueryMessage::Row(row) => rows.push(row.try_get(0).ok().flatten().map(str::to_owned)),
                        SimpleQueryMessage::CommandComplete(_) => all.push(std::mem::take(&mut rows)),
                        _ => {}
                    }
                }
            }
            Err(error) => {
                let told = error.as_db_error().unwrap();
                let position = match told.position() {
                    Some(ErrorPosition::Original(position)) => usize::try_from(*position).ok(),
                    _ => None,
                };
                let (code, words) = (told.code().code().to_owned(), told.message().to_owned());
                let failed = Failed { number, code, words, position };
                if failure.as_ref().is_none_or(|before| unreadable(&failed) && !unreadable(before)) {
                    failure = Some(failed);
                }
            }
        }
    }
    client.batch_execute("ROLLBACK").await.unwrap();
    failure.map_or(Ok(all), Err)
}

#[tokio::test]
async fn postgresql_and_the_reader_agree_on_where_statements_end() {
    let (mut random, cases) = (Random::seeded("texts"), cases(3_000));
    let client = connect(&TestPostgres::shared().database("texts").await).await;
    client.batch_execute("CREATE TABLE it (a int)").await.unwrap();
    // To servers before 16 it is no white space: they refuse what the reader cuts off as such.
    let version = client.query_one("SELECT current_setting('server_version_num')::int4", &[]).await.unwrap();
    let has_vertical_tabs = version.get::<_, i32>(0) >= 160_000;
    let (whole, parts) = ([WHOLE, WHOLE_POSTGRES].concat(), [PIECES, PIECES_POSTGRES].concat());
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..cases {
        let text = random.text(&whole, &parts);
        if text.contains('\u{b}') && !has_vertical_tabs {
            continue;
        }
        // What stands there is a parameter, or ends the transaction that undoes the rest.
        let Some(all) = read(&text, Dialect::POSTGRESQL) else { continue };
        if all.iter().any(|one| !one.placeholders.is_empty() || one.class == Class::Transaction) {
            continue;
        }
        if all.is_empty() {
            let server = run(&client, &[&text]).await;
            assert!(server.is_ok_and(|rows| rows.concat().is_empty()), "{text:?} is no statement");
            continue;
        }
        let pieces: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
        // A name in backticks is one here, and nothing to the server.
        if pieces.concat().matches('`').count() < text.matches('`').count() {
            continue;
        }
        let (server, reader) = (run(&client, &[&text]).await, run(&client, &pieces).await);
        match (&server, &reader) {
            (Ok(_), _) => {
                accepted += 1;
                assert_eq!(reader, server, "{text:?}");
            }
            (Err(whole), Err(piece)) => {
                refused += 1;
                assert_eq!(piece.code, whole.code, "{text:?}: {server:?}, and piece by piece {reader:?}");
                let position = piece.position.map(|position| all[piece.number].original_position(position));
                // What a body holds is found when it runs, behind all that the server does not understand.
                if whole.words == piece.words {
                    assert_eq!(position, whole.position, "{text:?}: {server:?}, and piece by piece {reader:?}");
                }
            }
            (Err(_), Ok(_)) => panic!("{text:?} runs piece by piece, and {server:?}"),
        }
    }
    assert!(accepted * 20 > cases && refused * 20 > cases, "{accepted} accepted, {refused} refused");
}

#[test]
fn sqlite_and_the_reader_agree_on_where_statements_end() {
    let (mut random, cases) = (Random::seeded("texts"), cases(3_000));
    let engine = rusqlite::Connection::open_in_memory().unwrap();
    engine.execute_batch("CREATE TABLE it (a int)").unwrap();
    let (whole, pieces) = ([WHOLE, WHOLE_SQLITE].concat(), [PIECES, PIECES_SQLITE].concat());
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..cases {
        let text = random.text(&whole, &pieces);
        let Some(all) = read(&text, Dialect::SQLITE) else { continue };
        // Placeholders are ours.
        if text.contains('@') {
            continue;
        }
        let mut batch = rusqlite::Batch::new(&engine, &text);
        let mut theirs: Vec<String> = Vec::new();
        let failed = loop {
            match batch.next() {
                Ok(Some(statement)) => theirs.push(statement.expanded_sql().unwrap()),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        let ours: Vec<Option<String>> = all
            .iter()
            .map(|one| engine.prepare(&one.text).ok().map(|statement| statement.expanded_sql().unwrap()))
            .collect();
        let first = ours.iter().position(Option::is_none);
        assert_eq!(first.is_some(), failed, "{text:?}: {theirs:?}, and piece by piece {ours:?}");
        assert_eq!(first.unwrap_or(ours.len()), theirs.len(), "{text:?}: {theirs:?}, and piece by piece {ours:?}");
        for (own, their) in ours.iter().flatten().zip(&theirs) {
            assert!(their.contains(own.trim_end_matches(';')), "{text:?}: {their:?} is read as {own:?}");
        }
        if failed { refused += 1 } else { accepted += 1 }
    }
    assert!(accepted * 20 > cases && refused * 20 > cases, "{accepted} accepted, {refused} refused");
}

on_both! {
    what_is_open_at_the_end_is_refused
    affected_rows_are_those_that_the_statement_changed
}

/// On SQLite a comment may run to the end of the text.
async fn what_is_open_at_the_end_is_refused(app: &TestApp) {
    let rows = app.rows("SELECT count(*) FROM customers").await;
    let is_sqlite = app.rows("SELECT 1 AS a /* open */").await == json!([[1]])
        && app.query(json!({"query": "SELECT 1 /* open"})).await.0 == 200;
    for text in [
        "delete from customers /* old: /* nested */ where id = 1",
        "delete from customers /* where id = 1",
        "delete from customers where name <> 'x",
        "delete from customers where name <> \"x",
        "delete from customers /*",
    ] {
        for (before, behind) in [("", ""), ("select 1; ", ""), ("", " -- c"), ("", ";"), ("", "\n; select 1")] {
            if is_sqlite && text.contains("/* ") {
                continue;
            }
            let text = format!("{before}{text}{behind}");
            if is_sqlite && text.contains("/*") && !text.ends_with("/*") {
                continue;
            }
            let (status, answer) = app.query(json!({"query": text})).await;
            assert_eq!(answer["error"]["code"], 1400, "{text:?}: {answer}");
            assert!(status == 400 || !before.is_empty(), "{text:?}: {status}");
            assert_eq!(answer["error"]["sqlState"], "42601", "{text:?}: {answer}");
            // What is asked of the server before (`walls/analyze.rs`) is no part of what was sent.
            assert!(!answer["error"]["message"].as_str().unwrap().contains("; END"), "{text:?}: {answer}");
        }
    }
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, rows);
}

async fn affected_rows_are_those_that_the_statement_changed(app: &TestApp) {
    let is_sqlite = app.query(json!({"query": "SELECT sqlite_version()"})).await.0 == 200;
    let counts = |document: &Value| -> Vec<i64> {
        document["results"].as_array().unwrap().iter().map(|it| it["affectedRows"].as_i64().unwrap()).collect()
    };
    for (text, both, postgres) in [
        ("CREATE TABLE one (id INTEGER, v INTEGER)", Some(0), 0),
        ("INSERT INTO one VALUES (1, 1), (2, 2), (3, 3)", Some(3), 3),
        ("INSERT INTO one VALUES (4, 4) RETURNING id", Some(1), 1),
        ("UPDATE one SET v = 0 WHERE id < 3", Some(2), 2),
        ("UPDATE one SET v = 0 WHERE id < 0", Some(0), 0),
        ("WITH u AS (SELECT 1 AS id) UPDATE one SET v = 1 WHERE id IN (SELECT id FROM u)", Some(1), 1),
        ("WITH u AS (SELECT 9 AS id) INSERT INTO one SELECT id, id FROM u", Some(1), 1),
        ("WITH u AS (SELECT 9 AS id) DELETE FROM one WHERE id IN (SELECT id FROM u) RETURNING id", Some(1), 1),
        ("WITH u AS (SELECT 1) SELECT * FROM one", Some(-1), -1),
        ("SELECT * FROM one", Some(-1), -1),
        ("VALUES (1)", Some(-1), -1),
        ("CREATE TABLE two AS SELECT * FROM one", Some(0), 0),
        ("ALTER TABLE two ADD COLUMN w INTEGER", Some(0), 0),
        ("CREATE INDEX two_v ON two (v)", Some(0), 0),
        ("DROP TABLE two", Some(0), 0),
        // Where a table is referenced its rows are deleted first.
        ("CREATE TABLE two (id INTEGER PRIMARY KEY)", Some(0), 0),
        ("INSERT INTO two VALUES (1), (2), (3)", Some(3), 3),
        ("CREATE TABLE three (id INTEGER REFERENCES two (id))", Some(0), 0),
        ("DROP TABLE three", Some(0), 0),
        ("DROP TABLE two", Some(0), 0),
        ("EXPLAIN SELECT 1", Some(-1), -1),
        ("WITH u AS (UPDATE one SET v = 5 RETURNING id) SELECT id FROM u", None, -1),
        ("WITH u AS (UPDATE one SET v = 5) SELECT 1", None, -1),
        ("WITH u AS (DELETE FROM one WHERE id = 4) INSERT INTO one VALUES (7, 7), (8, 8)", None, 2),
        ("WITH update AS (SELECT 1) SELECT * FROM update", None, -1),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 3) SEARCH DEPTH FIRST BY i SET o \
             UPDATE one SET v = 1 WHERE id IN (SELECT i FROM r)",
            None,
            3,
        ),
        ("MERGE INTO one t USING (SELECT 7 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE", None, 1),
        ("EXPLAIN ANALYZE UPDATE one SET v = 6", None, -1),
        ("EXPLAIN (ANALYZE) DELETE FROM one WHERE id = 8", None, -1),
        ("EXPLAIN CREATE TABLE four AS SELECT * FROM one WITH NO DATA", None, -1),
        ("EXPLAIN (COSTS off) CREATE MATERIALIZED VIEW four AS SELECT 1", None, -1),
        ("EXPLAIN SELECT 1 INTO four FROM one", None, -1),
        ("SELECT * FROM one FOR UPDATE", None, -1),
        ("SELECT * INTO three FROM one", None, 0),
        ("CREATE MATERIALIZED VIEW seen AS SELECT * FROM one", None, 0),
        ("REFRESH MATERIALIZED VIEW seen", None, 0),
        ("TRUNCATE one", None, 0),
        ("DO $$ BEGIN INSERT INTO one VALUES (1, 1); END $$", None, 0),
    ] {
        let expected = if is_sqlite { both } else { Some(postgres) };
        let Some(expected) = expected else { continue };
        for (round, behind, more) in [("1", "", None), ("2", "; SELECT 1", Some(-1))] {
            let named = |text: String, name: &str| text.replace(name, &format!("{name}{round}"));
            let text =
                ["one", "two", "three", "seen"].iter().fold(text.to_owned(), |text, name| named(text, name)) + behind;
            let (status, document) = app.query(json!({"query": text})).await;
            assert_eq!(status, 200, "{text}: {document}");
            assert_eq!(counts(&document), [Some(expected), more].into_iter().flatten().collect::<Vec<_>>(), "{text}");
        }
    }
}

#[actix_web::test]
async fn a_batch_counts_alike() {
    let app = fixture::on_postgres().await;
    let sets = json!([{"id": 1}, {"id": 2}]);
    for (query, expected) in [
        ("WITH u AS (UPDATE customers SET city = city WHERE id = @id RETURNING id) SELECT id FROM u", -1),
        ("UPDATE customers SET city = city WHERE id = @id RETURNING id", 1),
        ("EXPLAIN ANALYZE UPDATE customers SET city = city WHERE id = @id", -1),
    ] {
        let body = json!({"query": query, "parameters": sets});
        let response = app.post("/api/batch").json(&body).send().await.unwrap();
        let document: Value = response.json().await.unwrap();
        for result in document["results"].as_array().unwrap() {
            assert_eq!(result["affectedRows"], expected, "{query}: {document}");
        }
    }
}
