//! connection.schema.table and what becomes of it.

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
        assert!(is_parsed(text, Dialect::PostgreSql), "only scanned: {text}");
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
    let error = statements("select ] from crm.b.c", Dialect::PostgreSql, SALES).unwrap_err();
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
        let error = statements(text, Dialect::PostgreSql, SALES).unwrap_err();
        assert_eq!(error.kind, Failure::NotFound, "{text}");
        assert!(error.message.contains("crm is another connection"), "{}", error.message);
        assert!(error.message.contains("addresses sales"), "{}", error.message);
        let position = error.get_position().unwrap();
        let place: String = text.chars().skip(position - 1).collect();
        assert!(place.trim_start_matches('[').to_lowercase().starts_with("crm"), "{text}: {place}");
    }
    let error = statements("select * from erp.b.c", Dialect::PostgreSql, SALES).unwrap_err();
    assert_eq!(error.kind, Failure::NotFound);
    assert!(error.message.contains("erp is no connection"), "{}", error.message);
    let quoted = Naming { connection: "sales", others: &["Sales"] };
    let error = statements("select * from \"Sales\".b.c", Dialect::PostgreSql, quoted).unwrap_err();
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
        let all = statements(text, Dialect::PostgreSql, SALES).unwrap();
        let name = all.last().unwrap().names.iter().find(|name| name.parts.last().unwrap() == "orders").unwrap();
        assert_eq!(name.position, expected, "{text}");
    }
}
