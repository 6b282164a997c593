//! A parameter means what the same literal would mean, whatever type the source would have guessed for it.

use serde_json::{Value, json};

use crate::support::app::{TestApp, read};
use crate::support::fixture;
use crate::support::postgres::connect;

const SETUP: &str = "
CREATE TABLE things (id int4 PRIMARY KEY, small int2, weight float4, name text, doc jsonb, day date, span int4range, yes bool);
INSERT INTO things VALUES
    (1, 1, 0.1, 'one', '{\"t\": [10, 20]}', '2026-01-31', '[1,5)', true),
    (2, 32767, 0.5, 'two', '{\"t\": {\"1\": \"key\"}}', '2026-02-28', '[5,9)', false),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);";

/// Query, parameters, and the text of its rows.
const ON_POSTGRES: &[(&str, &str, &str)] = &[
    ("SELECT doc -> 't' -> @i FROM things WHERE id = 1", r#"{"i": 1}"#, r#""20""#),
    ("SELECT '[1,2]'::jsonb - @i", r#"{"i": 0}"#, r#""[2]""#),
    ("SELECT substring('abcdef' from @p for @n)", r#"{"p": 2, "n": 3}"#, r#""bcd""#),
    ("SELECT @a < @b", r#"{"a": 9, "b": 10}"#, "true"),
    ("SELECT greatest(@a, @b)", r#"{"a": 9, "b": 10}"#, "10"),
    ("SELECT @x between @a and @b", r#"{"x": 9, "a": 8, "b": 10}"#, "true"),
    ("SELECT n FROM (VALUES (@a), (@b)) AS v(n) ORDER BY n LIMIT 1", r#"{"a": 10, "b": 9}"#, "9"),
    ("SELECT @a / @b", r#"{"a": 8, "b": 7.0}"#, "1.1428571428571429"),
    ("SELECT 7 / @b", r#"{"b": 2.0}"#, "3.5000000000000000"),
    ("SELECT 100 * @x", r#"{"x": 0.1}"#, "10.0"),
    ("SELECT count(*) FROM things WHERE id > @x", r#"{"x": 2.5}"#, "1"),
    ("SELECT array[1,2] || @n", r#"{"n": 3}"#, r#""[1,2,3]""#),
    ("SELECT id FROM things WHERE span @> @n", r#"{"n": 5}"#, "2"),
    ("SELECT count(*) FROM things WHERE (@x is null or id = @x)", r#"{"x": null}"#, "3"),
    ("SELECT count(*) FROM things WHERE (@x is null or id = @x)", r#"{"x": {"dataType": 8, "value": null}}"#, "3"),
    ("SELECT count(*) FROM things WHERE (@x is null or id = @x)", r#"{"x": 2}"#, "1"),
    ("SELECT count(*) FROM things WHERE (@x is null or id = @x)", r#"{"x": "2"}"#, "1"),
    ("SELECT count(*) FROM things WHERE (@x is null or day = @x)", r#"{"x": "2026-01-31"}"#, "1"),
    ("SELECT count(*) FROM things WHERE name = @x or id::text = @x or id = @x", r#"{"x": "2"}"#, "1"),
    ("SELECT @a + @b", r#"{"a": {"dataType": 8, "value": "7"}, "b": {"dataType": 8, "value": "8"}}"#, "15"),
    ("SELECT @a + @b", r#"{"a": {"dataType": 8, "value": "7.5"}, "b": {"dataType": 8, "value": "8"}}"#, "15.5"),
    ("SELECT @a + @b", r#"{"a": {"dataType": 8, "value": null}, "b": {"dataType": 8, "value": null}}"#, "null"),
    ("SELECT round(@x)", r#"{"x": 2.5}"#, "3"),
    ("SELECT id FROM things WHERE weight = @x", r#"{"x": 0.5}"#, "2"),
    ("SELECT count(*) FROM things WHERE weight = @x", r#"{"x": 0.1}"#, "0"),
    ("SELECT small + @n FROM things WHERE id = 2", r#"{"n": 1}"#, "32768"),
    ("SELECT small + @n FROM things WHERE id = 2", r#"{"n": 70000}"#, "102767"),
    ("SELECT day + @n FROM things WHERE id = 1", r#"{"n": 1}"#, r#""2026-02-01""#),
    (
        "SELECT pg_typeof(@a)::text || pg_typeof(@b)::text || pg_typeof(@c)::text",
        r#"{"a": 2147483648, "b": true, "c": 1e0}"#,
        r#""bigintbooleannumeric""#,
    ),
    ("SELECT jsonb_build_object('a', @n, 'b', @t)", r#"{"n": 5, "t": true}"#, r#""{\"a\": 5, \"b\": true}""#),
    ("SELECT @x IS NULL", r#"{"x": null}"#, "true"),
    ("SELECT coalesce(@x, 5)", r#"{"x": null}"#, "5"),
    ("SELECT a + @n FROM (VALUES (1), (1)) AS v(a) GROUP BY a + @n", r#"{"n": 5}"#, "6"),
    (
        "SELECT DISTINCT name || @s, day FROM things WHERE day > @d AND day::timestamp > @d ORDER BY name || @s",
        r#"{"s": "!", "d": "2026-02-01 10:00"}"#,
        r#""two!","2026-02-28""#,
    ),
    ("SELECT (id = @a OR @a = 'all') FROM things WHERE id = 1", r#"{"a": "1"}"#, "true"),
    ("SELECT left(name, 1) || @s FROM things WHERE id = 1 GROUP BY left(name, 1) || @s", r#"{"s": "!"}"#, r#""o!""#),
    // A literal would be refused here, and what the source infers takes the value.
    ("SELECT id FROM things WHERE doc -> 't' @> @n", r#"{"n": 20}"#, "1"),
    ("SELECT jsonb_set('{\"a\": 1}', '{a}', @n)", r#"{"n": 2.50}"#, r#""{\"a\": 2.50}""#),
    ("SELECT @n::jsonb", r#"{"n": true}"#, r#""true""#),
    ("SELECT id FROM things WHERE yes = @n", r#"{"n": 0}"#, "2"),
    ("SELECT repeat('a', @n)", r#"{"n": 3.0}"#, r#""aaa""#),
    ("SELECT id FROM things WHERE (@s IS NULL OR name = @s) AND day >= @d", r#"{"s": "one", "d": "2026-01-31"}"#, "1"),
    ("SELECT count(*) FROM things WHERE (@s IS NULL OR name = @s)", r#"{"s": null}"#, "3"),
    (
        "SELECT id FROM things WHERE (@s IS NULL OR name = @s) AND day >= @d",
        r#"{"s": {"dataType": 5, "value": "one"}, "d": {"dataType": 5, "value": "2026-01-31"}}"#,
        "1",
    ),
    ("SELECT round(@x) FROM things WHERE (@s IS NULL OR name = @s)", r#"{"x": 2.5, "s": "one"}"#, "3"),
    ("SELECT round(@x) FROM things WHERE yes = @n", r#"{"x": 2.5, "n": 1}"#, "3"),
    (
        "SELECT round(@x), doc || @n FROM things WHERE id = 2",
        r#"{"x": 2.5, "n": 5}"#,
        r#"3,"[{\"t\": {\"1\": \"key\"}}, 5]""#,
    ),
    (
        "SELECT day + @d, doc || @n FROM things WHERE id = 2",
        r#"{"d": 1, "n": 5}"#,
        r#""2026-03-01","[{\"t\": {\"1\": \"key\"}}, 5]""#,
    ),
    ("SELECT 5 / @a, @b::jsonb", r#"{"a": 2.5, "b": 5}"#, r#"2.0000000000000000,"5""#),
    ("SELECT 5 / @a, @b::jsonb", r#"{"a": 2.0, "b": 5}"#, r#"2.5000000000000000,"5""#),
    ("SELECT count(*) FROM things WHERE (@ids IS NULL OR id = ANY(@ids))", r#"{"ids": [1, 2]}"#, "2"),
    ("SELECT json_array_length(@l), @l IS NULL", r#"{"l": [1]}"#, "1,false"),
    ("SELECT @l IS NULL", r#"{"l": null}"#, "true"),
    // What one value needs decides nothing of another one's places.
    (
        "SELECT id FROM things WHERE day >= @s AND day::timestamp + '12:00' > @s AND doc <> @k",
        r#"{"s": "2026-02-28 10:00", "k": 5}"#,
        "2",
    ),
    (
        "SELECT count(*) FROM things WHERE day > @s AND day::timestamp > @s AND doc <> @k",
        r#"{"s": "2026-01-31 10:00", "k": 5}"#,
        "1",
    ),
    (
        "SELECT count(*) FROM things WHERE day >= @s AND day::timestamp > @s AND yes = @k",
        r#"{"s": "2026-02-28 10:00", "k": 0}"#,
        "0",
    ),
    (
        "SELECT count(*) FROM things WHERE weight = @s AND weight::float8 = @s AND doc <> @k",
        r#"{"s": "0.1", "k": 1}"#,
        "0",
    ),
    (
        "SELECT count(*) FROM things WHERE doc IN (@a, @b) AND (@x IS NULL OR id = @x)",
        r#"{"a": 1, "b": 2, "x": 5}"#,
        "0",
    ),
    (
        "SELECT left(name, 1) || @x, count(*) FROM things WHERE day >= @s AND day::timestamp < @s GROUP BY left(name, 1) || @x",
        r#"{"x": "!", "s": "2026-02-28 10:00"}"#,
        r#""t!",1"#,
    ),
    (
        "SELECT day::text || @s FROM things WHERE day::timestamp > @s OR day > @s GROUP BY day::text || @s",
        r#"{"s": "2026-02-01 10:00"}"#,
        r#""2026-02-282026-02-01 10:00""#,
    ),
    ("SELECT doc <> @n, id <> @n FROM things WHERE id = 1", r#"{"n": 1}"#, "true,false"),
    (
        "SELECT @h + @i FROM things WHERE name::char(5) = @s",
        r#"{"h": {"dataType": 12, "value": "7.5"}, "i": {"dataType": 8, "value": "8"}, "s": {"dataType": 5, "value": "one  "}}"#,
        "15.5",
    ),
    ("SELECT @l IS NULL", r#"{"l": [1]}"#, "false"),
    // What nothing says the type of decides nothing of the others, however many there are.
    (
        "SELECT name::char(5) = @q, jsonb_build_array(@a, @b, @c, @d, @e, @f, @g, @h, @i, @j) FROM things WHERE day >= @y \
         AND (@a IS NULL OR id = @a) AND (@b IS NULL OR id = @b) AND (@c IS NULL OR id = @c) AND (@d IS NULL OR id = @d) \
         AND (@e IS NULL OR id = @e) AND (@f IS NULL OR id = @f) AND (@g IS NULL OR id = @g) AND (@h IS NULL OR id = @h) \
         AND (@i IS NULL OR id = @i) AND (@j IS NULL OR day = @j)",
        r#"{"q": "one  ", "y": "2026-01-31", "a": null, "b": "1", "c": null, "d": null, "e": null, "f": "1", "g": null, "h": null, "i": null, "j": "2026-01-31"}"#,
        r#"true,"[null, \"1\", null, null, null, \"1\", null, null, null, \"2026-01-31\"]""#,
    ),
    (
        "SELECT yes = @a, yes = @b, yes = @c, yes = @d, yes = @e, yes = @f, yes = @g, doc <> @h, yes = @i, yes = @j, @x + @y, 5 / @z \
         FROM things WHERE id = 1",
        r#"{"a": 1, "b": 0, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1, "j": 1, "x": 1, "y": 2, "z": 2.0}"#,
        "true,false,true,true,true,true,true,true,true,true,3,2.5000000000000000",
    ),
    (
        "SELECT @a - @b, day > @c, day > @d, day > @e, day > @f, day > @g, day > @h, day > @i, day > @j FROM things WHERE id = 1",
        r#"{"a": {"dataType": 15, "value": "2026-01-03"}, "b": {"dataType": 15, "value": "2026-01-01"},
            "c": {"dataType": 15, "value": "2026-01-01"}, "d": {"dataType": 15, "value": "2026-01-01"},
            "e": {"dataType": 15, "value": "2026-01-01"}, "f": {"dataType": 15, "value": "2026-01-01"},
            "g": {"dataType": 15, "value": "2026-01-01"}, "h": {"dataType": 15, "value": "2026-01-01"},
            "i": {"dataType": 15, "value": "2026-01-01"}, "j": {"dataType": 15, "value": "2026-01-01"}}"#,
        "2,true,true,true,true,true,true,true,true",
    ),
    ("SELECT jsonb_typeof(@n::jsonb), @x is null or 1 = @x", r#"{"n": 5, "x": null}"#, r#""number",true"#),
];

pub(super) async fn on_postgres() -> TestApp {
    let url = fixture::postgres().await;
    connect(&url).await.batch_execute(SETUP).await.unwrap();
    fixture::with_postgres(&url, "access = \"read-write\"").await
}

/// The text of the first row, or of the error.
pub(super) async fn answer(app: &TestApp, query: &str, parameters: &str) -> String {
    let body = format!("{{\"query\":{},\"parameters\":{parameters}}}", json!(query));
    let request = app.post("/api/query").header("content-type", "application/json").body(body);
    let text = request.send().await.unwrap().text().await.unwrap();
    let rows = text.split_once("\"rows\":[[").and_then(|(_, rest)| rest.split_once("]],\"affectedRows\""));
    rows.map_or(text.clone(), |(row, _)| row.to_owned())
}

#[actix_web::test]
async fn a_parameter_means_what_a_literal_means() {
    let app = on_postgres().await;
    let mut wrong = Vec::new();
    for (query, parameters, expected) in ON_POSTGRES {
        // What was found out about a statement holds for the next call as well.
        for _ in 0..2 {
            let got = answer(&app, query, parameters).await;
            if got != *expected {
                wrong.push(format!("{query} with {parameters}: {got}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was found out about a statement is not what the table says that it has now.
#[actix_web::test]
async fn a_table_that_was_changed_gives_its_own_types() {
    let app = on_postgres().await;
    let run = async |query: &str, parameters: &str| answer(&app, query, parameters).await;
    run("CREATE TABLE later (a boolean)", "{}").await;
    let insert = "INSERT INTO later VALUES (@a) RETURNING a";
    for _ in 0..2 {
        assert_eq!(run(insert, r#"{"a": 1}"#).await, "true");
    }
    run("ALTER TABLE later ALTER a TYPE text USING a::text", "{}").await;
    assert_eq!(run(insert, r#"{"a": 1}"#).await, r#""1""#);
}

/// However many values there are, what is tried for them has a bound.
#[actix_web::test]
async fn many_values_of_several_types_are_soon_answered() {
    let app = on_postgres().await;
    for (count, values) in [(3_000, &["1", "\"a\""][..]), (3_000, &["1"]), (600, &["\"1\"", "null", "true"])] {
        let rows: Vec<String> = (0..count).map(|at| format!("({at}, @p{at}, @p{at})")).collect();
        let query = format!("INSERT INTO things (id, name, doc) VALUES {} RETURNING 1", rows.join(", "));
        let given = (0..count).map(|at| format!("\"p{at}\": {}", values[at % values.len()])).collect::<Vec<_>>();
        let body =
            format!("{{\"query\": {}, \"parameters\": {{{}}}, \"timeout\": 60}}", json!(query), given.join(", "));
        let request = app.post("/api/query").header("content-type", "application/json").body(body);
        let (status, told) = read(request.send().await.unwrap()).await;
        assert!([200, 400, 409].contains(&status), "{count}: {status} {}", told["error"]);
    }
}

#[actix_web::test]
async fn a_parameter_is_refused_as_a_literal_is() {
    let app = on_postgres().await;
    for (query, parameters, sqlstate) in [
        ("SELECT id FROM things WHERE name = @n", json!({"n": 5}), "42883"),
        ("SELECT id FROM things WHERE name LIKE @n", json!({"n": 5}), "42883"),
        ("SELECT id FROM things WHERE id = @n", json!({"n": true}), "42883"),
        ("SELECT @a + @b", json!({"a": "7", "b": "8"}), "42725"),
        ("SELECT id FROM things WHERE day > @n", json!({"n": 5}), "42883"),
        ("SELECT nothing(@n)", json!({"n": 5}), "42883"),
        ("SELECT to_jsonb(@a)", json!({"a": null}), "42804"),
    ] {
        let (status, answer) = app.query(json!({"query": query, "parameters": parameters})).await;
        assert_eq!((status, &answer["error"]["sqlState"]), (400, &json!(sqlstate)), "{query}: {answer}");
    }
}

#[actix_web::test]
async fn each_set_of_a_batch_has_types_of_its_own() {
    let app = on_postgres().await;
    let rows = async |query: &str, sets: Value| {
        let body = json!({"query": query, "parameters": sets});
        let (status, document) = read(app.post("/api/batch").json(&body).send().await.unwrap()).await;
        assert_eq!((status, document.get("error")), (200, None), "{query}: {document}");
        let results = document["results"].as_array().unwrap().iter().map(|result| result["rows"][0][0].clone());
        results.collect::<Vec<_>>()
    };
    let told = rows(
        "SELECT pg_typeof(@v)::text",
        json!([{"v": 1}, {"v": 2.5}, {"v": null}, {"v": "x"}, {"v": true}, {"v": 2}, {"v": 2_147_483_648_u64}]),
    );
    assert_eq!(told.await, ["integer", "numeric", "text", "text", "boolean", "integer", "bigint"]);
    let compared = rows("SELECT 10 > @v", json!([{"v": 9}, {"v": 9.5}, {"v": "9"}, {"v": null}, {"v": 10}]));
    assert_eq!(compared.await, [json!(true), json!(true), json!(true), json!(null), json!(false)]);
    // More kinds of sets than are kept at once.
    let sets: Vec<Value> = (0..2_000_u32)
        .map(|number| {
            (0..10).map(|bit| (format!("p{bit}"), json!((number >> bit & 1 == 1).then_some(number)))).collect()
        })
        .map(Value::Object)
        .collect();
    let names: Vec<String> = (0..10).map(|bit| format!("@p{bit}")).collect();
    let query = format!("SELECT num_nonnulls({})", names.join("::int4, ") + "::int4");
    let counted = rows(&query, json!(sets)).await;
    assert!(counted.iter().zip(0..1024_u32).all(|(counted, number)| *counted == json!(number.count_ones())));
}

#[actix_web::test]
async fn a_number_is_one_on_sqlite_too() {
    let app = fixture::on_sqlite().await;
    for (query, parameters, expected) in [
        ("SELECT typeof(@x), @x = 10.5", r#"{"x": 10.500000000000000001}"#, r#""real",1"#),
        ("SELECT typeof(@x), @x < 0", r#"{"x": -9223372036854775809}"#, r#""real",1"#),
        ("SELECT typeof(@x), @x > 1e300", r#"{"x": 1e400}"#, r#""real",1"#),
        ("SELECT typeof(@x)", r#"{"x": -9223372036854775808}"#, r#""integer""#),
        ("SELECT typeof(@x), @x / 2", r#"{"x": 7}"#, r#""integer",3"#),
        ("SELECT typeof(@x), @x / 2", r#"{"x": 7.0}"#, r#""real",3.5"#),
        ("SELECT typeof(@x), @x / 2", r#"{"x": {"dataType": 8, "value": "7"}}"#, r#""integer",3"#),
        ("SELECT typeof(@x), @x / 2", r#"{"x": {"dataType": 12, "value": "7.0"}}"#, r#""real",3.5"#),
        ("SELECT typeof(@x), @x / 2", r#"{"x": {"dataType": 11, "value": "7"}}"#, r#""real",3.5"#),
        ("SELECT typeof(@x)", r#"{"x": {"dataType": 8, "value": "seven"}}"#, r#""text""#),
        ("SELECT typeof(@x)", r#"{"x": "7"}"#, r#""text""#),
        ("SELECT count(*) FROM orders WHERE total + 0 >= @x", r#"{"x": {"dataType": 8, "value": "10.5"}}"#, "2"),
        ("SELECT typeof(@x)", r#"{"x": null}"#, r#""null""#),
        ("SELECT sqrt(@x), pow(@x, 2), ceil(@x + 0.5), mod(@x, 3)", r#"{"x": 4}"#, "2,16,5,1"),
    ] {
        assert_eq!(answer(&app, query, parameters).await, expected, "{query} with {parameters}");
    }
}

/// What is asked of the server before such a statement has more values than a function there takes.
#[actix_web::test]
async fn a_statement_that_is_checked_takes_any_number_of_values() {
    let url = fixture::postgres().await;
    let admin = connect(&url).await;
    admin.batch_execute(SETUP).await.unwrap();
    admin.batch_execute("CREATE TABLE canary (id int, word text)").await.unwrap();
    let hidden = "access = \"read-write\"\n[connections.hidden]\ntables = [\"canary\"]\n";
    let app = fixture::with_postgres(&url, hidden).await;
    let names: Vec<String> = (0..300).map(|at| format!("@p{at}")).collect();
    let values: serde_json::Map<String, Value> = (0..300).map(|at| (format!("p{at}"), json!(at))).collect();
    let list = names.join(", ");
    let with = |more: &Value| {
        let mut values = values.clone();
        values.extend(more.as_object().unwrap().clone());
        json!(values)
    };
    let arrays: Vec<String> = (0..120).map(|at| format!("id = ANY (@a{at})")).collect();
    let lists: serde_json::Map<String, Value> = (0..120).map(|at| (format!("a{at}"), json!([at]))).collect();
    let query = format!("SELECT count(*) FROM things WHERE {}", arrays.join(" OR "));
    let (status, answer) = app.query(json!({"query": query, "parameters": lists})).await;
    assert_eq!((status, &answer["results"][0]["rows"]), (200, &json!([[3]])), "{answer}");
    let (l, d, w) = (json!([1, 3]), json!("2026-02-28"), json!("canary"));
    for (query, more, expected) in [
        (format!("SELECT count(*) FROM things WHERE id IN ({list}) AND id = ANY (@l)"), json!({"l": l}), json!([[2]])),
        (
            format!("SELECT (@l::int[])[1], id FROM things WHERE id IN ({list}) AND day = @d"),
            json!({"l": l, "d": d}),
            json!([[1, 2]]),
        ),
        (
            format!("UPDATE things SET weight = @p7 WHERE id IN ({list}) AND day = @d RETURNING weight"),
            json!({"d": d}),
            json!([[7]]),
        ),
    ] {
        let (status, answer) = app.query(json!({"query": query, "parameters": with(&more)})).await;
        assert_eq!((status, &answer["results"][0]["rows"]), (200, &expected), "{query}: {answer}");
    }
    for (query, more) in [
        (format!("SELECT word FROM canary WHERE id IN ({list})"), json!({})),
        (format!("SELECT @w::regclass::text FROM things WHERE id IN ({list})"), json!({"w": w})),
    ] {
        let (status, answer) = app.query(json!({"query": query, "parameters": with(&more)})).await;
        assert!([403, 404].contains(&status) && answer["results"].is_null(), "{query}: {status} {answer}");
    }
}
