//! What the engine knows of the rows that go into grouping sets (`ROLLUP`, `CUBE`) does not hold for what comes out: a
//! column that has one value only, is equal to another one, or by which rows are ordered or divided, is NULL in the rows
//! of a subtotal. The engine goes on to believe it, and leaves out sorts that are needed.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};

use super::one_input::one_input;

/// Has nothing believed of the rows of grouping sets. It comes before the rules that go by it.
#[derive(Debug)]
pub(crate) struct ForgetProperties;

impl PhysicalOptimizerRule for ForgetProperties {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let has_sets = |grouped: &AggregateExec| grouped.group_expr().has_grouping_set();
            if !node.downcast_ref::<AggregateExec>().is_some_and(has_sets) {
                return Ok(Transformed::no(node));
            }
            Ok(Transformed::yes(Arc::new(Subtotals::new(node)) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "forget_properties"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Hands the rows of grouping sets on, of which nothing is known.
#[derive(Debug)]
struct Subtotals {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Subtotals {
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

impl DisplayAs for Subtotals {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subtotals")
    }
}

impl ExecutionPlan for Subtotals {
    fn name(&self) -> &'static str {
        "Subtotals"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    one_input!(|_: &Self, input| Self::new(input));

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
