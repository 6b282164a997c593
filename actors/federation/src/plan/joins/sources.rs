//! Puts tables of one source together in a chain of inner joins. The engine joins them as written, and a source can
//! only join neighbours: `customer JOIN orders JOIN lineitem` may have two tables of one source that are not
//! neighbours.

use datafusion::common::{JoinType, Result};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};

use crate::plan::joins::chain::{self, Chain, Items, Side, only};
use crate::tables::table::Table;

/// Whether one source does all of a plan.
pub(crate) type IsDone<'a> = &'a dyn Fn(&LogicalPlan) -> bool;

/// Puts relations together that one source can join.
///
/// # Errors
/// The engine's errors for a plan that it made itself.
pub(crate) fn together(plan: LogicalPlan, is_done: IsDone<'_>) -> Result<LogicalPlan> {
    chain::each(plan, &|chain| joined(chain, is_done))
}

/// Some items of a chain, all of one source where that is known.
struct Group {
    plan: LogicalPlan,
    of: Items,
    source: Option<usize>,
    /// The relation each of whose rows occurs at most once in the group.
    root: usize,
}

/// The chain with its groups joined first, and these in the order in which they are written.
fn joined(mut chain: Chain, is_done: IsDone<'_>) -> Result<Option<LogicalPlan>> {
    let group = |(root, plan): (usize, &LogicalPlan)| {
        let (plan, of, source) = (plan.clone(), only(root), source(plan, is_done));
        Group { plan, of, source, root }
    };
    let mut groups: Vec<Group> = chain.items.iter().enumerate().map(group).collect();
    let all = groups.len();
    while let Some((one, other, root)) = mergeable(&chain, &groups) {
        let (right, left) = (groups.remove(other), groups.remove(one));
        let source = left.source;
        let (plan, of) = chain.join((left.plan, left.of), (right.plan, right.of))?;
        groups.insert(one, Group { plan, of, source, root });
    }
    if groups.len() == all {
        return Ok(None);
    }
    for group in groups.iter_mut().filter(|group| group.source.is_none()) {
        group.plan = together(group.plan.clone(), is_done)?;
    }
    let first = groups.remove(0);
    let (mut plan, mut of) = (first.plan, first.of);
    while !groups.is_empty() {
        let Some(next) = groups.iter().position(|group| chain.between(&of, &group.of).next().is_some()) else {
            return Ok(None);
        };
        let next = groups.remove(next);
        (plan, of) = chain.join((plan, of), (next.plan, next.of))?;
    }
    chain.finish(plan).map(Some)
}

/// Returns two groups of one source, the first one first, whose join has no more rows than one of them; and that
/// one's root.
fn mergeable(chain: &Chain, groups: &[Group]) -> Option<(usize, usize, usize)> {
    let is_key = |side: &Side, group: &Group| {
        let column = side.column.filter(|(item, _)| *item == group.root);
        column.is_some_and(|(item, place)| is_unique(&chain.items[item], place))
    };
    chain.pairs.iter().find_map(|pair| {
        let [one, other] = pair.each_ref().map(|side| groups.iter().position(|group| side.is_of(&group.of)));
        let (one, other) = (one?, other?);
        let (left, right) = (&groups[one], &groups[other]);
        (one != other && left.source.is_some() && left.source == right.source).then_some(())?;
        let [of_left, of_right] = pair;
        let by_right = is_key(of_right, right).then_some(left.root);
        let root = by_right.or_else(|| is_key(of_left, left).then_some(right.root))?;
        Some((one.min(other), one.max(other), root))
    })
}

/// The connection of a table, with conditions or without. A condition may be that another of its tables has a partner,
/// where the source does it.
pub(super) fn source(plan: &LogicalPlan, is_done: IsDone<'_>) -> Option<usize> {
    match plan {
        LogicalPlan::TableScan(scan) => table(scan, |table| table.connection),
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) => {
            source(&join.left, is_done).filter(|_| is_done(plan))
        }
        LogicalPlan::Filter(_) | LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {
            source(plan.inputs().first()?, is_done)
        }
        _ => None,
    }
}

/// Whether the column at `place` has each value once.
fn is_unique(plan: &LogicalPlan, place: usize) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => {
            let place = scan.projection.as_ref().map_or(Some(place), |places| places.get(place).copied());
            let unique = |table: &Table| place.and_then(|place| table.columns.get(place)).is_some_and(|it| it.unique);
            table(scan, unique).unwrap_or(false)
        }
        LogicalPlan::Filter(filter) => is_unique(&filter.input, place),
        LogicalPlan::Join(join) if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) => {
            is_unique(&join.left, place)
        }
        LogicalPlan::SubqueryAlias(alias) => is_unique(&alias.input, place),
        LogicalPlan::Projection(projection) => match projection.expr.get(place) {
            Some(Expr::Column(column)) => {
                let place = projection.input.schema().maybe_index_of_column(column);
                place.is_some_and(|place| is_unique(&projection.input, place))
            }
            _ => false,
        },
        _ => false,
    }
}

fn table<T>(scan: &TableScan, read: impl FnOnce(&Table) -> T) -> Option<T> {
    let provider = source_as_provider(&scan.source).ok()?;
    (provider.as_ref() as &dyn std::any::Any).downcast_ref::<Table>().map(read)
}
