//! What a tool answers of a result that it cannot show whole: the work is done all the same, and
//! the hint is one that the agent can follow without doing it again.

use serde_json::{Value, json};

use crate::support::app::TestApp;
use crate::support::fixture;
use crate::support::mcp::at_the_address_of_all;
use crate::support::postgres::connect;

const ROUTINES: &str = "
CREATE TABLE log (word text);
CREATE FUNCTION two_sets(w text) RETURNS SETOF refcursor LANGUAGE plpgsql AS $$ DECLARE a refcursor; b refcursor; BEGIN
    INSERT INTO log VALUES (w);
    OPEN a FOR SELECT id FROM customers ORDER BY id; RETURN NEXT a;
    OPEN b FOR SELECT name FROM customers ORDER BY id; RETURN NEXT b; END $$;
CREATE PROCEDURE value_and_set(w text, INOUT n int, INOUT c refcursor DEFAULT 'c') LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO log VALUES (w); n := n + 1; OPEN c FOR SELECT id FROM customers; END $$;
CREATE FUNCTION read_sets(OUT a int, OUT c refcursor, OUT d refcursor) LANGUAGE plpgsql STABLE AS $$ BEGIN
    a := 7; OPEN c FOR SELECT 1 AS x; OPEN d FOR SELECT 2 AS y; END $$;
CREATE FUNCTION one_set() RETURNS refcursor LANGUAGE plpgsql STABLE AS $$ DECLARE c refcursor; BEGIN
    OPEN c FOR SELECT id FROM customers ORDER BY id; RETURN c; END $$;
CREATE FUNCTION many(n int) RETURNS SETOF int LANGUAGE sql STABLE AS 'SELECT generate_series(1, n)';
CREATE FUNCTION logged(w text) RETURNS SETOF int LANGUAGE sql AS
    'INSERT INTO log VALUES (w); SELECT generate_series(1, 5)';";

async fn service(more: &str) -> (TestApp, tokio_postgres::Client) {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute(ROUTINES).await.unwrap();
    (fixture::with_postgres(&url, &format!("access = \"read-write\"\n{more}")).await, admin)
}

async fn answer(app: &TestApp, tool: &str, arguments: Value) -> Value {
    let mut result = app.tool(tool, arguments).await;
    assert_eq!(result["isError"], false, "{tool}: {result}");
    result["structuredContent"].take()
}

async fn logged(admin: &tokio_postgres::Client) -> Vec<String> {
    let rows = admin.query("SELECT word FROM log ORDER BY word", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[actix_web::test]
async fn what_a_procedure_with_several_results_wrote_is_kept() {
    let (app, admin) = service("").await;
    for (tool, arguments, rows) in [
        ("execute_procedure", json!({"procedure": "two_sets", "parameters": {"w": "a"}}), json!([[1], [2], [3]])),
        ("two_sets", json!({"w": "b"}), json!([[1], [2], [3]])),
        (
            "execute_procedure",
            json!({"procedure": "value_and_set", "parameters": {"w": "c", "n": 1}}),
            json!([[2, "c"]]),
        ),
        ("value_and_set", json!({"w": "d", "n": 1}), json!([[2, "c"]])),
    ] {
        let answer = answer(&app, tool, arguments).await;
        assert_eq!((&answer["rows"], &answer["truncated"]), (&rows, &json!(true)), "{tool}: {answer}");
        assert!(answer["hint"].as_str().unwrap().contains("the first of several results"), "{tool}: {answer}");
    }
    assert_eq!(logged(&admin).await, ["a", "b", "c", "d"], "what was answered as done is done");
}

#[actix_web::test]
async fn a_reader_tells_of_further_results_and_its_session_goes_on() {
    let (app, _admin) = service("pool = 1").await;
    for _ in 0..3 {
        let several = answer(&app, "read_sets", json!({})).await;
        assert_eq!(several["rows"][0][0], 7, "{several}");
        assert!(several["hint"].as_str().unwrap().contains("the first of several results"), "{several}");
        let one = answer(&app, "one_set", json!({})).await;
        assert_eq!((&one["rows"], &one["truncated"]), (&json!([[1], [2], [3]]), &json!(false)));
        assert!(one.get("hint").is_none(), "{one}");
    }
}

#[actix_web::test]
async fn a_hint_can_be_followed_with_the_tool_that_gave_it() {
    let (app, admin) = service("max_rows = 2").await;
    for (tool, arguments, has, has_not) in [
        ("get_tables", json!({}), "narrow the listing by names", "OFFSET"),
        (
            "get_columns",
            json!({"maxRows": 1}),
            "narrow the listing by names, exact or as LIKE patterns, or raise maxRows (at most 2)",
            "OFFSET",
        ),
        ("execute_select", json!({"query": "SELECT id FROM customers ORDER BY id"}), "OFFSET 2", "again"),
        (
            "execute_update",
            json!({"query": "UPDATE customers SET city = 'x' RETURNING id", "all": true}),
            "all 3 rows were changed: do not run it again",
            "OFFSET",
        ),
        (
            "execute_sql",
            json!({"query": "INSERT INTO log SELECT 'y' FROM customers RETURNING word", "maxRows": 1}),
            "all 3 rows were changed: do not run it again",
            "maxRows",
        ),
        ("many", json!({"n": 3}), "give parameters for which it returns less", "OFFSET"),
        (
            "execute_procedure",
            json!({"procedure": "many", "parameters": {"n": 3}, "maxRows": 1}),
            "give parameters for which it returns less, or raise maxRows (at most 2)",
            "OFFSET",
        ),
        ("logged", json!({"w": "x"}), "do not call it again", "OFFSET"),
    ] {
        let answer = answer(&app, tool, arguments).await;
        let hint = answer["hint"].as_str().unwrap();
        assert!(answer["truncated"] == true && hint.contains(has) && !hint.contains(has_not), "{tool}: {hint}");
    }
    assert_eq!(logged(&admin).await, ["x", "y", "y", "y"]);
}

at_the_address_of_all! {
    what_a_procedure_with_several_results_wrote_is_kept
    a_reader_tells_of_further_results_and_its_session_goes_on
    a_hint_can_be_followed_with_the_tool_that_gave_it
}
