//! Statements that would fill the stack or the memory before anything of them runs, and those that come near it.

use serde_json::{Value, json};

use super::two_sources;
use crate::support::app::TestApp;

const FROM: &str = "FROM shop.public.orders o JOIN crm.main.customers c ON c.id = o.customer_id";

/// Deep in one way each, `n` times.
const DEEP: &[(&str, fn(usize) -> String)] = &[
    ("or", |n| format!("SELECT count(*) {FROM} WHERE {}", repeated(n, " OR ", |i| format!("o.id = {i} + c.id")))),
    ("and", |n| format!("SELECT count(*) {FROM} WHERE {}", repeated(n, " AND ", |i| format!("o.id <> {i} + c.id")))),
    ("plus", |n| format!("SELECT {} {FROM}", repeated(n, " + ", |_| "o.id".to_owned()))),
    ("constants", |n| format!("SELECT o.id + {} {FROM}", repeated(n, " + ", |_| "1".to_owned()))),
    ("concatenation", |n| format!("SELECT {} {FROM}", repeated(n, " || ", |_| "c.name".to_owned()))),
    ("not", |n| format!("SELECT count(*) {FROM} WHERE {} o.id = c.id", "NOT ".repeat(n))),
    ("minus", |n| format!("SELECT {} c.id {FROM}", "- ".repeat(n))),
    ("union", |n| {
        let each = |i| format!("SELECT id FROM {}", ["shop.public.orders", "crm.main.customers"][i % 2]);
        repeated(n, " UNION ALL ", each)
    }),
    ("except", |n| {
        let each = |i| format!("SELECT id FROM {}", ["shop.public.orders", "crm.main.customers"][i % 2]);
        repeated(n, " EXCEPT ", each)
    }),
    ("join", |n| {
        let each = |i| format!("JOIN crm.main.customers c{i} ON c{i}.id = o.customer_id");
        format!("SELECT count(*) FROM shop.public.orders o {}", repeated(n, " ", each))
    }),
    ("brackets", |n| format!("SELECT count(*) {FROM} WHERE {}o.id = c.id{}", "(".repeat(n), ")".repeat(n))),
    ("subqueries", |n| {
        format!("SELECT * FROM {}(SELECT o.id {FROM}) AS y{}", "(SELECT * FROM ".repeat(n), ") AS x".repeat(n))
    }),
    ("exists", |n| {
        let inner = "WHERE EXISTS (SELECT 1 FROM crm.main.customers ".repeat(n);
        format!("SELECT count(*) FROM shop.public.orders {inner}{}", ")".repeat(n))
    }),
    ("case", |n| format!("SELECT {}1{} {FROM}", "CASE WHEN o.id = c.id THEN 1 ELSE ".repeat(n), " END".repeat(n))),
    ("calls", |n| format!("SELECT {}c.name{} {FROM}", "upper(".repeat(n), ")".repeat(n))),
    // As many columns as are deep, and as many queries.
    ("columns", |n| {
        let each = |i| format!("{}o.id AS c{i}", "- ".repeat(n.min(199)));
        format!("SELECT {} {FROM}", repeated(n, ", ", each))
    }),
    ("handed on", |n| {
        let each = |i| format!("t{i} AS (SELECT {}id AS id FROM t{})", "- ".repeat(9), i - 1);
        let (last, more) = (n - 1, repeated(n.saturating_sub(1), ", ", |i| each(i + 1)));
        let comma = if n > 1 { ", " } else { "" };
        format!("WITH t0 AS (SELECT o.id {FROM}){comma}{more} SELECT id FROM t{last}")
    }),
    ("list", |n| format!("SELECT count(*) {FROM} WHERE o.id + c.id IN ({})", repeated(n, ", ", |i| i.to_string()))),
    ("ctes", |n| {
        let each = |i| format!("t{i} AS (SELECT id FROM t{} WHERE id <> -{i})", i - 1);
        let (last, more) = (n - 1, repeated(n.saturating_sub(1), ", ", |i| each(i + 1)));
        let comma = if n > 1 { ", " } else { "" };
        format!("WITH t0 AS (SELECT o.id {FROM}){comma}{more} SELECT count(*) FROM t{last}")
    }),
];

/// Each of these inside of itself, of a number or of a text; what the engine says with a value more than once doubles with each.
const INSIDE: &[&str] = &[
    "nullif(@, 0)",
    "coalesce(@, 0)",
    "greatest(@, o.id, 1)",
    "abs(@)",
    "round(@, 1)",
    "(@ / 2.0)",
    "(@ % 7)",
    "(@ * CAST(1 AS float8))",
    "CAST(CAST(@ AS text) AS int)",
    "length(CAST(@ AS text))",
    "char_length(CAST(@ AS text))",
    "position('1' IN CAST(@ AS text))",
    "length(concat(@ > 1, ''))",
    "length(concat_ws(',', @ > 1, @ > 2))",
    "length(substring(CAST(@ AS text) FROM 1 FOR 2))",
    "length(trim(CAST(@ AS text)))",
    "length(lpad(CAST(@ AS text), 3, '0'))",
    "length(replace(CAST(@ AS text), '1', '22'))",
    "extract(day FROM date '2024-01-01' + CAST(@ AS int))",
    "extract(day FROM date_trunc('day', timestamp '2024-01-01 10:00' + INTERVAL '1 day')) + @",
    "(CASE WHEN @ BETWEEN 1 AND 2 THEN 1 ELSE 0 END)",
    "(CASE WHEN @ IN (1, 2, 3) THEN 1 ELSE 0 END)",
    "(CASE WHEN @ IN (o.id, c.id, 3) THEN 1 ELSE 0 END)",
    "(CASE WHEN @ IS DISTINCT FROM 1 THEN 1 ELSE 0 END)",
    "(CASE WHEN CAST(@ AS text) LIKE '1%' THEN 1 ELSE 0 END)",
    "(CASE @ WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END)",
    "(CASE WHEN (@ > 1) IS NOT TRUE THEN 1 ELSE 0 END)",
    "pow(@, 0)",
    "sqrt(abs(@))",
];

fn inside(template: &str, n: usize) -> String {
    // Of several places the first alone goes on.
    let (before, behind) = template.split_once('@').unwrap();
    format!("{}o.id{}", before.repeat(n), behind.replace('@', "o.id").repeat(n))
}

fn repeated(n: usize, between: &str, each: impl Fn(usize) -> String) -> String {
    (0..n).map(each).collect::<Vec<_>>().join(between)
}

/// What is told of a statement that must not end the process: an answer, or a clear refusal. How long it may take is not
/// what is tested.
async fn told(app: &TestApp, what: &str, query: &str) -> (u16, Value) {
    let (status, answer) = app.query(json!({"query": query, "timeout": 300})).await;
    let code = &answer["error"]["code"];
    let is_clear = status == 200 || ([400, 413].contains(&status) && *code != json!(null));
    assert!(is_clear, "{what}: {status} {}", answer["error"]);
    (status, answer)
}

#[actix_web::test]
async fn no_statement_is_too_deep_for_the_process() {
    let app = two_sources("", "").await;
    for (what, statement) in DEEP {
        for n in [1, 4, 12, 40, 110, 190, 480, 990, 5_000, 60_000] {
            let text = statement(n);
            if text.len() < 1 << 20 {
                let (status, answer) = told(&app, &format!("{what} {n} times"), &text).await;
                assert!(status == 200 || n > 4, "{what} {n} times: {answer}");
            }
        }
    }
}

#[actix_web::test]
async fn what_is_inside_of_itself_is_planned_or_refused() {
    let app = two_sources("", "").await;
    for template in INSIDE {
        for n in [3, 8, 24, 60, 180] {
            let query = format!("SELECT {} {FROM}", inside(template, n));
            let (status, answer) = told(&app, &format!("{template} {n} times"), &query).await;
            assert!(status == 200 || n > 3, "{template} {n} times: {answer}");
            assert_ne!(answer["error"]["sqlState"], json!("57014"), "{template} {n} times");
        }
    }
    for n in [3, 8, 24, 60] {
        let selects = "SELECT x + x AS x FROM (".repeat(n);
        let query = format!("SELECT x FROM ({selects}SELECT o.id AS x {FROM}{}) z WHERE x > 3", ") t".repeat(n));
        let (status, answer) = told(&app, &format!("a condition on {n} sums"), &query).await;
        assert!(status == 200 || n > 3, "{n}: {answer}");
    }
}

#[actix_web::test]
async fn conditions_that_grow_are_refused() {
    let app = two_sources("", "").await;
    let nullif = |inner: &str| format!("{}{inner}{}", "nullif(".repeat(9), ", 0)".repeat(9));
    let twice = format!(
        "SELECT count(*) FROM (SELECT {outer} AS n FROM (SELECT {inner} AS n {FROM}) b) c WHERE n IN (1, 2, 3)",
        outer = nullif("n"),
        inner = nullif("o.id")
    );
    let whens = repeated(450, " ", |i| format!("WHEN {i} THEN {}", i + 1));
    let conditions = repeated(400, " AND ", |i| format!("m <> {i}"));
    let many = format!("SELECT count(*) FROM (SELECT o.id, CASE o.id {whens} END AS m {FROM}) x WHERE {conditions}");
    for query in [twice, many] {
        let (status, answer) = told(&app, "a condition that grows", &query).await;
        assert_eq!((status, &answer["error"]["code"]), (413, &json!(1800)), "{answer}");
    }
}

/// The caller is answered in any case; what is looked at is whether the engine goes on for others.
#[actix_web::test]
async fn joins_that_keep_no_rows_end_at_their_timeout() {
    let many =
        "CREATE TABLE many (id int, t text); INSERT INTO many SELECT i, 'text ' || i FROM generate_series(1, 30000) i";
    let app = two_sources(many, "CREATE TABLE texts (id BIGINT, t TEXT); WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 30000) INSERT INTO texts SELECT i, 'another ' || i FROM i").await;
    let condition = "a.t || b.t LIKE '%q%w%e%r%t%y%'";
    for join in [
        format!("a, crm.main.texts b WHERE {condition}"),
        format!("a JOIN crm.main.texts b ON a.id * 0 = b.id * 0 AND {condition}"),
    ] {
        let query = json!({"query": format!("SELECT count(*) FROM shop.public.many {join}"), "timeout": 1});
        let all = futures_util::future::join_all((0..4).map(|_| app.query(query.clone()))).await;
        for (_, answer) in all {
            // Some wait for their turn until then.
            let error = &answer["error"];
            assert!(error["sqlState"] == json!("57014") || error["code"] == json!(1600), "{answer}");
        }
        let (status, answer) = app.query(json!({"query": format!("SELECT count(*) {FROM}"), "timeout": 40})).await;
        assert_eq!(status, 200, "{answer}");
    }
}

/// A match may look at all that is left of a text: many of them take as long as the text is long, many times.
#[actix_web::test]
async fn a_text_of_many_matches_ends_at_its_timeout() {
    let app = two_sources("", "").await;
    let text = "repeat('a', 900000)";
    let query = format!("SELECT length(regexp_replace({text} || o.id, 'a.*z|a', 'x', 'g')) {FROM}");
    let all = (0..4).map(|_| app.query(json!({"query": query, "timeout": 1})));
    for (_, answer) in futures_util::future::join_all(all).await {
        let error = &answer["error"];
        assert!(error["sqlState"] == json!("57014") || error["code"] == json!(1600), "{answer}");
    }
    // Whoever comes next finds the engine's threads free.
    let (status, answer) = app.query(json!({"query": format!("SELECT count(*) {FROM}"), "timeout": 40})).await;
    assert_eq!(status, 200, "{answer}");
}

#[actix_web::test]
async fn no_statement_comes_to_more_than_fits() {
    let app = two_sources("", "").await;
    let doubled = |columns: &str, from: &str| {
        let each = |i: usize| {
            let from = from.replace("{t}", &format!("t{i}"));
            format!("t{} AS (SELECT {columns} FROM {from})", i + 1)
        };
        format!("WITH t0 AS (SELECT o.id {FROM}), {} SELECT count(*) FROM t30", repeated(30, ", ", each))
    };
    let nested = {
        let each = |i: usize| {
            let exists = format!("EXISTS (SELECT 1 FROM t{i} WHERE EXISTS (SELECT 1 FROM t{i}))");
            format!("t{} AS (SELECT id FROM crm.main.customers WHERE {exists})", i + 1)
        };
        format!("WITH t0 AS (SELECT o.id {FROM}), {} SELECT count(*) FROM t7", repeated(7, ", ", each))
    };
    let cube = repeated(30, ", ", |i| format!("o.id + {i}"));
    let bombs = [
        ("tables", doubled("a.id", "{t} a JOIN {t} b ON a.id = b.id")),
        ("columns", doubled("*, *", "{t}")),
        ("unions", doubled("id", "{t} UNION ALL SELECT id FROM {t}")),
        ("nested", nested),
        ("cube", format!("SELECT count(*) {FROM} GROUP BY CUBE ({cube})")),
        ("repeat", format!("SELECT repeat('x', 2000000000) {FROM}")),
        ("repeat by rows", format!("SELECT repeat(c.name, o.id * 200000000) {FROM}")),
        ("overlay", format!("SELECT overlay(repeat('x', 900000) PLACING repeat('y', 900000) FROM 1 FOR 0) {FROM}")),
        ("lpad", format!("SELECT lpad('x', 2000000000) {FROM}")),
        ("replace", format!("SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000000)) {FROM}")),
        ("regexp_replace", format!("SELECT regexp_replace(repeat('x', 1000000), 'x', repeat('y', 1000), 'g') {FROM}")),
        ("window", format!("SELECT string_agg(c.name, ',') OVER (ORDER BY o.id) {FROM}")),
        ("text", {
            let doubled = doubled("id || id AS id", "{t}");
            doubled.replace("SELECT o.id FROM", "SELECT c.name AS id FROM").replace("count(*)", "max(id)")
        }),
    ];
    for (what, query) in &bombs {
        let (status, answer) = told(&app, what, query).await;
        assert_ne!(status, 200, "{what}: {answer}");
        assert!(answer["error"]["hint"].is_string() || *what == "cube" || *what == "window", "{what}: {answer}");
    }
    let long = "x".repeat(300_000);
    let each = |_| format!("'{long}'");
    let constants = format!("SELECT count(*) FROM (SELECT o.id, {} AS a {FROM}) x WHERE a <> o.id || ''", each(0));
    told(&app, "constants", &constants.replace("o.id || ''", "id || ''")).await;
}
