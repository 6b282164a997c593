//! A rule that puts a node of ours over some nodes of a plan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

/// Puts what `over` makes of a node over it, from the leaves up.
#[derive(Debug)]
pub(crate) struct Wrap {
    /// The rule's name among the engine's.
    pub(super) name: &'static str,
    /// The node over this one; `None` where there is to be none.
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
