//! Keeps a sort on its side of what skips rows. The engine moves an order that is asked for above a limit below it, for as
//! many rows as the limit passes on, and so for too few where it skips some.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};

use crate::run::unary_node::{shown_as, unary_node};
use crate::run::wrapping_rule::Wrap;

/// Puts a node above each limit that skips rows. It says that it keeps no order, though it does.
pub(crate) const SORT_ON_ONE_SIDE: Wrap = Wrap {
    name: "sort_on_one_side",
    over: |node| {
        let skips = node.downcast_ref::<GlobalLimitExec>().is_some_and(|limit| limit.skip() > 0);
        Ok(skips.then(|| Arc::new(Skipped { input: Arc::clone(node) }) as Arc<dyn ExecutionPlan>))
    },
};

#[derive(Debug)]
struct Skipped {
    input: Arc<dyn ExecutionPlan>,
}

shown_as!(Skipped, "Skipped");

impl ExecutionPlan for Skipped {
    unary_node!("Skipped", |_: &Self, input| Self { input });

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
