//! Values that stand beside each other, because they are compared or one of them is answered: they are of one type, as
//! PostgreSQL finds it.

use arrow_schema::DataType as ArrowType;
use datafusion::common::{DFSchema, Result as EngineResult, not_impl_err};
use datafusion::logical_expr::{Expr, ExprSchemable, cast as to_type};

use crate::external_error::external;
use crate::functions::numbers;
use crate::functions::times::date_arithmetic;
use crate::functions::types::casts;
use crate::functions::types::categories::{TypeCategory, admit_together, is_interval, type_name};
use crate::functions::types::padded;
use crate::plan::comparison::{self, Comparison};
use portico_core::error::{Error, Kind};

/// Whether it is a literal, or the cast of one.
pub(in crate::functions) fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Negative(inner) => is_constant(inner),
        _ => false,
    }
}

/// The values that are compared with each other, of types that compare as PostgreSQL's do.
pub(in crate::functions) fn same(
    exprs: Vec<Expr>,
    schema: &DFSchema,
    by_order: bool,
    use_: Use,
) -> EngineResult<Vec<Expr>> {
    for expr in &exprs {
        if expr.get_type(schema).is_ok_and(|of| is_interval(&of)) {
            return not_impl_err!("compare values of type interval; compare dates and times instead");
        }
    }
    let is_date = |expr: &Expr| expr.get_type(schema).is_ok_and(|of| of == ArrowType::Date32);
    let is_beside = exprs.iter().any(date_arithmetic::is_midnight) && exprs.iter().any(is_date);
    let exprs = if is_beside { exprs.into_iter().map(date_arithmetic::as_date).collect() } else { exprs };
    let exprs = casts::literals_beside(exprs, schema)?;
    comparison::compared(of_one_type(exprs, schema, use_)?, schema, by_order)
}

pub(in crate::functions) fn alike<const N: usize>(
    exprs: [Expr; N],
    schema: &DFSchema,
    by_order: bool,
) -> EngineResult<[Expr; N]> {
    let same = same(exprs.into(), schema, by_order, Use::Compared)?;
    same.try_into().or_else(|_| not_impl_err!("compare another number of values than two"))
}

/// Gives the values, one of which is returned, a common type.
pub(in crate::functions) fn answered(exprs: Vec<Expr>, schema: &DFSchema) -> EngineResult<Vec<Expr>> {
    let exprs = casts::literals_beside(exprs, schema)?;
    admit_texts(&exprs.iter().filter_map(|expr| expr.get_type(schema).ok()).collect::<Vec<_>>())?;
    let mut exprs = padded::of_one_type(of_one_type(exprs, schema, Use::Answered)?, schema)?;
    if let Some(how) = Comparison::spelled(exprs.iter().map(|expr| Comparison::handed_on(expr, schema))) {
        exprs = exprs.into_iter().map(|expr| how.literal(expr)).collect::<EngineResult<_>>()?;
    }
    let types: Vec<ArrowType> = exprs.iter().map_while(|expr| expr.get_type(schema).ok()).collect();
    // Until the engine has given them their type, a CASE is of that of its first value to it.
    let to = (types.len() == exprs.len()).then(|| numbers::common(types.iter())).flatten();
    Ok(match to {
        Some(to) => exprs.into_iter().map(|expr| to_type(expr, to.clone())).collect(),
        None => exprs,
    })
}

/// Refuses texts beside other types: the engine would convert all to text.
pub(in crate::functions) fn admit_texts(types: &[ArrowType]) -> EngineResult<()> {
    let find = |is_text: bool| {
        types.iter().find(|of| (TypeCategory::from_type(of) == Some(TypeCategory::Text)) == is_text && !of.is_null())
    };
    match (find(true), find(false)) {
        (Some(text), Some(other)) => {
            let message = format!("types {} and {} cannot be matched", type_name(other), type_name(text));
            Err(external(Error::new(Kind::Rejected, message).sqlstate("42804").hint("CAST both to one type")))
        }
        _ => Ok(()),
    }
}

/// How values of a common type are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::functions) enum Use {
    Compared,
    /// One of them is answered.
    Answered,
}

/// Exact numbers beside floats become floats, and dates beside timestamps become these: the engine makes exact numbers of
/// the floats, and counts nanoseconds. Exact numbers that are compared are given the digits that they need all together.
fn of_one_type(exprs: Vec<Expr>, schema: &DFSchema, use_: Use) -> EngineResult<Vec<Expr>> {
    let types: Vec<Option<ArrowType>> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
    admit_together(types.iter().flatten())?;
    let has = |is: fn(&ArrowType) -> bool| types.iter().flatten().any(is);
    let (is_number, to): (fn(&ArrowType) -> bool, _) = if has(ArrowType::is_floating) && has(numbers::is_exact) {
        let is_single = use_ == Use::Answered && !has(|of| *of == ArrowType::Float64);
        (ArrowType::is_numeric, if is_single { ArrowType::Float32 } else { ArrowType::Float64 })
    } else if let Some(to) = date_arithmetic::common_time(types.iter().flatten()) {
        (ArrowType::is_temporal, to)
    } else {
        let is_wide = use_ == Use::Compared && types.iter().all(Option::is_some) && !exprs.iter().any(is_constant);
        let Some(to) = is_wide.then(|| numbers::wider(types.iter().flatten())).flatten() else { return Ok(exprs) };
        (numbers::is_exact, to)
    };
    let widened = |(expr, of): (Expr, &Option<ArrowType>)| match of {
        Some(of) if of.is_decimal() && to.is_floating() => casts::to_float(expr, &to),
        Some(of) if is_number(of) && *of != to => to_type(expr, to.clone()),
        _ => expr,
    };
    Ok(exprs.into_iter().zip(&types).map(widened).collect())
}
