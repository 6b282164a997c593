//! Window functions with PostgreSQL's results; those that the engine computes differently are refused.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition};

use crate::external_error::external;
use crate::functions::allowed;
use crate::functions::numbers::aggregates;
use crate::functions::types::casts;
use crate::plan::comparison::{self, Comparison};
use portico_core::error::{Error, Kind};

pub(in crate::functions) fn window(call: WindowFunction, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    comparison::admit_window(&call, schema)?;
    let WindowFunction { fun, mut params } = call;
    if let (Some(of), Some(default), "lag" | "lead") = (params.args.first(), params.args.get(2), fun.name()) {
        let default = Comparison::handed_on(of, schema).literal(default.clone())?;
        params.args[2] = casts::literals_beside(vec![of.clone(), default], schema)?.swap_remove(1);
    }
    let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
    allowed::admit_aggregate(fun.name(), of.as_ref())?;
    if params.null_treatment.is_some() {
        return not_impl_err!("IGNORE NULLS and RESPECT NULLS");
    }
    if fun.name() == "nth_value"
        && matches!(
            params.args.get(1),
            Some(Expr::Literal(ScalarValue::Int32(Some(..1)) | ScalarValue::Int64(Some(..1)), _))
        )
    {
        let error = Error::new(Kind::Rejected, "argument of nth_value must be greater than zero").sqlstate("22016");
        return Err(external(error.hint("1 is the first row of the frame")));
    }
    // To the engine that is 1.
    if let (Some(Expr::Literal(offset, _)), "lag" | "lead") = (params.args.get(1), fun.name())
        && offset.is_null()
    {
        return not_impl_err!("{} with NULL for its offset; leave the offset out", fun.name());
    }
    // The engine converts the default to the type of the other values, with any loss.
    if let (Some(of), Some(default), "lag" | "lead") = (&of, params.args.get(2), fun.name())
        && !is_within(&default.get_type(schema)?, of)
    {
        return not_impl_err!("{} with a default of another type; CAST both to one", fun.name());
    }
    // The engine subtracts rows that leave a frame from its sum, and ignores bounds of a range beyond the type's
    // end.
    let frame = &params.window_frame;
    let slides = !frame.start_bound.is_unbounded();
    let is_aggregate = matches!(fun, WindowFunctionDefinition::AggregateUDF(_));
    let is_of_floats = of.as_ref().is_some_and(ArrowType::is_floating) || allowed::is_of_doubles(fun.name());
    if slides && is_aggregate && is_of_floats && !matches!(fun.name(), "count" | "max" | "min") {
        return not_impl_err!("{} of floats over a frame that slides", fun.name());
    }
    if frame.units == WindowFrameUnits::Range && [&frame.start_bound, &frame.end_bound].into_iter().any(is_offset) {
        return not_impl_err!("RANGE with an offset; write ROWS");
    }
    by_groups(&mut params, schema)?;
    // One text for each row, each longer than the one before, would fill the memory.
    if fun.name() == "string_agg" || allowed::is_ordered_set(fun.name()) {
        return not_impl_err!("{} as a window function", fun.name());
    }
    if allowed::is_of_doubles(fun.name()) {
        params.args = casts::to_floats(params.args, schema)?;
    }
    let exact = match &fun {
        WindowFunctionDefinition::AggregateUDF(func) => of.and_then(|of| aggregates::exact(func.name(), &of)),
        WindowFunctionDefinition::WindowUDF(_) => None,
    };
    let changed = exact.is_some();
    let fun = exact.map_or(fun, |func| WindowFunctionDefinition::AggregateUDF(Arc::clone(&func)));
    let expr = Expr::WindowFunction(Box::new(WindowFunction { fun, params }));
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Returns true if each number of the one type is one of the other, or they are not numbers.
fn is_within(one: &ArrowType, other: &ArrowType) -> bool {
    match (one, other) {
        (one, other) if one.is_integer() && other.is_integer() => one.primitive_width() <= other.primitive_width(),
        (ArrowType::Decimal128(_, one), ArrowType::Decimal128(_, other)) => one <= other,
        (one, other) if other.is_integer() => !one.is_numeric(),
        (one, other) => !(one.is_floating() && other.is_decimal()),
    }
}

/// Whether a frame's bound is so far from the row at hand.
fn is_offset(bound: &WindowFrameBound) -> bool {
    match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => !offset.is_null(),
        WindowFrameBound::CurrentRow => false,
    }
}

/// Rows with equal order keys form a group: the engine has no ranges of times and bytes with these bounds.
fn by_groups(params: &mut WindowFunctionParams, schema: &DFSchema) -> EngineResult<()> {
    let frame = &mut params.window_frame;
    if frame.units == WindowFrameUnits::Range {
        for by in &params.order_by {
            if matches!(by.expr.get_type(schema)?, ArrowType::Time64(_) | ArrowType::Binary) {
                frame.units = WindowFrameUnits::Groups;
            }
        }
    }
    Ok(())
}
