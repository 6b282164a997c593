//! What a bracket in a statement is, beside PostgreSQL itself: where that reads a subscript it is one, and where it
//! reads none it is a name, if it then reads the whole.

use portico_actors::sql::{Dialect, Naming, statements};

use crate::support::dice::{Random, cases};
use crate::support::postgres::{TestPostgres, connect};

const NAMING: Naming<'static> = Naming { connection: "shop", others: &[] };

/// Expressions of every form that a bracket may stand behind.
const OPERANDS: &[&str] = &[
    "id",
    "arr",
    "t.arr",
    "\"arr\"",
    "(arr)",
    "(select arr)",
    "arr[1]",
    "arr[1:2]",
    "array[1, 2]",
    "array(select 1)",
    "array[[1], [id]]",
    "exists(select 1)",
    "not exists (select 1 from t)",
    "id is distinct from 1",
    "id is not distinct from id",
    "id is null",
    "id in (1, 2)",
    "id = any(arr)",
    "id between 1 and id",
    "count(*) over ()",
    "count(*) over (partition by id order by id)",
    "coalesce(arr, arr)",
    "left('a', 1)",
    "replace('a', 'b', 'c')",
    "extract(year from current_date)",
    "substring(n from 1 for 2)",
    "trim(both from n)",
    "cast(id as text)",
    "row(1, 2)",
    "id::int",
    "id::numeric(10, 2)",
    "n::character varying(3)",
    "now()::timestamp with time zone",
    "id::double precision",
    "arr::int[]",
    "arr::int[3]",
    "id::pg_catalog.int4",
    "n collate \"C\"",
    "'x'",
    "1",
    "null",
    "true",
    "current_date",
    "case when true then arr end",
    "-id",
    "id + 1",
    "n like 'a'",
    "interval '1' day",
    "at.id",
    "index",
    "view",
    "set",
    "update",
    "delete",
    "by",
    "exists",
    "merge",
];

#[tokio::test]
async fn a_bracket_is_what_its_place_in_the_grammar_says() {
    let (mut random, cases) = (Random::seeded("brackets"), cases(1_500));
    let client = connect(&TestPostgres::shared().database("brackets").await).await;
    client
        .batch_execute("CREATE TABLE t (id int, arr int[], n text, index int[], view int[], set int[])")
        .await
        .unwrap();
    let is_grammar = async |text: &str| match client.prepare(text).await {
        Ok(_) => true,
        Err(error) => error.code().unwrap().code() != "42601",
    };
    let (mut subscripts, mut names) = (0, 0);
    for _ in 0..cases {
        let (before, operand) = (random.choose(OPERANDS), random.choose(OPERANDS));
        let space = *random.choose(&["", " ", "\n", " /* c */ "]);
        let bracket = random.choose(&["id", "index", "arr"]);
        let (head, tail) = match random.below(14) {
            9 => (format!("select id between {operand}"), " and 5 from t at, t"),
            10 => (format!("select n like 'a' escape {operand}"), " from t at, t"),
            11 => (format!("select concat(variadic {operand}"), ") from t at, t"),
            12 => (format!("select trim(both {operand}"), " from n) from t at, t"),
            13 => (format!("select id not between 1 and {operand}"), " from t at, t"),
            0 => (format!("select {operand}"), ", 1 from t at, t"),
            1 => (format!("select {before}, {operand}"), " from t at, t"),
            2 => (format!("select id from t at, t where {before} is null and {operand}"), " is null"),
            3 => (format!("select id from t at, t order by {before}, {operand}"), ", id"),
            4 => (format!("select * from (select {before} from t at, t) x, t"), ""),
            5 => ("select * from t at join t x on x.arr = array[1], t".to_owned(), " where true"),
            6 => ("delete from t at using t x, t".to_owned(), " where true"),
            7 => (format!("select (select {operand}"), " from t at, t limit 1)"),
            _ => (format!("update t at set id = 1 returning {before} is null, {operand}"), ""),
        };
        // Two names in quotes would be one.
        let apart = if space.is_empty() && head.ends_with('"') { " " } else { space };
        let (text, quoted) = (format!("{head}{space}[{bracket}]{tail}"), format!("{head}{apart}\"{bracket}\"{tail}"));
        let ours = &statements(&text, Dialect::POSTGRESQL, NAMING).unwrap()[0].text;
        match (is_grammar(&text).await, is_grammar(&quoted).await) {
            (true, _) => {
                subscripts += 1;
                assert_eq!(*ours, text, "it is a subscript");
            }
            (false, true) => {
                names += 1;
                assert_eq!(*ours, quoted, "it is a name");
            }
            (false, false) => {}
        }
    }
    assert!(subscripts * 20 > cases && names * 20 > cases, "{subscripts} subscripts, {names} names");
}
