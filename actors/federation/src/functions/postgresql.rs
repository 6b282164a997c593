//! Puts operators, casts and aggregates that answer as PostgreSQL's do into the places of the engine's, and refuses what
//! would be answered otherwise.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result as EngineResult, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, BinaryExpr, Case, Cast, InList, Like, ScalarFunction, WindowFunction,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, Operator, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
    cast as to_type, when,
};
use datafusion::optimizer::AnalyzerRule;

use super::numbers::{self, aggregates, doubles, percentile};
use super::types::{admit_together, is_interval, no_function};
use super::{allowed, casts, elapsed, growing, outer_types, padded, set_operations, times, typed};
use crate::plan::comparison;

/// To be run before the engine's own coercion of types: what ours are compared with, or stand beside of, is then coerced to
/// what they return.
#[derive(Debug)]
pub(crate) struct AsPostgresql;

impl AnalyzerRule for AsPostgresql {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        // What such a query is joined with has been given its type.
        let is_recursive = plan.exists(|node| Ok(matches!(node, LogicalPlan::RecursiveQuery(_))))?;
        analyzed(plan, is_recursive)
    }

    fn name(&self) -> &'static str {
        "as_postgresql"
    }
}

/// The plan with what it reads before it, and its subqueries after that: they may speak of it, by its types.
fn analyzed(plan: LogicalPlan, is_recursive: bool) -> EngineResult<LogicalPlan> {
    let before: Vec<DFSchemaRef> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let plan = plan.map_children(|child| analyzed(child, is_recursive).map(Transformed::yes)).data()?;
    let mut plan = if is_recursive { plan } else { set_operations::of_one_type(plan)? };
    if !is_recursive && plan.inputs().into_iter().zip(&before).any(|(input, before)| input.schema() != before) {
        plan = plan.recompute_schema()?;
    }
    let schema = merge_schema(&plan.inputs());
    let subquery = |subquery| {
        analyzed(outer_types::typed(subquery, &mut vec![schema.clone()])?.data, is_recursive).map(Transformed::yes)
    };
    let plan = plan.map_subqueries(subquery).data()?;
    comparison::check_comparisons(&plan)?;
    let is_kept = match &plan {
        // Its numbers are no values.
        LogicalPlan::Limit(_) => return Ok(plan),
        LogicalPlan::Values(_) => true,
        // Its columns are called by their expressions.
        LogicalPlan::Aggregate(of) => of.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))),
        _ => is_recursive,
    };
    let (names, is_sort) = (NamePreserver::new(&plan), matches!(plan, LogicalPlan::Sort(_)));
    let rewritten = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = elapsed::in_seconds(expr, is_sort)?.transform_up(|expr| match expr {
            Expr::Literal(value, metadata) if !is_kept => Ok(literal(value, metadata)),
            expr => rewrite(expr, &schema),
        })?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    })?;
    if rewritten.transformed { rewritten.data.recompute_schema() } else { Ok(rewritten.data) }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(binary) => operator(binary, schema),
        // A number written with its sign is one number.
        Expr::Negative(inner) if !matches!(*inner, Expr::Literal(..)) => Ok(match negated(&inner, schema)? {
            Some(negated) => Transformed::yes(negated),
            None => Transformed::no(Expr::Negative(inner)),
        }),
        Expr::Between(Between { expr, negated, low, high }) => {
            let [expr, low, high] = alike([*expr, *low, *high], schema, true)?.map(Box::new);
            Ok(Transformed::yes(Expr::Between(Between { expr, negated, low, high })))
        }
        Expr::InList(InList { expr, list, negated }) => {
            // Several constants are an array to PostgreSQL, whose elements are of one type with the value.
            let is_array = list.len() > 1 && list.iter().all(is_constant);
            let mut all = vec![*expr];
            all.extend(list);
            let use_ = if is_array { Use::Answered } else { Use::Compared };
            let mut all = same(all, schema, false, use_)?.into_iter();
            let Some(expr) = all.next() else { return not_impl_err!("IN of nothing") };
            let list: Vec<Expr> = all.collect();
            if list.iter().all(is_constant) {
                return Ok(Transformed::yes(Expr::InList(InList { expr: Box::new(expr), list, negated })));
            }
            // The engine takes a list with a CASE in it for a constant.
            let equal = |one: Expr| if negated { expr.clone().not_eq(one) } else { expr.clone().eq(one) };
            let both = |all: Expr, one: Expr| if negated { all.and(one) } else { all.or(one) };
            let any = list.into_iter().map(equal).reduce(both);
            any.map_or_else(|| not_impl_err!("IN of nothing"), |any| Ok(Transformed::yes(any)))
        }
        Expr::Like(like) => {
            let expr = Box::new(comparison::filled(*like.expr, schema, "LIKE of")?);
            Ok(Transformed::yes(Expr::Like(Like { expr, ..like })))
        }
        Expr::Case(case) => Ok(Transformed::yes(Expr::Case(branches(case, schema)?))),
        Expr::ScalarFunction(call) => function(call, schema),
        Expr::Cast(Cast { expr, field }) => {
            let is_text = *field.data_type() == ArrowType::Utf8;
            if is_text && comparison::text(&expr, schema)? {
                return Ok(Transformed::yes(casts::plain_text(*expr)));
            }
            casts::exact(*expr, field, schema).map(Transformed::yes)
        }
        Expr::AggregateFunction(call) => {
            comparison::admit_aggregate(&call, schema)?;
            let AggregateFunction { func, mut params } = call;
            if func.name() == percentile::NAME {
                percentile::admit(&params, schema)?;
                params.args = casts::to_floats(params.args, schema)?;
                return Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })));
            }
            let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
            allowed::admit_aggregate(func.name(), of.as_ref())?;
            Ok(match of.and_then(|of| aggregates::exact(func.name(), &of)) {
                Some(func) => Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })),
                None => Transformed::no(Expr::AggregateFunction(AggregateFunction { func, params })),
            })
        }
        Expr::WindowFunction(call) => window(*call, schema),
        other => Ok(Transformed::no(other)),
    }
}

fn function(ScalarFunction { func, args }: ScalarFunction, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    let types: Vec<ArrowType> = args.iter().filter_map(|each| each.get_type(schema).ok()).collect();
    allowed::admit_scalar(func.name(), &types)?;
    elapsed::admit(&func, &types)?;
    typed::admit(func.name(), &args, schema)?;
    let args = match func.name() {
        "concat" | "concat_ws" => {
            // What stands between the others is a text, and has no blanks at its end.
            let between = usize::from(func.name() == "concat_ws");
            let shown = |(place, each)| {
                let each = if place < between { each } else { comparison::filled(each, schema, "the text of")? };
                casts::shown(each, schema)
            };
            args.into_iter().enumerate().map(shown).collect::<EngineResult<_>>()?
        }
        "octet_length" => args
            .into_iter()
            .map(|each| comparison::filled(each, schema, "the length of"))
            .collect::<EngineResult<_>>()?,
        // Its value is of the type by which both are compared: a whole number beside an exact one or a float is one.
        "nullif" => {
            let Ok([value, other]) = <[Expr; 2]>::try_from(args) else {
                return not_impl_err!("NULLIF of another number of values than two");
            };
            let of_other = other.get_type(schema)?;
            let [left, right] = alike([value.clone(), other], schema, false)?;
            let value = match value.get_type(schema)? {
                of if numbers::is_exact(&of) && of_other.is_floating() => left.clone(),
                of if of.is_integer() && of_other.is_decimal() => to_type(value, numbers::as_exact(&of)),
                _ => value,
            };
            let type_ = value.get_type(schema)?;
            let null = Expr::Literal(ScalarValue::try_from(&type_)?, None);
            return Ok(Transformed::yes(when(left.eq(right), null).otherwise(value)?));
        }
        "greatest" | "least" => comparison::compared(answered(args, schema)?, schema, true)?,
        "coalesce" => answered(args, schema)?,
        // PostgreSQL takes a date for an instant here.
        "date_trunc" => args.into_iter().map(|each| times::begun_in_utc(each, schema)).collect(),
        _ => args,
    };
    Ok(Transformed::yes(func.call(args)))
}

fn window(call: WindowFunction, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    comparison::admit_window(&call, schema)?;
    let WindowFunction { fun, params } = call;
    let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
    allowed::admit_aggregate(fun.name(), of.as_ref())?;
    // The engine makes the default a value of the type of the others, whatever it loses.
    if let (Some(of), Some(default), "lag" | "lead") = (&of, params.args.get(2), fun.name())
        && !is_within(&default.get_type(schema)?, of)
    {
        return not_impl_err!("{} with a default of another type; CAST both to one", fun.name());
    }
    // The engine takes what leaves a frame off its sum, and bounds of a range beyond the type's end for none.
    let frame = &params.window_frame;
    let slides = !frame.start_bound.is_unbounded();
    if slides && matches!(fun.name(), "sum" | "avg") && of.as_ref().is_some_and(ArrowType::is_floating) {
        return not_impl_err!("{} of floats over a frame that slides", fun.name());
    }
    if frame.units == WindowFrameUnits::Range && [&frame.start_bound, &frame.end_bound].into_iter().any(is_offset) {
        return not_impl_err!("RANGE with an offset; write ROWS");
    }
    if fun.name() == percentile::NAME {
        return not_impl_err!("{} as a window function", percentile::NAME);
    }
    // One text for each row, each longer than the one before, would fill the memory.
    if fun.name() == "string_agg" {
        return not_impl_err!("{} as a window function", fun.name());
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

/// A whole number is an integer where it fits, and to the engine always a bigint. The least one is written as an operator on
/// a bigint.
fn literal(value: ScalarValue, metadata: Option<FieldMetadata>) -> Transformed<Expr> {
    let integer = match value {
        ScalarValue::Int64(Some(whole)) => i32::try_from(whole).ok().filter(|whole| *whole != i32::MIN),
        _ => None,
    };
    match integer {
        Some(integer) => Transformed::yes(Expr::Literal(ScalarValue::Int32(Some(integer)), metadata)),
        None => Transformed::no(Expr::Literal(value, metadata)),
    }
}

/// Whether it is a literal, or the cast of one.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Negative(inner) => is_constant(inner),
        _ => false,
    }
}

fn operator(BinaryExpr { left, op, right }: BinaryExpr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    let binary = |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    // Of two lists for one value the engine makes one, and of an empty one a constant, also where the value is NULL.
    if matches!(op, Operator::And | Operator::Or) && is_listed(&left) && is_listed(&right) {
        return Ok(Transformed::yes(binary(casts::apart(*left), *right)));
    }
    let by_order = match op {
        Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Some(false),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => Some(true),
        _ => None,
    };
    if let Some(by_order) = by_order {
        let [left, right] = alike([*left, *right], schema, by_order)?;
        return Ok(Transformed::yes(binary(left, right)));
    }
    // What has no type, or none that fits, is the coercion's to refuse.
    let types = [left.get_type(schema).ok(), right.get_type(schema).ok()];
    let both = |is: fn(&ArrowType) -> bool| types.iter().all(|of| of.as_ref().is_some_and(is));
    let one = |is: fn(&ArrowType) -> bool| types.iter().any(|of| of.as_ref().is_some_and(is));
    if let [Some(of_left), Some(of_right)] = &types
        && matches!(op, Operator::Plus | Operator::Minus)
        && let Some(shifted) = times::shifted((&left, of_left), op, (&right, of_right))?
    {
        return Ok(Transformed::yes(shifted));
    }
    let function = match op {
        Operator::Plus | Operator::Minus | Operator::Multiply if both(numbers::is_exact) => numbers::checked(op),
        Operator::Divide if both(numbers::is_exact) && one(ArrowType::is_decimal) => Some(numbers::quotient()),
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide
            if one(ArrowType::is_floating) && both(ArrowType::is_numeric) =>
        {
            // The engine divides two floats to make one of an exact number.
            if let Some(function) = doubles::operator(op) {
                return Ok(Transformed::yes(function.call(casts::to_floats(vec![*left, *right], schema)?)));
            }
            None
        }
        Operator::Modulo if one(ArrowType::is_floating) => {
            let of = types.iter().flatten().find(|of| of.is_floating()).cloned().unwrap_or(ArrowType::Float64);
            return Err(no_function("%", &[of], "write CAST(… AS numeric) around its operands"));
        }
        Operator::StringConcat if one(ArrowType::is_string) && both(growing::is_joined) => {
            let [left, right] = [casts::as_text(*left, schema)?, casts::as_text(*right, schema)?];
            return Ok(Transformed::yes(growing::joined(left, right)));
        }
        // PostgreSQL takes the text for one of octets.
        Operator::StringConcat if one(ArrowType::is_string) && one(ArrowType::is_binary) => {
            return not_impl_err!("|| between text and bytea");
        }
        _ => None,
    };
    Ok(match function {
        Some(function) => Transformed::yes(function.call(vec![*left, *right])),
        None => Transformed::no(binary(*left, *right)),
    })
}

/// Whether it asks for a value in a list.
fn is_listed(expr: &Expr) -> bool {
    match expr {
        Expr::InList(_) => true,
        Expr::Not(inner) => is_listed(inner),
        _ => false,
    }
}

/// The number with the other sign, which the lowest whole one of its type does not have; `None` for what is exact or no
/// number. To the engine what is no number has a sign too.
fn negated(expr: &Expr, schema: &DFSchema) -> EngineResult<Option<Expr>> {
    let [whole, float] = [numbers::checked(Operator::Minus), doubles::operator(Operator::Minus)];
    let type_ = match expr {
        // Of many signs in a row each would ask for the type of all that is behind it.
        Expr::ScalarFunction(call)
            if [&whole, &float].into_iter().any(|one| one.as_ref() == Some(&call.func))
                && matches!(call.args.first(), Some(Expr::Literal(..))) =>
        {
            call.args.first().map(|zero| zero.get_type(schema))
        }
        _ => Some(expr.get_type(schema)),
    };
    let Some(Ok(type_)) = type_ else { return Ok(None) };
    let (difference, zero) = match &type_ {
        of if of.is_signed_integer() => (whole, ScalarValue::new_zero(of)?),
        // From this zero both become the other one.
        ArrowType::Float32 => (float, ScalarValue::Float32(Some(-0.0))),
        ArrowType::Float64 => (float, ScalarValue::Float64(Some(-0.0))),
        _ => return Ok(None),
    };
    Ok(difference.map(|difference| difference.call(vec![Expr::Literal(zero, None), expr.clone()])))
}

/// Whether each number of the one type is one of the other, or they are no numbers.
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

/// A CASE whose values are compared and answered as PostgreSQL does.
fn branches(Case { expr, when_then_expr, else_expr }: Case, schema: &DFSchema) -> EngineResult<Case> {
    let (mut whens, mut thens): (Vec<Expr>, Vec<Expr>) =
        when_then_expr.into_iter().map(|(when, then)| (*when, *then)).unzip();
    let mut subject = None;
    if let Some(expr) = expr {
        whens.insert(0, *expr);
        whens = same(whens, schema, false, Use::Compared)?;
        // The engine looks constants up by their bits.
        whens = whens.into_iter().map(|one| doubles::with_one_zero(one, schema)).collect::<EngineResult<_>>()?;
        subject = Some(Box::new(whens.remove(0)));
    }
    let has_else = else_expr.is_some();
    // PostgreSQL looks at its type first.
    thens.splice(0..0, else_expr.map(|expr| *expr));
    let mut thens = answered(thens, schema)?;
    let other = has_else.then(|| Box::new(thens.remove(0)));
    let pairs = whens.into_iter().zip(thens).map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Ok(Case { expr: subject, when_then_expr: pairs, else_expr: other })
}

/// The values that are compared with each other, of types that compare as PostgreSQL's do.
fn same(exprs: Vec<Expr>, schema: &DFSchema, by_order: bool, use_: Use) -> EngineResult<Vec<Expr>> {
    for expr in &exprs {
        if expr.get_type(schema).is_ok_and(|of| is_interval(&of)) {
            return not_impl_err!("compare values of type interval; compare dates and times instead");
        }
    }
    let exprs = casts::literals_beside(exprs, schema)?;
    comparison::compared(of_one_type(exprs, schema, use_)?, schema, by_order)
}

fn alike<const N: usize>(exprs: [Expr; N], schema: &DFSchema, by_order: bool) -> EngineResult<[Expr; N]> {
    let same = same(exprs.into(), schema, by_order, Use::Compared)?;
    same.try_into().or_else(|_| not_impl_err!("a comparison of another number of values"))
}

/// Values of one type, of which one is answered.
fn answered(exprs: Vec<Expr>, schema: &DFSchema) -> EngineResult<Vec<Expr>> {
    padded::of_one_type(of_one_type(exprs, schema, Use::Answered)?, schema)
}

/// What becomes of values that are to be of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
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
    } else if let Some(to) = times::common_time(types.iter().flatten()) {
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
