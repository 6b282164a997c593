//! Dates and times beside each other, and beside numbers and intervals.

use arrow_schema::DataType as ArrowType;
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, cast as to_type};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::functions::numbers::checked;
use crate::functions::times::elapsed;
use crate::functions::types::categories::{TypeCategory, instant, is_interval};

/// Returns a sum or difference with a date or a time, as in PostgreSQL: a date and days are a date, two dates are a
/// number of days, and a date and an interval are a timestamp.
///
/// # Errors
/// For two times, whose difference is an interval.
pub(crate) fn shifted(
    (left, of_left): (&Expr, &ArrowType),
    op: Operator,
    (right, of_right): (&Expr, &ArrowType),
) -> EngineResult<Option<Expr>> {
    let is_date = |type_: &ArrowType| TypeCategory::from_type(type_) == Some(TypeCategory::Date);
    let is_time = |type_: &ArrowType| TypeCategory::from_type(type_).is_some_and(TypeCategory::is_time);
    let days = |date: &Expr| to_type(to_type(date.clone(), ArrowType::Date32), ArrowType::Int32);
    let begun = |date: &Expr| to_type(date.clone(), instant(false));
    let both = |left, right| Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))));
    let Some(function) = checked(op) else { return Ok(None) };
    let is_sum = op == Operator::Plus;
    Ok(match (of_left, of_right) {
        (date, ArrowType::Interval(_)) if is_date(date) => both(begun(left), right.clone()),
        (ArrowType::Interval(_), date) if is_date(date) => both(left.clone(), begun(right)),
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

/// Whether it is a literal interval, or a cast to one.
fn is_interval_of(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => is_interval(&value.data_type()),
        Expr::Cast(cast) => is_interval(cast.field.data_type()),
        _ => false,
    }
}

/// A date and an interval, which the engine would make a date; in PostgreSQL they are a timestamp.
pub(in crate::functions) fn moved(op: &BinaryOperator, left: &Expr, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let op = match op {
        BinaryOperator::Plus if is_interval_of(left) || is_interval_of(right) => Operator::Plus,
        BinaryOperator::Minus if is_interval_of(right) => Operator::Minus,
        _ => return None,
    };
    let types = [left.get_type(schema).ok()?, right.get_type(schema).ok()?];
    shifted((left, &types[0]), op, (right, &types[1])).ok().flatten()
}

/// An instant that is some whole days from a literal date as a date, which it is beside dates: these need not become instants,
/// and their source compares them.
pub(in crate::functions) fn as_date(expr: Expr) -> Expr {
    if is_midnight(&expr) { to_type(expr, ArrowType::Date32) } else { expr }
}

/// Whether it is some whole days from a literal date.
pub(in crate::functions) fn is_midnight(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus, right }) => {
            (is_midnight(left) && is_of_days(right)) || (is_of_days(left) && is_midnight(right))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) => is_midnight(left) && is_of_days(right),
        Expr::Cast(cast) if matches!(cast.field.data_type(), ArrowType::Timestamp(_, None)) => match &*cast.expr {
            Expr::Cast(date) => *date.field.data_type() == ArrowType::Date32 && matches!(*date.expr, Expr::Literal(..)),
            Expr::ScalarFunction(call) => call.name() == "current_date",
            other => matches!(other, Expr::Literal(ScalarValue::Date32(_), _)),
        },
        _ => false,
    }
}

/// Whether it is a literal interval without hours, minutes and seconds.
fn is_of_days(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(value), _) => value.is_none_or(|value| value.nanoseconds == 0),
        Expr::Literal(ScalarValue::IntervalDayTime(value), _) => value.is_none_or(|value| value.milliseconds == 0),
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => true,
        _ => false,
    }
}

/// Returns the common type of dates and timestamps; `None` if they have one type, or for other types.
pub(crate) fn common_time<'a>(types: impl Iterator<Item = &'a ArrowType>) -> Option<ArrowType> {
    let mut classes: Vec<TypeCategory> = types.filter_map(TypeCategory::from_type).collect();
    classes.sort_unstable_by_key(|class| *class as u8);
    classes.dedup();
    classes.retain(|class| matches!(class, TypeCategory::Date | TypeCategory::Timestamp | TypeCategory::Zoned));
    (classes.len() > 1).then(|| instant(classes.contains(&TypeCategory::Zoned)))
}

/// A date as the instant at which it begins, in UTC; anything else as it is.
pub(crate) fn begun_in_utc(expr: Expr, schema: &DFSchema) -> Expr {
    match expr.get_type(schema).ok().as_ref().and_then(TypeCategory::from_type) {
        Some(TypeCategory::Date) => to_type(expr, instant(true)),
        _ => expr,
    }
}
