//! Subqueries that speak of the query around them. The engine makes joins of them by moving their conditions up, and does so
//! also where they then are of other rows: over a window function, an outer join, or an aggregate's only row.

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Distinct, Expr, JoinType, LogicalPlan, Operator};

use crate::carried::carried;
use portico_core::error::{Error, Kind};

/// Refuses those whose conditions cannot be moved to the query around them.
///
/// # Errors
/// `0A000`, with what to write.
pub(crate) fn check(plan: &LogicalPlan) -> EngineResult<()> {
    plan.apply_with_subqueries(|node| {
        for input in node.inputs() {
            // LATERAL
            if let LogicalPlan::Subquery(lateral) = input {
                check_distinct(&lateral.subquery)?;
                Rows::of(&lateral.subquery)?;
            }
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarSubquery(subquery) => {
                        check_distinct(&subquery.subquery)?;
                        Rows::of(&subquery.subquery)?
                    }
                    Expr::Exists(exists) => Rows::of(&exists.subquery.subquery)?,
                    Expr::InSubquery(listed) => Rows::of(&listed.subquery.subquery)?,
                    _ => return Ok(TreeNodeRecursion::Continue),
                };
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

/// Refuses different rows of those that a condition chooses other than by the values of columns: the engine tells rows
/// apart by the columns of the condition too, and they would be several.
fn check_distinct(subquery: &LogicalPlan) -> EngineResult<()> {
    let is_chosen_by_others = |plan: &LogicalPlan| {
        plan.exists(|node| {
            let LogicalPlan::Filter(filter) = node else { return Ok(false) };
            let conditions = split_conjunction(&filter.predicate).into_iter();
            Ok(conditions
                .filter(|condition| condition.contains_outer())
                .any(|condition| !is_value_of_column(condition)))
        })
    };
    let is_wrong = subquery.exists(|node| match node {
        LogicalPlan::Distinct(_) => is_chosen_by_others(node),
        LogicalPlan::Aggregate(of) if of.aggr_expr.is_empty() => is_chosen_by_others(node),
        _ => Ok(false),
    })?;
    if is_wrong { Err(refused()) } else { Ok(()) }
}

/// Whether it says what a column is equal to, by the query around it alone.
fn is_value_of_column(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return false };
    let is = |one: &Expr, other: &Expr| matches!(one, Expr::Column(_)) && other.column_refs().is_empty();
    is(left, right) || is(right, left)
}

/// What the rows of a part of a subquery depend on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// On no other query.
    Own,
    /// On the row of the query around it: those for which its conditions hold.
    Chosen,
    /// They are one, which is there also where there are no such rows.
    One,
}

impl Rows {
    fn of(plan: &LogicalPlan) -> EngineResult<Self> {
        // What stands in it speaks of what stands beside it.
        if matches!(plan, LogicalPlan::Subquery(_)) {
            return Ok(Self::Own);
        }
        let inputs = plan.inputs().into_iter().map(Self::of).collect::<EngineResult<Vec<_>>>()?;
        let has = |rows: Self| inputs.contains(&rows);
        let speaks = plan.contains_outer_reference();
        match plan {
            _ if !speaks && !has(Self::Chosen) && !has(Self::One) => Ok(Self::Own),
            LogicalPlan::Filter(_) if !has(Self::One) => Ok(Self::Chosen),
            LogicalPlan::Join(of) if of.join_type == JoinType::Inner && !has(Self::One) => Ok(Self::Chosen),
            LogicalPlan::Aggregate(of) if !speaks && !has(Self::One) => {
                match of.group_expr.iter().any(|by| matches!(by, Expr::GroupingSet(_))) {
                    true => Err(refused()),
                    false if of.group_expr.is_empty() => Ok(Self::One),
                    false => Ok(Self::Chosen),
                }
            }
            // Beside the aggregates of no rows the engine has NULL for what is the same for all.
            LogicalPlan::Projection(of) if has(Self::One) => {
                let is_made = |expr: &Expr| !expr.column_refs().is_empty();
                if speaks || !of.expr.iter().all(is_made) { Err(refused()) } else { Ok(Self::One) }
            }
            LogicalPlan::Distinct(Distinct::All(_)) if has(Self::One) => Err(refused()),
            LogicalPlan::Window(_) | LogicalPlan::Join(_) | LogicalPlan::Filter(_) | LogicalPlan::Aggregate(_) => {
                Err(refused())
            }
            _ => Ok(if has(Self::One) { Self::One } else { Self::Chosen }),
        }
    }
}

fn refused() -> datafusion::common::DataFusionError {
    let message = "a subquery that speaks of the query around it below a window function, an outer join, grouping sets, a \
                   condition on an aggregate without GROUP BY, or DISTINCT other than by what is equal, is not there over \
                   several connections";
    let hint = "do that in a subquery that speaks of no other one, with the columns that it is about in its list (and in \
                PARTITION BY or GROUP BY), and join it on these";
    carried(Error::new(Kind::Rejected, message).sqlstate("0A000").hint(hint))
}
