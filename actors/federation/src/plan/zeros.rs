//! Both zeros of floats are one value wherever rows are joined, grouped, ordered or numbered: the engine tells them apart by their
//! bits.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};

use crate::functions::numbers::doubles;

/// The plan in which they are. To be called for what is left to the engine: sources do it by themselves.
pub(crate) fn as_one(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| {
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        let is_keyed = matches!(plan, LogicalPlan::Aggregate(_));
        match plan {
            LogicalPlan::Sort(mut sort) => {
                sort.expr = ordered(sort.expr, &schema)?;
                Ok(Transformed::yes(LogicalPlan::Sort(sort)))
            }
            LogicalPlan::Join(mut join) => {
                let (left, right) = (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
                let keys = join.on.into_iter().map(|(one, other)| {
                    Ok((doubles::with_one_zero(one, &left)?, doubles::with_one_zero(other, &right)?))
                });
                join.on = keys.collect::<Result<_>>()?;
                Ok(Transformed::yes(LogicalPlan::Join(join)))
            }
            LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) => plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = match expr {
                    Expr::Alias(mut alias) => {
                        alias.expr = Box::new(inside(*alias.expr, &schema, is_keyed)?);
                        Expr::Alias(alias)
                    }
                    expr => inside(expr, &schema, is_keyed)?,
                };
                Ok(Transformed::yes(name.restore(expr)))
            }),
            plan => Ok(Transformed::no(plan)),
        }
    })
    .data()
}

/// An expression of a node that groups, if `is_keyed`, or numbers.
fn inside(expr: Expr, schema: &DFSchema, is_keyed: bool) -> Result<Expr> {
    Ok(match expr {
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            if params.distinct {
                params.args = one_each(params.args, schema)?;
            }
            params.order_by = ordered(params.order_by, schema)?;
            Expr::AggregateFunction(AggregateFunction { func, params })
        }
        Expr::WindowFunction(call) => {
            let WindowFunction { fun, mut params } = *call;
            params.partition_by = one_each(params.partition_by, schema)?;
            params.order_by = ordered(params.order_by, schema)?;
            Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
        }
        Expr::GroupingSet(sets) => {
            let each = |sets: Vec<Vec<Expr>>| sets.into_iter().map(|set| one_each(set, schema)).collect::<Result<_>>();
            Expr::GroupingSet(match sets {
                GroupingSet::Rollup(set) => GroupingSet::Rollup(one_each(set, schema)?),
                GroupingSet::Cube(set) => GroupingSet::Cube(one_each(set, schema)?),
                GroupingSet::GroupingSets(sets) => GroupingSet::GroupingSets(each(sets)?),
            })
        }
        expr if is_keyed => one(expr, schema)?,
        expr => expr,
    })
}

fn ordered(by: Vec<Sort>, schema: &DFSchema) -> Result<Vec<Sort>> {
    by.into_iter().map(|by| Ok(Sort { expr: one(by.expr, schema)?, ..by })).collect()
}

fn one_each(exprs: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    exprs.into_iter().map(|expr| one(expr, schema)).collect()
}

/// The float with one zero, under its name.
fn one(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let (relation, name) = expr.qualified_name();
    let with_one_zero = doubles::with_one_zero(expr.clone(), schema)?;
    Ok(if with_one_zero == expr { expr } else { with_one_zero.alias_qualified(relation, name) })
}
