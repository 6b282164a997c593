//! Aggregates that keep every value until their group is complete. The engine counts what it keeps, but not the
//! copies in transit: spilled values that are read again, and those passed on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{StreamExt, stream};

use crate::functions::allowed::is_ordered_set;
use crate::run::unary_node::{shown_as, unary_node};
use crate::run::wrapping_rule::Wrap;
use portico_core::mutex::lock;

/// Has the copies of buffered values counted.
pub(crate) const COUNT_BUFFERED_VALUES: Wrap = Wrap {
    name: "count_buffered_values",
    over: |node| {
        let Some(aggregate) = node.downcast_ref::<AggregateExec>() else { return Ok(None) };
        let columns = buffered(aggregate);
        if columns.is_empty() || aggregate.mode().input_mode() != AggregateInputMode::Raw {
            return Ok(None);
        }
        let held = Held::default();
        let counted = Count { input: Arc::clone(aggregate.input()), columns, held: Arc::clone(&held) };
        let same = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        let input = Arc::clone(node).replace_children(vec![Arc::new(counted)], same)?;
        Ok(Some(Arc::new(Release { input, held })))
    },
};

/// Returns the columns whose values are collected, each as often as it is held in addition.
fn buffered(aggregate: &AggregateExec) -> Vec<usize> {
    let calls = aggregate.aggr_expr().iter().filter(|call| {
        let name = call.fun().name();
        name == "string_agg" || is_ordered_set(name)
    });
    let columns = calls.flat_map(|call| {
        let times = if call.fun().name() == "string_agg" { 2 } else { 1 };
        let read = call.expressions().first().map(collect_columns).unwrap_or_default();
        read.into_iter().flat_map(move |column| std::iter::repeat_n(column.index(), times))
    });
    columns.collect()
}

/// The memory counted for the values of an aggregate, by partition, until all its groups were read.
type Held = Arc<Mutex<HashMap<usize, MemoryReservation>>>;

/// Frees the counted memory once the groups are read.
#[derive(Debug)]
struct Release {
    input: Arc<dyn ExecutionPlan>,
    held: Held,
}

shown_as!(Release, "Release");

impl ExecutionPlan for Release {
    unary_node!("Release" in order, |node: &Self, input| Self { input, held: Arc::clone(&node.held) });

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let groups = self.input.execute(partition, context)?;
        let held = Arc::clone(&self.held);
        let release = async move { lock(&held).remove(&partition) };
        let end = stream::once(release).filter_map(|_| std::future::ready(None));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), groups.chain(end))))
    }
}

/// Counts the values of some columns.
#[derive(Debug)]
struct Count {
    input: Arc<dyn ExecutionPlan>,
    columns: Vec<usize>,
    held: Held,
}

impl Count {
    fn octets(columns: &[usize], batch: &RecordBatch) -> Result<usize> {
        let octets = columns.iter().map(|column| Ok(batch.column(*column).to_data().get_slice_memory_size()?));
        octets.sum()
    }
}

shown_as!(Count, "Count");

impl ExecutionPlan for Count {
    unary_node!("Count" in order, |node: &Self, input| {
        Self { input, columns: node.columns.clone(), held: Arc::clone(&node.held) }
    });

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("buffered values").register(context.memory_pool());
        lock(&self.held).insert(partition, reservation);
        let (held, columns) = (Arc::clone(&self.held), self.columns.clone());
        let batches = self.input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            let octets = Self::octets(&columns, &batch)?;
            lock(&held).get(&partition).map_or(Ok(()), |held| held.try_grow(octets))?;
            Ok(batch)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches)))
    }
}
