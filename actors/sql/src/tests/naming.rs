//! Tests of connection.schema.table and its rewriting.

use super::*;

#[test]
fn the_connection_goes_and_everything_else_stays() {
    for (text, expected) in [
        ("select * from sales.public.orders", "select * from public.orders"),
        ("SELECT * FROM Sales.Public.Orders AS o", "SELECT * FROM Public.Orders AS o"),
        ("select * from \"sales\".\"public\".\"orders\"", "select * from \"public\".\"orders\""),
        ("select * from \"SALES\".public.orders", "select * from public.orders"),
        ("select * from [sales].[public].[Order Details]", "select * from \"public\".\"Order Details\""),
        (
            "select * from sales /* a */ . -- b\n public /* c */ . orders",
            "select * from  /* a */  -- b\n public /* c */ . orders",
        ),
        ("select sales.public.orders.id from sales.public.orders", "select public.orders.id from public.orders"),
        ("select sales.public.orders.* from sales.public.orders", "select public.orders.* from public.orders"),
        ("select public.orders.id from sales.public.orders", "select public.orders.id from public.orders"),
        ("select sales.orders.id from sales.orders", "select sales.orders.id from sales.orders"),
        ("select sales.orders.* from sales.orders", "select sales.orders.* from sales.orders"),
        ("select sales.id from sales", "select sales.id from sales"),
        ("select crm.t.a from crm.t", "select crm.t.a from crm.t"),
        ("select (sales).public.orders from sales", "select (sales).public.orders from sales"),
        (
            "select * from sales.public.a join sales.public.b using (id), lateral sales.public.f(a.id) x",
            "select * from public.a join public.b using (id), lateral public.f(a.id) x",
        ),
        ("select * from a, sales.b.c, sales.d.e", "select * from a, b.c, d.e"),
        ("select * from (sales.b.c cross join sales.d.e)", "select * from (b.c cross join d.e)"),
        (
            "select * from a where exists (select 1 from only sales.b.c)",
            "select * from a where exists (select 1 from only b.c)",
        ),
        ("with x as (select * from sales.b.c) select * from x", "with x as (select * from b.c) select * from x"),
        ("table sales.b.c", "table b.c"),
        (
            "insert into sales.b.c (x) values (1) returning sales.b.c.x",
            "insert into b.c (x) values (1) returning b.c.x",
        ),
        ("update sales.b.c set x = 1 where sales.b.c.x = 2", "update b.c set x = 1 where b.c.x = 2"),
        ("delete from sales.b.c using sales.d.e", "delete from b.c using d.e"),
        (
            "merge into sales.b.c t using sales.d.e s on t.x = s.x when matched then delete",
            "merge into b.c t using d.e s on t.x = s.x when matched then delete",
        ),
        ("truncate sales.b.c, sales.d.e", "truncate b.c, d.e"),
        ("create table sales.b.c (x int references sales.d.e (y))", "create table b.c (x int references d.e (y))"),
        ("create view sales.b.v as select * from sales.b.c", "create view b.v as select * from b.c"),
        ("create index i on sales.b.c (x)", "create index i on b.c (x)"),
        ("alter table sales.b.c add x int", "alter table b.c add x int"),
        ("drop table if exists sales.b.c, sales.d.e", "drop table if exists b.c, d.e"),
        ("drop view sales.b.v", "drop view b.v"),
        ("comment on column sales.b.c.x is 'y'", "comment on column b.c.x is 'y'"),
        ("comment on column b.c.x is 'y'", "comment on column b.c.x is 'y'"),
        ("call sales.b.p(1)", "call b.p(1)"),
        ("select sales.b.f(1), b.f(2), f(3)", "select b.f(1), b.f(2), f(3)"),
        ("select x::sales.b.t, cast(y as sales.b.t)", "select x::b.t, cast(y as b.t)"),
        ("select a into sales.b.c from t", "select a into b.c from t"),
        ("copy sales.b.c from stdin", "copy b.c from stdin"),
        ("explain analyze select * from sales.b.c", "explain analyze select * from b.c"),
        (
            "select 'sales.b.c', $$sales.b.c$$, \"sales.b.c\" -- sales.b.c\n, 1",
            "select 'sales.b.c', $$sales.b.c$$, \"sales.b.c\" -- sales.b.c\n, 1",
        ),
        ("select * from a join\"sales\".b.c on true", "select * from a join b.c on true"),
        ("select*from\"sales\".\"b\".c", "select*from \"b\".c"),
        ("select * from sales.b.c for update of c", "select * from b.c for update of c"),
    ] {
        assert_eq!(one(text).text, expected, "{text}");
        assert!(is_parsed(text, Dialect::POSTGRESQL), "only scanned: {text}");
    }
}

#[test]
fn names_in_what_is_only_scanned() {
    for (text, expected) in [
        ("select ] from sales.public.orders o, sales.public.items i", "select ] from public.orders o, public.items i"),
        (
            "select ], sales.b.c.d, sales.b.c from sales.b.c where sales.b.f(1)",
            "select ], b.c.d, sales.b.c from b.c where b.f(1)",
        ),
        ("update sales.b.c set ] = 1", "update b.c set ] = 1"),
        ("insert into sales.b.c (x) valuez ] 1", "insert into b.c (x) valuez ] 1"),
        ("call sales.b.p(])", "call b.p(])"),
        ("select ] where a is distinct from x.y.z", "select ] where a is distinct from x.y.z"),
    ] {
        assert_eq!(one(text).text, expected, "{text}");
    }
    let error = statements("select ] from crm.b.c", Dialect::POSTGRESQL, SALES).unwrap_err();
    assert_eq!(error.kind, Failure::NotFound);
}

#[test]
fn another_connection_is_an_error_that_says_so() {
    for text in [
        "select * from crm.b.c",
        "select * from sales.b.c join CRM.b.c using (x)",
        "select crm.b.f(1)",
        "call crm.b.p()",
        "insert into [crm].b.c values (1)",
    ] {
        let error = statements(text, Dialect::POSTGRESQL, SALES).unwrap_err();
        assert_eq!(error.kind, Failure::NotFound, "{text}");
        assert!(error.message.contains("crm is another connection"), "{}", error.message);
        assert!(error.message.contains("addresses sales"), "{}", error.message);
        let position = error.get_position().unwrap();
        let place: String = text.chars().skip(position - 1).collect();
        assert!(place.trim_start_matches('[').to_lowercase().starts_with("crm"), "{text}: {place}");
    }
    let error = statements("select * from erp.b.c", Dialect::POSTGRESQL, SALES).unwrap_err();
    assert_eq!(error.kind, Failure::NotFound);
    assert!(error.message.contains("erp is not one of your connections"), "{}", error.message);
    let quoted = Naming { connection: "sales", others: &["Sales"] };
    let error = statements("select * from \"Sales\".b.c", Dialect::POSTGRESQL, quoted).unwrap_err();
    assert!(error.message.contains("Sales is another connection"), "{}", error.message);
}

#[test]
fn names_for_sqlite() {
    for (text, expected) in [
        ("select * from sales.main.orders", "select * from main.orders"),
        ("select * from [sales].[main].[a b]", "select * from [main].[a b]"),
        ("select * from `sales`.main.`a``b`", "select * from main.`a``b`"),
        ("insert or replace into sales.main.t values (1)", "insert or replace into main.t values (1)"),
        ("replace into sales.main.t values (1)", "replace into main.t values (1)"),
        ("select a glob 'x' from sales.main.t", "select a glob 'x' from main.t"),
        ("reindex sales.main.t", "reindex main.t"),
        ("drop trigger if exists sales.main.x", "drop trigger if exists main.x"),
        ("drop trigger sales.main.x", "drop trigger main.x"),
        ("select 1 in sales.main.t", "select 1 in main.t"),
    ] {
        assert_eq!(lite(text).text, expected, "{text}");
    }
}

#[test]
fn the_connections_that_a_text_addresses() {
    for (text, expected) in [
        ("select 1.5 + 2.5", vec![]),
        ("select a.b.c from a.b", vec![]),
        ("select * from Sales.b.c, \"Sales\".d.e, sales.f.g", vec!["sales", "Sales"]),
        ("select * from [crm].b.c; call `x y`.b.p(); select erp.b.f(1)", vec!["crm", "x y", "erp"]),
        ("insert or replace into sales.main.t values (?1)", vec!["sales"]),
        ("select 'a.b.c' from t -- a.b.c", vec![]),
        ("select ] from a.b.c", vec!["a"]),
        ("a.b.c", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(catalogs(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_statement_tells_what_it_names() {
    let named = |statement: Statement| -> Vec<String> {
        let call = |called: bool| if called { "()" } else { "" };
        statement.names.iter().map(|name| name.parts.join(".") + call(name.called)).collect()
    };
    assert_eq!(
        named(one("WITH a AS (SELECT f(x.y) FROM sales.public.\"T\" x) DELETE FROM Hr.People USING a")),
        ["f()", "public.T", "hr.people", "a"]
    );
    for text in ["DROP TABLE secrets", "TRUNCATE secrets", "CREATE TABLE k (LIKE secrets)", "LOCK TABLE secrets"] {
        assert!(named(one(text)).contains(&"secrets".to_owned()), "{text}");
    }
    for text in ["SELECT * FROM `secrets`", "REPLACE INTO secrets VALUES (1)", "SELECT 1 FROM 'secrets'"] {
        assert!(named(lite(text)).contains(&"secrets".to_owned()), "{text}");
    }
    assert!(!named(one("SELECT 'secrets', secrets FROM t")).contains(&"secrets".to_owned()), "neither is a relation");
}

#[test]
fn a_list_behind_a_relation_makes_no_routine_of_it() {
    let named = |statement: &Statement, name: &str, called: bool| {
        statement
            .names
            .iter()
            .any(|named| named.parts.last().is_some_and(|last| last == name) && named.called == called)
    };
    for text in [
        "replace into t (a) values (f(1))",
        "insert or replace into main.t(a) values (f(1))",
        "create table u (a references t (a), check (f(a))) strict",
    ] {
        let statement = lite(text);
        assert!(named(&statement, "t", false), "{text}: {:?}", statement.names);
        assert!(named(&statement, "f", true) && !named(&statement, "f", false), "{text}: {:?}", statement.names);
    }
}

#[test]
fn names_know_their_place_in_the_whole_text() {
    for (text, expected) in [
        ("select 'Łódź', a from orders", 23),
        ("select 1; select * from orders", 25),
        ("select * from sales.public.orders", 21),
        ("select * from public.orders", 15),
    ] {
        let all = statements(text, Dialect::POSTGRESQL, SALES).unwrap();
        let name = all.last().unwrap().names.iter().find(|name| name.parts.last().unwrap() == "orders").unwrap();
        assert_eq!(name.position, expected, "{text}");
    }
}

/// A statement with the connection's name in front of every name is equivalent to the one without.
#[test]
fn a_connection_may_stand_in_front_of_every_name() {
    let mut wrong = Vec::new();
    for text in [
        "select count({n}.b.c.*) from {n}.b.c",
        "select row_to_json({n}.b.c.*), {n}.b.c.* is null from {n}.b.c",
        "select ({n}.b.c.*) from {n}.b.c",
        "select ({n}.b.c.*)::text from {n}.b.c group by {n}.b.c.*",
        "select x from {n}.b.c where {n}.b.c.* = ({n}.b.d.*) order by {n}.b.c.*",
        "select array[{n}.b.c.*], row({n}.b.c.*), coalesce({n}.b.c.*, null) from {n}.b.c",
        "select case when {n}.b.c.* is null then 1 end from {n}.b.c",
        "insert into {n}.b.c values (1) returning {n}.b.c.*",
        "select {n}.b.c.x.y from {n}.b.c",
        "select ({n}.b.c.x).y, {n}.b.c.x[1] from {n}.b.c",
        "create function {n}.b.f(a {n}.b.mood, out x {n}.b.mood[]) returns setof {n}.b.c language sql as 'x'",
        "create function {n}.b.f(a {n}.b.c.x%type) returns {n}.b.c.x%type language sql as 'x'",
        "create function {n}.b.f(a int default {n}.b.g(1)) returns table (x {n}.b.mood, y {n}.b.c) language sql as 'x'",
        "create function {n}.b.f() returns {n}.b.mood return {n}.b.g(1)",
        "create procedure {n}.b.p(inout a {n}.b.mood) language sql as 'x'",
        "create or replace function {n}.b.f(variadic a {n}.b.mood[]) returns trigger language plpgsql as 'x'",
        "drop function {n}.b.f({n}.b.mood, int)",
        "alter function {n}.b.f({n}.b.mood) rename to g",
        "create table {n}.b.t (x {n}.b.mood, y {n}.b.mood[] default {n}.b.g(1))",
        "alter table {n}.b.t add x {n}.b.mood, alter y type {n}.b.mood using y::{n}.b.mood",
        "create type {n}.b.pair as (x {n}.b.mood, y int)",
        "create domain {n}.b.d as {n}.b.mood check (value <> {n}.b.g(1))",
        "select 1 operator({n}.b.+) 2",
        "select operator({n}.b.-) 2",
        "select 1 operator({n}.b.+) any (array[1])",
        "select x from {n}.b.c order by x using operator({n}.b.<)",
        "drop operator {n}.b.+ (int, int)",
        "create operator {n}.b.=== (leftarg = {n}.b.mood, rightarg = {n}.b.mood, function = {n}.b.eq)",
        "comment on operator {n}.b.=== ({n}.b.mood, {n}.b.mood) is 'x'",
        "select x from t where x operator({n}.b.~~) 'a' and ({n}.b.c.*) is not null",
        "select cast(x as {n}.b.mood[]), x::{n}.b.mood, {n}.b.mood 'x', '{}'::{n}.b.mood[] from t",
        "select x collate {n}.b.col from t",
        "select * from {n}.b.f(1) as t(a {n}.b.mood)",
        "select * from rows from ({n}.b.f(1), {n}.b.g(2)) as t",
        "select nextval('x'), {n}.b.agg(distinct x order by x) filter (where true) over (order by {n}.b.c.x) from {n}.b.c",
        "grant select on {n}.b.c to x",
        "comment on function {n}.b.f({n}.b.mood) is 'x'",
        "comment on type {n}.b.mood is 'x'",
        "alter type {n}.b.mood add value 'x'",
        "create cast ({n}.b.mood as {n}.b.pair) with function {n}.b.f({n}.b.mood)",
        "create aggregate {n}.b.a({n}.b.mood) (sfunc = {n}.b.f, stype = {n}.b.mood)",
        "create trigger t after insert on {n}.b.c execute function {n}.b.f()",
        "create index on {n}.b.c (x {n}.b.ops)",
        "create index on {n}.b.c (x collate {n}.b.col)",
        "create sequence {n}.b.s owned by {n}.b.c.x",
        "alter sequence {n}.b.s owned by {n}.b.c.x",
        "prepare x({n}.b.mood) as select 1",
        "create foreign table {n}.b.t (x {n}.b.mood) server s",
        "create table {n}.b.t of {n}.b.pair",
        "create table {n}.b.t (like {n}.b.c) inherits ({n}.b.d)",
        "create table {n}.b.t partition of {n}.b.c default",
        "analyze {n}.b.c (x)",
        "vacuum {n}.b.c",
        "lock table {n}.b.c",
        "reindex table {n}.b.c",
        "cluster {n}.b.c using i",
        "refresh materialized view {n}.b.v",
        "create statistics {n}.b.s on x, y from {n}.b.c",
        "create policy p on {n}.b.c using ({n}.b.g(x))",
        "create rule r as on insert to {n}.b.c do also insert into {n}.b.d values (1)",
    ] {
        let expected = text.replace("{n}.", "");
        // In ARRAY a bracket is an array.
        let names = ["sales", "\"sales\"", "[sales]"];
        for name in &names[..if text.contains("array[{n}") { 2 } else { 3 }] {
            let found =
                statements(&text.replace("{n}", name), Dialect::POSTGRESQL, SALES).map(|all| all[0].text.clone());
            if found.as_deref().ok() != Some(expected.as_str()) {
                wrong.push(format!("{expected}\n  {found:?}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} are not what they are without:\n{}", wrong.len(), wrong.join("\n"));
}

/// Removing a part does not join the texts around it.
#[test]
fn nothing_is_glued_where_a_part_was() {
    for (text, expected) in [
        ("select -sales--c\n.b.f()", "select - --c\nb.f()"),
        ("select 5 -sales.--c\nb.f()", "select 5 - --c\nb.f()"),
        ("select 4 /sales/* c */.b.f()", "select 4 / /* c */b.f()"),
        ("select u&sales.\"b\".f(1)", "select u& \"b\".f(1)"),
        ("select -sales.b.f()", "select -b.f()"),
    ] {
        assert_eq!(one(text).text, expected, "{text}");
    }
}
