//! Whether values become others in the engine as they do in PostgreSQL: casts, and what makes text of other values.

use super::comparing::{compare, kinds, trimmed};

/// Columns of `kinds` that become others.
const COLUMNS: &[&str] = &["s", "i", "l", "n", "p", "f", "r", "b", "t", "v", "c", "d", "ts", "tz", "h", "o"];
const TYPES: &[&str] = &[
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "numeric(10, 1)",
    "numeric(4, 2)",
    "real",
    "double precision",
    "boolean",
    "text",
    "varchar",
    "varchar(2)",
    "char(3)",
    "char",
    "date",
    "timestamp",
    "timestamptz",
    "time",
];
/// What makes text of other values, with `$` for the column.
const TEXTS: &[&str] =
    &["$ || '!'", "'<' || $", "concat($, '|')", "concat_ws('-', $, 'x')", "coalesce(CAST($ AS text), 'none')"];

/// Whether both texts are the same. An exact number has ten digits behind the point here, and there as many as it needs.
fn is_same(expression: &str, told: Option<&str>, expected: Option<&str>) -> bool {
    told == expected || (expression.contains("numeric") && trimmed(told) == trimmed(expected))
}

/// Refused alike, or a value that is refused here; never another value.
#[actix_web::test]
async fn values_become_others_as_in_postgresql() {
    let (database, app) = kinds().await;
    let mut expressions: Vec<String> = COLUMNS
        .iter()
        .flat_map(|column| {
            let casts = TYPES.iter().map(move |type_| format!("CAST(k.{column} AS {type_})"));
            casts.chain(TEXTS.iter().map(move |text| text.replace('$', &format!("k.{column}"))))
        })
        .collect();
    // As PostgreSQL shows them, so that types do not count.
    expressions.extend(["k.f", "k.r"].map(|column| format!("CAST({column} AS text)")));
    compare(&database, &app, expressions, is_same).await;
}
