//! Which parts of a statement over several connections PostgreSQL executes, and in which SQL.

use std::borrow::Cow;

use crate::statements::pushdown::{Pushdown, RowEstimate, Type, Use};

/// Of PostgreSQL.
pub(super) static PUSHDOWN: Pushdown = Pushdown {
    does: |type_, use_| match use_ {
        Use::Compare => true,
        Use::Compute => matches!(type_, Type::SmallInt | Type::Integer | Type::BigInt | Type::Decimal { .. }),
    },
    type_name: |type_| Some(name(type_)),
    literal,
    by_octets: " COLLATE \"C\"",
    // A nondeterministic collation finds more values equal than their bytes do, and none finds fewer.
    equality_is_wider: true,
    among: |expression, parameter, type_| {
        let element = match type_ {
            // With a precision a key would be rounded.
            Type::Decimal { .. } => "numeric".into(),
            type_ => name(type_),
        };
        Some(format!("{expression} = ANY (CAST({parameter} AS {element}[]))"))
    },
    null_safe_equality: "IS NOT DISTINCT FROM",
    like: true,
    regular_expression: Some("~"),
    date_part: |part, expression| Some(format!("EXTRACT({part} FROM {expression})")),
    substring: |text, from, length| {
        Some(match length {
            Some(length) => format!("SUBSTRING({text} FROM {from} FOR {length})"),
            None => format!("SUBSTRING({text} FROM {from})"),
        })
    },
    row_estimate: Some(RowEstimate {
        question: |statement| format!("EXPLAIN (FORMAT JSON) {statement}"),
        rows: expected_rows,
    }),
};

fn name(type_: Type) -> Cow<'static, str> {
    match type_ {
        Type::Boolean => "boolean".into(),
        Type::SmallInt => "smallint".into(),
        Type::Integer => "integer".into(),
        Type::BigInt => "bigint".into(),
        Type::Decimal { precision, scale } => format!("numeric({precision}, {scale})").into(),
        Type::Text => "text".into(),
        Type::Padded => "bpchar".into(),
        Type::Uuid => "uuid".into(),
        Type::Date => "date".into(),
        Type::Timestamp => "timestamp".into(),
        Type::TimestampZoned => "timestamptz".into(),
    }
}

fn literal(text: &str, type_: Type) -> Option<String> {
    // In a literal without a backslash the server's settings make no difference.
    let quoted = || {
        let doubled = text.replace('\'', "''");
        if text.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
    };
    (!text.contains('\0')).then(|| match type_ {
        Type::Boolean => text.to_owned(),
        Type::Decimal { .. } => format!("CAST('{text}' AS numeric)"),
        _ => format!("CAST({} AS {})", quoted(), name(type_)),
    })
}

/// `Plan Rows` of the topmost node; but at least as many as are fetched in about a hundredth of the time that it takes
/// to find them. Where much is gone through to find little, how little is a guess, and a table of so few rows is read
/// first at no cost: its keys may leave less to go through.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn expected_rows(plan: &str) -> Option<u64> {
    let plan: serde_json::Value = serde_json::from_str(plan).ok()?;
    let top = plan.get(0)?.get("Plan")?;
    let cost = top.get("Total Cost").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    Some(top.get("Plan Rows")?.as_u64()?.max((cost / 100.0) as u64))
}
