//! Joins that yield: one with a large fan-out would not notice for long that its caller has left.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};

/// The maximal nesting depth of yielding joins: each consumes a part of tokio's cooperative budget (128), and with
/// none left for the innermost one the task would never continue.
const MOST_NESTED: usize = 64;

/// Wraps each join so that it yields; of joins in deeper chains some.
#[derive(Debug)]
pub(crate) struct YieldInJoins;

impl PhysicalOptimizerRule for YieldInJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let every = nested(&plan) / MOST_NESTED + 1;
        plan.transform_up(|node| {
            if !is_join(&node) || !nested(&node).is_multiple_of(every) {
                return Ok(Transformed::no(node));
            }
            Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "yield_in_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Joins inside each other, at most.
fn nested(plan: &Arc<dyn ExecutionPlan>) -> usize {
    usize::from(is_join(plan)) + plan.children().into_iter().map(nested).max().unwrap_or(0)
}

/// Whether it is a join, of any kind.
pub(in crate::run) fn is_join(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<HashJoinExec>().is_some()
        || plan.downcast_ref::<NestedLoopJoinExec>().is_some()
        || plan.downcast_ref::<CrossJoinExec>().is_some()
        || plan.downcast_ref::<SortMergeJoinExec>().is_some()
}
