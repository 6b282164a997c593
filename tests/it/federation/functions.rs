//! Whether functions and operators answer in the engine as they do in PostgreSQL: each that is there, over values of each
//! type that it takes. Refused alike, or refused here; never another answer.

use serde_json::{Value, json};

use super::comparing::{BOTH, COLUMNS, compare, kinds, other_types, texts_here, texts_there, trimmed};
use super::expressions::{AGGREGATES, OF};
use super::{sources, told};
use crate::support::fixture;
use crate::support::postgres::connect;

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

/// A value that may be a `char(n)` or another text is of the type that it has in PostgreSQL, which is that of the first.
#[actix_web::test]
async fn texts_beside_each_other_are_of_the_type_of_the_first() {
    let url = fixture::postgres().await;
    let tables = "CREATE TABLE own (id int, c char(4), e char(6), v varchar(8), t text);
        INSERT INTO own VALUES (1, 'a', 'a', 'a', 'a'), (2, 'b', 'a', 'a ', 'a '), (3, NULL, 'b ', ' a', ''), (4, '', NULL, NULL, 'a  ')";
    connect(&url).await.batch_execute(tables).await.unwrap();
    let app = sources(&url, "CREATE TABLE one (id BIGINT); INSERT INTO one VALUES (1), (2), (3), (4)", "").await;
    let texts = ["k.c", "k.e", "k.v", "k.t", "'a '", "'b'"];
    let pairs = texts.iter().flat_map(|one| texts.iter().map(move |other| (*one, *other)));
    let (mut differ, mut compared) = (Vec::new(), 0);
    for (one, other) in pairs.filter(|(one, other)| one.starts_with('k') || other.starts_with('k')) {
        for text in [
            "SELECT count(DISTINCT CASE WHEN k.id > 2 THEN # ELSE @ END) FROM $",
            "SELECT count(DISTINCT coalesce(nullif(#, 'a'), @)) FROM $",
            "SELECT count(DISTINCT greatest(#, @)) FROM $",
            "SELECT count(*) FROM $ WHERE coalesce(#, @) = 'a '",
            "SELECT count(*) FROM $ WHERE CASE k.id WHEN 1 THEN # WHEN 2 THEN @ END || '|' = 'a|'",
            "SELECT count(*) FROM (SELECT # AS x FROM $ UNION SELECT @ FROM $) y",
            "SELECT count(*) FROM (SELECT # AS x FROM $ UNION ALL SELECT @ FROM $) y WHERE y.x = 'a '",
            "SELECT count(DISTINCT y.x) FROM (SELECT # AS x FROM $ UNION ALL SELECT @ FROM $ UNION ALL SELECT k.t FROM $) y",
            "SELECT count(*) FROM (SELECT k.e AS w, # AS x FROM $ UNION SELECT k.c, @ FROM $) y",
            "SELECT count(*) FROM (SELECT # FROM $ INTERSECT SELECT @ FROM $) y",
            "SELECT count(*) FROM (SELECT # FROM $ EXCEPT SELECT @ FROM $) y",
        ] {
            let text = text.replace('#', one).replace('@', other);
            let there = text.replace('$', "shop.public.own k");
            let here = text.replace('$', "shop.public.own k JOIN crm.main.one o ON o.id = k.id");
            let (direct, crossing) = (told(&app, &there).await, told(&app, &here).await);
            compared += 1;
            if direct != crossing {
                differ.push(format!("{text}\n  PostgreSQL: {direct}\n  Portico:    {crossing}"));
            }
        }
    }
    assert!(compared > 300 && differ.is_empty(), "{} of {compared} differ:\n{}", differ.len(), differ.join("\n"));
}
