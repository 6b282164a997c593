//! The engine's rule that makes joins of tables that are written beside each other, `FROM a, b WHERE a.x = b.x`, for the
//! plans that have any.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

/// The rule takes every chain of joins apart, and looks at each table with each condition: with a hundred tables for
/// seconds.
#[derive(Debug)]
struct WhereCrossed(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for WhereCrossed {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if is_crossed(&plan)? { self.0.rewrite(plan, config) } else { Ok(Transformed::no(plan)) }
    }
}

/// Whether two relations are joined on no key.
fn is_crossed(plan: &LogicalPlan) -> Result<bool> {
    let mut is_crossed = false;
    plan.apply_with_subqueries(|node| {
        let LogicalPlan::Join(join) = node else { return Ok(TreeNodeRecursion::Continue) };
        is_crossed |= join.join_type == JoinType::Inner && join.on.is_empty();
        Ok(if is_crossed { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_crossed)
}

/// The engine's rules, with that one where it is of use.
pub(crate) fn rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let guarded = |rule: Arc<dyn OptimizerRule + Send + Sync>| -> Arc<dyn OptimizerRule + Send + Sync> {
        if rule.name() == "eliminate_cross_join" { Arc::new(WhereCrossed(rule)) } else { rule }
    };
    Optimizer::new().rules.into_iter().map(guarded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_still_called_so() {
        assert!(rules().iter().any(|rule| format!("{rule:?}").starts_with("WhereCrossed")));
    }
}
