//! `DISTINCT ON`: the first row of each group, whole. The engine would look for the first value of each column by itself.

use std::sync::Arc;

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Distinct, DistinctOn, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, col, lit};

/// The column that counts the rows of a group; no name of a statement has such a sign.
const PLACE: &str = "\u{1}place";

/// The plan whose rows are numbered within their groups, in their order.
///
/// # Errors
/// What the engine says of the parts.
pub(crate) fn first_rows(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Distinct(Distinct::On(distinct)) => first(distinct).map(Transformed::yes),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn first(DistinctOn { on_expr, select_expr, sort_expr, input, .. }: DistinctOn) -> EngineResult<LogicalPlan> {
    let order = sort_expr.unwrap_or_default();
    let place = row_number().partition_by(on_expr);
    // An order of nothing is none to the engine.
    let place = if order.is_empty() { place } else { place.order_by(order.clone()) };
    let place = place.build()?.alias(PLACE);
    let rows =
        LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).window([place])?.filter(col(PLACE).eq(lit(1_u64)))?;
    let ordered = if order.is_empty() { rows } else { rows.sort(order)? };
    ordered.project(select_expr)?.build()
}
