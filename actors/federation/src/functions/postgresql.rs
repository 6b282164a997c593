//! Replaces the engine's operators, casts and aggregates by ones with PostgreSQL's results, and refuses what would
//! have another result.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result as EngineResult, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{
    AggregateFunction, Between, BinaryExpr, Case, Cast, InList, InSubquery, Like, ScalarFunction, SetComparison, Sort,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Values};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::aggregates::ordered_set;
use crate::functions::aggregates::windows;
use crate::functions::allowed;
use crate::functions::bounded_text;
use crate::functions::cases;
use crate::functions::membership;
use crate::functions::numbers::{self, aggregates, doubles, extremes, percentile};
use crate::functions::recursive;
use crate::functions::regular;
use crate::functions::set_operations;
use crate::functions::short_circuit;
use crate::functions::times::calendar;
use crate::functions::times::date_arithmetic;
use crate::functions::times::elapsed;
use crate::functions::types::casts;
use crate::functions::types::categories::no_function;
use crate::functions::types::common_type::{Use, alike, answered, is_constant, same};
use crate::functions::types::named_cast;
use crate::functions::types::outer_types;
use crate::functions::types::typed;
use crate::functions::user_defined;
use crate::plan::comparison;

/// Runs before the engine's own type coercion, so that the other operands are coerced to the types that our
/// functions return.
#[derive(Debug)]
pub(crate) struct AsPostgresql;

impl AnalyzerRule for AsPostgresql {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        analyzed(plan, false)
    }

    fn name(&self) -> &'static str {
        "as_postgresql"
    }
}

/// Analyzes a plan after its inputs, and its subqueries after that: they may refer to it, by its types. A recursive
/// query that is joined with its own rows has their types already.
fn analyzed(plan: LogicalPlan, is_recursive: bool) -> EngineResult<LogicalPlan> {
    let is_recursive = is_recursive || matches!(plan, LogicalPlan::RecursiveQuery(_));
    let before: Vec<DFSchemaRef> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let plan = plan.map_children(|child| analyzed(child, is_recursive).map(Transformed::yes)).data()?;
    let mut plan = match plan {
        LogicalPlan::RecursiveQuery(query) => recursive::of_one_type(query)?,
        plan if is_recursive => plan,
        plan => set_operations::of_one_type(plan)?,
    };
    if plan.inputs().into_iter().zip(&before).any(|(input, before)| input.schema() != before) {
        plan = plan.recompute_schema()?;
    }
    let schema = merge_schema(&plan.inputs());
    let subquery = |subquery| {
        analyzed(outer_types::typed(subquery, &mut vec![schema.clone()])?.data, is_recursive).map(Transformed::yes)
    };
    let asked = plan.map_subqueries(subquery)?;
    let (plan, has_subqueries) = (asked.data, asked.transformed);
    comparison::check_comparisons(&plan)?;
    let is_kept = match &plan {
        // The numbers in LIMIT are not values.
        LogicalPlan::Limit(_) => return Ok(plan),
        LogicalPlan::Values(of) if !is_recursive => return integers(of),
        LogicalPlan::Values(_) => true,
        // Its columns are called by their expressions.
        LogicalPlan::Aggregate(of) => of.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))),
        _ => is_recursive,
    };
    let (names, is_sort) = (NamePreserver::new(&plan), matches!(plan, LogicalPlan::Sort(_)));
    let is_marked = !is_kept && matches!(plan, LogicalPlan::Projection(_));
    let rewritten = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = elapsed::in_seconds(expr, is_sort)?.transform_up(|expr| match expr {
            Expr::Literal(value, metadata) if !is_kept => Ok(literal(value, metadata)),
            expr => rewrite(expr, &schema),
        })?;
        let expr = expr.transform_data(|expr| short_circuit::computed(expr, &schema))?;
        let expr = expr.update_data(|expr| name.restore(expr));
        if is_marked { expr.transform_data(|expr| Ok(comparison::marked(expr, &schema))) } else { Ok(expr) }
    })?;
    let is_changed = rewritten.transformed || has_subqueries;
    let plan = if is_changed { rewritten.data.recompute_schema()? } else { rewritten.data };
    if is_kept { Ok(plan) } else { comparison::marked_above(plan, &schema) }
}

/// Rows of values: whole numbers are integers in columns in which all are.
fn integers(of: &Values) -> EngineResult<LogicalPlan> {
    let mut rows = of.values.clone();
    for place in 0..of.schema.fields().len() {
        let integer = |row: &Vec<Expr>| match row.get(place)? {
            Expr::Literal(ScalarValue::Int64(None), metadata) => {
                Some(Expr::Literal(ScalarValue::Int32(None), metadata.clone()))
            }
            Expr::Literal(value @ ScalarValue::Int64(_), metadata) => {
                let literal = literal(value.clone(), metadata.clone());
                literal.transformed.then_some(literal.data)
            }
            _ => None,
        };
        let integers: Option<Vec<Expr>> = rows.iter().map(integer).collect();
        for (row, integer) in rows.iter_mut().zip(integers.into_iter().flatten()) {
            row[place] = integer;
        }
    }
    LogicalPlanBuilder::values(rows)?.build()
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
        Expr::InList(listed) => in_list(listed, schema),
        Expr::Like(like) => {
            for text in [&like.expr, &like.pattern] {
                comparison::is_text(text, schema, "LIKE")?;
            }
            let expr = Box::new(comparison::filled(*like.expr, schema, "LIKE of")?);
            Ok(Transformed::yes(Expr::Like(Like { expr, ..like })))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            let (expr, subquery) = membership::looked_up(*expr, subquery, schema, false)?;
            Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr: Box::new(expr), subquery, negated })))
        }
        Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => {
            let by_order = !matches!(op, Operator::Eq | Operator::NotEq);
            let (expr, subquery) = membership::looked_up(*expr, subquery, schema, by_order)?;
            let expr = Box::new(expr);
            Ok(Transformed::yes(Expr::SetComparison(SetComparison { expr, subquery, op, quantifier })))
        }
        Expr::Case(case) => Ok(Transformed::yes(Expr::Case(cases::branches(case, schema)?))),
        Expr::ScalarFunction(call) => function(call, schema),
        Expr::Cast(Cast { expr, field }) => {
            let is_text = *field.data_type() == ArrowType::Utf8;
            if is_text && comparison::text(&expr, schema)? {
                return Ok(Transformed::yes(casts::plain_text(*expr)));
            }
            casts::exact(*expr, field, schema).map(Transformed::yes)
        }
        Expr::AggregateFunction(call) => aggregate(call, schema),
        Expr::WindowFunction(call) => windows::window(*call, schema),
        other => Ok(Transformed::no(other)),
    }
}

fn in_list(InList { expr, list, negated }: InList, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    // Several constants are an array in PostgreSQL, whose elements have one type with the value.
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

fn aggregate(call: AggregateFunction, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    comparison::admit_aggregate(&call, schema)?;
    let AggregateFunction { func, mut params } = call;
    if let Some(filter) = params.filter.as_deref() {
        params.args = params.args.into_iter().map(|value| where_true(filter, value)).collect();
        let ordered = params.order_by.into_iter().map(|by| Sort { expr: where_true(filter, by.expr), ..by });
        params.order_by = ordered.collect();
    }
    if func.name() == percentile::NAME {
        percentile::admit(&params, schema)?;
    }
    if ordered_set::NAMES.contains(&func.name()) {
        ordered_set::admit(func.name(), &params)?;
        return Ok(Transformed::no(Expr::AggregateFunction(AggregateFunction { func, params })));
    }
    if allowed::is_of_doubles(func.name()) {
        // The engine ignores it.
        if params.distinct {
            let message = format!("{}(DISTINCT …) is not supported over several connections", func.name());
            return Err(user_defined::not_there(message, "select DISTINCT rows in a subquery"));
        }
        params.args = casts::to_floats(params.args, schema)?;
        return Ok(Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })));
    }
    let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
    allowed::admit_aggregate(func.name(), of.as_ref())?;
    // The order makes no difference, except for concatenation.
    if func.name() != "string_agg" {
        params.order_by.clear();
    }
    let ours = of.and_then(|of| match func.name() {
        name @ ("max" | "min") if of.is_floating() => Some(extremes::of_floats(name == "max")),
        name => aggregates::exact(name, &of),
    });
    Ok(match ours {
        Some(func) => Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })),
        None => Transformed::no(Expr::AggregateFunction(AggregateFunction { func, params })),
    })
}

/// The value where the filter is true: the engine computes it for all rows.
fn where_true(filter: &Expr, value: Expr) -> Expr {
    if is_constant(&value) || matches!(value, Expr::Column(_)) {
        return value;
    }
    Expr::Case(Case::new(None, vec![(Box::new(filter.clone()), Box::new(value))], None))
}

fn function(ScalarFunction { func, mut args }: ScalarFunction, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    if func.name() == named_cast::NAME
        && let Some(cast) = args.pop()
    {
        return Ok(Transformed::yes(cast));
    }
    let types: Vec<ArrowType> = args.iter().filter_map(|each| each.get_type(schema).ok()).collect();
    allowed::admit_scalar(func.name(), &types)?;
    elapsed::admit(&func, &types)?;
    typed::admit(func.name(), &args, schema)?;
    let args = match func.name() {
        "concat" | "concat_ws" => {
            // The separator is a text, and has no trailing blanks.
            let between = usize::from(func.name() == "concat_ws");
            let shown = |(place, each)| {
                comparison::text(&each, schema)?;
                let each = if place < between { each } else { comparison::filled(each, schema, "the text of")? };
                casts::shown(each, schema)
            };
            args.into_iter().enumerate().map(shown).collect::<EngineResult<_>>()?
        }
        "octet_length" => args
            .into_iter()
            .map(|each| comparison::filled(each, schema, "the length of"))
            .collect::<EngineResult<_>>()?,
        regular::MATCHES | regular::MATCHES_ANY_CASE => {
            args.into_iter().map(|each| comparison::filled(each, schema, "a match of")).collect::<EngineResult<_>>()?
        }
        "nullif" => return cases::nullif(args, schema).map(Transformed::yes),
        "greatest" | "least" => comparison::compared(answered(args, schema)?, schema, true)?,
        "coalesce" => answered(args, schema)?,
        calendar::BIN => {
            // Beside a literal a date is an instant too.
            let has_text = types.iter().any(ArrowType::is_string);
            let begun = |each| if has_text { date_arithmetic::begun_in_utc(each, schema) } else { each };
            let mut all = args.into_iter().map(begun);
            let stride: Vec<Expr> = all.next().into_iter().collect();
            [stride, casts::literals_beside(all.collect(), schema)?].concat()
        }
        _ => args,
    };
    Ok(Transformed::yes(func.call(args)))
}

/// A whole number is an integer where it fits, and to the engine always a bigint. The least one is written as an operator on
/// a bigint.
fn literal(value: ScalarValue, metadata: Option<FieldMetadata>) -> Transformed<Expr> {
    let integer = match &value {
        // In PostgreSQL a number beyond bigint is a decimal.
        ScalarValue::UInt64(Some(whole)) => {
            let exact = ScalarValue::Decimal128(Some(i128::from(*whole)), 20, 0);
            return Transformed::yes(Expr::Literal(exact, metadata));
        }
        // An exponent says how many zeros there are.
        ScalarValue::Decimal128(Some(digits), _, zeros @ ..0) => {
            let whole = 10_i128.checked_pow(zeros.unsigned_abs().into()).and_then(|power| digits.checked_mul(power));
            return match whole {
                Some(whole) => Transformed::yes(Expr::Literal(ScalarValue::Decimal128(Some(whole), 38, 0), metadata)),
                None => Transformed::no(Expr::Literal(value, metadata)),
            };
        }
        ScalarValue::Int64(Some(whole)) => i32::try_from(*whole).ok().filter(|whole| *whole != i32::MIN),
        _ => None,
    };
    match integer {
        Some(integer) => Transformed::yes(Expr::Literal(ScalarValue::Int32(Some(integer)), metadata)),
        None => Transformed::no(Expr::Literal(value, metadata)),
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
    // Operands without a type, or without a matching one, are refused by the coercion.
    let types = [left.get_type(schema).ok(), right.get_type(schema).ok()];
    let both = |is: fn(&ArrowType) -> bool| types.iter().all(|of| of.as_ref().is_some_and(is));
    let one = |is: fn(&ArrowType) -> bool| types.iter().any(|of| of.as_ref().is_some_and(is));
    if let [Some(of_left), Some(of_right)] = &types
        && matches!(op, Operator::Plus | Operator::Minus)
        && let Some(shifted) = date_arithmetic::shifted((&left, of_left), op, (&right, of_right))?
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
        Operator::StringConcat if one(ArrowType::is_string) && both(bounded_text::is_joined) => {
            for part in [&left, &right] {
                comparison::text(part, schema)?;
            }
            let [left, right] = [casts::as_text(*left, schema)?, casts::as_text(*right, schema)?];
            return Ok(Transformed::yes(bounded_text::joined(left, right)));
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

/// Negates a number, with an error for the lowest integer of its type; `None` for a decimal, or for what is not a
/// number. The engine also gives NaN a sign.
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
