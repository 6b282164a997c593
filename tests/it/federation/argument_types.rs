//! Whether functions take in the engine the types that they take in PostgreSQL, in each of their places.

use super::comparing::{COLUMNS, compare, kinds};
use super::functions::is_same;

/// Functions that are given a value of each type in each of their places.
const PLACES: &[&str] = &[
    "abs($)",
    "ascii($)",
    "bit_length($)",
    "btrim($)",
    "btrim('aba', $)",
    "ceil($)",
    "character_length($)",
    "chr($)",
    "coalesce($, $)",
    "concat($, 'a')",
    "concat_ws($, 'a', 'b')",
    "cot($)",
    "date_part('year', $)",
    "date_trunc('day', $)",
    "extract(day FROM $)",
    "greatest($, $)",
    "initcap($)",
    "left($, 1)",
    "length($)",
    "lower($)",
    "lpad($, 3)",
    "lpad('a', 3, $)",
    "ltrim($)",
    "ltrim('aba', $)",
    "mod($, 2)",
    "nullif($, $)",
    "octet_length($)",
    "overlay($ placing 'x' from 1)",
    "overlay('abc' placing $ from 1)",
    "power($, 2)",
    "power(2, $)",
    "repeat($, 2)",
    "replace($, 'a', 'b')",
    "replace('a', $, 'b')",
    "replace('a', 'a', $)",
    "reverse($)",
    "right($, 1)",
    "round($)",
    "round(2.55, $)",
    "rpad($, 3)",
    "rpad('a', 3, $)",
    "rtrim($)",
    "rtrim('aba', $)",
    "split_part($, '-', 1)",
    "split_part('a-b', $, 1)",
    "starts_with($, 'a')",
    "starts_with('abc', $)",
    "strpos($, 'a')",
    "strpos('abc', $)",
    "substr($, 1)",
    "to_char($, 'YYYY')",
    "translate($, 'a', 'b')",
    "translate('abc', $, 'b')",
    "translate('abc', 'a', $)",
    "trunc($)",
    "upper($)",
];
/// The same of whole numbers, which may be bigints here.
const OF_INTEGERS: &[&str] = &[
    "left('abc', $)",
    "lpad('a', $)",
    "overlay('abc' placing 'x' from $)",
    "overlay('abc' placing 'x' from 1 for $)",
    "repeat('a', $)",
    "right('abc', $)",
    "rpad('a', $)",
    "split_part('a-b', '-', $)",
    "substr('abc', $)",
    "substr('abc', 1, $)",
    "substring('abc' from $ for 1)",
];

#[actix_web::test]
async fn functions_take_the_types_that_they_take_in_postgresql() {
    let (database, app) = kinds().await;
    let calls = COLUMNS.iter().flat_map(|column| PLACES.iter().chain(OF_INTEGERS).map(move |call| (*column, *call)));
    let is_other = |(column, call): &(&str, &str)| match *column {
        // Which letters there are is the locale's to say.
        "c" => ["upper($)", "initcap($)"].contains(call),
        // PostgreSQL adds the length to the place, and has no room for the sum.
        "i" => call.starts_with("overlay"),
        "l" => OF_INTEGERS.contains(call),
        _ => false,
    };
    let calls = calls.filter(|each| !is_other(each));
    let expressions = calls.map(|(column, call)| call.replace('$', &format!("k.{column}")));
    compare(&database, &app, expressions.collect(), is_same).await;
}
