//! Makes both zeros of floats equal in joins, groups, orders and window functions: the engine distinguishes them by
//! their bits.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, InList, Sort, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, GroupingSet, LogicalPlan, Window};

use crate::functions::aggregates::ordered_set;
use crate::functions::numbers::doubles;

/// Rewrites the plan so that they are equal. For the engine's part only: sources do so themselves.
pub(crate) fn as_one(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| keyed(plan)?.transform_data(listed)).data()
}

/// Rewrites the keys of a node.
fn keyed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(mut sort) => {
            sort.expr = ordered(sort.expr, sort.input.schema())?;
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        }
        LogicalPlan::Join(mut join) => {
            let (left, right) = (join.left.schema(), join.right.schema());
            let keys = join
                .on
                .into_iter()
                .map(|(one, other)| Ok((doubles::with_one_zero(one, left)?, doubles::with_one_zero(other, right)?)));
            join.on = keys.collect::<Result<_>>()?;
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        LogicalPlan::Aggregate(Aggregate { ref input, .. }) | LogicalPlan::Window(Window { ref input, .. }) => {
            let schema = Arc::clone(input.schema());
            let names = NamePreserver::new(&plan);
            let is_keyed = matches!(plan, LogicalPlan::Aggregate(_));
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let expr = match expr {
                    Expr::Alias(mut alias) => {
                        alias.expr = Box::new(inside(*alias.expr, &schema, is_keyed)?);
                        Expr::Alias(alias)
                    }
                    expr => inside(expr, &schema, is_keyed)?,
                };
                Ok(Transformed::yes(name.restore(expr)))
            })
        }
        plan => Ok(Transformed::no(plan)),
    }
}

/// Rewrites the lists of floats in a node.
fn listed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut has_list = false;
    plan.apply_expressions(|expr| {
        has_list |= expr.exists(|expr| Ok(matches!(expr, Expr::InList(_))))?;
        Ok(if has_list { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !has_list {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    let one_each = |expr: Expr| match expr {
        Expr::InList(InList { expr, list, negated }) if expr.get_type(&schema)?.is_floating() => {
            let (expr, list) = (doubles::with_one_zero(*expr, &schema)?, one_each(list, &schema)?);
            Ok(Transformed::yes(Expr::InList(InList { expr: Box::new(expr), list, negated })))
        }
        expr => Ok(Transformed::no(expr)),
    };
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(expr.transform_up(one_each)?.update_data(|expr| name.restore(expr)))
    })
}

/// An expression of a node that groups, if `is_keyed`, or numbers.
fn inside(expr: Expr, schema: &DFSchema, is_keyed: bool) -> Result<Expr> {
    Ok(match expr {
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            if params.distinct {
                params.args = one_each(params.args, schema)?;
            } else if ordered_set::NAMES.contains(&func.name())
                && let Some(value) = params.args.first_mut()
            {
                *value = doubles::with_one_zero(std::mem::take(value), schema)?;
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
            let named = |set: Vec<Expr>| set.into_iter().map(|expr| named(expr, schema)).collect::<Result<_>>();
            Expr::GroupingSet(match sets {
                GroupingSet::Rollup(set) => GroupingSet::Rollup(named(set)?),
                GroupingSet::Cube(set) => GroupingSet::Cube(named(set)?),
                GroupingSet::GroupingSets(sets) => {
                    GroupingSet::GroupingSets(sets.into_iter().map(named).collect::<Result<_>>()?)
                }
            })
        }
        expr if is_keyed => doubles::with_one_zero(expr, schema)?,
        expr => expr,
    })
}

fn ordered(by: Vec<Sort>, schema: &DFSchema) -> Result<Vec<Sort>> {
    by.into_iter().map(|by| Ok(Sort { expr: doubles::with_one_zero(by.expr, schema)?, ..by })).collect()
}

fn one_each(exprs: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    exprs.into_iter().map(|expr| doubles::with_one_zero(expr, schema)).collect()
}

/// Returns a float under its own name, by which columns of grouping sets are addressed.
fn named(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if !expr.get_type(schema)?.is_floating() {
        return Ok(expr);
    }
    let (relation, name) = expr.qualified_name();
    Ok(doubles::with_one_zero(expr, schema)?.alias_qualified(relation, name))
}
