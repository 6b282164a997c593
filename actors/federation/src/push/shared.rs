//! Groups that several parts of a statement read, such as those of a common table expression that is named twice:
//! their source computes them once.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;

use super::select::{Grouping, Select};
use crate::run::leaf::{LeafTable, SharedPart};
use crate::run::shared::SharedRows;

/// Groups that several leaves read, each of them some of their columns.
#[derive(Debug)]
pub(crate) struct SharedGroups {
    select: Select,
    leaf: Arc<LeafTable>,
    rows: Arc<SharedRows>,
}

impl SharedGroups {
    /// Returns the leaf that queries the source.
    pub(crate) fn leaf(&self) -> &LeafTable {
        &self.leaf
    }

    /// Returns what a leaf of `select` reads of them; `None` if it has other groups.
    pub(super) fn part(&self, select: &Select) -> Option<SharedPart> {
        if !self.select.makes_the_groups_of(select) {
            return None;
        }
        let place = |sql: &str| self.select.outputs.iter().position(|output| output.sql == sql);
        let places = select.outputs.iter().map(|output| place(&output.sql)).collect::<Option<_>>()?;
        Some(SharedPart { whole: Arc::clone(&self.leaf), rows: Arc::clone(&self.rows), places })
    }
}

/// Whether `plan` makes groups at more than one place.
pub(super) fn has_several_groupings(plan: &LogicalPlan) -> bool {
    let mut groupings = 0;
    // It never fails.
    let _ = plan.apply_with_subqueries(|node| {
        groupings += usize::from(matches!(node, LogicalPlan::Aggregate(_)));
        Ok(if groupings > 1 { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    groupings > 1
}

/// The names of the leaves of `plan` that are read whole: no keys of a join narrow them.
pub(super) fn read_whole(plan: &LogicalPlan, is_narrowed: bool, found: &mut HashSet<String>) -> Result<()> {
    if let LogicalPlan::TableScan(scan) = plan
        && !is_narrowed
    {
        found.insert(scan.table_name.table().to_owned());
    }
    let is_narrowed = match plan {
        LogicalPlan::Join(join) => is_narrowed || !join.on.is_empty(),
        LogicalPlan::Aggregate(aggregate) => is_narrowed && !aggregate.group_expr.is_empty(),
        LogicalPlan::Limit(_) | LogicalPlan::Window(_) => false,
        _ => is_narrowed,
    };
    plan.inputs().into_iter().try_for_each(|input| read_whole(input, is_narrowed, found))?;
    plan.apply_subqueries(|subquery| read_whole(subquery, false, found).map(|()| TreeNodeRecursion::Continue)).map(drop)
}

/// The groups that more than one leaf is made of, of each leaf the outermost, where one of these is read whole: all others
/// could be asked by keys. Leaves are given by the groupings that they are made of, from within, and whether they are read
/// whole; `table` makes the leaf that all of them read.
pub(super) fn repeated<'a>(
    leaves: &[(&'a [Arc<Grouping>], bool)],
    table: &dyn Fn(Select, &Schema) -> LeafTable,
) -> Vec<SharedGroups> {
    let of = |one: &Grouping| -> Vec<(&'a Grouping, bool)> {
        let all = leaves.iter().flat_map(|(groupings, whole)| groupings.iter().map(|grouping| (&**grouping, *whole)));
        all.filter(|(other, _)| one.select.makes_the_groups_of(&other.select)).collect()
    };
    let is_repeated = |one: &&Arc<Grouping>| {
        let same = of(one);
        same.len() > 1 && same.iter().any(|(_, whole)| *whole)
    };
    let mut shared: Vec<SharedGroups> = Vec::new();
    for (leaf, _) in leaves {
        let Some(outermost) = leaf.iter().rev().find(is_repeated) else { continue };
        if shared.iter().any(|groups| groups.select.makes_the_groups_of(&outermost.select)) {
            continue;
        }
        let mut select = Select { outputs: Vec::new(), ..outermost.select.clone() };
        let mut fields = Vec::new();
        for (grouping, _) in of(outermost) {
            for (output, field) in grouping.select.outputs.iter().zip(grouping.fields.fields()) {
                if select.outputs.iter().all(|known| known.sql != output.sql) {
                    select.outputs.push(output.clone());
                    fields.push(Arc::clone(field));
                }
            }
        }
        let leaf = Arc::new(table(select.clone(), &Schema::new(fields)));
        shared.push(SharedGroups { select, leaf, rows: Arc::default() });
    }
    shared
}
