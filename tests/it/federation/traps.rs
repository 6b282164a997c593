//! What an engine over several sources easily answers wrongly: each statement here was once, or is with a shortcut that
//! others take.

use serde_json::{Value, json};

use super::{answer, sent, two_sources, two_sources_with};

const POSTGRES: &str = "
CREATE COLLATION apart (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE COLLATION people (provider = icu, locale = 'en');
CREATE TABLE t (id int PRIMARY KEY, n int, l bigint, q numeric, r real, f float8, t text COLLATE people,
    y text COLLATE apart, c char(4), tz timestamptz, d date);
INSERT INTO t VALUES
    (1, 1, 9223372036854775807, 1.5, 0.1, 'NaN', 'B', 'a', 'p', '2026-01-01 23:30:00Z', '0044-03-15 BC'),
    (2, 2, 1, 1.50, 0.5, 'Infinity', 'a', 'A', 'p ', '2026-01-02 00:30:00Z', '2026-01-02'),
    (3, NULL, -5, 9, NULL, 1, 'ä', 'b', 'q', NULL, NULL),
    (4, 4, 0, 10, 2, -1, 'z', NULL, NULL, '2026-01-02 01:30:00Z', '2026-01-03');
CREATE TABLE u (id int PRIMARY KEY, n int, x int);
INSERT INTO u VALUES (1, 1, 1), (2, 7, 2), (4, NULL, 1), (5, 5, 1);
CREATE TABLE many (id int PRIMARY KEY, g int);
INSERT INTO many SELECT i, i % 10 FROM generate_series(1, 1000) i";

const SQLITE: &str = "
CREATE TABLE one (id INTEGER PRIMARY KEY, k TEXT COLLATE NOCASE);
INSERT INTO one VALUES (1, 'a'), (2, 'A'), (3, 'b'), (4, NULL);
CREATE TABLE odd (id INTEGER PRIMARY KEY, n INTEGER, d DATE);
INSERT INTO odd VALUES (1, 1, '2026-01-01'), (2, 'many', '2026-01-02'), (3, 3, 'soon')";

/// Each row of `t` with its like in the file.
const BOTH: &str = "shop.public.t t JOIN crm.main.one o ON o.id = t.id";

#[actix_web::test]
async fn answers_are_postgresql_s() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let rows = |rows: Value| rows;
    for (what, query, expected) in [
        (
            "NOT IN with NULL among what is looked in",
            format!("SELECT t.id FROM {BOTH} WHERE t.n NOT IN (SELECT n FROM shop.public.u)"),
            rows(json!([])),
        ),
        (
            "NOT IN with NULL on the outer side",
            format!("SELECT t.id FROM {BOTH} WHERE t.n NOT IN (SELECT n FROM shop.public.u WHERE n IS NOT NULL)"),
            rows(json!([[2], [4]])),
        ),
        (
            "NOT IN nothing",
            format!("SELECT count(*) FROM {BOTH} WHERE t.n NOT IN (SELECT n FROM shop.public.u WHERE n > 100)"),
            rows(json!([[4]])),
        ),
        (
            "keys do not come inside a LIMIT",
            "SELECT x.id FROM crm.main.one o JOIN (SELECT id FROM shop.public.many ORDER BY id DESC LIMIT 2) x \
             ON x.id = o.id"
                .to_owned(),
            rows(json!([])),
        ),
        (
            "an outer join's conditions stay where they are",
            "SELECT x.id, x.u FROM (SELECT t.id, u.id AS u FROM shop.public.t t LEFT JOIN shop.public.u u \
             ON u.id = t.id AND u.x = 1 WHERE t.id < 3) x JOIN crm.main.one o ON o.id = x.id"
                .to_owned(),
            rows(json!([[1, 1], [2, null]])),
        ),
        (
            "equality where NULL is NULL",
            "SELECT count(*) FROM (SELECT t.id FROM shop.public.t t JOIN shop.public.u u \
             ON u.n IS NOT DISTINCT FROM t.n) x, (SELECT 1 AS a FROM crm.main.one LIMIT 1) y"
                .to_owned(),
            rows(json!([[2]])),
        ),
        (
            "a moment with a zone",
            format!("SELECT t.id FROM {BOTH} WHERE t.tz >= CAST('2026-01-02T01:30:00+02:00' AS timestamptz)"),
            rows(json!([[1], [2], [4]])),
        ),
        (
            "a moment's day is that in UTC",
            format!("SELECT t.id FROM {BOTH} WHERE CAST(t.tz AS date) = DATE '2026-01-01'"),
            rows(json!([[1]])),
        ),
        ("a real is no double", format!("SELECT t.id FROM {BOTH} WHERE t.r = CAST(0.1 AS real)"), rows(json!([[1]]))),
        (
            "no real is that double",
            format!("SELECT t.id FROM {BOTH} WHERE t.r = CAST(0.1 AS double precision)"),
            rows(json!([])),
        ),
        (
            "NaN is itself",
            format!("SELECT t.id FROM {BOTH} WHERE t.f = CAST('NaN' AS double precision)"),
            rows(json!([[1]])),
        ),
        ("NaN is above all", format!("SELECT t.id FROM {BOTH} WHERE t.f > 0"), rows(json!([[1], [2], [3]]))),
        (
            "numbers without a bound in groups",
            format!("SELECT t.q, count(*) FROM {BOTH} GROUP BY t.q HAVING count(*) > 1"),
            rows(json!([[1.5, 2]])),
        ),
        (
            "numbers without a bound in order",
            format!("SELECT t.id FROM {BOTH} WHERE t.q > 2 ORDER BY t.q"),
            rows(json!([[3], [4]])),
        ),
        (
            "a fraction is exact",
            format!("SELECT t.id FROM {BOTH} WHERE 1.1 + 2.2 = 3.3 AND t.id = 1"),
            rows(json!([[1]])),
        ),
        (
            "a sum that fits after all",
            format!("SELECT sum(t.l) - 1 FROM {BOTH} WHERE t.id IN (1, 3)"),
            rows(json!([[9_223_372_036_854_775_801_i64]])),
        ),
        (
            "a sum of bigints is an exact number, with all its digits",
            format!("SELECT sum(t.l), sum(t.n) / 2 FROM {BOTH} WHERE t.id < 3"),
            rows(json!([[9_223_372_036_854_775_808_u64, 1]])),
        ),
        (
            "a quotient of a sum of bigints has a fraction",
            format!("SELECT sum(t.l) / 2 = -2.5 FROM {BOTH} WHERE t.id > 2"),
            rows(json!([[true]])),
        ),
        ("text below a letter", format!("SELECT t.id FROM {BOTH} WHERE t.t < 'a'"), rows(json!([[1]]))),
        ("the first texts", format!("SELECT min(t.t), max(t.t) FROM {BOTH}"), rows(json!([["B", "ä"]]))),
        (
            "the first text of a source",
            "SELECT x.t FROM (SELECT t FROM shop.public.t ORDER BY t LIMIT 1) x, crm.main.one o WHERE o.id = 1"
                .to_owned(),
            rows(json!([["B"]])),
        ),
        ("text that is equal there", format!("SELECT t.id FROM {BOTH} WHERE t.y = 'a'"), rows(json!([[1]]))),
        ("text that is equal in the file", format!("SELECT t.id FROM {BOTH} WHERE o.k = 'a'"), rows(json!([[1]]))),
        (
            "text of a kind is joined by its octets",
            "SELECT t.id, o.id FROM shop.public.t t JOIN crm.main.one o ON o.k = t.y".to_owned(),
            rows(json!([[1, 1], [2, 2], [3, 3]])),
        ),
        ("blanks at the end mean nothing", format!("SELECT t.id FROM {BOTH} WHERE t.c = 'p'"), rows(json!([[1], [2]]))),
    ] {
        let ordered = if query.contains("count(")
            || query.contains("ORDER BY t.q")
            || query.contains("min(")
            || query.contains("sum(")
        {
            query
        } else {
            format!("{query} ORDER BY 1")
        };
        assert_eq!(answer(&app, &ordered).await["rows"], expected, "{what}: {ordered}");
    }
}

#[actix_web::test]
async fn what_has_no_value_is_refused_by_its_column() {
    let app = two_sources(POSTGRES, SQLITE).await;
    for (what, query, words, state) in [
        ("a number beyond its type", format!("SELECT t.l + 1 FROM {BOTH} WHERE t.id = 1"), "", "22003"),
        (
            "a product beyond its type",
            format!("SELECT t.n * 9223372036854775807 FROM {BOTH} WHERE t.id = 4"),
            "",
            "22003",
        ),
        ("a negation beyond its type", format!("SELECT -(-t.l - 1) FROM {BOTH} WHERE t.id = 1"), "", "22003"),
        ("an absolute value beyond its type", format!("SELECT abs(-t.l - 1) FROM {BOTH} WHERE t.id = 1"), "", ""),
        (
            "text among numbers",
            "SELECT t.id FROM crm.main.odd x JOIN shop.public.t t ON t.id = x.n".to_owned(),
            "column \"n\"",
            "",
        ),
        (
            "text among dates",
            "SELECT x.d FROM crm.main.odd x JOIN shop.public.t t ON t.id = x.id WHERE x.id = 3".to_owned(),
            "column \"d\"",
            "",
        ),
    ] {
        let (_, document) = app.query(json!({"query": query})).await;
        let error = if document["error"].is_object() { &document["error"] } else { &document["results"][0]["error"] };
        assert!(error.is_object(), "{what}: {document}");
        assert!(error["message"].as_str().unwrap().contains(words), "{what}: {document}");
        assert!(state.is_empty() || error["sqlState"] == state, "{what}: {document}");
    }
    // Days before the first year are days.
    let query = format!("SELECT t.id FROM {BOTH} WHERE t.d < DATE '0001-01-01'");
    let (status, document) = app.query(json!({"query": query})).await;
    let told = document.to_string();
    assert!(
        (status == 200 && document["results"][0]["rows"] == json!([[1]])) || told.contains("column \\\"d\\\""),
        "{document}"
    );
}

/// In its own collation a text is looked for with its index and its statistics. That alone is asked where it tells
/// what octets tell; where it may tell more, both are.
#[actix_web::test]
async fn texts_are_compared_in_the_collation_of_their_column() {
    let app = two_sources(POSTGRES, SQLITE).await;
    for (condition, parts, without, expected) in [
        ("t.t = 'a'", vec!["t.\"t\" = CAST(*** AS text)"], "COLLATE", json!([[2]])),
        (
            "t.t IN ('a', 'B')",
            vec!["(t.\"t\" = CAST(*** AS text) OR t.\"t\" = CAST(*** AS text))"],
            "COLLATE",
            json!([[1], [2]]),
        ),
        (
            "t.y = 'a'",
            vec!["t.\"y\" = CAST(*** AS text)", "(t.\"y\" COLLATE \"C\" = CAST(*** AS text))"],
            "-",
            json!([[1]]),
        ),
        ("'p' = t.c", vec!["t.\"c\" = CAST(*** AS bpchar)"], "COLLATE", json!([[1], [2]])),
        ("t.c IN ('q', 'p', 'r', 's')", vec!["t.\"c\" IN (CAST("], "COLLATE", json!([[1], [2], [3]])),
        ("t.c = 'p '", vec!["t.\"c\" = CAST("], "-", json!([[1], [2]])),
        ("t.c || '' = 'p '", vec![], "AS bpchar", json!([])),
        ("NOT (t.c = 'p')", vec![], "AS bpchar", json!([[3]])),
    ] {
        let query = format!("SELECT t.id FROM {BOTH} WHERE {condition} ORDER BY 1");
        assert_eq!(answer(&app, &query).await["rows"], expected, "{condition}");
        let sent = sent(&app);
        let (_, statement) = sent.iter().find(|(name, _)| name == "shop").unwrap();
        let has = |part: &&str| statement.contains(*part);
        assert!(parts.iter().all(has) && !has(&without), "{condition}: {statement}");
    }
    for (column, key, expected) in [
        ("t", "GROUP BY t.\"t\"", json!([["B", 1], ["a", 1], ["z", 1], ["ä", 1]])),
        ("y", "GROUP BY t.\"y\" COLLATE \"C\"", json!([["A", 1], ["a", 1], ["b", 1], [null, 1]])),
        ("c", "GROUP BY t.\"c\"", json!([["p   ", 2], ["q   ", 1], [null, 1]])),
    ] {
        let grouped = format!("SELECT {column} AS k, count(*) AS n FROM shop.public.t GROUP BY {column}");
        let query = format!("SELECT g.k, g.n FROM ({grouped}) g JOIN crm.main.one o ON o.id = g.n ORDER BY 1");
        assert_eq!(answer(&app, &query).await["rows"], expected, "{column}");
        let sent = sent(&app);
        let (_, statement) = sent.iter().find(|(name, _)| name == "shop").unwrap();
        assert!(statement.ends_with(key) || statement.contains(&format!("{key})")), "{column}: {statement}");
    }
}

/// The engine puts the columns of a subquery beside those of the query around it, and looks for them by their names alone.
#[actix_web::test]
async fn subqueries_over_tables_with_columns_of_one_name() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let joined = "FROM shop.public.u u JOIN shop.public.t t ON t.n = u.x WHERE t.id = o.id";
    for (query, expected) in [
        (format!("o.id FROM crm.main.one o WHERE EXISTS (SELECT * {joined})"), json!([[1], [2]])),
        (format!("o.id FROM crm.main.one o WHERE NOT EXISTS (SELECT u.id, t.id {joined})"), json!([[3], [4]])),
        (format!("o.id FROM crm.main.one o WHERE EXISTS (SELECT 1 {joined} AND u.id = o.id + 3)"), json!([[1]])),
        (format!("o.id FROM crm.main.one o WHERE o.id + 3 IN (SELECT u.id {joined})"), json!([[1]])),
        (format!("o.id FROM crm.main.one o WHERE o.id IN (SELECT t.id {joined} AND u.id = o.id)"), json!([[1], [2]])),
        (
            format!("o.id, (SELECT max(u.id) {joined}), (SELECT min(t.id) {joined}) FROM crm.main.one o"),
            json!([[1, 5, 1], [2, 2, 2], [3, null, null], [4, null, null]]),
        ),
        (
            format!(
                "o.id FROM crm.main.one o JOIN shop.public.t z ON z.id = o.id WHERE EXISTS (SELECT * {joined} AND u.id = z.id)"
            ),
            json!([[1], [2]]),
        ),
    ] {
        assert_eq!(answer(&app, &format!("SELECT {query} ORDER BY 1")).await["rows"], expected, "{query}");
    }
}

#[actix_web::test]
async fn what_is_counted_is_computed() {
    let app = two_sources(POSTGRES, SQLITE).await;
    for counted in ["id / (id - id)", "id % 0", "CASE WHEN id / 0 = 1 THEN 1 ELSE 2 END", "id / 0 = 1"] {
        let groups = format!("SELECT count({counted}) AS n FROM shop.public.t");
        let query = format!("SELECT x.n FROM ({groups}) x JOIN crm.main.one o ON o.id = 1");
        let (_, document) = app.query(json!({"query": query})).await;
        assert!(document.to_string().contains("22012"), "{counted}: {document}");
    }
    let query = format!("SELECT count(DISTINCT t.c), sum(t.n), count(t.id) FROM {BOTH}");
    assert_eq!(answer(&app, &query).await["rows"], json!([[2, 7, 4]]));
    let query = format!("SELECT o.k, count(DISTINCT t.c), sum(t.n), max(t.n) FROM {BOTH} GROUP BY o.k ORDER BY 1");
    let expected = json!([["A", 1, 2, 2], ["a", 1, 1, 1], ["b", 1, null, null], [null, 0, 4, 4]]);
    assert_eq!(answer(&app, &query).await["rows"], expected);
}

#[actix_web::test]
async fn not_in_of_what_speaks_of_the_query_around_it_is_refused() {
    let app = two_sources(POSTGRES, SQLITE).await;
    for condition in ["u.x > o.id", "u.x = o.id", "o.id > 2", "u.n = o.id", "u.n = o.id AND u.n = o.id"] {
        let inner = format!("SELECT u.n FROM shop.public.u u WHERE {condition}");
        for not_in in
            [format!("o.id NOT IN ({inner})"), format!("NOT (o.id IN ({inner}))"), format!("NOT o.id IN ({inner})")]
        {
            let query = format!("SELECT o.id FROM crm.main.one o WHERE {not_in}");
            let (status, document) = app.query(json!({"query": query})).await;
            let told = document["error"]["hint"].as_str().unwrap_or_default();
            assert!(status == 400 && told.contains("write NOT EXISTS"), "{not_in}: {document}");
        }
    }
}

/// What a derived table computes has another type than the engine thinks at first: that of PostgreSQL.
#[actix_web::test]
async fn subqueries_speak_of_what_is_computed_around_them() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let computed = "(SELECT n + 1 AS n, coalesce(n, 0) AS m FROM shop.public.u) made JOIN crm.main.one o ON o.id = 1";
    for (condition, expected) in [
        ("EXISTS (SELECT 1 FROM shop.public.t t WHERE t.id = made.n)", json!([[2]])),
        ("NOT EXISTS (SELECT 1 FROM shop.public.t t WHERE t.id = made.n)", json!([[6], [8], [null]])),
        ("EXISTS (SELECT 1 FROM shop.public.t t WHERE t.id > made.n)", json!([[2]])),
        ("EXISTS (SELECT 1 FROM shop.public.t t WHERE t.id + 1 = made.n * 1 + 2)", json!([[2]])),
        ("EXISTS (SELECT 1 FROM shop.public.t t WHERE t.id = made.m)", json!([[2]])),
        ("made.n IN (SELECT t.id FROM shop.public.t t WHERE t.n < made.n + 1)", json!([[2]])),
        ("made.n > (SELECT max(t.id) FROM shop.public.t t WHERE t.id = made.n - 4)", json!([[6], [8]])),
    ] {
        let query = format!("SELECT made.n FROM {computed} WHERE {condition} ORDER BY 1");
        assert_eq!(answer(&app, &query).await["rows"], expected, "{condition}");
    }
}

/// The engine takes a column for one that is always the same, and then does not find the order that it has made.
#[actix_web::test]
async fn an_order_that_the_engine_loses_is_made_anew() {
    let tables = "CREATE TABLE things (id int PRIMARY KEY, p numeric(10, 2), d date, ts timestamp);
         INSERT INTO things VALUES (1, 1, '2024-02-27', '2024-02-28 23:30:00'), (2, 2, '2024-02-27', NULL), (3, 5, NULL, NULL);
         CREATE TABLE few (id int PRIMARY KEY, p numeric(6, 3)); INSERT INTO few VALUES (1, 1), (2, 2), (3, 3)";
    let some = "CREATE TABLE some (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO some VALUES (1, 1)";
    for pushdown in [false, true] {
        let app = two_sources_with(tables, some, &format!("[federation]\npushdown = {pushdown}\n")).await;
        let query = "SELECT lag(a0.id) OVER (PARTITION BY a0.d ORDER BY a0.id, a1.id) AS r0, a0.id AS r1
             FROM shop.public.things a0 LEFT JOIN crm.main.some a1 ON (true, 1) = (false, a1.n)
             WHERE a0.p = (SELECT sum(a2.p) FROM shop.public.few a2 WHERE a2.id = a0.p) ORDER BY 2";
        assert_eq!(answer(&app, query).await["rows"], json!([[null, 1], [1, 2]]), "pushdown = {pushdown}");
    }
}
