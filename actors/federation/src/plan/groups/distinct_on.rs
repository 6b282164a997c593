//! `DISTINCT ON`: the first row of each group, whole. The engine would look for the first value of each column by itself.

use std::sync::Arc;

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Distinct, DistinctOn, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, col, lit};

/// The column with a row's number in its group; names in statements cannot contain this character.
const PLACE: &str = "\u{1}place";

/// Rewrites DISTINCT ON by numbering the rows within their groups, in their order.
///
/// # Errors
/// The engine's errors for the parts.
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
    // The engine does not accept an empty order.
    let place = if order.is_empty() { place } else { place.order_by(order.clone()) };
    let place = place.build()?.alias(PLACE);
    let rows =
        LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).window([place])?.filter(col(PLACE).eq(lit(1_u64)))?;
    let ordered = if order.is_empty() { rows } else { rows.sort(order)? };
    ordered.project(select_expr)?.build()
}
