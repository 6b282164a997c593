//! Statements that hurt: told what they would do before they do it.

use serde_json::{Value, json};

use crate::support::app::{CONNECTION, TestApp};
use crate::support::configuration::Configuration;
use crate::support::fixture::{self, on_both};
use crate::support::postgres::{TestPostgres, connect};

async fn a_change_of_every_row_is_told_with_their_number(app: &TestApp) {
    for (tool, query, verb) in [
        ("execute_update", "DELETE FROM orders", "DELETE"),
        ("execute_sql", "UPDATE orders SET total = total + 1", "UPDATE"),
    ] {
        let refused = app.tool_error(tool, json!({"query": query})).await;
        let told = format!("this {verb} has no WHERE and would change all 3 rows; nothing was changed");
        assert!(refused.contains(&told) && refused.contains("all: true"), "{refused}");
    }
    assert_eq!(
        app.rows("SELECT count(*), sum(total) FROM orders").await,
        json!([[3, 100_010.59]]),
        "nothing was changed"
    );
    // What would fail anyway says so.
    let unknown = app.tool_error("execute_update", json!({"query": "DELETE FROM odrers"})).await;
    assert!(unknown.contains("did you mean orders?"), "{unknown}");
    let tried = app.tool("execute_update", json!({"query": "UPDATE orders SET total = 1", "dryRun": true})).await;
    assert_eq!(tried["structuredContent"]["affectedRows"], 3, "a trial needs no leave: {tried}");
    let meant = app.tool("execute_update", json!({"query": "UPDATE orders SET total = 1", "all": true})).await;
    assert_eq!(meant["structuredContent"]["affectedRows"], 3);
    let wrong = app.tool_error("execute_update", json!({"query": "DELETE FROM orders", "all": "yes"})).await;
    assert!(wrong.contains("all: give true or false"), "{wrong}");
}

async fn a_dry_run_tells_what_it_would_have_done(app: &TestApp) {
    for (tool, query, affected) in [
        ("execute_insert", "INSERT INTO customers VALUES (8, 'x', NULL), (9, 'y', NULL)", 2),
        ("execute_update", "UPDATE orders SET total = 0 WHERE customer_id = 1", 2),
        ("execute_sql", "DELETE FROM orders WHERE id = 1", 1),
    ] {
        let result = app.tool(tool, json!({"query": query, "dryRun": true})).await;
        let content = &result["structuredContent"];
        assert_eq!(
            (&content["affectedRows"], &content["truncated"]),
            (&json!(affected), &json!(false)),
            "{tool}: {result}"
        );
        assert!(content["hint"].as_str().unwrap().contains("a dry run: all of it was undone"), "{result}");
    }
    assert_eq!(app.rows("SELECT count(*) FROM customers").await, json!([[3]]));
    assert_eq!(app.rows("SELECT count(*) FROM orders WHERE total = 0").await, json!([[0]]));
    let reading = app.tool_error("execute_select", json!({"query": "SELECT 1", "dryRun": true})).await;
    assert!(reading.contains("dryRun"), "{reading}");
}

on_both! {
    a_change_of_every_row_is_told_with_their_number
    a_dry_run_tells_what_it_would_have_done
}

#[actix_web::test]
async fn a_query_that_costs_too_much_is_refused_and_told_why() {
    let url = fixture::postgres().await;
    let setup = "CREATE TABLE big (id int PRIMARY KEY, body text); \
                 INSERT INTO big SELECT i, 'x' FROM generate_series(1, 20000) i; ANALYZE big";
    connect(&url).await.batch_execute(setup).await.unwrap();
    let app = fixture::with_postgres(&url, "access = \"read-write\"\nexplain_cost_limit = 100").await;
    let refused = app.tool_error("execute_select", json!({"query": "SELECT count(*) FROM big"})).await;
    assert!(refused.contains("planned cost of") && refused.contains("limit of 100"), "{refused}");
    assert!(refused.contains("Seq Scan on big"), "{refused}");
    let parameters = json!({"query": "SELECT body FROM big WHERE id = @id", "parameters": {"id": 7}});
    let cheap = app.tool("execute_select", parameters).await;
    assert_eq!(cheap["structuredContent"]["rows"], json!([["x"]]));
    // What cannot be planned is told in its own words, at its own place.
    let wrong = app.tool_error("execute_select", json!({"query": "SELECT bdy FROM big"})).await;
    assert!(wrong.contains("did you mean body?") && wrong.contains("Position: 8"), "{wrong}");
    let explained = app.tool("execute_select", json!({"query": "EXPLAIN SELECT count(*) FROM big"})).await;
    assert_eq!(explained["isError"], false, "{explained}");
    assert_eq!(app.rows("SELECT count(*) FROM big").await, json!([[20000]]), "the SQL API has no such limit");
    // What writes beside its reading is a query too.
    for (query, is_costly) in [
        ("WITH d AS (DELETE FROM big WHERE false RETURNING id) SELECT count(*) FROM big", true),
        ("SELECT id FROM big WHERE body = 'y' FOR UPDATE", true),
        ("EXPLAIN ANALYZE UPDATE big SET body = 'y' WHERE body = 'x'", true),
        ("EXPLAIN (ANALYZE 'on') SELECT count(*) FROM big", true),
        ("EXPLAIN (\"analyze\") SELECT count(*) FROM big", true),
        ("EXPLAIN UPDATE big SET body = 'y' WHERE body = 'x'", false),
        ("EXPLAIN UPDATE big SET body = 'y'", false),
        ("UPDATE big SET body = 'z' WHERE body = 'x'", false),
        ("CREATE TABLE IF NOT EXISTS big AS SELECT * FROM big", false),
        ("CREATE TABLE little (id int)", false),
    ] {
        let answer = app.tool("execute_sql", json!({"query": query})).await;
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            (&answer["isError"], text.contains("limit of 100")),
            (&json!(is_costly), is_costly),
            "{query}: {text}"
        );
    }
}

#[actix_web::test]
async fn what_ran_out_of_time_tells_what_of_its_plan_costs_most() {
    let app = fixture::on_postgres().await;
    let slow = "SELECT count(*) FROM generate_series(1, 100000000) a CROSS JOIN orders b";
    let late = app.tool_error("execute_select", json!({"query": slow, "timeout": 1})).await;
    assert!(late.contains("took longer than 1 s") && late.contains("costliest step of its plan"), "{late}");
    let app = fixture::on_sqlite().await;
    let slow: Value = json!({
        "query": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, orders",
        "timeout": 1
    });
    let late = app.tool_error("execute_select", slow).await;
    assert!(late.contains("without an index"), "{late}");
}

const BIG: &str = "CREATE TABLE big (id int PRIMARY KEY, body text);
    INSERT INTO big SELECT i, 'x' FROM generate_series(1, 20000) i;
    CREATE TABLE vaulted (id int); INSERT INTO vaulted SELECT generate_series(1, 20000);
    CREATE VIEW over_vaulted AS SELECT id FROM vaulted; ANALYZE;";
const LIMITED: &str = "explain_cost_limit = 100\n[connections.hidden]\ntables = [\"vaulted\"]\n";
const STORE: &str = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.public.%\" }]\n
    [[workspaces]]\nname = \"pair\"\nassets = [{ table = \"shop.public.%\" }, { table = \"beside.main.%\", folder = \"b\" }]\n";

/// The limit is the connection's, whichever way a statement takes to it.
#[actix_web::test]
async fn no_way_leads_around_the_limit_of_costs() {
    let url = TestPostgres::shared().database("costs").await;
    connect(&url).await.batch_execute(BIG).await.unwrap();
    let configuration = Configuration::new().connection("shop", &url, LIMITED).sqlite("beside", "").with(STORE);
    let mut app = configuration.start().await;
    let shop = format!("/mcp/connections/{CONNECTION}");
    let ways = [
        ("", "SELECT count(*) FROM big a, big b"),
        ("", "EXPLAIN ANALYZE SELECT count(*) FROM big a, big b"),
        ("", "EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM big a, big b"),
        ("", "/* éééééééééé */ EXPLAIN ANALYZE SELECT count(*) FROM big a, big b"),
        ("", "EXPLAIN ANALYZE /* éééééééééé */SELECT count(*) FROM big a, big b"),
        ("", "SELECT count(*) FROM big a, over_vaulted b"),
        ("", "EXPLAIN ANALYZE SELECT count(*) FROM over_vaulted a, over_vaulted b"),
        ("/mcp/workspaces/store", "SELECT count(*) FROM big a, big b"),
        ("/mcp/workspaces/store", "SELECT count(*) FROM big a, over_vaulted b"),
        ("/mcp", "SELECT count(*) FROM shop.public.big a JOIN beside.main.orders o ON o.id = length(a.body)"),
        ("/mcp/workspaces/pair", "SELECT count(*) FROM big a JOIN b.orders o ON length(a.body) = o.id"),
    ];
    for (address, query) in ways {
        app = app.at(if address.is_empty() { &shop } else { address });
        for tool in ["execute_select", "execute_sql"] {
            let mut arguments = json!({"query": query});
            if address == "/mcp" && tool == "execute_sql" {
                arguments["catalogName"] = json!("shop");
            }
            let refused = app.tool_error(tool, arguments).await;
            assert!(refused.contains("limit of 100") && !refused.contains("vaulted\""), "{address} {query}: {refused}");
            assert!(!refused.contains("on vaulted"), "{address} {query}: {refused}");
        }
    }
    app = app.at(&shop);
    let planned = app.tool("execute_select", json!({"query": "EXPLAIN SELECT count(*) FROM big a, big b"})).await;
    assert_eq!(planned["isError"], false, "what is only planned costs nothing: {planned}");
    let deep =
        (0..70).fold("SELECT 1 AS a".to_owned(), |inner, _| format!("SELECT a FROM ({inner}) x OFFSET 0 LIMIT 5"));
    let cheap = app.tool("execute_select", json!({"query": deep})).await;
    assert_eq!(cheap["isError"], false, "{cheap}");
}

#[actix_web::test]
async fn a_statement_over_several_connections_is_for_tools_that_read() {
    let app =
        Configuration::new().sqlite("one", "access = \"read-write\"").sqlite("other", "").start().await.at("/mcp");
    let query = "SELECT a.id FROM one.main.orders a JOIN other.main.orders b ON b.id = a.id";
    for tool in ["execute_insert", "execute_update"] {
        let refused = app.tool_error(tool, json!({"query": query})).await;
        assert!(refused.contains("this tool writes") || refused.contains("no tool"), "{tool}: {refused}");
    }
    let read = app.tool("execute_select", json!({"query": query})).await;
    assert_eq!(read["isError"], false, "{read}");
}
