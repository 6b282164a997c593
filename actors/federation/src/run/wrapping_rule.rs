//! A rule that wraps nodes of a plan in one of ours.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

/// Wraps nodes with `over`, from the leaves up.
#[derive(Debug)]
pub(crate) struct Wrap {
    /// The rule's name among the engine's.
    pub(super) name: &'static str,
    /// Returns the wrapped node; `None` to leave it as it is.
    pub(super) over: fn(&Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>>,
}

impl PhysicalOptimizerRule for Wrap {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let over = (self.over)(&node)?;
            Ok(over.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}
