//! What SQLite does of a statement over several connections, in its SQL. It holds no column to its type: what the
//! engine would refuse as a value of another type is compared here as what it is, so that only whole numbers and
//! text are left to it, of which values of other types are neither.

use crate::statements::pushdown::{Explain, Pushdown, Type, Use};

/// Rows that are counted at most, to find out how many are expected.
const COUNTED: u64 = 20_000;
/// What is expected of a statement with as many.
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
    // It keeps no numbers of its own; as far as `COUNTED` its rows are counted.
    explain: Some(Explain {
        question: |statement| {
            format!("SELECT CAST(count(*) AS TEXT) FROM (SELECT 1 FROM ({statement}) LIMIT {COUNTED})")
        },
        rows: |count| count.parse().ok().map(|count| if count < COUNTED { count } else { MANY }),
    }),
};
