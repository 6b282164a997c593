//! Values of every type, as they come through the engine.

use serde_json::json;

use super::{answer, told, two_sources};

#[actix_web::test]
async fn values_are_those_of_their_sources() {
    let app = two_sources(
        "CREATE TABLE kinds (id int, u uuid, n numeric, p numeric(10, 3), b boolean, z timestamptz, t timestamp, d date,
             f float8, r real, j jsonb, h time, o bytea, s smallint, l bigint, c char(5), v varchar(9), i interval, a int[]);
         INSERT INTO kinds VALUES (1, '6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11', 1.500, 2.5, true,
             '2026-02-03 04:05:06.789+02', '2026-02-03 04:05:06', '2026-02-03', 1.5, 'NaN', '{\"a\": 1}', '01:02:03.5',
             '\\x0102', 3, 9007199254740993, 'ab', 'cd', '1 day', '{1,2}');
         INSERT INTO kinds (id) VALUES (2)",
        "CREATE TABLE one (id BIGINT); INSERT INTO one VALUES (1), (2)",
    )
    .await;
    let columns = "id, u, n, p, b, z, t, d, f, r, j, h, o, s, l, c, v, i, a";
    let all = |from: &str| format!("SELECT {columns} FROM {from} ORDER BY id");
    let direct = answer(&app, &all("shop.public.kinds")).await;
    let crossed = "(SELECT k.* FROM shop.public.kinds k JOIN crm.main.one o ON o.id = k.id) AS x".to_owned();
    let crossing = answer(&app, &all(&crossed)).await;
    assert_eq!(crossing["rows"], direct["rows"]);
    for (one, other) in direct["schema"].as_array().unwrap().iter().zip(crossing["schema"].as_array().unwrap()) {
        for member in
            ["dataType", "dataTypeName", "columnLabel", "columnName", "tableName", "precision", "scale", "length"]
        {
            assert_eq!(one[member], other[member], "{member} of {one} and {other}");
        }
    }
    let cell = "SELECT k.c || '!' AS c, k.n FROM shop.public.kinds k JOIN crm.main.one o ON o.id = k.id \
                WHERE k.c = 'ab' AND k.n = 1.5";
    assert_eq!(answer(&app, cell).await["rows"], json!([["ab!", 1.500]]));
}

/// A column of a union comes from no one table; one of two columns of a single table does.
#[actix_web::test]
async fn columns_of_unions_are_nobody_s() {
    let tables = "CREATE TABLE kinds (id int, c char(5)); INSERT INTO kinds VALUES (1, 'ab')";
    let app = two_sources(tables, "CREATE TABLE one (id BIGINT, t TEXT); INSERT INTO one VALUES (1, 'xy')").await;
    for union in ["UNION", "UNION ALL"] {
        for (first, second) in [
            ("SELECT c FROM shop.public.kinds", "SELECT t FROM crm.main.one"),
            ("SELECT t AS c FROM crm.main.one", "SELECT c FROM shop.public.kinds"),
        ] {
            let result = answer(&app, &format!("SELECT c FROM ({first} {union} {second}) AS x ORDER BY c")).await;
            assert_eq!(result["rows"], json!([["ab"], ["xy"]]), "{first} {union} {second}");
            assert_eq!(result["schema"][0]["tableName"], json!(null), "{first} {union} {second}: {result}");
        }
    }
    let plain = "SELECT k.c FROM shop.public.kinds k JOIN crm.main.one o ON o.id = k.id";
    let result = answer(&app, plain).await;
    assert_eq!((&result["rows"], &result["schema"][0]["tableName"]), (&json!([["ab   "]]), &json!("kinds")));
}

/// What SQLite computes in a view, or keeps in a column without words for its type, is of the type of its first values.
#[actix_web::test]
async fn columns_without_a_type_have_that_of_their_values() {
    let app = two_sources(
        "",
        "CREATE TABLE lines (id INTEGER PRIMARY KEY, n INTEGER, price REAL, twice AS (n * 2), loose,
             sum DECIMAL(10, 2) GENERATED ALWAYS AS (n * price) STORED);
         INSERT INTO lines (id, n, price, loose) VALUES (1, 2, 1.5, NULL), (2, 3, 2.25, 7), (3, 4, 1, 7.5);
         CREATE VIEW totals AS SELECT id, n + 1 AS more, round(n * price, 2) AS total, 'a' || id AS name FROM lines",
    )
    .await;
    let query = "SELECT t.id, t.more, t.total, t.name, l.twice, l.loose, l.sum FROM crm.main.totals t \
                 JOIN crm.main.lines l ON l.id = t.id JOIN shop.public.orders o ON o.id = t.id \
                 WHERE t.total > 1 AND t.more >= 3 AND l.twice < 100 ORDER BY t.total DESC, 1";
    let result = answer(&app, query).await;
    assert_eq!(
        result["rows"],
        json!([[2, 4, 6.75, "a2", 6, 7, 6.75], [3, 5, 4, "a3", 8, 7.5, 4.00], [1, 3, 3, "a1", 4, null, 3.00]])
    );
    let names: Vec<_> = result["schema"].as_array().unwrap().iter().map(|column| &column["dataTypeName"]).collect();
    assert_eq!(names, ["BIGINT", "BIGINT", "DOUBLE", "VARCHAR", "BIGINT", "DOUBLE", "DECIMAL"]);
    let grouped = "SELECT sum(t.total), max(t.more) FROM crm.main.totals t JOIN shop.public.orders o ON o.id = t.id";
    assert_eq!(answer(&app, grouped).await["rows"], json!([[13.75, 5]]));
}

/// Dates of all years that both have: they are read, shown, compared, taken apart and put together as PostgreSQL does.
#[actix_web::test]
async fn dates_of_all_years_are_postgresql_s() {
    let app = two_sources(
        "CREATE TABLE days (id int, d date, t timestamp, z timestamptz);
         INSERT INTO days SELECT row_number() OVER (), v::date, v::timestamp, (v::timestamp AT TIME ZONE 'UTC')
         FROM unnest(ARRAY['4713-01-01 00:00:00.000001 BC', '0044-03-15 23:59:59.5 BC', '0005-02-28 BC', '0001-12-31 BC',
             '0001-01-01', '0099-12-31 12:00', '1582-10-10', '2026-11-30 01:02:03', '2262-04-12', '9999-12-31', '10000-01-01',
             '200000-02-29']) AS v",
        "CREATE TABLE one (id BIGINT); INSERT INTO one VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12)",
    )
    .await;
    let alone = "shop.public.days x";
    let both = "(SELECT d.id, d.d, d.t, d.z FROM shop.public.days d JOIN crm.main.one o ON o.id = d.id) AS x";
    let mut differing = Vec::new();
    for value in [
        "x.d",
        "x.t",
        "x.z",
        "EXTRACT(year FROM d)",
        "EXTRACT(year FROM t)",
        "EXTRACT(isoyear FROM d)",
        "EXTRACT(isoyear FROM z)",
        "EXTRACT(quarter FROM d)",
        "EXTRACT(month FROM t)",
        "EXTRACT(week FROM z)",
        "EXTRACT(doy FROM d)",
        "EXTRACT(dow FROM t)",
        "EXTRACT(epoch FROM d)",
        "EXTRACT(epoch FROM t)",
        "EXTRACT(second FROM z)",
        "date_trunc('year', t)",
        "date_trunc('month', z)",
        "date_trunc('week', t)",
        "date_trunc('day', z)",
        "date_trunc('hour', t)",
        "date_trunc('quarter', d)",
        "date_trunc('minute', t)",
        "date_trunc('second', z)",
        "date_trunc('decade', t)",
        "date_trunc('century', z)",
        "date_trunc('Millennium', d)",
        "date_trunc('centuries', t)",
        "date_trunc('milliseconds', t)",
        "date_trunc('microseconds', z)",
        "date_trunc(NULL, z)",
        "date_trunc('day', z, NULL)",
        "date_trunc('day', z, 'UTC')",
        "date_trunc('month', t)::date",
        "to_char(d, 'YYYY-MM-DD')",
        "to_char(t, 'IYYY IW ID')",
        "to_char(z, 'YY Q HH24 MS')",
        "d::text",
        "t::text",
        "CAST(d AS varchar)",
        "d + 1",
        "d - date '0001-01-01'",
        "t + interval '1 month'",
        "t::date",
        "d::timestamp",
        "t < '0001-01-01'",
        "make_date(-44, 3, 15)",
        "make_date(-44, 3, 15) < d",
        "date_bin('15 minutes', t, timestamp '2001-01-01')",
        "min(d) OVER ()",
        "max(t) OVER ()",
        "lag(z) OVER (ORDER BY z)",
        "rank() OVER (ORDER BY d DESC)",
        "EXTRACT(day FROM t - timestamp '0001-01-01')",
    ] {
        let query = |from: &str| format!("SELECT x.id, {value} AS v FROM {from} ORDER BY x.id");
        let (direct, crossing) = (told(&app, &query(alone)).await, told(&app, &query(both)).await);
        if crossing != direct {
            differing.push(format!("{value}:\n  {direct}\n  {crossing}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Both zeros are one value: whatever compares, groups, orders, numbers or joins rows tells them apart as little as
/// PostgreSQL does.
#[actix_web::test]
async fn both_zeros_of_floats_are_one_value() {
    let app = two_sources(
        "CREATE TABLE z (id int, f float8, r real, g int);
         INSERT INTO z VALUES (1, '-0', '0', 2), (2, '0', '-0', 1), (3, '-0', '-0', 3), (4, 1, 1, 0), (5, -1, -1, 0),
             (6, NULL, NULL, 0), (7, 'NaN', 'NaN', 0), (8, '0', '0', 0)",
        "CREATE TABLE one (id BIGINT); INSERT INTO one VALUES (1), (2), (3), (4), (5), (6), (7), (8)",
    )
    .await;
    let alone = "(SELECT id AS zid, f, r, g FROM shop.public.z) AS z";
    let both = "(SELECT z.id AS zid, z.f, z.r, z.g FROM shop.public.z z JOIN crm.main.one o ON o.id = z.id) AS z";
    for text in [
        "SELECT count(*) FROM $ GROUP BY # ORDER BY 1",
        "SELECT count(*), sum(g) FROM $ GROUP BY #, g ORDER BY 1, 2",
        "SELECT count(*) FROM $ GROUP BY # * 1 ORDER BY 1",
        "SELECT count(*) FROM $ GROUP BY ROLLUP (#) ORDER BY 1",
        "SELECT # + 1 AS it, count(*) FROM $ GROUP BY # HAVING # < 1 ORDER BY 1",
        "SELECT count(*) FROM (SELECT DISTINCT # FROM $) AS x",
        "SELECT count(*) FROM (SELECT DISTINCT #, g > 1 FROM $) AS x",
        "SELECT count(DISTINCT #), count(DISTINCT # * 2) FROM $",
        "SELECT sum(DISTINCT CAST(# AS float8)) FROM $ WHERE zid < 7",
        "SELECT zid FROM $ ORDER BY #, g",
        "SELECT zid FROM $ ORDER BY # DESC NULLS LAST, g DESC",
        "SELECT zid FROM $ ORDER BY -#, g",
        "SELECT zid FROM $ ORDER BY #, g LIMIT 3",
        "SELECT zid, rank() OVER (ORDER BY #) FROM $ ORDER BY 1",
        "SELECT zid, dense_rank() OVER (ORDER BY # DESC) FROM $ ORDER BY 1",
        "SELECT zid, row_number() OVER (PARTITION BY # ORDER BY g) FROM $ ORDER BY 1",
        "SELECT zid, count(*) OVER (PARTITION BY #) FROM $ ORDER BY 1",
        "SELECT zid, sum(g) OVER (ORDER BY #) FROM $ ORDER BY 1",
        "SELECT zid, row_number() OVER (ORDER BY #, g) FROM $ ORDER BY 1",
        "SELECT string_agg(CAST(zid AS text), ',' ORDER BY #, g) FROM $",
        "SELECT DISTINCT ON (#) zid FROM $ ORDER BY #, g",
        "SELECT count(*) FROM (SELECT # FROM $ UNION SELECT # + 0 FROM $) AS x",
        "SELECT count(*) FROM (SELECT # FROM $ WHERE g = 1 INTERSECT SELECT # FROM $ WHERE g = 2) AS x",
        "SELECT count(*) FROM (SELECT # FROM $ WHERE g = 1 EXCEPT SELECT # FROM $ WHERE g = 2) AS x",
        "SELECT zid FROM $ WHERE # = 0 ORDER BY 1",
        "SELECT zid FROM $ WHERE # < 0 OR # > 0 ORDER BY 1",
        "SELECT zid FROM $ WHERE # <= -0.0::float8 ORDER BY 1",
        "SELECT zid FROM $ WHERE # IN (0, 5) ORDER BY 1",
        "SELECT zid FROM $ WHERE # IN (0, zid) ORDER BY 1",
        "SELECT zid FROM $ WHERE # BETWEEN 0 AND 0 ORDER BY 1",
        "SELECT zid FROM $ WHERE # IS DISTINCT FROM 0 ORDER BY 1",
        "SELECT zid, CASE # WHEN 0 THEN 'zero' ELSE 'other' END FROM $ ORDER BY 1",
        "SELECT zid, nullif(#, 0) IS NULL FROM $ ORDER BY 1",
        "SELECT zid, # = -# FROM $ ORDER BY 1",
        "SELECT count(*) FROM $ JOIN $ y ON y.# = z.#",
        "SELECT count(*) FROM $ JOIN $ y ON y.# = z.# AND y.g = z.g",
        "SELECT count(*) FROM $ JOIN $ y ON y.# = z.# + 0",
        "SELECT count(*) FROM $ LEFT JOIN $ y ON y.# = z.# AND y.zid <> z.zid",
        "SELECT count(*) FROM $ JOIN $ y ON y.# IS NOT DISTINCT FROM z.#",
        "SELECT count(*) FROM $ JOIN $ y ON y.# <= z.#",
        "SELECT zid FROM $ WHERE # IN (SELECT # FROM $ WHERE zid = 1) ORDER BY 1",
        "SELECT zid FROM $ WHERE # NOT IN (SELECT # FROM $ WHERE zid = 1) ORDER BY 1",
        "SELECT zid FROM $ WHERE EXISTS (SELECT 1 FROM $ y WHERE y.# = z.# AND y.zid <> z.zid) ORDER BY 1",
        "SELECT zid FROM $ WHERE # = (SELECT max(#) FROM $ WHERE zid < 4) ORDER BY 1",
    ] {
        for column in ["f", "r"] {
            let text = text.replace('#', column);
            let [there, here] =
                [alone, both].map(|from| text.replace("$ y", &from.replace(") AS z", ") AS y")).replace('$', from));
            let (_, there) = app.query(json!({"query": there})).await;
            let (_, here) = app.query(json!({"query": here})).await;
            let rows = &there["results"][0]["rows"];
            assert!(rows.is_array(), "{text}: {there}");
            assert_eq!(here["results"][0]["rows"], *rows, "{text}: {here}");
        }
    }
}
