//! Starts parts of a plan when their first row is requested. Merging several inputs would start them immediately:
//! as the second side of a join they would be queried before there are keys to narrow them, and would occupy a
//! place at their source that the first side may wait for.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{TryStreamExt, stream};

use crate::run::unary_node::{shown_as, unary_node};
use crate::run::wrapping_rule::Wrap;

/// Makes nodes that merge several inputs start when they are read.
pub(crate) const BEGIN_WHEN_READ: Wrap = Wrap {
    name: "begin_when_read",
    over: |node| {
        let merges = node.downcast_ref::<CoalescePartitionsExec>().is_some()
            || node.downcast_ref::<SortPreservingMergeExec>().is_some();
        Ok(merges.then(|| Arc::new(WhenRead { input: Arc::clone(node) }) as Arc<dyn ExecutionPlan>))
    },
};

/// Begins its input when its first row is asked for.
#[derive(Debug)]
struct WhenRead {
    input: Arc<dyn ExecutionPlan>,
}

shown_as!(WhenRead, "WhenRead");

impl ExecutionPlan for WhenRead {
    unary_node!("WhenRead" in order, |_: &Self, input| Self { input });

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = Arc::clone(&self.input);
        let begun = stream::once(async move { input.execute(partition, context) }).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), begun)))
    }
}
