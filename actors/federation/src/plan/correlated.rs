//! Subqueries that speak of the query around them. The engine makes joins of them by moving their conditions up, and does so
//! also where they then are of other rows: over a window function, an outer join, or an aggregate's only row.

use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result as EngineResult, plan_err};
use datafusion::logical_expr::expr::{BinaryExpr, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, Filter, JoinType, LogicalPlan, Operator, Projection, Subquery, cast as to_type,
};

use crate::external_error::external;
use crate::failure::SEVERAL_ROWS;
use crate::functions::numbers::is_exact;
use crate::plan::joins::chain::has_subqueries;
use portico_core::error::{Error, Kind};

/// Rewrites correlated subqueries with groups so that a column is compared with the outer query's values: the
/// engine groups by what is compared, and supports only columns there.
pub(crate) fn by_columns(plan: LogicalPlan) -> EngineResult<LogicalPlan> {
    let mut fresh = 0;
    plan.transform_down_with_subqueries(|node| {
        let node = match node {
            LogicalPlan::Subquery(lateral) => LogicalPlan::Subquery(matched_by_columns(lateral, &mut fresh)?),
            node => node,
        };
        let mut of_value = |expr| match expr {
            Expr::ScalarSubquery(value) => {
                Ok(Transformed::yes(Expr::ScalarSubquery(matched_by_columns(value, &mut fresh)?)))
            }
            other => Ok(Transformed::no(other)),
        };
        node.map_expressions(|expr| expr.transform_up(&mut of_value))
    })
    .data()
}

fn matched_by_columns(of: Subquery, fresh: &mut usize) -> EngineResult<Subquery> {
    if of.outer_ref_columns.is_empty() {
        return Ok(of);
    }
    let plan = Arc::unwrap_or_clone(of.subquery).transform_up(|node| {
        let LogicalPlan::Filter(filter) = &node else { return Ok(Transformed::no(node)) };
        let mut columns: Vec<Expr> = filter.input.schema().columns().into_iter().map(Expr::Column).collect();
        let known = columns.len();
        let mut column_of = |value: &Expr| {
            *fresh += 1;
            let name = format!("matched#{fresh}");
            columns.push(value.clone().alias(&name));
            Expr::Column(Column::from_name(name))
        };
        let conditions = split_conjunction(&filter.predicate).into_iter().map(|condition| match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                let schema = filter.input.schema();
                if let Some(own) = matched(left, right, schema) {
                    column_of(&own).eq(right.as_ref().clone())
                } else if let Some(own) = matched(right, left, schema) {
                    column_of(&own).eq(left.as_ref().clone())
                } else {
                    condition.clone()
                }
            }
            other => other.clone(),
        });
        let predicate = conjunction(conditions.collect::<Vec<_>>());
        let Some(predicate) = predicate.filter(|_| columns.len() > known) else { return Ok(Transformed::no(node)) };
        let input = Projection::try_new(columns, Arc::clone(&filter.input))?;
        let filter = Filter::try_new(predicate, Arc::new(LogicalPlan::Projection(input)))?;
        Ok(Transformed::yes(LogicalPlan::Filter(filter)))
    });
    Ok(Subquery { subquery: Arc::new(plan.data()?), ..of })
}

/// Returns the computed value of the subquery's own rows that is compared with a value of the outer query alone. A
/// decimal compared with a float is converted: several decimals are one float.
fn matched(own: &Expr, outer: &Expr, schema: &DFSchema) -> Option<Expr> {
    let is_own = !own.column_refs().is_empty() && !own.contains_outer() && !own.is_volatile() && !has_subqueries(own);
    if !(is_own && outer.contains_outer() && outer.column_refs().is_empty() && !has_subqueries(outer)) {
        return None;
    }
    let (of, other) = (own.get_type(schema).ok()?, outer.get_type(schema).ok()?);
    if is_exact(&of) && other.is_floating() {
        return Some(to_type(own.clone(), ArrowType::Float64));
    }
    (!matches!(own, Expr::Column(_))).then(|| own.clone())
}

/// Refuses subqueries whose conditions cannot be moved to the outer query.
///
/// # Errors
/// `0A000`, with what to write.
pub(crate) fn check(plan: &LogicalPlan) -> EngineResult<()> {
    plan.apply_with_subqueries(|node| {
        for input in node.inputs() {
            // LATERAL
            if let LogicalPlan::Subquery(lateral) = input {
                check_distinct(&lateral.subquery)?;
                Rows::from_plan(&lateral.subquery)?;
            }
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarSubquery(subquery) => {
                        check_one_row(subquery)?;
                        check_distinct(&subquery.subquery)?;
                        Rows::from_plan(&subquery.subquery)?
                    }
                    Expr::Exists(exists) => Rows::from_plan(&exists.subquery.subquery)?,
                    Expr::InSubquery(listed) => {
                        if listed.negated {
                            check_not_in(listed)?;
                        }
                        Rows::from_plan(&listed.subquery.subquery)?
                    }
                    Expr::Not(inner) if let Expr::InSubquery(listed) = inner.as_ref() => {
                        check_not_in(listed)?;
                        return Ok(TreeNodeRecursion::Continue);
                    }
                    _ => return Ok(TreeNodeRecursion::Continue),
                };
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

/// Refuses a value that may be one of several rows: the engine believes of some queries that they have one.
fn check_one_row(value: &Subquery) -> EngineResult<()> {
    let mut plan = value.subquery.as_ref();
    while !value.outer_ref_columns.is_empty() {
        plan = match plan {
            LogicalPlan::Projection(of) => &of.input,
            LogicalPlan::SubqueryAlias(of) => &of.input,
            LogicalPlan::Sort(of) => &of.input,
            LogicalPlan::Limit(of) => &of.input,
            LogicalPlan::Filter(of) if matches!(*of.input, LogicalPlan::Aggregate(_)) => &of.input,
            LogicalPlan::Aggregate(_) | LogicalPlan::EmptyRelation(_) => break,
            _ => return plan_err!("Correlated scalar subquery {SEVERAL_ROWS}"),
        };
    }
    Ok(())
}

/// Refuses `NOT IN` of a query that speaks of the query around it: the engine looks for NULL among all of its rows, before
/// its conditions choose some.
fn check_not_in(listed: &InSubquery) -> EngineResult<()> {
    if listed.subquery.outer_ref_columns.is_empty() {
        return Ok(());
    }
    let message =
        "query: NOT IN with a subquery that refers to the outer query is not supported over several connections";
    let hint = "write NOT EXISTS (SELECT … WHERE … AND their_column = value); NOT IN has no row where one of their values is NULL";
    Err(external(Error::invalid(message).hint(hint)))
}

/// Refuses DISTINCT on rows that a condition selects other than by the values of columns: the engine also
/// distinguishes rows by the columns of the condition, and would return several.
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

/// Returns true if the condition compares a column with a value of the outer query alone.
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
    /// On the row of the outer query: those for which its conditions hold.
    Chosen,
    /// A single row, which exists even without such rows.
    One,
}

impl Rows {
    fn from_plan(plan: &LogicalPlan) -> EngineResult<Self> {
        // A nested subquery refers to its siblings.
        if matches!(plan, LogicalPlan::Subquery(_)) {
            return Ok(Self::Own);
        }
        let inputs = plan.inputs().into_iter().map(Self::from_plan).collect::<EngineResult<Vec<_>>>()?;
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
            // For aggregates of no rows the engine returns NULL also for expressions that do not depend on the
            // rows.
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
    let message = "a subquery that refers to the outer query below a window function, an outer join, grouping sets, \
                   a condition on an aggregate without GROUP BY, or DISTINCT, other than by equality, is not supported \
                   over several connections";
    let hint = "do that in a subquery that refers to no other query, with the columns that it depends on in its list \
                (and in PARTITION BY or GROUP BY), and join it on these";
    external(Error::new(Kind::Rejected, message).sqlstate("0A000").hint(hint))
}
