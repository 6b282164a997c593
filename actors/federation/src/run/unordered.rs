//! What the engine knows of the rows that go into grouping sets (`ROLLUP`, `CUBE`) or a union does not hold for what comes
//! out: in the rows of a subtotal a column is NULL that has one value only, is equal to another one, or by which rows are
//! ordered; of a union whose first columns are equal it knows one order twice. It goes on to believe all of it: it leaves out
//! sorts that are needed, or finds that the order that it needs is not there.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};

use super::one_input::one_input;
use super::wrap::Wrap;

/// Has nothing believed of the rows of grouping sets and unions. It comes before the rules that go by it.
pub(crate) const FORGET_PROPERTIES: Wrap = Wrap {
    name: "forget_properties",
    over: |node| {
        let has_sets = |grouped: &AggregateExec| grouped.group_expr().has_grouping_set();
        let is_union = node.downcast_ref::<UnionExec>().is_some();
        let is_misread = is_union || node.downcast_ref::<AggregateExec>().is_some_and(has_sets);
        Ok(is_misread.then(|| Arc::new(Unordered::new(Arc::clone(node))) as Arc<dyn ExecutionPlan>))
    },
};

/// Hands rows on of which nothing is known.
#[derive(Debug)]
pub(super) struct Unordered {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Unordered {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for Unordered {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unordered")
    }
}

impl ExecutionPlan for Unordered {
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    one_input!("Unordered", |_: &Self, input| Self::new(input));

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
