//! Finds for each join the leaf that its keys narrow.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result as EngineResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, DynamicFilterPhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::keys::Keys;
use crate::leaf::Leaf;

/// Binds the keys of each join to the leaf that they come from: the last rule over a plan, because others move columns.
#[derive(Debug)]
pub(crate) struct BindKeys;

impl PhysicalOptimizerRule for BindKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let mut bound: Vec<(usize, Keys)> = Vec::new();
        gather(&plan, &mut bound);
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

fn gather(plan: &Arc<dyn ExecutionPlan>, bound: &mut Vec<(usize, Keys)>) {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>()
        && let Some(filter) = filter_of(join)
    {
        for (_, key) in join.on() {
            if let Some(column) = column_of(key)
                && let Some((number, place)) = source(join.right(), column)
            {
                bound.push((number, Keys::new(place, Arc::clone(&filter), Arc::clone(key))));
            }
        }
    }
    for child in plan.children() {
        gather(child, bound);
    }
}

/// What the join fills in with its keys.
fn filter_of(join: &HashJoinExec) -> Option<Arc<DynamicFilterPhysicalExpr>> {
    let produced = join.dynamic_expressions_produced().into_iter();
    produced
        .map(|expr| Arc::downcast::<DynamicFilterPhysicalExpr>(expr as Arc<dyn std::any::Any + Send + Sync>))
        .find_map(std::result::Result::ok)
}

/// The column that a key is, also behind a cast that loses nothing.
fn column_of(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    if let Some(column) = key.downcast_ref::<Column>() {
        return Some(column.index());
    }
    let cast = key.downcast_ref::<CastExpr>()?;
    let inner = cast.expr().downcast_ref::<Column>()?;
    let whole = |type_: &arrow_schema::DataType| type_.is_integer();
    whole(cast.cast_type()).then(|| inner.index())
}

/// The leaf, by its number, and the column of it that the column `at` of `plan` is.
fn source(plan: &Arc<dyn ExecutionPlan>, at: usize) -> Option<(usize, usize)> {
    if let Some(leaf) = plan.downcast_ref::<Leaf>() {
        return Some((leaf.number(), at));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let column = projection.expr().get(at)?.expr.downcast_ref::<Column>()?.index();
        return source(projection.input(), column);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let at = match filter.projection().as_ref() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        return filter.fetch().is_none().then(|| source(filter.input(), at))?;
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let at = match join.projection.as_ref() {
            Some(projection) => *projection.get(at)?,
            None => at,
        };
        let of_left = join.left().schema().fields().len();
        let left = |at| source(join.left(), at);
        return match join.join_type() {
            JoinType::Inner if at < of_left => left(at),
            JoinType::Inner => source(join.right(), at - of_left),
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark if at < of_left => left(at),
            JoinType::Right if at >= of_left => source(join.right(), at - of_left),
            JoinType::RightSemi | JoinType::RightAnti => source(join.right(), at),
            _ => None,
        };
    }
    let passes = plan.downcast_ref::<CooperativeExec>().is_some()
        || plan.downcast_ref::<RepartitionExec>().is_some()
        || plan.downcast_ref::<CoalescePartitionsExec>().is_some_and(|node| node.fetch().is_none())
        || plan.downcast_ref::<SortExec>().is_some_and(|node| node.fetch().is_none());
    match plan.children().as_slice() {
        [child] if passes => source(child, at),
        _ => None,
    }
}
