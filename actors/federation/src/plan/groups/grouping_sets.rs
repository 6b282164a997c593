//! Grouping sets (`ROLLUP`, `CUBE`, `GROUPING SETS`) of values that are computed. The engine calls the columns of grouping
//! sets by the text of their expressions, which its rules write in other ways, and then looks for the first one.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet, LogicalPlan, Projection};

use crate::external_error::external;
use portico_core::error::{Error, Kind};

/// Computes the values of grouping sets before grouping.
///
/// # Errors
/// The engine's errors for a plan that it made itself.
pub(crate) fn of_columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Aggregate(grouped) => match computed(&grouped.group_expr)? {
            values if values.is_empty() => Ok(Transformed::no(LogicalPlan::Aggregate(grouped))),
            values => over_columns(grouped, values).map(Transformed::yes),
        },
        plan => Ok(Transformed::no(plan)),
    })
    .data()
}

/// Returns the computed values in these sets, each once, with the column that it becomes.
///
/// # Errors
/// `0A000` for a constant, which the engine would also return in the rows of subtotals.
fn computed(groups: &[Expr]) -> Result<HashMap<Expr, Column>> {
    let mut values = HashMap::new();
    for group in groups {
        let sets = match group {
            Expr::GroupingSet(GroupingSet::Rollup(set) | GroupingSet::Cube(set)) => vec![set],
            Expr::GroupingSet(GroupingSet::GroupingSets(sets)) => sets.iter().collect(),
            _ => Vec::new(),
        };
        for value in sets.into_iter().flatten().filter(|value| !matches!(value, Expr::Column(_))) {
            if value.column_refs().is_empty() {
                let message = "a constant in ROLLUP, CUBE or GROUPING SETS is not supported over several connections";
                return Err(external(
                    Error::new(Kind::Rejected, message).sqlstate("0A000").hint("leave it out of them"),
                ));
            }
            let column = Column::new_unqualified(format!("#set{}", values.len()));
            values.entry(value.clone()).or_insert(column);
        }
    }
    Ok(values)
}

fn over_columns(grouped: Aggregate, values: HashMap<Expr, Column>) -> Result<LogicalPlan> {
    let of_columns = |expr: Expr| {
        expr.transform_down(|expr| {
            Ok(match values.get(&expr) {
                Some(column) => Transformed::yes(Expr::Column(column.clone())),
                None => Transformed::no(expr),
            })
        })
        .data()
    };
    let all = |exprs: Vec<Expr>| exprs.into_iter().map(of_columns).collect::<Result<Vec<_>>>();
    let Aggregate { input, group_expr, aggr_expr, schema, .. } = grouped;
    let (group_expr, aggr_expr) = (all(group_expr)?, all(aggr_expr)?);
    let mut columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    columns.extend(values.into_iter().map(|(value, column)| value.alias(column.name)));
    let computed = LogicalPlan::Projection(Projection::try_new(columns, input)?);
    let grouped = Aggregate::try_new(Arc::new(computed), group_expr, aggr_expr)?;
    // The number of a row's set is internal to the engine; no node above uses it.
    let named = grouped.schema.columns().into_iter().zip(schema.iter());
    let named = named.filter(|(column, _)| column.name != Aggregate::INTERNAL_GROUPING_ID);
    let named = named.map(|(column, (of, field))| Expr::Column(column).alias_qualified(of.cloned(), field.name()));
    let named = named.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(named, Arc::new(LogicalPlan::Aggregate(grouped)))?))
}
