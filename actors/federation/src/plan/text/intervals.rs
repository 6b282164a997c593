//! Literal intervals in the forms that PostgreSQL reads and the engine does not.

use datafusion::sql::sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Interval};

use crate::plan::text::syntax::{binary, nested, string, text_of, unnested};

/// Returns the engine's equivalent of an interval.
pub(super) fn said(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Interval(interval) if interval.leading_field.is_none() => {
            of_units(string(unnested(&interval.value))?).map(literal)
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: DataType::Interval { fields: None, precision: None },
            ..
        } => {
            let text = string(unnested(expr))?;
            Some(literal(of_units(text).unwrap_or_else(|| text.to_owned())))
        }
        // The engine compares the time between two times with an interval by operators alone.
        Expr::Between { expr, negated, low, high } if [low, high].iter().any(|bound| is_literal(bound)) => {
            let compared = |op, bound: &Expr| binary(Expr::Nested(expr.clone()), op, nested(bound.clone()));
            let (least, op, most) = match negated {
                false => (BinaryOperator::GtEq, BinaryOperator::And, BinaryOperator::LtEq),
                true => (BinaryOperator::Lt, BinaryOperator::Or, BinaryOperator::Gt),
            };
            Some(nested(binary(compared(least, low), op, compared(most, high))))
        }
        _ => None,
    }
}

/// Says a text in quotes as an interval.
pub(super) fn in_quotes(expr: &mut Expr) {
    if let Some(text) = string(unnested(expr)).map(str::to_owned) {
        *expr = literal(of_units(&text).unwrap_or(text));
    }
}

/// Replaces a clock time in the text by hours, minutes and seconds (`1 day 01:30:00`); `None` if there is none, or
/// one that PostgreSQL does not accept.
fn of_units(text: &str) -> Option<String> {
    let mut found = false;
    let words = text.split_ascii_whitespace().map(|word| {
        if !word.contains(':') {
            return Some(word.to_owned());
        }
        found = true;
        let (sign, clock) = match word.strip_prefix('-') {
            Some(clock) => ("-", clock),
            None => ("", word.strip_prefix('+').unwrap_or(word)),
        };
        let parts: Vec<&str> = clock.split(':').collect();
        let (hours, minutes, seconds) = match *parts.as_slice() {
            [hours, minutes] => (hours, minutes, "0"),
            [hours, minutes, seconds] => (hours, minutes, seconds),
            _ => return None,
        };
        let is_whole = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
        let is_below_sixty = |digits: &str| is_whole(digits) && digits.parse::<u8>().is_ok_and(|value| value < 60);
        let is_clock = is_whole(hours)
            && is_below_sixty(minutes)
            && is_below_sixty(whole)
            && (fraction.is_empty() || is_whole(fraction));
        is_clock.then(|| format!("{sign}{hours} hours {sign}{minutes} minutes {sign}{seconds} seconds"))
    });
    let words = words.collect::<Option<Vec<_>>>()?;
    found.then(|| words.join(" "))
}

fn is_literal(expr: &Expr) -> bool {
    match unnested(expr) {
        Expr::Interval(_) => true,
        Expr::BinaryOp { left, op: BinaryOperator::Multiply, right } => is_literal(left) || is_literal(right),
        _ => false,
    }
}

fn literal(text: String) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(text_of(text)),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}
