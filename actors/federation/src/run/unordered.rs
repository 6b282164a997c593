//! Properties that the engine knows of the input of grouping sets (`ROLLUP`, `CUBE`) or a union do not hold for the
//! output: in the rows of a subtotal a column is NULL although it was constant, equal to another one, or ordered; a
//! union whose first columns are equal has one order twice. The engine relies on them all the same: it omits
//! required sorts, or finds that a required order is missing.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, plan_err};
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, InputOrderMode, Partitioning, PlanProperties};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use crate::failure::{UNSOUND, is_unsound};
use crate::run::joins::yielding::is_join;
use crate::run::unary_node::{shown_as, unary_node};
use crate::run::wrapping_rule::Wrap;

/// Hides the properties of the rows of grouping sets and unions. Runs before the rules that rely on them.
pub(crate) const FORGET_PROPERTIES: Wrap = Wrap {
    name: "forget_properties",
    over: |node| {
        let has_sets = |grouped: &AggregateExec| grouped.group_expr().has_grouping_set();
        let is_union = node.downcast_ref::<UnionExec>().is_some();
        let is_misread = is_union || node.downcast_ref::<AggregateExec>().is_some_and(has_sets);
        Ok(is_misread.then(|| Arc::new(Unordered::new(Arc::clone(node))) as Arc<dyn ExecutionPlan>))
    },
};

/// Hides the properties of the rows of joins, filters and groups as well. They are correct, and yet the engine
/// sometimes makes plans whose rows are not in the required order.
const FORGET_MORE: Wrap = Wrap {
    name: "forget_more_properties",
    over: |node| {
        let is_forgotten = is_join(node)
            || node.downcast_ref::<FilterExec>().is_some()
            || node.downcast_ref::<AggregateExec>().is_some();
        Ok(is_forgotten.then(|| Arc::new(Unordered::new(Arc::clone(node))) as Arc<dyn ExecutionPlan>))
    },
};

/// Makes the physical plan of an optimized one, with the rows of each step in the required order.
///
/// # Errors
/// The engine's errors.
pub(crate) async fn in_order(plan: &LogicalPlan, state: &mut SessionState) -> Result<Arc<dyn ExecutionPlan>> {
    match planned(plan, state).await {
        Err(error) if is_unsound(&error) => {
            let rules = [Arc::new(FORGET_MORE) as Arc<dyn PhysicalOptimizerRule + Send + Sync>];
            let rules = rules.into_iter().chain(state.physical_optimizers().iter().map(Arc::clone)).collect();
            *state = SessionStateBuilder::from(state.clone()).with_physical_optimizer_rules(rules).build();
            planned(plan, state).await
        }
        other => other,
    }
}

async fn planned(plan: &LogicalPlan, state: &SessionState) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = DefaultPhysicalPlanner::default().create_physical_plan(plan, state).await?;
    plan.apply(|node| {
        check_window(node)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(plan)
}

/// Refuses a window function whose rows are not grouped by partition: the engine notices it only at run time.
fn check_window(node: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let window = if let Some(whole) = node.downcast_ref::<WindowAggExec>() {
        Some((whole.window_expr(), whole.input()))
    } else {
        let bounded = node.downcast_ref::<BoundedWindowAggExec>();
        let sorted = bounded.filter(|bounded| bounded.input_order_mode == InputOrderMode::Sorted);
        sorted.map(|bounded| (bounded.window_expr(), bounded.input()))
    };
    let Some((input, keys)) = window.and_then(|(window, input)| Some((input, window.first()?.partition_by()))) else {
        return Ok(());
    };
    let (ordered, _) = input.equivalence_properties().find_longest_permutation(keys)?;
    if ordered.len() == keys.len() { Ok(()) } else { plan_err!("PARTITION BY {UNSOUND}") }
}

/// Passes rows on without any known properties.
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

shown_as!(Unordered, "Unordered");

impl ExecutionPlan for Unordered {
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    unary_node!("Unordered", |_: &Self, input| Self::new(input));

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
