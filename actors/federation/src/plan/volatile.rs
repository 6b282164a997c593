//! Common table expressions that answer other rows each time. PostgreSQL computes one once, however often it is named; the
//! engine's planner puts it in the place of each name.

use std::collections::HashSet;

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{LogicalPlan, SubqueryAlias};
use portico_core::error::{Error, Kind};

use crate::external_error::external;

/// Refuses one that is named more than once.
///
/// # Errors
/// `0A000`, with what to write.
pub(crate) fn check(plan: &LogicalPlan) -> EngineResult<()> {
    let mut named: HashSet<SubqueryAlias> = HashSet::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::SubqueryAlias(alias) = node
            && is_volatile(&alias.input)?
            && !named.insert(alias.clone())
        {
            let message = format!(
                "query: {} returns different rows each time, and is named more than once over several connections",
                alias.alias
            );
            let refusal = Error::new(Kind::Rejected, message).sqlstate("0A000");
            return Err(external(refusal.hint("name it once, or let a connection compute it, in a view there")));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

/// Whether anything in it is another value each time.
fn is_volatile(plan: &LogicalPlan) -> EngineResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
