//! Whether functions and operators answer in the engine as they do in PostgreSQL: each that is there, over values of each
//! type that it takes. Refused alike, or refused here; never another answer.

use serde_json::{Value, json};

use super::comparing::{BOTH, COLUMNS, compare, kinds, other_types, texts_here, texts_there, trimmed};
use super::sources;
use crate::support::fixture;
use crate::support::postgres::connect;

/// What is asked of each of these columns, with `$` for it.
const OF: &[(&[&str], &[&str])] = &[
    (
        &["s", "i", "l", "n", "p", "f", "r"],
        &[
            "abs($)",
            "-$",
            "ceil($)",
            "ceiling($)",
            "floor($)",
            "round($)",
            "round($, 1)",
            "round($, 0)",
            "round($, -1)",
            "trunc($)",
            "trunc($, 2)",
            "$ + 1",
            "$ - 2147483647",
            "1.5 - $",
            "$ * 2",
            "$ * 0.1",
            "$ * $",
            "$ / 3",
            "7 / $",
            "$ / 2.5",
            "$ % 3",
            "$ + 0.5::real",
            "$ * 1e10::double precision",
            "$ / 0.1::double precision",
            "$ = 1",
            "$ < 0.5",
            "$ <> 2.5",
            "$ >= 1::double precision",
            "$ IN (1, 2.5, -0.1)",
            "$ IN (0.1, 1, 3.4, -2.3)",
            "$ NOT IN (0.1, 1)",
            "$ IN (0.1)",
            "0.1::real * $ IN (0.1, 0.2, 0.3, 1)",
            "$ BETWEEN -1 AND 1.5",
            "greatest($, 1)",
            "least($, 0.5)",
            "nullif($, 1)",
            "coalesce($, 0.5)",
            "CASE $ WHEN 1 THEN 'one' WHEN 2.5 THEN 'more' END",
            "CASE WHEN $ > 0 THEN $ ELSE 0.25 END",
            "sqrt($)",
            "cbrt($)",
            "exp($)",
            "ln($)",
            "log10($)",
            "power($, 2)",
            "power(2, $)",
            "power($, 0.5)",
            "sin($)",
            "cos($)",
            "tan($)",
            "cot($)",
            "asin($)",
            "acos($)",
            "atan($)",
            "atan2($, 2)",
            "sinh($)",
            "cosh($)",
            "tanh($)",
            "asinh($)",
            "acosh($)",
            "atanh($)",
            "degrees($)",
            "radians($)",
            "pi() * $",
            "$ IS DISTINCT FROM 1",
            "-$ = -$",
            "-$ < 1e308",
            "- - -$",
            "$ IN (1, nullif($, 7), 2.5)",
            "$ NOT IN (1, 2, CASE WHEN $ > 0 THEN 5 END)",
            "$ NOT IN (1, 2) OR $ NOT IN (3)",
            "NOT ($ IN (1, 2, 3, 4, 5) AND $ IN (6, 7, 8, 9, 10))",
            "$::double precision = 1e15",
            "mod($, 3)",
            "mod(7, $)",
            "mod($ - 1, 2) + 1",
            "$ = ANY (ARRAY[1, 2])",
            "$ <> ALL (ARRAY[1, 2])",
            "($, k.id) = (1, 1)",
            "($, k.id) <> (1, k.s)",
            "($, k.id) IN ((1, 1), (2, 2), (3, NULL))",
            "($, k.id) NOT IN ((1, NULL), (2, 2))",
        ],
    ),
    (
        &["t", "v"],
        &[
            "upper($)",
            "lower($)",
            "initcap($)",
            "length($)",
            "char_length($)",
            "octet_length($)",
            "bit_length($)",
            "ascii($)",
            "reverse($)",
            "left($, 2)",
            "left($, -2)",
            "left($, 0)",
            "right($, 3)",
            "right($, -1)",
            "lpad($, 6, 'xy')",
            "lpad($, 2)",
            "lpad($, -1, 'x')",
            "rpad($, 12, 'xy')",
            "repeat($, 2)",
            "repeat($, -1)",
            "replace($, '0', 'zero')",
            "replace($, '', 'x')",
            "split_part($, '-', 2)",
            "split_part($, '-', -1)",
            "split_part($, '', 1)",
            "starts_with($, '2')",
            "strpos($, '0')",
            "strpos($, '')",
            "position(':' in $)",
            "substr($, 2)",
            "substr($, 0)",
            "substr($, -1, 4)",
            "substring($ from 2 for 3)",
            "substring($ for 2)",
            "translate($, '012', 'ab')",
            "trim($)",
            "trim(both '1' from $)",
            "ltrim($, ' 1')",
            "rtrim($, '0 ')",
            "btrim($)",
            "overlay($ placing 'XY' from 2)",
            "overlay($ placing 'XY' from 2 for 1)",
            "$ LIKE '%0%'",
            "$ LIKE '_2'",
            "$ NOT LIKE '2%'",
            "$ ILIKE 'YE%'",
            "$ LIKE '%!%%' ESCAPE '!'",
            "$ || '%' LIKE '%!%' ESCAPE '!'",
            "$ || '\\' LIKE '%\\' ESCAPE ''",
            "$ || '!\\' LIKE '%!!\\' ESCAPE '!'",
            "$ = ANY (ARRAY['12', 'f'])",
            "$ < 'b' COLLATE \"C\"",
            "$ = '12'",
            "greatest($, '3' COLLATE \"C\")",
            "nullif($, 'f')",
            "coalesce(nullif($, ''), 'empty')",
        ],
    ),
    (
        &["d", "ts", "tz", "h"],
        &[
            "extract(year FROM $)",
            "extract(isoyear FROM $)",
            "extract(quarter FROM $)",
            "extract(month FROM $)",
            "extract(week FROM $)",
            "extract(day FROM $)",
            "extract(doy FROM $)",
            "extract(dow FROM $)",
            "extract(isodow FROM $)",
            "extract(hour FROM $)",
            "extract(minute FROM $)",
            "extract(second FROM $)",
            "extract(milliseconds FROM $)",
            "extract(microseconds FROM $)",
            "extract(epoch FROM $)",
            "extract(epoch FROM $ - TIMESTAMP '2024-02-28 01:00:00')",
            "extract(epoch FROM ($ - TIMESTAMP WITH TIME ZONE '2024-02-28 01:00:00.25+00'))",
            "extract(epoch FROM $ - TIME '01:00:00')",
            "extract(day FROM $ - TIMESTAMP '2024-02-28 01:00:00')",
            "extract(day FROM TIMESTAMP '2024-02-28 01:00:00' - $)",
            "extract(epoch FROM $ - interval '1 day')",
            "extract(epoch FROM $ - DATE '2024-02-28')",
            "extract(hour FROM $ - TIMESTAMP '2024-02-28 01:00:00')",
            "extract(hour FROM TIMESTAMP '2024-02-28 01:00:00' - $)",
            "extract(minute FROM $ - TIMESTAMP '2024-02-28 01:00:00')",
            "extract(second FROM ($ - TIMESTAMP '2024-02-28 01:00:00.125'))",
            "extract(second FROM TIMESTAMP '2024-02-28 01:00:00.125' - $)",
            "extract(month FROM $ - TIMESTAMP '2024-02-28 01:00:00')",
            "$ - TIMESTAMP '2024-02-28 01:00:00' > interval '1 day'",
            "$ - TIMESTAMP '2024-02-28 01:00:00' <= interval '1 month' * 2",
            "interval '36 hours 30 minutes' < TIMESTAMP '2024-02-28 01:00:00' - $",
            "$ - TIMESTAMP '2024-02-28 01:00:00' = $ - TIMESTAMP '2024-02-28 01:00:00'",
            "$ - DATE '2024-02-28' > interval '1 day'",
            "$ - TIME '01:00:00' >= interval '-1 hour'",
            "$ + interval '1 day' * 2",
            "$ - 3 * interval '90 minutes'",
            "$ - interval '1 year 2 days' * -1",
            "extract(century FROM $)",
            "extract(julian FROM $)",
            "extract(timezone FROM $)",
            "date_trunc('year', $)",
            "date_trunc('quarter', $)",
            "date_trunc('month', $)",
            "date_trunc('week', $)",
            "date_trunc('day', $)",
            "date_trunc('hour', $)",
            "date_trunc('minute', $)",
            "date_trunc('second', $)",
            "date_trunc('milliseconds', $)",
            "date_trunc('decade', $)",
            "$ + 7",
            "7 + $",
            "$ - 7",
            "$ - DATE '2024-02-28'",
            "$ - TIMESTAMP '2024-02-28 01:00:00'",
            "$ + interval '1 day'",
            "$ - interval '1 month'",
            "$ + interval '90 minutes'",
            "$ > DATE '2024-02-28'",
            "$ < TIMESTAMP '2024-02-28 01:00:00'",
            "$ = TIME '00:00:00'",
            "$ BETWEEN DATE '1999-01-01' AND DATE '2026-12-31'",
            "$ < '9999-12-31'",
            "$ > '1600-01-01 00:00:00'",
            "$ = '2026-02-03 04:05:06+02'",
            "greatest($, DATE '2024-02-28')",
            "date_part('year', $)",
            "date_part('dow', $)",
            "date_part('epoch', $)",
            "to_char($, 'YYYY-MM-DD HH24:MI:SS.MS')",
            "to_char($, 'YY Q MM Mon MON mon DD DDD D ID IW IYYY WW')",
            "to_char($, 'Day, DD Month YYYY; DAY day MONTH month|')",
            "to_char($, 'FMDay FMDD FMMonth FMMM FMYYYY FMDDD FMHH24 FMHH12')",
            "to_char($, 'DY dy Dy HH12 HH AM pm am PM US')",
            "to_char($, 'yyyy-mm-dd\"T\"hh24:mi:ss')",
            "to_char($, 'YYYYMMDD')",
            "to_char($, 'YYYY/\"Q\"Q (FMMonth) é 7')",
            "to_char($, '')",
            "to_char($, 'DDth')",
            "to_char($, 'SSSS')",
            "to_char($, 'SSSSS')",
            "to_char($, 'Y,YYY')",
            "to_char($, 'YYY')",
            "to_char($, 'YYYYY')",
            "to_char($, 'J')",
            "to_char($, 'Month-mOnth')",
            "to_char($, 'TZ')",
            "$ AT TIME ZONE 'Europe/Berlin'",
        ],
    ),
    (
        &["b"],
        &[
            "NOT $",
            "$ IS TRUE",
            "$ IS NOT TRUE",
            "$ IS UNKNOWN",
            "$ AND k.s > 0",
            "$ OR k.s > 0",
            "$ = true",
            "coalesce($, false)",
            "CASE WHEN $ THEN 1 ELSE 2.5 END",
        ],
    ),
    (&["s", "i"], &["make_date(2024, $, 1)", "make_date($, 2, 29)"]),
    (
        &["u"],
        &[
            "$ = '6F0B1A52-8D0E-4C57-9D1B-6A7F3F0C2B11'",
            "$ = '{6f0b1a528d0e4c579d1b6a7f3f0c2b11}'",
            "$ < '00000000-0000-0000-0000-000000000001'",
            "$ = 'no uuid'",
            "$ = '6F0B1A52-8D0E-4C57-9D1B-6A7F3F0C2B11'::uuid",
            "$ = UUID '{6f0b1a528d0e4c579d1b6a7f3f0c2b11}'",
            "$ = CAST('no uuid' AS uuid)",
            "coalesce($, '6F0B1A52-8D0E-4C57-9D1B-6A7F3F0C2B11'::uuid)",
            "$ IN ('6F0B1A52-8D0E-4C57-9D1B-6A7F3F0C2B11')",
        ],
    ),
    (
        &["c"],
        &[
            "$ = 'ab   '",
            "$ = 'ab'",
            "'ab ' = $",
            "$ IN ('ab ', 'x y  ')",
            "$ LIKE 'ab'",
            "$ LIKE 'ab%'",
            "$ LIKE 'ab   '",
            "$ NOT ILIKE 'TRUE_'",
            "$ BETWEEN 'a ' AND 'b '",
            "length($)",
            "$ || '!'",
        ],
    ),
    (&["o"], &["octet_length($)", "length($)", "$ = '\\x0102'", "$ < '\\xff'", "$ || '\\x01'"]),
];

/// Aggregates of columns, over all rows and over groups of them.
const AGGREGATES: &[&str] = &[
    "count($)",
    "count(DISTINCT $)",
    "sum($)",
    "sum(DISTINCT $)",
    "avg($)",
    "round(avg($), 2)",
    "min($)",
    "max($)",
    "stddev($)",
    "stddev_samp($)",
    "stddev_pop($)",
    "variance($)",
    "var_samp($)",
    "var_pop($)",
    "bit_and($)",
    "bit_or($)",
    "bit_xor($)",
    "bool_and($)",
    "bool_or($)",
    "every($)",
    "string_agg($, ',' ORDER BY k.id)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY $)",
    "percentile_cont(0.9) WITHIN GROUP (ORDER BY $ DESC)",
    "percentile_cont(0) WITHIN GROUP (ORDER BY $)",
    "percentile_cont(1.5) WITHIN GROUP (ORDER BY $)",
    "percentile_cont(NULL) WITHIN GROUP (ORDER BY $)",
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY $) FILTER (WHERE k.id <> 2)",
    "percentile_cont($, 0.5)",
    "corr($, k.f)",
    "covar_pop($, k.f)",
    "array_agg($)",
    "first_value($)",
    "median($)",
    "approx_distinct($)",
    "count(*) FILTER (WHERE $ IS NOT NULL)",
];

/// An exact number has as many digits behind the point as its column here, and there as it needs; a quotient has twenty. Of
/// what a library of mathematics computes, the last digit is its own.
pub(super) fn is_same(expression: &str, told: Option<&str>, expected: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<f64>().ok());
    let is_computed = expression.contains('/') || DOUBLES.iter().any(|name| expression.starts_with(name));
    let is_near = || match (number(told), number(expected)) {
        (Some(one), Some(other)) => (one - other).abs() <= (1e-15 * one.abs().max(other.abs()) * 4.0).max(1e-20),
        _ => false,
    };
    told == expected || trimmed(told) == trimmed(expected) || (is_computed && is_near())
}

/// Functions of a library of mathematics.
const DOUBLES: &[&str] = &[
    "sqrt", "cbrt", "exp", "ln", "log10", "power", "sin", "cos", "tan", "cot", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "degrees", "radians", "pi",
];

#[actix_web::test]
async fn functions_answer_as_in_postgresql() {
    let (database, app) = kinds().await;
    let expressions = OF.iter().flat_map(|(columns, calls)| {
        columns.iter().flat_map(|column| calls.iter().map(move |call| call.replace('$', &format!("k.{column}"))))
    });
    compare(&database, &app, expressions.collect(), is_same).await;
}

#[actix_web::test]
async fn aggregates_answer_as_in_postgresql() {
    let (database, app) = kinds().await;
    let (mut differ, mut refused, mut compared) = (Vec::new(), Vec::new(), 0);
    // The engine has those of octets and UUIDs too.
    for column in COLUMNS.iter().filter(|column| !["o", "u"].contains(column)) {
        let calls: Vec<String> =
            AGGREGATES.iter().map(|aggregate| aggregate.replace('$', &format!("k.{column}"))).collect();
        differ.extend(other_types(&app, &calls, "GROUP BY k.s").await);
        for call in calls {
            let ask = |from: &str| {
                format!("SELECT CAST({call} AS text) AS it FROM {from} WHERE k.id < 5 GROUP BY k.s ORDER BY k.s")
            };
            let there = texts_there(&database, &ask("kinds k")).await;
            let here = texts_here(&app, &ask(BOTH)).await;
            match (here, there) {
                (Ok(here), Ok(there)) if is_alike(&here, &there) => compared += 1,
                (Err(_), Err(_)) => {}
                (Err(here), Ok(_)) => refused.push(format!("{call}: {}", here.words)),
                (here, there) => differ.push(format!("{call}\n  PostgreSQL: {there:?}\n  Portico:    {here:?}")),
            }
        }
    }
    crate::walls::server::say(&format!("{compared} compared; refused here:\n{}", refused.join("\n")));
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}

/// Whether values are the same but for the last digits of floats and quotients.
fn is_alike(here: &[Option<String>], there: &[Option<String>]) -> bool {
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<f64>().ok());
    here.len() == there.len()
        && here.iter().zip(there).all(|(here, there)| match (number(here), number(there)) {
            _ if here == there => true,
            (Some(one), Some(other)) => (one - other).abs() <= 1e-13 * one.abs().max(other.abs()),
            _ => false,
        })
}

/// Types that the engine has as text compare as PostgreSQL does, or not at all.
#[actix_web::test]
async fn types_of_their_own_are_compared_as_there_or_not_at_all() {
    let url = fixture::postgres().await;
    let database = connect(&url).await;
    let tables = "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE DOMAIN code AS text;
        CREATE TABLE own (id int, m mood, i interval, j jsonb, n inet, t timetz, a int[], r int4range, g money, c code);
        INSERT INTO own VALUES (1, 'sad', '1 day', '{\"a\": 1.0}', '10.0.0.1', '12:00+00', '{1}', '[1,3)', 1, 'x'),
            (2, 'happy', '24 hours', '{\"a\": 1}', '10.0.0.1/32', '14:00+02', '{2}', '[1,3)', 10, 'y'),
            (3, 'ok', NULL, NULL, '9.0.0.1', NULL, NULL, NULL, 9, NULL)";
    database.batch_execute(tables).await.unwrap();
    let app = sources(&url, "CREATE TABLE one (id BIGINT); INSERT INTO one VALUES (1), (2), (3)", "").await;
    let (mut differ, mut compared) = (Vec::new(), 0);
    for column in ["m", "i", "j", "n", "t", "a", "r", "g", "c"] {
        for text in [
            "SELECT k.id FROM $ WHERE k.# = k.# ORDER BY k.id",
            "SELECT k.id FROM $ ORDER BY k.#, k.id",
            "SELECT count(*) FROM $ GROUP BY k.# ORDER BY 1",
            "SELECT DISTINCT k.# IS NULL AS it FROM $ ORDER BY 1",
            "SELECT count(DISTINCT k.#) FROM $",
            "SELECT count(*) FROM (SELECT DISTINCT k.# FROM $) AS x",
            "SELECT CAST(min(k.#) AS text) FROM $",
            "SELECT a.id FROM $ JOIN % a ON a.# = k.# WHERE k.id = 1 ORDER BY 1",
            "SELECT k.id, row_number() OVER (ORDER BY k.#) FROM $ ORDER BY 1",
            "SELECT k.id FROM $ WHERE CAST(k.# AS text) = 'sad' ORDER BY k.id",
            "SELECT k.id FROM $ WHERE k.# > (SELECT min(#) FROM % x WHERE x.id = 3) ORDER BY k.id",
        ] {
            let text = text.replace('#', column);
            let there = text.replace('$', "shop.public.own k").replace('%', "shop.public.own");
            let here = text
                .replace('$', "shop.public.own k JOIN crm.main.one o ON o.id = k.id")
                .replace('%', "shop.public.own");
            let (_, direct) = app.query(json!({"query": there})).await;
            let (status, crossing) = app.query(json!({"query": here})).await;
            if status == 200 {
                compared += 1;
                if crossing["results"][0]["rows"] != direct["results"][0]["rows"] {
                    differ.push(format!("{text}\n  PostgreSQL: {direct}\n  Portico:    {crossing}"));
                }
            } else {
                assert_ne!(crossing["error"]["code"], Value::from(1900), "{here}: {crossing}");
            }
        }
    }
    crate::walls::server::say(&format!("{compared} compared"));
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n"));
}
