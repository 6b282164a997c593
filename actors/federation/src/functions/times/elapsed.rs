//! The time between two times, which is an interval to PostgreSQL: its seconds and its days are numbers, and it is compared
//! with a literal interval.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType as ArrowType, IntervalUnit};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result as EngineResult, ScalarValue, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    binary_expr, lit,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::external_error::external;
use crate::functions::numbers::{DIGITS, checked, quotient, rounding};
use crate::functions::times::parts;
use crate::functions::types::categories::{TypeCategory, type_name};
use crate::functions::udf_macros::own_signature;
use portico_core::error::{Error, Kind};

const MICROSECONDS: i128 = 1_000_000;
const MINUTE: i128 = 60;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;
/// Days that a month is where intervals are compared.
const MONTH: i128 = 30;

static ELAPSED: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(Elapsed { signature: Signature::user_defined(Volatility::Immutable) }))
});

/// The difference of two times, until it is known what is computed of it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Elapsed {
    signature: Signature,
}

impl ScalarUDFImpl for Elapsed {
    fn name(&self) -> &'static str {
        "elapsed"
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(ArrowType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        internal_err!("bug: a difference of two times was not refused")
    }
}

/// Returns the two times whose difference `expr` is.
fn ends(expr: &Expr) -> Option<[&Expr; 2]> {
    match expr {
        Expr::Alias(alias) => ends(&alias.expr),
        Expr::ScalarFunction(call) if call.func == *ELAPSED => call.args.iter().collect::<Vec<_>>().try_into().ok(),
        _ => None,
    }
}

/// Returns the replacement of an operator on intervals; `None` if the engine's is used.
pub(in crate::functions) fn operator(
    op: &BinaryOperator,
    left: &Expr,
    right: &Expr,
    schema: &DFSchema,
) -> Option<Expr> {
    let compares = match op {
        BinaryOperator::Minus => {
            let category =
                |expr: &Expr| TypeCategory::from_type(&expr.get_type(schema).ok()?).filter(|of| of.is_time());
            let (one, other) = (category(left)?, category(right)?);
            // The difference of two dates is a number of days, and a time of day cannot be combined with these.
            let is_interval = one != other || one != TypeCategory::Date;
            let is_alike = (one == TypeCategory::Time) == (other == TypeCategory::Time);
            return (is_interval && is_alike).then(|| ELAPSED.call(vec![left.clone(), right.clone()]));
        }
        BinaryOperator::Multiply => return times(left, right).or_else(|| times(right, left)),
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    };
    ends(left).or_else(|| ends(right))?;
    let (left, right) = (seconds(left)?, seconds(right)?);
    Some(binary_expr(left, compares, right))
}

/// A literal interval so many times.
fn times(interval: &Expr, times: &Expr) -> Option<Expr> {
    let (Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _), Expr::Literal(times, _)) =
        (interval, times)
    else {
        return None;
    };
    let times = match times {
        ScalarValue::Int64(Some(times)) => *times,
        ScalarValue::Int32(Some(times)) => (*times).into(),
        _ => return None,
    };
    let few = i32::try_from(times).ok()?;
    let mut product = *interval;
    product.months = product.months.checked_mul(few)?;
    product.days = product.days.checked_mul(few)?;
    product.nanoseconds = product.nanoseconds.checked_mul(times)?;
    Some(lit(ScalarValue::IntervalMonthDayNano(Some(product))))
}

/// The seconds of the time between two times, or of a literal interval as it is compared.
fn seconds(expr: &Expr) -> Option<Expr> {
    if let Some([end, begin]) = ends(expr) {
        let epoch = |time: &Expr| parts::extract().call(vec![lit("epoch"), time.clone()]);
        return Some(checked(Operator::Minus)?.call(vec![epoch(end), epoch(begin)]));
    }
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) = expr else { return None };
    let days = i128::from(interval.months) * MONTH + i128::from(interval.days);
    let microseconds = days * DAY * MICROSECONDS + i128::from(interval.nanoseconds / 1000);
    Some(lit(ScalarValue::Decimal128(Some(microseconds), DIGITS, 6)))
}

/// Returns a part of the difference of two times, which consists of days and a rest; `None` if `args` are another
/// value, or another part.
pub(in crate::functions) fn part(args: &[Expr]) -> Option<Expr> {
    let [Expr::Literal(part, _), between] = args else { return None };
    ends(between)?;
    let number = |number: i128| lit(ScalarValue::Decimal128(Some(number), DIGITS, 0));
    let whole = |seconds: Expr, unit| rounding::towards_zero().call(vec![quotient().call(vec![seconds, number(unit)])]);
    let within = |unit| Some(binary_expr(seconds(between)?, Operator::Modulo, number(unit)));
    match part.try_as_str()??.to_lowercase().as_str() {
        "epoch" => seconds(between),
        "day" | "days" => Some(whole(seconds(between)?, DAY)),
        "hour" | "hours" => Some(whole(within(DAY)?, HOUR)),
        "minute" | "minutes" => Some(whole(within(HOUR)?, MINUTE)),
        "second" | "seconds" => within(MINUTE),
        _ => None,
    }
}

/// Replaces the difference of two times by seconds, if only its order (`is_key` of a sort) or its presence matters.
pub(in crate::functions) fn in_seconds(expr: Expr, is_key: bool) -> EngineResult<Expr> {
    let between = |expr: &Expr| ends(expr).and_then(|_| seconds(expr));
    if is_key && let Some(seconds) = between(&expr) {
        return Ok(seconds);
    }
    let of_presence = |expr| {
        let (inner, presence): (_, fn(Box<Expr>) -> Expr) = match &expr {
            Expr::IsNull(inner) => (inner, Expr::IsNull),
            Expr::IsNotNull(inner) => (inner, Expr::IsNotNull),
            _ => return Ok(Transformed::no(expr)),
        };
        Ok(match between(inner) {
            Some(seconds) => Transformed::yes(presence(Box::new(seconds))),
            None => Transformed::no(expr),
        })
    };
    expr.transform_down(of_presence).data()
}

/// Refuses the difference of two times in other uses.
///
/// # Errors
/// `42883`, with what to write.
pub(in crate::functions) fn admit(func: &ScalarUDF, types: &[ArrowType]) -> EngineResult<()> {
    match types {
        [end, begin] if *func == **ELAPSED => Err(refused(end, Operator::Minus, begin)),
        _ => Ok(()),
    }
}

/// The refusal of a sum or a difference of two times.
pub(in crate::functions) fn refused(left: &ArrowType, op: Operator, right: &ArrowType) -> DataFusionError {
    let message =
        format!("operator {} {op} {} is not supported over several connections", type_name(left), type_name(right));
    let hint = "extract(epoch FROM (a - b)) is the number of seconds between two times, which avg and sum take too; a - b \
                can be compared with a literal interval, and has a day, an hour, a minute and a second";
    external(Error::new(Kind::Rejected, message).sqlstate("42883").hint(hint))
}
