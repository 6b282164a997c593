//! Numbers as PostgreSQL has them, where the engine's own differ: whole numbers do not wrap around, and quotients and
//! averages have digits enough.

mod aggregates;
mod functions;

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, not_impl_err};
use datafusion::logical_expr::expr::{AggregateFunction, BinaryExpr, Cast, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::{casts, growing};

pub(crate) use self::functions::{Checked, DIGITS, SCALE, quotient};

/// Puts our operators and aggregates into the places of the engine's. To be run before its own coercion of types: what
/// they are compared with, or stand beside of, is then coerced to what they return.
#[derive(Debug)]
pub(crate) struct ExactNumbers;

impl AnalyzerRule for ExactNumbers {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> EngineResult<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            let rewritten = plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = expr.transform_up(|expr| rewrite(expr, &schema))?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })?;
            if rewritten.transformed {
                return Ok(Transformed::yes(rewritten.data.recompute_schema()?));
            }
            Ok(rewritten)
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "exact_numbers"
    }
}

/// The whole number with the other sign, which the lowest one of its type does not have; `None` for what is none.
fn negated(expr: &Expr, schema: &DFSchema) -> EngineResult<Option<Expr>> {
    let Some(difference) = functions::checked(Operator::Minus) else { return Ok(None) };
    let type_ = match expr {
        // Of many signs in a row each would ask for the type of all that is behind it.
        Expr::ScalarFunction(call)
            if call.func == difference && matches!(call.args.first(), Some(Expr::Literal(..))) =>
        {
            call.args.first().map(|zero| zero.get_type(schema))
        }
        _ => Some(expr.get_type(schema)),
    };
    let Some(type_) = type_.and_then(EngineResult::ok).filter(ArrowType::is_signed_integer) else { return Ok(None) };
    let zero = Expr::Literal(ScalarValue::new_zero(&type_)?, None);
    Ok(Some(difference.call(vec![zero, expr.clone()])))
}

fn rewrite(expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            // What has no type, or none that fits, is the coercion's to refuse.
            let types = [left.get_type(schema).ok(), right.get_type(schema).ok()];
            let both = |is: fn(&ArrowType) -> bool| types.iter().all(|of| of.as_ref().is_some_and(is));
            let one = |is: fn(&ArrowType) -> bool| types.iter().any(|of| of.as_ref().is_some_and(is));
            if matches!(op, Operator::Plus | Operator::Minus)
                && let [Some(of_left), Some(of_right)] = &types
                && let Some(instant) = casts::instant(&left, of_left, &right, of_right)
            {
                let [left, right] = instant;
                return Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))));
            }
            let function = match op {
                Operator::Plus | Operator::Minus | Operator::Multiply if both(ArrowType::is_integer) => {
                    functions::checked(op)
                }
                Operator::Divide if both(functions::is_exact) && one(ArrowType::is_decimal) => {
                    Some(functions::quotient())
                }
                Operator::StringConcat if one(ArrowType::is_string) && both(growing::is_joined) => {
                    let texts = vec![casts::as_text(*left, schema)?, casts::as_text(*right, schema)?];
                    return Ok(Transformed::yes(growing::concatenation().call(texts)));
                }
                // PostgreSQL takes the text for one of octets.
                Operator::StringConcat if one(ArrowType::is_string) && one(ArrowType::is_binary) => {
                    return not_impl_err!("|| between text and bytea");
                }
                _ => None,
            };
            Ok(match function {
                Some(function) => Transformed::yes(function.call(vec![*left, *right])),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            })
        }
        // A number written with its sign is one number.
        Expr::Negative(inner) if !matches!(*inner, Expr::Literal(..)) => Ok(match negated(&inner, schema)? {
            Some(negated) => Transformed::yes(negated),
            None => Transformed::no(Expr::Negative(inner)),
        }),
        Expr::ScalarFunction(call) if matches!(call.name(), "concat" | "concat_ws") => {
            let args = call.args.into_iter().map(|each| casts::shown(each, schema)).collect::<EngineResult<_>>()?;
            Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { args, ..call })))
        }
        Expr::Cast(Cast { expr, field }) => casts::exact(*expr, field, schema).map(Transformed::yes),
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
            Ok(match of.and_then(|of| aggregates::exact(func.name(), &of)) {
                Some(func) => Transformed::yes(Expr::AggregateFunction(AggregateFunction { func, params })),
                None => Transformed::no(Expr::AggregateFunction(AggregateFunction { func, params })),
            })
        }
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, params } = *window;
            let of = params.args.first().map(|argument| argument.get_type(schema)).transpose()?;
            // One text for each row, each longer than the one before, would fill the memory.
            if matches!(fun.name(), "string_agg" | "array_agg") {
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
        other => Ok(Transformed::no(other)),
    }
}
