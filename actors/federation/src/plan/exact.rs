//! Unbounded exact numbers. Computations and comparisons use 38 digits, ten of them fractional; a column that is
//! only passed on to the result stays the source's text.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Expr, Join, JoinType, LogicalPlan, TableScan, TableScanBuilder};

use crate::external_error::external;
use crate::plan::columns::labels;
use crate::tables::table::Table;
use portico_core::error::Error;

/// Keeps such columns as text as far as no expression uses them.
///
/// # Errors
/// A cast to text of a column that is used otherwise too: its digits are not known there.
pub(crate) fn keep_digits(plan: LogicalPlan) -> Result<LogicalPlan> {
    let all = vec![true; plan.schema().fields().len()];
    let plan = visit(plan, &all)?;
    cut(&plan)?;
    Ok(plan)
}

/// Returns which columns of `plan` are such numbers that have lost digits.
fn cut(plan: &LogicalPlan) -> Result<Vec<bool>> {
    let inputs = plan.inputs().into_iter().map(cut).collect::<Result<Vec<_>>>()?;
    let below: Vec<bool> = inputs.iter().flatten().copied().collect();
    let is_cut = |expr: &Expr| {
        let Expr::Column(column) = unnamed(expr) else { return false };
        let mut from = 0;
        plan.inputs().into_iter().any(|input| {
            let place = input.schema().maybe_index_of_column(column).map(|place| from + place);
            from += input.schema().fields().len();
            place.and_then(|place| below.get(place)) == Some(&true)
        })
    };
    for expr in plan.expressions() {
        expr.apply(|expr| match expr {
            // A number becomes a float by way of its text.
            Expr::Cast(outer) if *outer.field.data_type() != ArrowType::Utf8 && is_text(&outer.expr) => {
                Ok(TreeNodeRecursion::Jump)
            }
            Expr::Cast(cast) if *cast.field.data_type() == ArrowType::Utf8 && is_cut(&cast.expr) => {
                Err(not_as_text(&cast.expr))
            }
            _ => Ok(TreeNodeRecursion::Continue),
        })?;
    }
    Ok(match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source)?;
            let table = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<Table>();
            let is_cut = |(at, field): (usize, &Arc<Field>)| {
                *field.data_type() != ArrowType::Utf8 && table.is_some_and(|table| unbounded(scan, table, at).is_some())
            };
            scan.projected_schema.fields().iter().enumerate().map(is_cut).collect()
        }
        LogicalPlan::Projection(projection) => projection.expr.iter().map(is_cut).collect(),
        LogicalPlan::Aggregate(aggregate) => {
            let values = aggregate.aggr_expr.iter().map(|expr| match unnamed(expr) {
                Expr::AggregateFunction(call) if matches!(call.func.name(), "min" | "max") => {
                    call.params.args.iter().any(is_cut)
                }
                _ => false,
            });
            aggregate.group_expr.iter().map(is_cut).chain(values).collect()
        }
        LogicalPlan::Union(_) => {
            let any = |place: usize| inputs.iter().any(|input| input.get(place) == Some(&true));
            (0..plan.schema().fields().len()).map(any).collect()
        }
        // Of both sides of a join that keeps one, the columns of the other are left out.
        _ => {
            let fields = plan.schema().fields().len();
            let from = match plan {
                LogicalPlan::Join(Join { join_type: JoinType::RightSemi | JoinType::RightAnti, left, .. }) => {
                    left.schema().fields().len()
                }
                _ => 0,
            };
            (from..from + fields).map(|place| below.get(place) == Some(&true)).collect()
        }
    })
}

/// The place in its table of a scanned column, if it is such a number.
fn unbounded(scan: &TableScan, table: &Table, at: usize) -> Option<usize> {
    let place = scan.projection.as_ref().map_or(Some(at), |places| places.get(at).copied())?;
    table.is_unbounded(place).then_some(place)
}

/// Whether it is a column's text.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast(cast) if *cast.field.data_type() == ArrowType::Utf8 && is_column(&cast.expr))
}

fn unnamed(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unnamed(&alias.expr),
        _ => expr,
    }
}

fn not_as_text(expr: &Expr) -> DataFusionError {
    let name = match unnamed(expr) {
        Expr::Column(column) => labels::shown(&column.name),
        _ => "a number",
    };
    external(
        Error::invalid(format!(
            "query: {name} is a numeric without precision: over several connections its text is known only in a statement \
             that does nothing else with it"
        ))
        .hint(format!("say how many digits: round({name}, 2)::text")),
    )
}

/// `handed_on` says for each column of `plan` that no node above uses its value.
fn visit(plan: LogicalPlan, handed_on: &[bool]) -> Result<LogicalPlan> {
    match &plan {
        LogicalPlan::TableScan(scan) => scanned(scan, handed_on).map(|scan| scan.unwrap_or(plan)),
        LogicalPlan::Projection(projection) => {
            let schema = projection.input.schema();
            let mut below = vec![true; schema.fields().len()];
            for (expr, on) in projection.expr.iter().zip(handed_on) {
                if !(*on && is_column(expr)) {
                    look_at(&[expr], schema, &mut below);
                }
            }
            over(&plan, vec![below])
        }
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::SubqueryAlias(_) => {
            let mut below = handed_on.to_vec();
            let exprs = plan.expressions();
            if let Some(input) = plan.inputs().first() {
                look_at(&exprs.iter().collect::<Vec<_>>(), input.schema(), &mut below);
            }
            over(&plan, vec![below])
        }
        LogicalPlan::Join(join) => {
            let (mut left, mut right) = sides(join, handed_on);
            let exprs = plan.expressions();
            let exprs: Vec<&Expr> = exprs.iter().collect();
            look_at(&exprs, join.left.schema(), &mut left);
            look_at(&exprs, join.right.schema(), &mut right);
            over(&plan, vec![left, right])
        }
        _ => Ok(plan),
    }
}

/// The node over inputs that were visited.
fn over(plan: &LogicalPlan, handed_on: Vec<Vec<bool>>) -> Result<LogicalPlan> {
    let inputs = plan.inputs().into_iter().zip(handed_on).map(|(input, on)| visit(input.clone(), &on));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    plan.with_new_exprs(plan.expressions(), inputs)
}

fn is_column(expr: &Expr) -> bool {
    matches!(unnamed(expr), Expr::Column(_))
}

/// Returns the columns that an expression uses, other than to test for NULL. A cast to text uses the source's text.
fn columns(expr: &Expr) -> Vec<Column> {
    let mut columns = Vec::new();
    // It never fails.
    let _ = expr.apply(|expr| {
        Ok(match expr {
            Expr::IsNull(expr) | Expr::IsNotNull(expr) if is_column(expr) => TreeNodeRecursion::Jump,
            expr if is_text(expr) => TreeNodeRecursion::Jump,
            Expr::Column(column) => {
                columns.push(column.clone());
                TreeNodeRecursion::Continue
            }
            _ => TreeNodeRecursion::Continue,
        })
    });
    columns
}

/// Marks the columns of these expressions as used.
fn look_at(exprs: &[&Expr], schema: &DFSchema, handed_on: &mut [bool]) {
    let looked: HashSet<usize> = (exprs.iter())
        .flat_map(|expr| columns(expr))
        .filter_map(|column| schema.maybe_index_of_column(&column))
        .collect();
    for (place, on) in handed_on.iter_mut().enumerate() {
        *on &= !looked.contains(&place);
    }
}

/// Returns which columns of each side of a join are passed on.
fn sides(join: &Join, handed_on: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let (left, right) = (join.left.schema().fields().len(), join.right.schema().fields().len());
    let of = |from: usize, length: usize| (0..length).map(|at| handed_on.get(from + at) == Some(&true)).collect();
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (of(0, left), vec![false; right]),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (vec![false; left], of(0, right)),
        _ => (of(0, left), of(left, right)),
    }
}

/// Returns the scan with unused columns as text; `None` if there are none.
fn scanned(scan: &TableScan, handed_on: &[bool]) -> Result<Option<LogicalPlan>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<Table>() else { return Ok(None) };
    let on = handed_on.iter().enumerate().filter(|(_, on)| **on);
    let places: Vec<usize> = on.filter_map(|(at, _)| unbounded(scan, table, at)).collect();
    if places.is_empty() {
        return Ok(None);
    }
    let source = provider_as_source(Arc::new(table.with_digits(&places)));
    let scan = TableScanBuilder::new(scan.table_name.clone(), source)
        .with_projection(scan.projection.clone())
        .with_filters(scan.filters.clone())
        .with_fetch(scan.fetch)
        .build()?;
    Ok(Some(LogicalPlan::TableScan(scan)))
}
