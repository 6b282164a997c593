//! The engine's rules over plans, some of them only where they are of use and right.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use crate::carried::carried;
use portico_core::error::{Error, Kind};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// A rule for the plans that it is for, of which it makes no more than is bounded.
#[derive(Debug)]
struct Where {
    is_for: fn(&LogicalPlan) -> bool,
    rule: Rule,
}

/// Columns that the conditions of one node may speak of.
const MOST_COLUMNS: usize = 10_000;

/// Refuses conditions that have grown beyond what is planned: a condition on a column is put as one on what the column is
/// made of, which may say another one twice, and so on.
fn check_size(plan: &LogicalPlan) -> Result<()> {
    let mut columns = 0;
    let count = |expr: &Expr| {
        expr.apply(|expr| {
            columns += usize::from(matches!(expr, Expr::Column(_)));
            Ok(if columns > MOST_COLUMNS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    };
    plan.apply_expressions(count)?;
    if columns <= MOST_COLUMNS {
        return Ok(());
    }
    let message =
        format!("query: a condition speaks of more than {MOST_COLUMNS} columns, once its subqueries stand in it");
    let hint = "compute with a column of a subquery once, or choose the rows inside of it";
    Err(carried(Error::new(Kind::TooLarge, message).hint(hint)))
}

impl OptimizerRule for Where {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !(self.is_for)(&plan) {
            return Ok(Transformed::no(plan));
        }
        check_size(&plan)?;
        self.rule.rewrite(plan, config)
    }
}

/// What the rules are for that are not for all plans.
const FOR: [(&str, fn(&LogicalPlan) -> bool); 3] = [
    // Makes joins of `FROM a, b WHERE a.x = b.x`. It takes every chain of joins apart, and looks at each table with each
    // condition: with a hundred tables for seconds.
    ("eliminate_cross_join", is_crossed),
    // Puts a condition on a column as one on what the column is made of.
    ("push_down_filter", is_filter),
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

fn is_filter(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_))
}

fn has_no_sum(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else { return true };
    let is_sum = |expr: &Expr| matches!(expr, Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "sum" && !params.distinct);
    !aggregate.aggr_expr.iter().any(is_sum)
}

/// The engine's rules.
pub(crate) fn all() -> Vec<Rule> {
    let guarded = |rule: Rule| -> Rule {
        match FOR.iter().find(|(name, _)| *name == rule.name()) {
            Some((_, is_for)) => Arc::new(Where { is_for: *is_for, rule }),
            None => rule,
        }
    };
    Optimizer::new().rules.into_iter().map(guarded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_still_called_so() {
        let guarded = all().iter().filter(|rule| format!("{rule:?}").starts_with("Where")).count();
        assert_eq!(guarded, FOR.len());
    }
}
