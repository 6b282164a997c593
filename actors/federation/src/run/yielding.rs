//! Joins that let others have their turn: one with a large fan-out would not notice for long that nobody waits for it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};

/// Wraps each join so that it yields.
#[derive(Debug)]
pub(crate) struct YieldInJoins;

impl PhysicalOptimizerRule for YieldInJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let joins = node.downcast_ref::<HashJoinExec>().is_some()
                || node.downcast_ref::<NestedLoopJoinExec>().is_some()
                || node.downcast_ref::<CrossJoinExec>().is_some()
                || node.downcast_ref::<SortMergeJoinExec>().is_some();
            if !joins {
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
