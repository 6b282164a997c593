//! Classes, rows and calls.

use super::*;

#[test]
fn classes_of_postgresql() {
    use Class::{Call, Ddl, Insert, Other, Select, Session, Transaction, Update};
    for (text, class, rows) in [
        ("select 1", Select, true),
        ("(select 1)", Select, true),
        ("((select 1) union (select 2)) order by 1", Select, true),
        ("values (1), (2)", Select, true),
        ("table t", Select, true),
        ("show search_path", Select, true),
        ("with a as (select 1) select * from a", Select, true),
        ("with recursive a(n) as (select 1 union all select n + 1 from a) select * from a", Select, true),
        ("select 'delete from t'", Select, true),
        ("select 1 -- ; delete from t", Select, true),
        ("select $$ insert $$", Select, true),
        ("explain select 1", Select, true),
        ("explain delete from t", Update, true),
        ("explain (select 1)", Select, true),
        ("explain (format json) delete from t", Update, true),
        ("explain analyze delete from t", Update, true),
        ("explain analyse verbose insert into t values (1)", Insert, true),
        ("explain (analyze) delete from t", Update, true),
        ("explain (verbose, analyze true) update t set a = 1", Update, true),
        ("explain (analyze false, verbose) delete from t", Update, true),
        ("explain (analyze off) delete from t", Update, true),
        ("explain (analyze) select 1", Select, true),
        ("explain (analyze) with x as (delete from t returning *) select * from x", Update, true),
        ("explain analyze create table t as select 1", Ddl, true),
        ("explain analyze execute p", Session, true),
        ("insert into t values (1)", Insert, false),
        ("insert into t values (1) returning a", Insert, true),
        ("insert into t values (1) on conflict (a) do update set a = 2", Insert, false),
        ("insert into t select * from u for update", Insert, false),
        ("with a as (select 1) insert into t select * from a", Insert, false),
        ("with a as (select 1) insert into t select * from a returning *", Insert, true),
        ("with a as (insert into t values (1) returning *) select * from a", Insert, true),
        ("with a as (delete from t returning *) select * from a", Update, true),
        ("with a as (delete from t returning *) insert into u select * from a", Update, false),
        ("with a as (insert into t values (1) returning *), b as (update u set x = 1) select 1", Update, true),
        ("update t set a = 1", Update, false),
        ("update t set a = 1 returning old.a, new.a", Update, true),
        ("delete from t using u where t.a = u.a", Update, false),
        ("merge into t using s on t.a = s.a when matched then delete", Update, false),
        ("merge into t using s on t.a = s.a when not matched then insert values (1)", Insert, false),
        (
            "merge into t using s on t.a = s.a when matched then update set b = 1 when not matched then insert values (1)",
            Update,
            false,
        ),
        ("merge into t using s on t.a = s.a when matched then do nothing", Update, false),
        ("merge into t using s on true when not matched then insert values (1) returning t.a", Insert, true),
        ("select * from t for update", Update, true),
        ("select * from t for no key update skip locked", Update, true),
        ("select 1 union all select 2 for share", Update, true),
        ("select a from (select * from t for update) x", Update, true),
        ("select * into u from t", Ddl, false),
        ("with a as (select 1) select * into u from a", Ddl, false),
        ("create table t as select 1", Ddl, false),
        ("create materialized view v as select 1", Ddl, false),
        ("alter table t add column a int", Ddl, false),
        ("drop table t", Ddl, false),
        ("truncate t", Ddl, false),
        ("grant select on t to r", Ddl, false),
        ("comment on table t is 'x'", Ddl, false),
        ("refresh materialized view v", Ddl, false),
        ("call p(1)", Call, false),
        ("do $$begin delete from t; end$$", Call, false),
        ("copy t from stdin", Other, false),
        ("copy (select 1) to stdout", Other, false),
        ("vacuum t", Other, false),
        ("analyze", Other, false),
        ("reindex table t", Other, false),
        ("lock table t", Other, false),
        ("notify c", Other, false),
        ("checkpoint", Other, false),
        ("set search_path = x", Session, false),
        ("set local role r", Session, false),
        ("reset all", Session, false),
        ("prepare p as select 1", Session, false),
        ("execute p", Session, false),
        ("deallocate all", Session, false),
        ("listen c", Session, false),
        ("unlisten *", Session, false),
        ("discard all", Session, false),
        ("declare c cursor for select 1", Session, false),
        ("fetch next from c", Session, true),
        ("close c", Session, false),
        ("load 'x'", Session, false),
        ("begin", Transaction, false),
        ("start transaction read only", Transaction, false),
        ("commit", Transaction, false),
        ("end", Transaction, false),
        ("rollback to savepoint a", Transaction, false),
        ("abort", Transaction, false),
        ("savepoint a", Transaction, false),
        ("release a", Transaction, false),
        ("prepare transaction 'x'", Transaction, false),
        ("commit prepared 'x'", Transaction, false),
        ("set transaction read write", Transaction, false),
        ("/* a /* nested */ comment */ DeLeTe FROM t", Update, false),
    ] {
        let statement = one(text);
        assert_eq!((statement.class, statement.returns_rows), (class, rows), "{text}");
        assert!(is_parsed(text, Dialect::POSTGRESQL), "only scanned: {text}");
    }
}

#[test]
fn classes_of_what_the_parser_does_not_understand() {
    for (text, class, rows) in [
        ("select 1 from from where", Class::Select, true),
        ("select ] from t", Class::Select, true),
        ("with update as (select 1) select * from update", Class::Select, true),
        ("insert into t valuez ((1)", Class::Insert, false),
        ("update t set ] = 1 returning a", Class::Update, true),
        ("delete ] from t", Class::Update, false),
        ("with a as (delete from t {) select 1", Class::Update, true),
        ("with a as (select 1 {) insert into t select 1", Class::Insert, false),
        ("select ] into u from t", Class::Ddl, false),
        ("select ] from t for update", Class::Update, true),
        ("merge into t ] using s on a when matched then delete", Class::Update, false),
        ("merge into t ] using s on a when not matched then insert values (1)", Class::Insert, false),
        ("explain analyze delete ] from t", Class::Update, true),
        ("set a to ]", Class::Session, false),
        ("commit ]", Class::Transaction, false),
        ("gibberish of any kind", Class::Other, false),
        ("))", Class::Other, false),
        ("'x'", Class::Other, false),
        ("\"select\" 1", Class::Other, false),
    ] {
        let statement = one(text);
        assert_eq!((statement.class, statement.returns_rows), (class, rows), "{text}");
        assert!(statement.calls_functions, "{text}");
    }
}

#[test]
fn two_statements_without_a_semicolon_are_not_understood() {
    assert!(!is_parsed("insert into t values (1) delete from t", Dialect::POSTGRESQL));
}

#[test]
fn classes_of_sqlite() {
    use Class::{Ddl, Insert, Other, Select, Session, Transaction, Update};
    for (text, class, rows) in [
        ("select * from `a b`", Select, true),
        ("select [a] from [b c]", Select, true),
        ("select ?, ?2, :x, $y", Select, true),
        ("insert or replace into t values (1)", Insert, false),
        ("insert or ignore into t values (?) returning a", Insert, true),
        ("update or fail t set a = 1", Update, false),
        ("replace into t values (1)", Insert, false),
        ("explain query plan delete from t", Update, true),
        ("explain insert into t values (1)", Insert, true),
        ("explain query plan create table t (a)", Ddl, true),
        ("explain query plan select * from t", Select, true),
        ("explain attach 'x' as y", Session, true),
        ("pragma table_info(t)", Select, true),
        ("pragma main.table_info('t')", Select, true),
        ("pragma user_version", Select, true),
        ("pragma user_version = 3", Session, true),
        ("pragma user_version(3)", Session, true),
        ("pragma journal_mode(wal)", Session, true),
        ("pragma table_info = t", Session, true),
        ("pragma optimize", Session, true),
        ("pragma wal_checkpoint", Session, true),
        ("pragma", Session, true),
        ("attach 'x' as y", Session, false),
        ("detach y", Session, false),
        ("vacuum", Other, false),
        ("analyze t", Other, false),
        ("reindex", Other, false),
        ("create trigger r after insert on t begin delete from u; end", Ddl, false),
        ("begin immediate", Transaction, false),
        ("end transaction", Transaction, false),
    ] {
        let statement = lite(text);
        assert_eq!((statement.class, statement.returns_rows), (class, rows), "{text}");
    }
    for text in ["insert or replace into t values (1)", "replace into t values (1)", "select ?, ?2, :x, $y"] {
        assert!(is_parsed(text, Dialect::SQLITE), "only scanned: {text}");
    }
}

#[test]
fn calls_of_functions_that_may_act() {
    for (text, calls) in [
        ("select 1", false),
        ("select count(*), lower(a), coalesce(a, b), now() from t", false),
        ("select COUNT(*), pg_catalog.lower(a), \"upper\"(a)", false),
        ("select extract(year from d), substring(a from 1 for 2), trim(both from a), cast(a as int)", false),
        ("select row_number() over (order by a) from t where exists (select 1) and a in (1, 2)", false),
        ("select * from generate_series(1, 3)", false),
        ("insert into t(a) values (1)", false),
        ("select \"COUNT\"(*)", true),
        ("select nextval('s')", true),
        ("select pg_catalog.setval('s', 1)", true),
        ("select public.lower(a)", true),
        ("select sales.public.f(a)", true),
        ("select f(a)", true),
        ("select * from f(1)", true),
        ("select * from t where a = (select f(1))", true),
        ("select a from t order by f (a)", true),
        ("call p()", true),
        ("do $$ $$", true),
    ] {
        assert_eq!(one(text).calls_functions, calls, "{text}");
    }
}

#[test]
fn a_change_of_every_row_is_read_from_the_tree() {
    for (text, expected) in [
        ("UPDATE t SET a = 1", Some("UPDATE")),
        ("delete from t", Some("DELETE")),
        ("DELETE FROM t WHERE true", None),
        ("DELETE FROM t WHERE CURRENT OF c", None),
        ("DELETE FROM t USING u", Some("DELETE")),
        ("DELETE FROM t RETURNING a AS where", Some("DELETE")),
        ("UPDATE t SET a = 0 RETURNING 1 AS where", Some("UPDATE")),
        ("UPDATE t SET a = (SELECT 1 FROM u WHERE u.id = t.id)", Some("UPDATE")),
        ("UPDATE t SET a = (SELECT 1 FROM u) WHERE id = 1", None),
        ("WITH d AS (DELETE FROM t RETURNING a) SELECT * FROM d WHERE a = 1", Some("DELETE")),
        ("WITH d AS (DELETE FROM t WHERE a = 1 RETURNING a) SELECT * FROM d", None),
        ("WITH d AS (DELETE FROM t RETURNING a) SELECT * INTO u FROM d", Some("DELETE")),
        ("WITH x AS (SELECT 1) UPDATE t SET a = 1", Some("UPDATE")),
        ("WITH x AS (SELECT 1) UPDATE t SET a = 1 WHERE b", None),
        ("WITH RECURSIVE x(i) AS (SELECT 1) CYCLE i SET c USING p DELETE FROM t", Some("DELETE")),
        ("EXPLAIN ANALYZE DELETE FROM t", Some("DELETE")),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1", None),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1", None),
        ("SELECT * FROM t FOR UPDATE", None),
        ("SELECT * FROM (SELECT 2) y FOR NO KEY UPDATE", None),
        ("SELECT 'DELETE FROM t'", None),
        ("CREATE RULE r AS ON UPDATE TO t DO INSTEAD DELETE FROM u", None),
        ("GRANT UPDATE, DELETE ON t TO r", None),
        // Where it is not understood the words decide.
        ("UPDATE t SET a = 'x' UESCAPE '!' WHERE b", None),
        ("UPDATE t SET a = 'x' UESCAPE '!'", Some("UPDATE")),
        ("UPDATE t SET a = 'x' UESCAPE '!' RETURNING a AS where", Some("UPDATE")),
        ("DELETE FROM t 'x' UESCAPE '!' RETURNING a where", Some("DELETE")),
        ("UPDATE t SET a = (SELECT 1 'x' UESCAPE '!' FROM u WHERE c)", Some("UPDATE")),
        ("WITH d AS (DELETE FROM t 'x' UESCAPE '!' RETURNING a) SELECT * FROM d WHERE b", Some("DELETE")),
        ("WITH d AS (DELETE FROM t 'x' UESCAPE '!' WHERE b RETURNING a) SELECT * FROM d", None),
        ("SELECT 'x' UESCAPE '!' FROM t FOR UPDATE", None),
        ("MERGE INTO t 'x' UESCAPE '!' USING s ON a WHEN MATCHED THEN DELETE", None),
        ("INSERT INTO t 'x' UESCAPE '!' VALUES (1) ON CONFLICT DO UPDATE SET a = 1", None),
    ] {
        assert_eq!(one(text).every_row, expected, "{text}");
    }
}
