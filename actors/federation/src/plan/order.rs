//! The order of joins. The engine joins tables as they are written; here a chain of inner joins begins with the side
//! from which the fewest rows are expected, so that the keys that it finds narrow what the next source is asked for.
//!
//! Estimates come from the sources. Which side of one join is read first is the engine's to say; it says so by the same
//! estimates, and by how many different values a key has, which the chain tells the leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan, Projection};

use crate::run::leaf::LeafTable;

/// Rows of a table that is read before a larger neighbour, to narrow that one by its keys too.
const MOST_READ_BEFORE: f64 = 20_000.0;
/// Which part of its rows such a table has at most after its conditions: keys of a whole table narrow nothing.
const MOST_SHARE: f64 = 0.9;

/// The same plan with its chains of inner joins in the order of what is expected from each side.
///
/// # Errors
/// What the engine says of a plan that it made itself.
pub(crate) fn by_estimates(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = if is_link(&plan) {
        match Chain::of(&plan).map(Chain::ordered) {
            // Its names are those of its tables: some chains have one twice where columns in between are left out.
            Some(Ok(Some(ordered))) => return Ok(ordered),
            _ => plan,
        }
    } else {
        plan
    };
    let plan = plan.map_children(|child| by_estimates(child).map(Transformed::yes)).data()?;
    plan.map_subqueries(|subquery| by_estimates(subquery).map(Transformed::yes)).data()
}

/// Whether there is a chain of inner joins of three sides or more: there is an order to choose.
pub(crate) fn has_chains(plan: &LogicalPlan) -> bool {
    let mut found = false;
    // It never fails.
    let _ = plan.apply_with_subqueries(|node| {
        found |= is_link(node) && Chain::of(node).is_some();
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    });
    found
}

/// An inner join on equality, whose place in a chain means nothing.
fn link(plan: &LogicalPlan) -> Option<&Join> {
    let LogicalPlan::Join(join) = plan else { return None };
    let is_plain = join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !join.null_aware
        && !join.on.is_empty();
    let has_subqueries = |expr: &Expr| {
        expr.exists(|expr| Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_))))
            .unwrap_or(true)
    };
    (is_plain && !join.filter.as_ref().is_some_and(has_subqueries)).then_some(join)
}

fn is_link(plan: &LogicalPlan) -> bool {
    link(plan).is_some()
}

/// What only leaves columns out between two joins.
fn narrowing(plan: &LogicalPlan) -> Option<&Projection> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    let is_plain = projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_)));
    (is_plain && (is_link(&projection.input) || narrowing(&projection.input).is_some())).then_some(projection)
}

/// A table or any other relation of a chain.
struct Item {
    plan: LogicalPlan,
    /// How many rows are expected.
    rows: Option<f64>,
    /// Which part that is of what there is without its conditions.
    share: f64,
}

/// Two values that are equal, and the items that each is of.
struct Pair {
    values: [Expr; 2],
    of: [BTreeSet<usize>; 2],
}

/// Inner joins one above the other, taken apart.
struct Chain {
    items: Vec<Item>,
    pairs: Vec<Pair>,
    conditions: Vec<(Expr, BTreeSet<usize>)>,
    /// What the columns are in the end.
    columns: Vec<Column>,
}

impl Chain {
    /// The chain that ends in `plan`, where it has three items or more of which one at least is estimated.
    fn of(plan: &LogicalPlan) -> Option<Self> {
        let (mut plans, mut pairs, mut conditions) = (Vec::new(), Vec::new(), Vec::new());
        take_apart(plan, &mut plans, &mut pairs, &mut conditions);
        if plans.len() < 3 {
            return None;
        }
        let of = |expr: &Expr| -> Option<BTreeSet<usize>> {
            let place = |column: &&Column| plans.iter().position(|plan| plan.schema().has_column(column));
            expr.column_refs().iter().map(place).collect()
        };
        let pairs = pairs.into_iter().map(|(left, right)| {
            let of = [of(&left)?, of(&right)?];
            Some(Pair { values: [left, right], of })
        });
        let pairs = pairs.collect::<Option<Vec<_>>>()?;
        let conditions = conditions.into_iter().map(|condition| {
            let of = of(&condition)?;
            Some((condition, of))
        });
        let conditions = conditions.collect::<Option<Vec<_>>>()?;
        let items = plans.into_iter().map(|plan| {
            let (rows, share) = (rows(plan), leaf(plan).map_or(1.0, LeafTable::share));
            Item { plan: plan.clone(), rows, share }
        });
        Some(Self { items: items.collect(), pairs, conditions, columns: plan.schema().columns() })
    }

    /// The chain in its order; `None` where the order cannot be told.
    fn ordered(mut self) -> Result<Option<LogicalPlan>> {
        let Some(first) = self.smallest((0..self.items.len()).filter(|at| self.items[*at].rows.is_some())) else {
            return Ok(None);
        };
        self.tell_distinct_values();
        for item in &mut self.items {
            item.plan = by_estimates(item.plan.clone())?;
        }
        let mut left: BTreeSet<usize> = (0..self.items.len()).filter(|at| *at != first).collect();
        let (mut joined, mut share) = (BTreeSet::from([first]), self.items[first].share);
        let mut plan = self.items[first].plan.clone();
        while !left.is_empty() {
            let Some(next) = self.next(&joined, &left) else { return Ok(None) };
            let before = self.read_before(next, share, &joined, &left);
            let (mut probe, mut of_probe) = (self.items[next].plan.clone(), BTreeSet::from([next]));
            for at in before {
                let small = (self.items[at].plan.clone(), BTreeSet::from([at]));
                (probe, of_probe) = self.join(small, (probe, of_probe))?;
            }
            share *= of_probe.iter().map(|at| self.items[*at].share).product::<f64>();
            left.retain(|at| !of_probe.contains(at));
            (plan, joined) = self.join((plan, joined), (probe, of_probe))?;
        }
        let columns = self.columns.into_iter().map(Expr::Column).collect();
        Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)))
    }

    /// The one of these from which the fewest rows are expected; of those that are not estimated, the first written.
    fn smallest(&self, of: impl Iterator<Item = usize>) -> Option<usize> {
        of.min_by(|one, other| self.expected(*one).total_cmp(&self.expected(*other)))
    }

    fn expected(&self, at: usize) -> f64 {
        self.items[at].rows.unwrap_or(f64::INFINITY)
    }

    /// What is joined next: first what does not multiply rows, and of that the smallest.
    fn next(&self, joined: &BTreeSet<usize>, left: &BTreeSet<usize>) -> Option<usize> {
        let connected =
            || left.iter().copied().filter(|at| self.between(joined, &BTreeSet::from([*at])).next().is_some());
        let safe = self.smallest(connected().filter(|at| self.is_safe(joined, &BTreeSet::from([*at]))));
        safe.or_else(|| self.smallest(connected()))
    }

    /// Small neighbours of `next`, which are read before it.
    fn read_before(&self, next: usize, share: f64, joined: &BTreeSet<usize>, left: &BTreeSet<usize>) -> Vec<usize> {
        let only = BTreeSet::from([next]);
        let most = MOST_READ_BEFORE.min(self.expected(next) * share);
        let narrows = |at: &usize| {
            let alone = BTreeSet::from([*at]);
            *at != next
                && self.expected(*at) < most
                && self.items[*at].share < MOST_SHARE
                && self.between(joined, &alone).next().is_none()
                && self.between(&alone, &only).next().is_some()
                && self.is_safe(&alone, &only)
        };
        left.iter().copied().filter(narrows).collect()
    }

    /// The pairs with one value in each of two sets, turned so that the first value is of `one`.
    fn between<'a>(
        &'a self,
        one: &'a BTreeSet<usize>,
        other: &'a BTreeSet<usize>,
    ) -> impl Iterator<Item = (&'a Expr, &'a Expr)> {
        self.pairs.iter().filter_map(move |Pair { values: [left, right], of: [of_left, of_right] }| {
            let is_of = |inner: &BTreeSet<usize>, outer: &BTreeSet<usize>| !inner.is_empty() && inner.is_subset(outer);
            if is_of(of_left, one) && is_of(of_right, other) {
                Some((left, right))
            } else {
                (is_of(of_right, one) && is_of(of_left, other)).then_some((right, left))
            }
        })
    }

    /// Whether a join of both has about as many rows as one of them: a key is unique, or there are several.
    fn is_safe(&self, one: &BTreeSet<usize>, other: &BTreeSet<usize>) -> bool {
        let mut pairs = self.between(one, other).peekable();
        let is_unique = |expr: &Expr| self.key_of(expr).is_some_and(|(leaf, place)| leaf.is_unique(place));
        let mut count = 0;
        pairs.any(|(left, right)| {
            count += 1;
            count > 1 || is_unique(left) || is_unique(right)
        })
    }

    /// The leaf and the place there of a value that is a column of one.
    fn key_of(&self, expr: &Expr) -> Option<(&LeafTable, usize)> {
        let Expr::Column(column) = expr else { return None };
        let item = self.items.iter().find(|item| item.plan.schema().has_column(column))?;
        Some((leaf(&item.plan)?, item.plan.schema().maybe_index_of_column(column)?))
    }

    /// Where one side of an equality has each value once, the other one has no other values.
    fn tell_distinct_values(&self) {
        for Pair { values: [left, right], .. } in &self.pairs {
            let (Some(left), Some(right)) = (self.key_of(left), self.key_of(right)) else { continue };
            for ((one, place), (other, at)) in [(left, right), (right, left)] {
                if let (true, Some(whole)) = (one.is_unique(place), one.whole()) {
                    one.tell_distinct_values(place, whole);
                    other.tell_distinct_values(at, whole);
                }
            }
        }
    }

    /// Both joined by what they have in common, with the columns that are still needed.
    fn join(
        &mut self,
        (left, of_left): (LogicalPlan, BTreeSet<usize>),
        (right, of_right): (LogicalPlan, BTreeSet<usize>),
    ) -> Result<(LogicalPlan, BTreeSet<usize>)> {
        let of_both: BTreeSet<usize> = of_left.union(&of_right).copied().collect();
        let on: Vec<(Expr, Expr)> =
            self.between(&of_left, &of_right).map(|(left, right)| (left.clone(), right.clone())).collect();
        // What is looked at here is not looked at again.
        let (mut here, mut later) = (Vec::new(), Vec::new());
        for (condition, of) in std::mem::take(&mut self.conditions) {
            if of.is_subset(&of_both) { here.push(condition) } else { later.push((condition, of)) }
        }
        self.conditions = later;
        let mut later = Vec::new();
        for pair in std::mem::take(&mut self.pairs) {
            let is_whole = pair.of.iter().all(|of| of.is_subset(&of_both));
            let is_key = on.iter().any(|(left, right)| {
                let [one, other] = &pair.values;
                (one == left && other == right) || (one == right && other == left)
            });
            match (is_whole, is_key) {
                (true, true) => {}
                (true, false) => {
                    let [one, other] = pair.values;
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

    /// The join without the columns that nothing above looks at.
    fn narrowed(&self, join: LogicalPlan) -> Result<LogicalPlan> {
        let mut needed: BTreeSet<&Column> = self.columns.iter().collect();
        needed.extend(self.conditions.iter().flat_map(|(condition, _)| condition.column_refs()));
        needed.extend(self.pairs.iter().flat_map(|pair| pair.values.iter().flat_map(Expr::column_refs)));
        let all = join.schema().columns();
        let kept: Vec<Expr> = all.iter().filter(|column| needed.contains(column)).cloned().map(Expr::Column).collect();
        if kept.len() == all.len() {
            return Ok(join);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(kept, Arc::new(join))?))
    }
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

/// The leaf that a relation is, under the projection that gives its columns their names.
fn leaf(plan: &LogicalPlan) -> Option<&LeafTable> {
    let LogicalPlan::Projection(projection) = plan else { return None };
    let LogicalPlan::TableScan(scan) = projection.input.as_ref() else { return None };
    let source = scan.source.as_ref() as &dyn std::any::Any;
    let provider = source.downcast_ref::<datafusion::datasource::DefaultTableSource>()?;
    (provider.table_provider.as_ref() as &dyn std::any::Any).downcast_ref()
}

/// How many rows are expected of a relation, at most.
fn rows(plan: &LogicalPlan) -> Option<f64> {
    if let LogicalPlan::TableScan(scan) = plan {
        let provider = source_as_provider(&scan.source).ok()?;
        return (provider.as_ref() as &dyn std::any::Any).downcast_ref::<LeafTable>()?.expected();
    }
    if let LogicalPlan::Aggregate(grouped) = plan
        && grouped.group_expr.is_empty()
    {
        return Some(1.0);
    }
    let inputs = plan.inputs().into_iter().map(rows).collect::<Option<Vec<_>>>()?;
    Some(match plan {
        LogicalPlan::Union(_) => inputs.iter().sum(),
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::RightSemi | JoinType::RightAnti) => inputs[1],
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) => inputs[0],
        _ => inputs.into_iter().reduce(f64::max)?,
    })
}
