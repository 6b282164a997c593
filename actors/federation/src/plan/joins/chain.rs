//! Chains of inner joins: decomposed into relations and conditions, and joined in another order.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan, Projection};
use fixedbitset::FixedBitSet;

/// Inner joins one above the other, taken apart.
pub(super) struct Chain {
    /// The relations to join: tables or others.
    pub(super) items: Vec<LogicalPlan>,
    pub(super) pairs: Vec<[Side; 2]>,
    conditions: Vec<(Expr, Items)>,
    /// The columns of the result.
    columns: Vec<Column>,
}

/// Some of the items, by their places.
pub(super) type Items = FixedBitSet;

/// One of two values that are equal.
pub(super) struct Side {
    value: Expr,
    of: Items,
    /// The item and the place there of a value that is a column of one.
    pub(super) column: Option<(usize, usize)>,
}

impl Side {
    /// Whether it is a value of these items.
    pub(super) fn is_of(&self, items: &Items) -> bool {
        !self.of.is_clear() && self.of.is_subset(items)
    }
}

/// Reorders a chain; returns `None` to leave it as it is.
pub(super) type Reordered<'a> = &'a dyn Fn(Chain) -> Result<Option<LogicalPlan>>;

/// Some of the items, joined.
pub(super) type Joined = (LogicalPlan, Items);

/// One item alone.
pub(super) fn only(item: usize) -> Items {
    let mut items = Items::with_capacity(item + 1);
    items.insert(item);
    items
}

impl Chain {
    /// The chain that ends in `plan`, where that is a join.
    pub(super) fn from_plan(plan: &LogicalPlan) -> Option<Self> {
        let (mut plans, mut pairs, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
        take_apart(plan, &mut plans, &mut pairs, &mut conditions);
        if plans.len() < 2 {
            return None;
        }
        let place = |column: &Column| {
            let places = plans.iter().map(|plan| plan.schema().maybe_index_of_column(column));
            places.enumerate().find_map(|(item, place)| Some((item, place?)))
        };
        let of = |expr: &Expr| -> Option<Items> {
            expr.column_refs().into_iter().map(|column| Some(place(column)?.0)).collect()
        };
        let side = |value: Expr| {
            let column = if let Expr::Column(column) = &value { place(column) } else { None };
            Some(Side { of: of(&value)?, column, value })
        };
        let pairs = pairs.into_iter().map(|(left, right)| Some([side(left)?, side(right)?]));
        let pairs = pairs.collect::<Option<Vec<_>>>()?;
        let conditions = conditions.into_iter().map(|condition| {
            let of = of(&condition)?;
            Some((condition, of))
        });
        let conditions = conditions.collect::<Option<Vec<_>>>()?;
        let items = plans.into_iter().cloned().collect();
        Some(Self { items, pairs, conditions, columns: plan.schema().columns() })
    }

    /// The pairs with one value in each of two sets, turned so that the first value is of `one`.
    pub(super) fn between<'a>(
        &'a self,
        one: &'a Items,
        other: &'a Items,
    ) -> impl Iterator<Item = (&'a Side, &'a Side)> {
        self.pairs.iter().filter_map(move |[left, right]| {
            if left.is_of(one) && right.is_of(other) {
                Some((left, right))
            } else {
                (right.is_of(one) && left.is_of(other)).then_some((right, left))
            }
        })
    }

    /// Joins both by their common conditions, with the columns that are still needed.
    pub(super) fn join(&mut self, (left, of_left): Joined, (right, of_right): Joined) -> Result<Joined> {
        let of_both = &of_left | &of_right;
        let on = self.between(&of_left, &of_right).map(|(left, right)| (left.value.clone(), right.value.clone()));
        let on: Vec<(Expr, Expr)> = on.collect();
        // A condition that is checked here is not checked again.
        let (mut here, mut later) = (Vec::new(), Vec::new());
        for (condition, of) in std::mem::take(&mut self.conditions) {
            if of.is_subset(&of_both) { here.push(condition) } else { later.push((condition, of)) }
        }
        self.conditions = later;
        let mut later = Vec::new();
        for pair in std::mem::take(&mut self.pairs) {
            let is_whole = pair.iter().all(|side| side.of.is_subset(&of_both));
            let is_key = on.iter().any(|(left, right)| {
                let [one, other] = pair.each_ref().map(|side| &side.value);
                (one == left && other == right) || (one == right && other == left)
            });
            match (is_whole, is_key) {
                (true, true) => {}
                (true, false) => {
                    let [one, other] = pair.map(|side| side.value);
                    here.push(one.eq(other));
                }
                (false, _) => later.push(pair),
            }
        }
        self.pairs = later;
        let join = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            conjunction(here),
            JoinType::Inner,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        )?;
        self.narrowed(LogicalPlan::Join(join)).map(|plan| (plan, of_both))
    }

    /// Removes the columns that no node above uses.
    fn narrowed(&self, join: LogicalPlan) -> Result<LogicalPlan> {
        let mut needed: BTreeSet<&Column> = self.columns.iter().collect();
        needed.extend(self.conditions.iter().flat_map(|(condition, _)| condition.column_refs()));
        needed.extend(self.pairs.iter().flatten().flat_map(|side| side.value.column_refs()));
        let all = join.schema().columns();
        let kept: Vec<Expr> = all.iter().filter(|column| needed.contains(column)).cloned().map(Expr::Column).collect();
        if kept.len() == all.len() {
            return Ok(join);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(kept, Arc::new(join))?))
    }

    /// `plan`, which joins all of the items, with the columns of the chain.
    pub(super) fn finish(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let columns = self.columns.into_iter().map(Expr::Column).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
    }
}

/// Reorders each chain in the plan with `reordered`. A chain without a new order stays, and its relations are
/// searched.
///
/// # Errors
/// The engine's errors for a plan that it made itself.
pub(super) fn each(plan: LogicalPlan, reordered: Reordered<'_>) -> Result<LogicalPlan> {
    match Chain::from_plan(&plan).map(reordered) {
        Some(Ok(Some(plan))) => Ok(plan),
        Some(Ok(None)) => looked_through(plan, true, reordered),
        // A chain uses the names of its tables: some occur twice if columns in between are removed.
        Some(Err(_)) | None => looked_through(plan, false, reordered),
    }
}

/// Reorders the inputs of a plan; the parts of an `ordered` chain are not treated as chains again.
fn looked_through(plan: LogicalPlan, ordered: bool, reordered: Reordered<'_>) -> Result<LogicalPlan> {
    let inner = |child: LogicalPlan| {
        if ordered && (is_link(&child) || narrowing(&child).is_some()) {
            looked_through(child, true, reordered)
        } else {
            each(child, reordered)
        }
    };
    let plan = plan.map_children(|child| inner(child).map(Transformed::yes)).data()?;
    plan.map_subqueries(|subquery| each(subquery, reordered).map(Transformed::yes)).data()
}

/// Returns an inner join on equality, whose position in a chain has no meaning.
fn link(plan: &LogicalPlan) -> Option<&Join> {
    let LogicalPlan::Join(join) = plan else { return None };
    let is_plain = join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
        && !join.on.is_empty();
    (is_plain && !join.filter.as_ref().is_some_and(has_subqueries)).then_some(join)
}

/// Returns true if `expr` contains a subquery.
pub(in crate::plan) fn has_subqueries(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))))
        .unwrap_or(true)
}

/// Whether it may belong to a chain.
pub(super) fn is_link(plan: &LogicalPlan) -> bool {
    link(plan).is_some()
}

/// Returns a projection that only removes columns between two joins.
fn narrowing(plan: &LogicalPlan) -> Option<&Projection> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    let is_plain = projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_)));
    (is_plain && (is_link(&projection.input) || narrowing(&projection.input).is_some())).then_some(projection)
}

fn take_apart<'a>(
    plan: &'a LogicalPlan,
    plans: &mut Vec<&'a LogicalPlan>,
    pairs: &mut Vec<(Expr, Expr)>,
    conditions: &mut Vec<Expr>,
) {
    if let Some(join) = link(plan) {
        take_apart(&join.left, plans, pairs, conditions);
        take_apart(&join.right, plans, pairs, conditions);
        pairs.extend(join.on.iter().cloned());
        conditions.extend(join.filter.iter().flat_map(split_conjunction).cloned());
    } else if let Some(projection) = narrowing(plan) {
        take_apart(&projection.input, plans, pairs, conditions);
    } else {
        plans.push(plan);
    }
}
