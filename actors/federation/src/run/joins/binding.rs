//! Finds for each join the leaf that its keys narrow.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, NullEquality, Result as EngineResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;

use crate::push::type_of;
use crate::run::joins::collecting::{CollectKeys, Collected};
use crate::run::joins::key_values::KeyValues;
use crate::run::joins::keys::Keys;
use crate::run::leaf::Leaf;
use crate::run::unordered::Unordered;

/// Binds the keys of each join to the leaf that they come from: the last rule over a plan, because others move columns.
#[derive(Debug)]
pub(crate) struct BindKeys;

impl PhysicalOptimizerRule for BindKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let mut bound: Vec<(usize, Keys)> = Vec::new();
        let plan = plan
            .transform_up(|node| {
                let Some(join) = node.downcast_ref::<HashJoinExec>().filter(|join| narrows(join)) else {
                    return Ok(Transformed::no(node));
                };
                let collected = collected(join, &mut bound)?;
                if collected.is_empty() {
                    return Ok(Transformed::no(node));
                }
                let left: Arc<dyn ExecutionPlan> = Arc::new(CollectKeys::new(Arc::clone(join.left()), collected));
                let right = Arc::clone(join.right());
                let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
                Ok(Transformed::yes(node.replace_children(vec![left, right], options)?))
            })
            .data()?;
        plan.transform_up(|node| {
            let Some(leaf) = node.downcast_ref::<Leaf>() else { return Ok(Transformed::no(node)) };
            let own = bound.iter().filter(|(number, _)| *number == leaf.number());
            let keys: Vec<Keys> = own.map(|(_, keys)| keys.clone()).collect();
            if keys.is_empty() {
                return Ok(Transformed::no(node));
            }
            Ok(Transformed::yes(Arc::new(leaf.with_keys(keys)) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "bind_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether rows of the second side that have no partner on the first one can be left out, and the first side is read
/// before the second one.
fn narrows(join: &HashJoinExec) -> bool {
    let is_whole = |side: &Arc<dyn ExecutionPlan>| side.properties().output_partitioning().partition_count() == 1;
    let is_kept =
        matches!(join.join_type(), JoinType::Right | JoinType::Full | JoinType::RightAnti | JoinType::RightMark);
    let knows_null = join.null_aware || join.null_equality() != NullEquality::NullEqualsNothing;
    !is_kept && !knows_null && is_whole(join.left()) && is_whole(join.right())
}

/// The keys of the join's first side that narrow a leaf of its second side, which are bound to that.
fn collected(join: &HashJoinExec, bound: &mut Vec<(usize, Keys)>) -> EngineResult<Vec<Collected>> {
    let mut collected = Vec::new();
    for (first, key) in join.on() {
        let Some(column) = column_of(key, join.right().as_ref()) else { continue };
        let mut found = Vec::new();
        sources(join.right(), column, &mut found);
        let type_ = first.data_type(&join.left().schema())?;
        if found.is_empty() || type_of(&type_).is_none() {
            continue;
        }
        let values = Arc::new(KeyValues::new(type_));
        bound.extend(found.into_iter().map(|(leaf, place)| (leaf, Keys { place, values: Arc::clone(&values) })));
        collected.push((Arc::clone(first), values));
    }
    Ok(collected)
}

/// Returns the column of `input` that a key is, possibly through a lossless cast.
fn column_of(key: &Arc<dyn PhysicalExpr>, input: &dyn ExecutionPlan) -> Option<usize> {
    if let Some(column) = key.downcast_ref::<Column>() {
        return Some(column.index());
    }
    let cast = key.downcast_ref::<CastExpr>()?;
    let column = cast.expr().downcast_ref::<Column>()?.index();
    let is_whole = match (input.schema().field(column).data_type(), cast.cast_type()) {
        (from, to) if from.is_integer() && to.is_integer() => true,
        (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) => from <= to,
        _ => false,
    };
    is_whole.then_some(column)
}

/// Finds the leaves, by number, and their columns that the column `at` of `plan` comes from: of both sides of a
/// union.
fn sources(plan: &Arc<dyn ExecutionPlan>, at: usize, found: &mut Vec<(usize, usize)>) {
    if let Some(leaf) = plan.downcast_ref::<Leaf>() {
        // Rows that others read too are fetched whole.
        if !leaf.is_shared() {
            found.push((leaf.number(), at));
        }
    } else if plan.downcast_ref::<UnionExec>().is_some() {
        plan.children().into_iter().for_each(|child| sources(child, at, found));
    } else if let Some((child, at)) = below(plan, at) {
        sources(child, at, found);
    }
}

/// Returns the input of `plan`, and its column that the column `at` is; `None` if fewer rows of the input would
/// change other rows of the plan.
fn below(plan: &Arc<dyn ExecutionPlan>, at: usize) -> Option<(&Arc<dyn ExecutionPlan>, usize)> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let column = column_of(&projection.expr().get(at)?.expr, projection.input().as_ref())?;
        return Some((projection.input(), column));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let at = match filter.projection().as_ref() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        return filter.fetch().is_none().then(|| (filter.input(), at));
    }
    if let Some(grouped) = plan.downcast_ref::<AggregateExec>() {
        // The rows of a group all have its key.
        let (key, _) = grouped.group_expr().expr().get(at)?;
        let is_plain = grouped.group_expr().is_single() && grouped.limit_options().is_none();
        return is_plain.then(|| Some((grouped.input(), key.downcast_ref::<Column>()?.index())))?;
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let at = match join.projection.as_ref() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        let of_left = join.left().schema().fields().len();
        return match join.join_type() {
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark
                if at < of_left =>
            {
                Some((join.left(), at))
            }
            JoinType::Inner | JoinType::Right if at >= of_left => Some((join.right(), at - of_left)),
            JoinType::RightSemi | JoinType::RightAnti => Some((join.right(), at)),
            _ => None,
        };
    }
    let passes = plan.downcast_ref::<CooperativeExec>().is_some()
        || plan.downcast_ref::<CollectKeys>().is_some()
        || plan.downcast_ref::<Unordered>().is_some()
        || plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some_and(|node| node.fetch().is_none())
        || plan.downcast_ref::<SortExec>().is_some_and(|node| node.fetch().is_none());
    match plan.children().as_slice() {
        [child] if passes => Some((child, at)),
        _ => None,
    }
}
