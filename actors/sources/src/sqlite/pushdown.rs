//! Which parts of a statement over several connections SQLite executes, and in which SQL. SQLite does not enforce
//! column types: where the engine would refuse a value of another type, SQLite compares it by its own type. So only
//! comparisons of whole numbers and text are left to it, with values of other types excluded.

use crate::statements::pushdown::{Pushdown, RowEstimate, Type, Use};

/// Rows that are counted at most, to find out how many are expected.
const COUNTED: u64 = 20_000;
/// The estimate for a statement with as many rows.
const MANY: u64 = 1_000_000;

/// Of SQLite.
pub(super) static PUSHDOWN: Pushdown = Pushdown {
    does: |type_, use_| use_ == Use::Compare && matches!(type_, Type::BigInt | Type::Text),
    // A cast of SQLite never fails.
    type_name: |_| None,
    literal: |text, type_| match type_ {
        Type::BigInt => Some(text.to_owned()),
        Type::Text if !text.contains('\0') => Some(format!("'{}'", text.replace('\'', "''"))),
        _ => None,
    },
    by_octets: " COLLATE BINARY",
    // NOCASE finds more equal than octets do.
    equality_is_wider: true,
    among: |expression, parameter, type_| {
        matches!(type_, Type::BigInt | Type::Text)
            .then(|| format!("{expression} IN (SELECT value FROM json_each({parameter}))"))
    },
    null_safe_equality: "IS",
    // It takes capitals and small letters for the same.
    like: false,
    regular_expression: None,
    date_part: |_, _| None,
    substring: |_, _, _| None,
    // It keeps no statistics; its rows are counted up to `COUNTED`.
    row_estimate: Some(RowEstimate {
        question: |statement| {
            format!("SELECT CAST(count(*) AS TEXT) FROM (SELECT 1 FROM ({statement}) LIMIT {COUNTED})")
        },
        rows: |count| count.parse().ok().map(|count| if count < COUNTED { count } else { MANY }),
    }),
};
