//! Semi-joins and anti-joins: `EXISTS`, `NOT EXISTS` and `IN` with a subquery. The engine applies them to the
//! result of a join; if only one table's columns matter, they are applied to that table before, provided that one
//! source has both tables and supports it.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan, Projection};

use crate::plan::joins::chain::has_subqueries;
use crate::plan::joins::sources::{IsDone, source};

/// Moves such joins to the tables that they are about.
///
/// # Errors
/// The engine's errors for a plan that it made itself.
pub(crate) fn at_their_tables(plan: LogicalPlan, is_done: IsDone<'_>) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Join(join) = &node else { return Ok(Transformed::no(node)) };
        let moved = match Question::from_join(join, is_done) {
            Some(question) => question.asked_below(&join.left)?,
            None => None,
        };
        Ok(moved.map_or_else(|| Transformed::no(node), Transformed::yes))
    })
    .data()
}

/// A join that only filters the rows of its left side.
struct Question<'a> {
    join: &'a Join,
    /// The source of its right side.
    source: usize,
    is_done: IsDone<'a>,
    /// The columns of the left side that it uses: its names for them, and those of the node that it was moved
    /// through.
    columns: Vec<(Column, Column)>,
}

impl<'a> Question<'a> {
    fn from_join(join: &'a Join, is_done: IsDone<'a>) -> Option<Self> {
        let asks = matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti);
        let source = source(&join.right, is_done).filter(|_| asks)?;
        let exprs = || join.on.iter().flat_map(|(one, other)| [one, other]).chain(&join.filter);
        if exprs().any(|expr| expr.is_volatile() || has_subqueries(expr)) {
            return None;
        }
        let mut columns = Vec::new();
        for column in exprs().flat_map(Expr::column_refs) {
            match (join.left.schema().has_column(column), join.right.schema().has_column(column)) {
                (true, false) => columns.push((column.clone(), column.clone())),
                (false, true) => {}
                _ => return None,
            }
        }
        (!columns.is_empty()).then_some(Self { join, source, is_done, columns })
    }

    /// Moves the join to a table below the top of `plan`; `None` if no table of that source fits.
    fn asked_below(&self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        Ok(match plan {
            LogicalPlan::Join(join) => {
                let left = match join.join_type {
                    JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => {
                        self.asked(&join.left)?
                    }
                    _ => None,
                };
                let right = match join.join_type {
                    JoinType::Inner | JoinType::Right if left.is_none() => self.asked(&join.right)?,
                    _ => None,
                };
                let join = match (left, right) {
                    (Some(left), _) => Some(Join { left: Arc::new(left), ..join.clone() }),
                    (None, Some(right)) => Some(Join { right: Arc::new(right), ..join.clone() }),
                    (None, None) => None,
                };
                join.map(LogicalPlan::Join)
            }
            LogicalPlan::Filter(filter) => {
                let input = self.asked(&filter.input)?.map(Arc::new);
                let over = |input| Filter::try_new(filter.predicate.clone(), input).map(LogicalPlan::Filter);
                input.map(over).transpose()?
            }
            LogicalPlan::Projection(projection) => {
                let Some(below) = self.under(projection) else { return Ok(None) };
                let input = below.asked(&projection.input)?.map(Arc::new);
                let (exprs, schema) = (&projection.expr, &projection.schema);
                let over = |input| Projection::try_new_with_schema(exprs.clone(), input, Arc::clone(schema));
                input.map(over).transpose()?.map(LogicalPlan::Projection)
            }
            _ => None,
        })
    }

    /// Applies the join to `plan`, or to a node below.
    fn asked(&self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        if !self.columns.iter().all(|(_, column)| plan.schema().has_column(column)) {
            return Ok(None);
        }
        if source(plan, self.is_done) != Some(self.source) {
            return self.asked_below(plan);
        }
        let asked = self.of_rows(plan)?;
        Ok((self.is_done)(&asked).then_some(asked))
    }

    /// The question of the rows of `plan`.
    fn of_rows(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let renamed = |expr: &Expr| {
            let rename = |expr: Expr| {
                let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
                let named = self.columns.iter().find(|(above, _)| above == column);
                let named = named.map(|(_, below)| Expr::Column(below.clone()));
                Ok(named.map_or_else(|| Transformed::no(expr), Transformed::yes))
            };
            expr.clone().transform(rename).data()
        };
        let on = self.join.on.iter().map(|(left, right)| Ok((renamed(left)?, right.clone())));
        let join = Join::try_new(
            Arc::new(plan.clone()),
            Arc::clone(&self.join.right),
            on.collect::<Result<_>>()?,
            self.join.filter.as_ref().map(renamed).transpose()?,
            self.join.join_type,
            self.join.join_constraint,
            self.join.null_equality,
            self.join.null_aware,
        )?;
        Ok(LogicalPlan::Join(join))
    }

    /// Asks the same question below a projection that only hands its columns on.
    fn under(&self, projection: &Projection) -> Option<Self> {
        let columns = self.columns.iter().map(|(above, column)| {
            let place = projection.schema.maybe_index_of_column(column)?;
            let Expr::Column(below) = projection.expr.get(place)? else { return None };
            // Such a name would belong to the other side.
            (!self.join.right.schema().has_column(below)).then(|| (above.clone(), below.clone()))
        });
        Some(Self { columns: columns.collect::<Option<_>>()?, ..*self })
    }
}
