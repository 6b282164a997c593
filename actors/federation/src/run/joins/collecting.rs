//! The first side of a join, whose keys are collected while they are read.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::apply_expression_roots;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::{StreamExt, stream};

use crate::run::joins::key_values::KeyValues;
use crate::run::unary_node::unary_node;

/// A key, and where its values go.
pub(crate) type Collected = (Arc<dyn PhysicalExpr>, Arc<KeyValues>);

/// Hands its input on, and gathers the values of keys.
#[derive(Debug)]
pub(crate) struct CollectKeys {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Collected>,
}

impl CollectKeys {
    /// Gathers these keys of `input`.
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, keys: Vec<Collected>) -> Self {
        Self { input, keys }
    }
}

impl DisplayAs for CollectKeys {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(|(key, _)| key.to_string()).collect();
        write!(f, "CollectKeys: {}", keys.join(", "))
    }
}

impl ExecutionPlan for CollectKeys {
    fn name(&self) -> &'static str {
        "CollectKeys"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    unary_node!(|node: &Self, input| Self { input, keys: node.keys.clone() });

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.keys.iter().map(|(key, _)| key), f)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        for (_, values) in &self.keys {
            values.begin(MemoryConsumer::new("keys of a join").register(context.memory_pool()));
        }
        let (keys, ended) = (self.keys.clone(), self.keys.clone());
        let batches = self.input.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            for (key, values) in &keys {
                values.add(&key.evaluate(&batch)?.into_array(batch.num_rows())?)?;
            }
            Ok(batch)
        });
        let end = stream::once(async move {
            for (_, values) in &ended {
                values.end();
            }
            None
        });
        let batches = batches.map(Some).chain(end).filter_map(std::future::ready);
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches)))
    }
}
