//! The engine's rules over plans, some of them only where they are of use and right.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{AggregateFunction, BinaryExpr};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use crate::external_error::external;
use crate::plan::plan_deadline::PlanDeadline;
use portico_core::error::{Error, Kind};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// A rule for the plans that it is for, until the statement's timeout.
#[derive(Debug)]
struct Where {
    is_for: Option<fn(&LogicalPlan) -> bool>,
    rule: Rule,
}

/// Names and literals that the condition of one node may speak of.
const MOST_SAID: usize = 50_000;

/// Refuses a condition that would grow beyond the limit: a condition on a column is rewritten to the column's
/// expression, which may repeat another column, and so on.
fn check_size(plan: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Filter(filter) = plan else { return Ok(()) };
    let sizes: Vec<usize> = match filter.input.as_ref() {
        LogicalPlan::Projection(below) => below.expr.iter().map(size).collect::<Result<_>>()?,
        _ => Vec::new(),
    };
    let schema = filter.input.schema();
    let mut said = 0_usize;
    filter.predicate.apply(|expr| {
        said = said.saturating_add(match expr {
            Expr::Column(column) => {
                let place = if sizes.is_empty() { None } else { schema.maybe_index_of_column(column) };
                place.and_then(|place| sizes.get(place)).copied().unwrap_or(1)
            }
            Expr::Literal(..) => 1,
            _ => 0,
        });
        Ok(if said > MOST_SAID { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if said <= MOST_SAID {
        return Ok(());
    }
    let message =
        format!("query: a condition comes to more than {MOST_SAID} names and literals, with its subqueries put in");
    let hint = "compute with a column of a subquery once, or choose the rows inside of it";
    Err(external(Error::new(Kind::TooLarge, message).hint(hint)))
}

/// Puts the literals of a condition on the right side of comparisons. The engine treats `x = 1 AND 1 = x` as always
/// false, and of `x >= 1 AND 1 < x` it keeps the first.
fn turned(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Filter(mut filter) = plan else { return Ok(plan) };
    filter.predicate = filter
        .predicate
        .transform_up(|expr| match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if matches!(*left, Expr::Literal(..)) && !matches!(*right, Expr::Literal(..)) =>
            {
                Ok(match op.swap() {
                    Some(op) => Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(right, op, left))),
                    None => Transformed::no(Expr::BinaryExpr(BinaryExpr::new(left, op, right))),
                })
            }
            expr => Ok(Transformed::no(expr)),
        })
        .data()?;
    Ok(LogicalPlan::Filter(filter))
}

/// How many names and literals it is made of.
fn size(expr: &Expr) -> Result<usize> {
    let mut size = 0;
    expr.apply(|expr| {
        size += usize::from(matches!(expr, Expr::Column(_) | Expr::Literal(..)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(size.max(1))
}

impl OptimizerRule for Where {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        PlanDeadline::check(&config.options())?;
        match self.is_for {
            Some(is_for) if !is_for(&plan) => Ok(Transformed::no(plan)),
            _ if self.name() == PUSH_DOWN_FILTER => {
                check_size(&plan)?;
                self.rule.rewrite(turned(plan)?, config)
            }
            _ => self.rule.rewrite(plan, config),
        }
    }
}

/// Rewrites a condition on a column to the column's expression.
const PUSH_DOWN_FILTER: &str = "push_down_filter";

/// The conditions for rules that do not apply to all plans.
const FOR: [(&str, fn(&LogicalPlan) -> bool); 2] = [
    // Makes joins of `FROM a, b WHERE a.x = b.x`. It takes every chain of joins apart, and looks at each table with each
    // condition: with a hundred tables for seconds.
    ("eliminate_cross_join", is_crossed),
    // Makes two groupings of one that counts different values. A sum of sums has another type than the sum.
    ("single_distinct_aggregation_to_group_by", has_no_sum),
];

/// Whether two relations are joined on no key.
fn is_crossed(plan: &LogicalPlan) -> bool {
    let mut is_crossed = false;
    // It never fails.
    let _ = plan.apply_with_subqueries(|node| {
        let LogicalPlan::Join(join) = node else { return Ok(TreeNodeRecursion::Continue) };
        is_crossed |= join.join_type == JoinType::Inner && join.on.is_empty();
        Ok(if is_crossed { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    is_crossed
}

fn has_no_sum(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else { return true };
    let is_sum = |expr: &Expr| matches!(expr, Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "sum" && !params.distinct);
    !aggregate.aggr_expr.iter().any(is_sum)
}

/// The engine's rules.
pub(crate) fn all() -> Vec<Rule> {
    let guarded = |rule: Rule| -> Rule {
        let is_for = FOR.iter().find(|(name, _)| *name == rule.name()).map(|(_, is_for)| *is_for);
        Arc::new(Where { is_for, rule })
    };
    Optimizer::new().rules.into_iter().map(guarded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_still_called_so() {
        let names: Vec<String> = all().iter().map(|rule| rule.name().to_owned()).collect();
        let known = FOR.iter().map(|(name, _)| *name).chain([PUSH_DOWN_FILTER]);
        assert!(known.into_iter().all(|known| names.iter().any(|name| name == known)), "{names:?}");
    }
}
