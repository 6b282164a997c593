//! Numbers as PostgreSQL has them, where the engine's own differ: whole numbers do not wrap around, and quotients and
//! averages have digits enough.

mod aggregates;
mod functions;

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result as EngineResult};
use datafusion::logical_expr::expr::{AggregateFunction, BinaryExpr, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;

pub(crate) use self::functions::Checked;

/// Puts our operators and aggregates into the places of the engine's. To be run behind its own coercion of types, by
/// which both operands have one type.
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

fn rewrite(expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let types = (left.get_type(schema)?, right.get_type(schema)?);
            let both = |is: fn(&ArrowType) -> bool| is(&types.0) && is(&types.1);
            let function = match op {
                Operator::Plus | Operator::Minus | Operator::Multiply if both(ArrowType::is_integer) => {
                    functions::checked(op)
                }
                Operator::Divide if both(ArrowType::is_decimal) => Some(functions::quotient()),
                _ => None,
            };
            Ok(match function {
                Some(function) => Transformed::yes(function.call(vec![*left, *right])),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            })
        }
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
