//! The order of a subquery's rows: kept as far as something above reads it, as PostgreSQL does, and left out elsewhere.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::LogicalPlan;

/// Leaves out each order that nothing above reads: neither a limit nor the result.
pub(crate) fn where_it_counts(plan: LogicalPlan) -> Result<LogicalPlan> {
    sorted(plan, true)
}

fn sorted(plan: LogicalPlan, counts: bool) -> Result<LogicalPlan> {
    let plan = match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() && !counts => {
            return sorted(Arc::unwrap_or_clone(sort.input), false);
        }
        plan => plan,
    };
    let below = match &plan {
        LogicalPlan::Limit(_) => true,
        LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Subquery(_) => counts,
        _ => false,
    };
    let plan = plan.map_children(|child| sorted(child, below).map(Transformed::yes)).data()?;
    plan.map_subqueries(|subquery| sorted(subquery, true).map(Transformed::yes)).data()
}
