//! Functional dependencies among group columns. If groups are made of joined groups by their key and further
//! columns, the engine takes the key for one of the new groups too: it drops the other columns, or assumes that a
//! join on the key finds each row once.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, LogicalPlan, Projection};

/// Hides such keys from the engine, which looks for keys by the names of their columns.
pub(crate) fn forgotten(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut is_misled = false;
    plan.apply_with_subqueries(|node| {
        is_misled |= groups(node).is_some_and(|(input, by)| has_misleading_key(input.schema(), &by));
        Ok(if is_misled { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !is_misled {
        return Ok(plan);
    }
    let renamed = plan.transform_up_with_subqueries(|node| {
        let node = node.recompute_schema()?;
        let Some((input, group)) = groups(&node).filter(|(input, by)| has_misleading_key(input.schema(), by)) else {
            return Ok(Transformed::yes(node));
        };
        let aggregates = match &node {
            LogicalPlan::Aggregate(of) => of.aggr_expr.clone(),
            _ => Vec::new(),
        };
        let keys = group.into_iter().enumerate().map(|(place, by)| by.unalias().alias(format!("key#{place}")));
        let groups = Aggregate::try_new(Arc::clone(input), keys.collect(), aggregates)?;
        let columns = groups.schema.columns().into_iter().zip(node.schema().iter());
        let named = columns
            .map(|(column, (relation, field))| Expr::Column(column).alias_qualified(relation.cloned(), field.name()));
        let named = Projection::try_new(named.collect(), Arc::new(LogicalPlan::Aggregate(groups)))?;
        Ok(Transformed::yes(LogicalPlan::Projection(named)))
    });
    renamed.data()
}

/// Returns the rows that the node groups, and the group expressions.
fn groups(node: &LogicalPlan) -> Option<(&Arc<LogicalPlan>, Vec<Expr>)> {
    match node {
        LogicalPlan::Aggregate(of) => Some((&of.input, of.group_expr.clone())),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            Some((input, input.schema().columns().into_iter().map(Expr::Column).collect()))
        }
        _ => None,
    }
}

/// Returns true if a key of these rows is among the group expressions, beside columns that it does not determine.
fn has_misleading_key(rows: &DFSchema, group: &[Expr]) -> bool {
    if group.iter().any(|by| matches!(by, Expr::GroupingSet(_))) {
        return false;
    }
    let places: Vec<Option<usize>> =
        group.iter().map(|by| by.try_as_col().and_then(|column| rows.maybe_index_of_column(column))).collect();
    rows.functional_dependencies().iter().any(|key| {
        let is_grouped = key.source_indices.iter().all(|place| places.contains(&Some(*place)));
        let is_determined = |place: &Option<usize>| place.is_some_and(|place| key.target_indices.contains(&place));
        is_grouped && !places.iter().all(is_determined)
    })
}
