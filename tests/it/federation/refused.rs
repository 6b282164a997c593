//! What the engine would answer otherwise than PostgreSQL does: refused, or answered as PostgreSQL does.

use serde_json::json;

use super::two_sources;

const POSTGRES: &str = "
CREATE TABLE t (id int PRIMARY KEY, n numeric(12, 3), k int, l bigint, d date);
INSERT INTO t VALUES (1, 2.500, 1, 5, '2024-02-11'), (2, 3.000, NULL, 3000000000, '2024-02-12'), (3, 3.400, 3, 7, NULL)";
const SQLITE: &str = "
CREATE TABLE one (id INTEGER PRIMARY KEY, k INTEGER);
INSERT INTO one VALUES (1, 1), (2, NULL), (4, 4)";

#[actix_web::test]
async fn what_the_engine_answers_otherwise_is_refused() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let (t, one) = ("shop.public.t", "crm.main.one");
    for (query, what) in [
        (format!("SELECT id FROM {one} o RIGHT JOIN {t} t USING (id)"), "USING"),
        (format!("SELECT max(id) FROM {one} o FULL JOIN {t} t USING (id)"), "USING"),
        (format!("SELECT count(*) FROM {one} o NATURAL RIGHT JOIN {t} t"), "NATURAL"),
        (format!("SELECT * FROM {one} o JOIN {t} t USING (id)"), "USING"),
        (format!("SELECT k FROM {t} EXCEPT ALL SELECT k FROM {one}"), "EXCEPT ALL"),
        (format!("SELECT 1 FROM {one} UNION (SELECT k FROM {t} INTERSECT ALL SELECT k FROM {one})"), "INTERSECT ALL"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.d::text SIMILAR TO '2%'"), "SIMILAR TO"),
        (format!("SELECT t.id FROM {t} t TABLESAMPLE BERNOULLI (0), {one} o"), "TABLESAMPLE"),
        (format!("SELECT id FROM {t} WHERE k NOT IN (SELECT k FROM {one}) OR id = 1"), "IN with a query"),
        (format!("SELECT id FROM {t} t WHERE EXISTS (SELECT count(*) FROM {one} o WHERE o.k = t.k)"), "GROUP BY"),
        (format!("SELECT id FROM {t} t WHERE EXISTS (SELECT 1 FROM {one} o WHERE o.k = t.k OFFSET 1)"), "OFFSET"),
        (format!("SELECT -t.k AS id FROM {t} t, {one} o ORDER BY id + 0"), "ORDER BY an expression"),
        (format!("SELECT -2 ^ 2 FROM {t} t, {one} o"), "operator ^"),
        (format!("SELECT t.k # o.k FROM {t} t, {one} o"), "operator #"),
        (format!("SELECT t.k XOR o.k FROM {t} t, {one} o"), "XOR is not"),
        (format!("SELECT t.k DIV o.k FROM {t} t, {one} o"), "DIV"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.d::text RLIKE '2'"), "RLIKE"),
        (format!("SELECT convert(t.k, char) FROM {t} t, {one} o"), "CONVERT"),
        (format!("SELECT 0x1f + t.k FROM {t} t, {one} o"), "a hexadecimal number"),
        (format!("SELECT X'1f' FROM {t} t, {one} o"), "a hexadecimal number"),
        (format!("SELECT count() FROM {t} t, {one} o"), "count(*) must be used"),
        (format!("SELECT sum() OVER () FROM {t} t, {one} o"), "sum(*) must be used"),
        (format!("TABLE {t}, {one}"), "TABLE takes"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.id::text ~ o.k::text"), "not a literal"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.id::text ~ '(1)\\1'"), "regular expression"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.id::text ~ '1(?=2)'"), "looking ahead"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE t.id ~ '1'"), "textregexeq"),
        (format!("SELECT regexp_replace(t.id::text, '1.*?', '') FROM {t} t, {one} o"), "takes the least"),
        (format!("SELECT regexp_replace(t.id::text, '(1|2)', '\\1') FROM {t} t, {one} o"), "\\1 and a branch"),
        (format!("SELECT regexp_replace(t.id::text, '1', '', 'n') FROM {t} t, {one} o"), "flag 'n'"),
        (format!("SELECT t.id FROM {t} t, {one} o WHERE (t.id, o.id) < (1, 1)"), "a row"),
        (format!("SELECT t.d AT TIME ZONE 'CET' FROM {t} t, {one} o"), "time zone \"CET\""),
        (format!("SELECT t.d AT TIME ZONE 'Europe/Atlantis' FROM {t} t, {one} o"), "time zone \"Europe/Atlantis\""),
        (format!("SELECT (t.d + 30000) AT TIME ZONE 'Europe/Berlin' FROM {t} t, {one} o"), "the year 2099"),
        (format!("SELECT t.d AT TIME ZONE t.id::text FROM {t} t, {one} o"), "not a literal"),
        (format!("SELECT t.id::double precision FROM {t} t UNION SELECT id FROM {one}"), "set operation"),
        (format!("SELECT abs(t.k) FILTER (WHERE t.k > 1) FROM {t} t, {one} o"), "abs is not an aggregate function"),
        (format!("SELECT rank() FILTER (WHERE t.k > 1) OVER () FROM {t} t, {one} o"), "rank is not an aggregate"),
        (format!("SELECT array_agg(t.k ORDER BY t.id) FROM {t} t, {one} o"), "function array_agg is not supported"),
        (format!("SELECT abs(DISTINCT t.k) FROM {t} t, {one} o"), "DISTINCT specified, but abs"),
        (format!("SELECT abs(t.k ORDER BY t.id) FROM {t} t, {one} o"), "ORDER BY specified, but abs"),
        (format!("SELECT count(DISTINCT t.k) OVER () FROM {t} t, {one} o"), "DISTINCT is not implemented"),
        (format!("SELECT t.n FROM {t} t EXCEPT SELECT id::double precision FROM {one}"), "set operation"),
        (format!("SELECT t.d FROM {t} t, {one} o INTERSECT SELECT t.d::timestamp FROM {t} t"), "set operation"),
        (format!("SELECT id FROM {t} WHERE 7 NOT IN (SELECT k FROM {one})"), "a constant NOT IN"),
        (format!("SELECT id FROM {t} WHERE NOT (1 + 6 IN (SELECT k FROM {one}))"), "a constant NOT IN"),
        (format!("SELECT id FROM {t} WHERE (k IN (SELECT k FROM {one})) IS NULL"), "IN with a query"),
        (format!("SELECT id FROM {t} WHERE NOT (k IN (SELECT k FROM {one}) AND id = 1)"), "IN with a query"),
        (format!("SELECT id FROM {t} WHERE CASE WHEN k IN (SELECT k FROM {one}) THEN true END"), "IN with a query"),
        (
            format!("SELECT t.id, (SELECT max(o.k) FROM {one} o WHERE o.k < t.k) FROM {t} t"),
            "a subquery that refers to the outer query",
        ),
        (
            format!("SELECT t.id FROM {t} t, LATERAL (SELECT o.k FROM {one} o WHERE o.k < t.k LIMIT 1) x"),
            "a subquery that refers to the outer query",
        ),
        (format!("SELECT k.id FROM {t} k WHERE EXISTS (SELECT 1 FROM {one} o WHERE o.id = k.id)"), "name of a table"),
        (
            format!("SELECT max(o.ts - t.d) FROM {t} t, (SELECT TIMESTAMP '2024-02-11 01:00:00' AS ts FROM {one}) o"),
            "interval",
        ),
        (format!("SELECT percentile_cont(t.k, 0.5) FROM {t} t, {one} o"), "WITHIN GROUP"),
        (format!("SELECT percentile_cont(0.5, t.k) WITHIN GROUP (ORDER BY t.k) FROM {t} t, {one} o"), "WITHIN GROUP"),
        (format!("SELECT extract(epoch FROM avg(now() - t.d)) FROM {t} t, {one} o"), "an interval"),
        (
            format!(
                "WITH x AS (SELECT id, random() AS q FROM {t}) SELECT a.q FROM x a JOIN x b ON a.id = b.id, {one} o"
            ),
            "x returns different rows each time",
        ),
        (
            format!(
                "WITH x AS (SELECT id FROM {t} ORDER BY random() LIMIT 3) SELECT o.id FROM {one} o, x WHERE o.id IN (SELECT id FROM x)"
            ),
            "x returns different rows each time",
        ),
        (
            format!(
                "WITH x AS MATERIALIZED (SELECT count(*) AS n FROM {t} WHERE random() < 0.5) SELECT 1 FROM {one} o WHERE (SELECT n FROM x) = (SELECT n FROM x)"
            ),
            "x returns different rows each time",
        ),
    ] {
        let (status, body) = app.query(json!({"query": query})).await;
        assert_eq!(status, 400, "{query}: {body}");
        assert!(body["error"]["message"].as_str().is_some_and(|said| said.contains(what)), "{query}: {body}");
    }
}

/// Also where its name is part of a word of the source's.
#[actix_web::test]
async fn what_is_not_there_is_told_with_its_connection() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let query = "SELECT 1 FROM shop.public.shopping s, crm.main.one o";
    let (status, body) = app.query(json!({"query": query})).await;
    assert_eq!(status, 404, "{body}");
    assert_eq!(body["error"]["message"], "connection shop: relation \"public.shopping\" does not exist");
}

#[actix_web::test]
async fn what_was_answered_otherwise_is_answered_as_postgresql_does() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let both = "shop.public.t t JOIN crm.main.one o ON o.id = t.id";
    let apart = "shop.public.t t LEFT JOIN crm.main.one o ON o.id = t.id";
    for (query, expected) in [
        (format!("SELECT t.id FROM {apart} WHERE t.n::int = 3 ORDER BY 1"), json!([[1], [2], [3]])),
        (format!("SELECT t.id FROM {apart} WHERE t.n::numeric(10, 0) = 3 ORDER BY 1"), json!([[1], [2], [3]])),
        (format!("SELECT t.d + interval '25 hours' FROM {both} WHERE t.id = 1"), json!([["2024-02-12T01:00:00"]])),
        (format!("SELECT count(*) FROM {both} WHERE t.d + interval '12 hours' > t.d"), json!([[2]])),
        (format!("SELECT t.d + interval '1 day 01:30' FROM {both} WHERE t.id = 1"), json!([["2024-02-12T01:30:00"]])),
        (format!("SELECT t.d - '-7 days -00:00:01.5'::interval FROM {both} WHERE t.id = 1"), json!([["2024-02-18T00:00:01.5"]])),
        (
            format!(
                "SELECT count(*) FROM {both} WHERE t.id = 1
                 AND t.d - TIMESTAMP '2024-02-10 22:00:00' BETWEEN interval '01:59:59' AND CAST('1 day' AS interval)
                 AND t.d - TIMESTAMP '2024-02-10 22:00:00' NOT BETWEEN interval '02:01' AND interval '1 day'"
            ),
            json!([[1]]),
        ),
        (
            format!("SELECT t.id FROM {both} ORDER BY t.d - TIMESTAMP '2024-02-10 22:00:00' DESC, 1 LIMIT 1"),
            json!([[2]]),
        ),
        (
            format!("SELECT count(*) FROM {both} WHERE (t.d - TIMESTAMP '2024-02-10 22:00:00') IS NOT NULL"),
            json!([[2]]),
        ),
        (format!("SELECT count(*) FROM {both} WHERE now() > t.d AND current_date > t.d"), json!([[2]])),
        (
            format!("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY CAST('Infinity' AS double precision)) > 2 FROM {both}"),
            json!([[true]]),
        ),
        (
            "SELECT one.* FROM crm.main.one, shop.public.t WHERE one.id = t.id ORDER BY one.id".to_owned(),
            json!([[1, 1], [2, null]]),
        ),
        (format!("SELECT count(*) FROM {both} WHERE t.d > '2020-01-01 12:00'::timestamp"), json!([[2]])),
        (
            format!("SELECT count(*) FROM {both} JOIN (VALUES (1, 'a'), (2, 'b')) AS v(i, s) ON v.i = t.id"),
            json!([[2]]),
        ),
        (
            "SELECT id FROM shop.public.t WHERE k IN (SELECT k FROM crm.main.one) OR id = 3 ORDER BY id".to_owned(),
            json!([[1], [3]]),
        ),
        ("SELECT id FROM shop.public.t WHERE NOT (k IN (SELECT k FROM crm.main.one))".to_owned(), json!([])),
        (
            "SELECT id, o.k FROM shop.public.t t LEFT JOIN crm.main.one o USING (id) ORDER BY id".to_owned(),
            json!([[1, 1], [2, null], [3, null]]),
        ),
        (
            "SELECT id, k, o.id FROM shop.public.t t NATURAL LEFT JOIN crm.main.one o ORDER BY id".to_owned(),
            json!([[1, 1, 1], [2, null, null], [3, 3, null]]),
        ),
        (
            format!(
                "SELECT * FROM (SELECT t.k AS a, 7 AS b, t.k AS c FROM {both} UNION ALL SELECT t.id, t.id, t.id FROM {apart}) x
                 ORDER BY 1 DESC NULLS FIRST, 2 NULLS LAST, 3 DESC NULLS LAST"
            ),
            json!([[null, 7, null], [3, 3, 3], [2, 2, 2], [1, 1, 1], [1, 7, 1]]),
        ),
        (
            format!(
                "WITH w AS (SELECT CASE WHEN t.id > 1 THEN o.id ELSE t.n - 1.5 END AS r FROM {both})
                 SELECT r = 1 FROM w WHERE EXISTS (SELECT 1 FROM w v WHERE v.r = w.r + 1)"
            ),
            json!([[true]]),
        ),
        (
            format!(
                "WITH w AS (SELECT t.id, sum(t.l * 533333333) AS s FROM {both} GROUP BY t.id)
                 SELECT id FROM w WHERE s > (SELECT avg(s) FROM w)"
            ),
            json!([[2]]),
        ),
        (
            format!("SELECT DISTINCT ON (t.k IS NULL) t.k IS NULL AS none, t.id FROM {apart} ORDER BY t.k IS NULL, t.id DESC"),
            json!([[false, 3], [true, 2]]),
        ),
        (
            format!("SELECT x.id FROM (SELECT DISTINCT ON (t.n > 2.7) t.id FROM {apart} ORDER BY t.n > 2.7, t.id) x ORDER BY 1"),
            json!([[1], [2]]),
        ),
        (format!("SELECT count(*) FROM (SELECT DISTINCT ON (t.k IS NULL) t.id FROM {apart}) x"), json!([[2]])),
        (format!("SELECT t.id FROM {apart} ORDER BY t.id OFFSET 1 FETCH NEXT ROW ONLY"), json!([[2]])),
        (format!("SELECT t.id FROM {apart} ORDER BY t.id FETCH FIRST 2 ROWS ONLY"), json!([[1], [2]])),
        (
            "SELECT t.id, EXISTS (SELECT FROM crm.main.one o WHERE o.id = t.id), NOT EXISTS (SELECT o.k FROM crm.main.one o \
             WHERE o.id = t.id AND o.k > 0) FROM shop.public.t t ORDER BY t.id"
                .to_owned(),
            json!([[1, true, false], [2, true, true], [3, false, true]]),
        ),
    ] {
        assert_eq!(app.rows(&query).await, expected, "{query}");
    }
    let (status, body) = app.query(json!({"query": format!("SELECT t.id FROM {both} WHERE t.l::int > 5")})).await;
    assert_eq!((status, &body["error"]["sqlState"]), (400, &json!("22003")), "{body}");
    for (query, state, words, hint) in [
        (format!("SELECT t.nn FROM {both}"), "42703", "column t.nn does not exist", "did you mean n?"),
        (
            format!("SELECT t.d::text + t.k FROM {both}"),
            "42883",
            "operator does not exist: text + integer",
            "cast one of them",
        ),
    ] {
        let (status, body) = app.query(json!({"query": query})).await;
        let error = &body["error"];
        let told = (&error["sqlState"], &error["message"], &error["hint"]);
        assert_eq!((status, told), (400, (&json!(state), &json!(words), &json!(hint))), "{body}");
    }
}

/// What a statement is told whose own connection would know better, and what it is told to write.
#[actix_web::test]
async fn failures_speak_of_the_statement_and_not_of_the_engine() {
    let app = two_sources(POSTGRES, SQLITE).await;
    let from = "FROM shop.public.t t JOIN crm.main.one o ON o.id = t.id";
    let exists = "EXISTS (SELECT 1 FROM crm.main.one x WHERE x.k = o.k)";
    for (query, state, words, hint) in [
        (format!("SELECT id {from}"), "42702", "column reference \"id\" is ambiguous", "table.id"),
        (format!("SELECT ifnull(t.k, 0) {from}"), "42883", "function ifnull is not supported", "write coalesce(a, b)"),
        (
            format!("SELECT current_user {from}"),
            "0A000",
            "current_user is not supported",
            "on the table's own connection",
        ),
        (format!("SELECT localtimestamp {from}"), "0A000", "localtimestamp", "write now()"),
        (format!("SELECT t.d->>'k' {from}"), "0A000", "operator ->> is not supported", "own connection"),
        (format!("SELECT t.id @> o.id {from}"), "42883", "operator does not exist: integer @> bigint", "cast"),
        (format!("SELECT t.n @> t.d {from}"), "42883", "operator does not exist: numeric @> date", "cast"),
        (format!("SELECT '{{}}'::jsonb {from}"), "0A000", "type jsonb is not supported", "::text"),
        (format!("SELECT array[t.id] {from}"), "0A000", "an array is not supported", "IN (…)"),
        (format!("SELECT t.d::text::varchar(3)[] {from}"), "", "a cast to an array", "own connection"),
        (format!("SELECT t.id {from} LIMIT 1, 2"), "42601", "syntax error: ", "write LIMIT 2 OFFSET 1"),
        (format!("SELECT t.id, {from}"), "42601", "an expression is expected, and there is \"FROM\"", ""),
        (format!("SELECT t.id {from} LIMIT 2.5"), "42804", "argument of LIMIT must be a whole number", ""),
        (format!("SELECT t.id {from} LIMIT (SELECT 1)"), "0A000", "a query as LIMIT", "give the number"),
        (format!("SELECT t.id {from} FETCH FIRST 1 ROW WITH TIES"), "0A000", "FETCH FIRST", "write LIMIT"),
        (format!("SELECT t.id {from} GROUP BY 2"), "42P10", "position 2 is not in select list", ""),
        (format!("SELECT t.id {from} HAVING t.id > 1"), "42803", "must appear in the GROUP BY clause", "GROUP BY"),
        (format!("SELECT t.id {from} ORDER BY {exists}"), "", "ORDER BY a query", "select it under a name"),
        (
            format!("SELECT t.id {from} AND {exists}"),
            "42703",
            "column o.k does not exist",
            "move the condition into WHERE",
        ),
        (
            format!("SELECT t.id {from} AND t.id = ANY (SELECT k FROM crm.main.one)"),
            "",
            "ANY or ALL with a query in ON",
            "move the condition into WHERE",
        ),
        (format!("SELEC t.id {from}"), "42601", "no statement begins with SELEC", "did you mean SELECT?"),
        (format!("SELECT t.id {from} FOR UPDATE"), "", "FOR UPDATE", "address one connection"),
    ] {
        let (status, document) = app.query(json!({"query": query})).await;
        let error = &document["error"];
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        assert!(status == 400 && text("sqlState") == state, "{query}: {document}");
        assert!(text("message").contains(words) && text("hint").contains(hint), "{query}: {document}");
        assert!(!document.to_string().contains("DataFusion"), "{query}: {document}");
    }
}
