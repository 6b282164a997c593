//! Groups that several parts of a statement read, such as those of a common table expression that is named twice: their
//! source makes them once.

use std::sync::Arc;

use arrow_schema::Schema;
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
    /// What the source is asked.
    pub(crate) fn leaf(&self) -> &LeafTable {
        &self.leaf
    }

    /// What a leaf of `select` reads of them; `None` where it is of other groups.
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

/// The groups that more than one leaf is made of, of each leaf the outermost. Leaves are given by the groupings that they
/// are made of, from within; `table` makes the leaf that all of them read.
pub(super) fn repeated<'a>(
    leaves: impl Iterator<Item = &'a [Arc<Grouping>]> + Clone,
    table: &dyn Fn(Select, &Schema) -> LeafTable,
) -> Vec<SharedGroups> {
    let of = |one: &Grouping| {
        let all = leaves.clone().flatten();
        let select = one.select.clone();
        all.filter(move |other| select.makes_the_groups_of(&other.select))
    };
    let mut shared: Vec<SharedGroups> = Vec::new();
    for leaf in leaves.clone() {
        let Some(outermost) = leaf.iter().rev().find(|grouping| of(grouping).nth(1).is_some()) else { continue };
        if shared.iter().any(|groups| groups.select.makes_the_groups_of(&outermost.select)) {
            continue;
        }
        let mut select = Select { outputs: Vec::new(), ..outermost.select.clone() };
        let mut fields = Vec::new();
        for grouping in of(outermost) {
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
