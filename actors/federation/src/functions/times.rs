//! Dates and times beside each other, and beside numbers and intervals.

use arrow_schema::{DataType as ArrowType, TimeUnit};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, cast as to_type};

use super::elapsed;
use super::numbers::checked;
use super::types::TypeCategory;

/// A sum or difference with a date or a time in it, as PostgreSQL has it: a date and days are a date, two dates are a
/// number of days, and a date and an interval are an instant. A literal date and whole days stay a date.
///
/// # Errors
/// For two times, whose difference is an interval.
pub(crate) fn shifted(
    (left, of_left): (&Expr, &ArrowType),
    op: Operator,
    (right, of_right): (&Expr, &ArrowType),
) -> EngineResult<Option<Expr>> {
    let is_date = |type_: &ArrowType| TypeCategory::of(type_) == Some(TypeCategory::Date);
    let is_time = |type_: &ArrowType| TypeCategory::of(type_).is_some_and(TypeCategory::is_time);
    let has_hours = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(value), _) => value.is_some_and(|value| value.nanoseconds != 0),
        Expr::Literal(ScalarValue::IntervalDayTime(value), _) => value.is_some_and(|value| value.milliseconds != 0),
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => false,
        _ => true,
    };
    // A literal that whole days are added to is most often compared with dates.
    let is_literal = |expr: &Expr| match expr {
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Literal(..)),
        other => matches!(other, Expr::Literal(..)),
    };
    let is_instant = |date: &Expr, interval: &Expr| has_hours(interval) || !is_literal(date);
    let days = |date: &Expr| to_type(to_type(date.clone(), ArrowType::Date32), ArrowType::Int32);
    let begun = |date: &Expr| to_type(date.clone(), ArrowType::Timestamp(TimeUnit::Microsecond, None));
    let both = |left, right| Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))));
    let Some(function) = checked(op) else { return Ok(None) };
    let is_sum = op == Operator::Plus;
    Ok(match (of_left, of_right) {
        (date, ArrowType::Interval(_)) if is_date(date) && is_instant(left, right) => both(begun(left), right.clone()),
        (ArrowType::Interval(_), date) if is_date(date) && is_instant(right, left) => both(left.clone(), begun(right)),
        (date, whole) if is_date(date) && whole.is_integer() => {
            Some(to_type(function.call(vec![days(left), to_type(right.clone(), ArrowType::Int32)]), ArrowType::Date32))
        }
        (whole, date) if is_sum && is_date(date) && whole.is_integer() => {
            Some(to_type(function.call(vec![days(right), to_type(left.clone(), ArrowType::Int32)]), ArrowType::Date32))
        }
        (one, other) if !is_sum && is_date(one) && is_date(other) => Some(function.call(vec![days(left), days(right)])),
        (one, other) if is_time(one) && is_time(other) => return Err(elapsed::refused(one, op, other)),
        _ => None,
    })
}

/// The type that dates and timestamps of these types have in common; `None` where they are of one type, or others.
pub(crate) fn common_time<'a>(types: impl Iterator<Item = &'a ArrowType>) -> Option<ArrowType> {
    let mut classes: Vec<TypeCategory> = types.filter_map(TypeCategory::of).collect();
    classes.sort_unstable_by_key(|class| *class as u8);
    classes.dedup();
    classes.retain(|class| matches!(class, TypeCategory::Date | TypeCategory::Timestamp | TypeCategory::Zoned));
    let zone = classes.contains(&TypeCategory::Zoned).then(|| "UTC".into());
    (classes.len() > 1).then_some(ArrowType::Timestamp(TimeUnit::Microsecond, zone))
}

/// A date as the instant at which it begins, in UTC; anything else as it is.
pub(crate) fn begun_in_utc(expr: Expr, schema: &DFSchema) -> Expr {
    match expr.get_type(schema).ok().as_ref().and_then(TypeCategory::of) {
        Some(TypeCategory::Date) => to_type(expr, ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        _ => expr,
    }
}
