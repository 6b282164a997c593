//! The order of joins. The engine joins tables as written; here a chain of inner joins starts with the side with
//! the fewest expected rows, so that the keys it finds narrow the query to the next source.
//!
//! Estimates come from the sources. Which side of a join is read first is decided by the engine, by the same
//! estimates and by the number of distinct values of a key, which the chain passes to the leaves.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;

use crate::plan::joins::chain::{self, Chain, Items, Side, is_link, only};
use crate::run::leaf::LeafTable;

/// The maximal number of rows of a table that is read before a larger neighbour, to narrow that one by its keys
/// too.
const MOST_READ_BEFORE: f64 = 20_000.0;
/// The maximal share of its rows that such a table has after its conditions: keys of a whole table narrow nothing.
const MOST_SHARE: f64 = 0.9;

/// Orders the chains of inner joins by the expected rows of each side.
///
/// # Errors
/// The engine's errors for a plan that it made itself.
pub(crate) fn by_estimates(plan: LogicalPlan) -> Result<LogicalPlan> {
    chain::each(plan, &|chain| Estimated::new(chain).ordered())
}

/// Returns true if there are several joins and one of them is an inner join. Then there is an order to choose, or the
/// order depends on how many rows an inner join has.
pub(crate) fn is_chosen(plan: &LogicalPlan) -> bool {
    let (mut joins, mut has_links) = (0, false);
    // It never fails.
    let _ = plan.apply_with_subqueries(|node| {
        joins += usize::from(matches!(node, LogicalPlan::Join(_)));
        has_links |= is_link(node);
        Ok(TreeNodeRecursion::Continue)
    });
    joins > 1 && has_links
}

/// The estimate for a relation of a chain.
struct Expected {
    /// How many rows.
    rows: Option<f64>,
    /// The share of its rows that remain after its conditions.
    share: f64,
}

/// A chain, and the estimates of its relations.
struct Estimated {
    chain: Chain,
    expected: Vec<Expected>,
}

impl Estimated {
    fn new(chain: Chain) -> Self {
        let expected = chain.items.iter().map(|plan| {
            let share = leaf(plan).map_or(1.0, LeafTable::share);
            Expected { rows: rows(plan), share }
        });
        Self { expected: expected.collect(), chain }
    }

    /// Returns the chain in its order; `None` if there are no estimates, or the engine decides: for two relations.
    fn ordered(mut self) -> Result<Option<LogicalPlan>> {
        let Some(first) = self.smallest((0..self.expected.len()).filter(|at| self.expected[*at].rows.is_some())) else {
            return Ok(None);
        };
        self.tell_distinct_values();
        if self.expected.len() < 3 {
            return Ok(None);
        }
        for item in &mut self.chain.items {
            *item = by_estimates(item.clone())?;
        }
        let mut left: Items = (0..self.expected.len()).filter(|at| *at != first).collect();
        let (mut joined, mut share) = (only(first), self.expected[first].share);
        let mut plan = self.chain.items[first].clone();
        while !left.is_clear() {
            let Some(next) = self.next(&joined, &left) else { return Ok(None) };
            let before = self.read_before(next, share, &joined, &left);
            let (mut probe, mut of_probe) = (self.chain.items[next].clone(), only(next));
            for at in before {
                (probe, of_probe) = self.chain.join((self.chain.items[at].clone(), only(at)), (probe, of_probe))?;
            }
            share *= of_probe.ones().map(|at| self.expected[at].share).product::<f64>();
            left.difference_with(&of_probe);
            (plan, joined) = self.chain.join((plan, joined), (probe, of_probe))?;
        }
        self.chain.finish(plan).map(Some)
    }

    /// Returns the relation with the fewest expected rows; without estimates, the first written.
    fn smallest(&self, of: impl Iterator<Item = usize>) -> Option<usize> {
        of.min_by(|one, other| self.expected(*one).total_cmp(&self.expected(*other)))
    }

    fn expected(&self, at: usize) -> f64 {
        self.expected[at].rows.unwrap_or(f64::INFINITY)
    }

    /// Returns the relation to join next: first those that do not multiply rows, and of these the smallest.
    fn next(&self, joined: &Items, left: &Items) -> Option<usize> {
        let connected = || left.ones().filter(|at| self.chain.between(joined, &only(*at)).next().is_some());
        let safe = self.smallest(connected().filter(|at| self.is_safe(joined, &only(*at))));
        safe.or_else(|| self.smallest(connected()))
    }

    /// Small neighbours of `next`, which are read before it.
    fn read_before(&self, next: usize, share: f64, joined: &Items, left: &Items) -> Vec<usize> {
        let of_next = only(next);
        let most = MOST_READ_BEFORE.min(self.expected(next) * share);
        let narrows = |at: &usize| {
            let alone = only(*at);
            *at != next
                && self.expected(*at) < most
                && self.expected[*at].share < MOST_SHARE
                && self.chain.between(joined, &alone).next().is_none()
                && self.chain.between(&alone, &of_next).next().is_some()
                && self.is_safe(&alone, &of_next)
        };
        left.ones().filter(narrows).collect()
    }

    /// Whether a join of both has about as many rows as one of them: a key is unique, or there are several.
    fn is_safe(&self, one: &Items, other: &Items) -> bool {
        let mut pairs = self.chain.between(one, other).peekable();
        let is_unique = |side: &Side| self.key_of(side).is_some_and(|(leaf, place)| leaf.is_unique(place));
        let mut count = 0;
        pairs.any(|(left, right)| {
            count += 1;
            count > 1 || is_unique(left) || is_unique(right)
        })
    }

    /// The leaf and the place there of a value that is a column of one.
    fn key_of(&self, side: &Side) -> Option<(&LeafTable, usize)> {
        let (item, place) = side.column?;
        Some((leaf(&self.chain.items[item])?, place))
    }

    /// If one side of an equality has each value once, the other side has no other values.
    fn tell_distinct_values(&self) {
        for [left, right] in &self.chain.pairs {
            let (Some(left), Some(right)) = (self.key_of(left), self.key_of(right)) else { continue };
            for ((one, place), (other, at)) in [(left, right), (right, left)] {
                if let (true, Some(whole)) = (one.is_unique(place), one.whole()) {
                    one.tell_distinct_values(place, whole);
                    other.tell_distinct_values(at, whole);
                }
            }
        }
    }
}

/// Returns the leaf of a relation, below the projection that names its columns.
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
