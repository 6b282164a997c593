//! Window functions whose rows are counted as memory of their statement: the engine keeps them without reserving
//! any.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, UInt64Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::run::unary_node::{shown_as, unary_node};
use crate::run::wrapping_rule::Wrap;
use portico_core::mutex::lock;

/// Has the rows that a window function keeps counted.
pub(crate) const COUNT_ROWS_OF_WINDOWS: Wrap = Wrap {
    name: "count_rows_of_windows",
    over: |node| {
        let is_window =
            node.downcast_ref::<WindowAggExec>().is_some() || node.downcast_ref::<BoundedWindowAggExec>().is_some();
        if !is_window {
            return Ok(None);
        }
        let kept = Shared::default();
        let in_front = |input: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
            Arc::new(CountIn { input: Arc::clone(input), kept: Arc::clone(&kept) })
        };
        let children = node.children().into_iter().map(in_front).collect();
        let same = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        let input = Arc::clone(node).replace_children(children, same)?;
        Ok(Some(Arc::new(CountOut { input, kept })))
    },
};

/// The rows that went into a window function and have not come out of it.
#[derive(Debug, Default)]
struct Kept {
    /// There once it runs.
    reservation: Option<MemoryReservation>,
    /// Rows of each batch that are still to come, and octets that it is counted for.
    batches: VecDeque<(usize, usize)>,
}

impl Kept {
    /// Counts an incoming batch.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let octets = batch.get_array_memory_size();
        self.reservation.as_ref().map_or(Ok(()), |reservation| reservation.try_grow(octets))?;
        self.batches.push_back((batch.num_rows(), octets));
        Ok(())
    }

    /// Frees the memory of so many rows that have left: rows keep their order.
    fn remove(&mut self, mut rows: usize) {
        while let Some((left, octets)) = self.batches.front_mut() {
            if *left > rows {
                *left -= rows;
                return;
            }
            rows -= *left;
            if let Some(reservation) = &self.reservation {
                reservation.shrink(*octets);
            }
            self.batches.pop_front();
        }
    }
}

type Shared = Arc<Mutex<Kept>>;

/// Passes on the rows of a window function, and frees their memory.
#[derive(Debug)]
struct CountOut {
    input: Arc<dyn ExecutionPlan>,
    kept: Shared,
}

shown_as!(CountOut, "CountOut");

impl ExecutionPlan for CountOut {
    unary_node!("CountOut" in order, |node: &Self, input| Self { input, kept: Arc::clone(&node.kept) });

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("rows of a window").register(context.memory_pool());
        *lock(&self.kept) = Kept { reservation: Some(reservation), batches: VecDeque::new() };
        let kept = Arc::clone(&self.kept);
        let most = context.session_config().batch_size();
        let batches = self.input.execute(partition, context)?.map_ok(move |batch| {
            let end = End { kept: Arc::clone(&kept), rows: batch.num_rows() };
            let parts = (0..batch.num_rows()).step_by(most);
            stream::iter(parts.map(move |begin| copied(&batch, begin, most.min(end.rows - begin))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches.try_flatten().boxed())))
    }
}

/// Rows that leave a window function; their memory is freed once the last of them was read.
struct End {
    kept: Shared,
    rows: usize,
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.kept).remove(self.rows);
    }
}

/// These rows, in memory of their own: as part of the batch they would keep all of it, and be counted for all of it.
fn copied(batch: &RecordBatch, begin: usize, rows: usize) -> Result<RecordBatch> {
    let (begin, end) = (begin as u64, (begin + rows) as u64);
    Ok(take_record_batch(batch, &UInt64Array::from_iter_values(begin..end))?)
}

/// Hands rows on to a window function, and counts them.
#[derive(Debug)]
struct CountIn {
    input: Arc<dyn ExecutionPlan>,
    kept: Shared,
}

shown_as!(CountIn, "CountIn");

impl ExecutionPlan for CountIn {
    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    unary_node!("CountIn", |node: &Self, input| Self { input, kept: Arc::clone(&node.kept) });

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let kept = Arc::clone(&self.kept);
        let batches = self.input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            lock(&kept).add(&batch)?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches)))
    }
}
