//! The types of outer columns in a correlated subquery. The engine records them when it reads the subquery, and
//! changes those of the outer query later: an integer beside a decimal becomes one.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercion;

/// Updates subqueries to the types that the engine's coercion has given the outer query. Runs after the coercion.
#[derive(Debug)]
pub(crate) struct OuterTypes;

impl AnalyzerRule for OuterTypes {
    fn analyze(&self, mut plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        // With each turn the types of one more level of subqueries are right.
        while speaks_of_outer(&plan) {
            let typed = typed(plan, &mut Vec::new())?;
            if !typed.transformed {
                return Ok(typed.data);
            }
            plan = TypeCoercion::new().analyze(typed.data, config)?;
        }
        Ok(plan)
    }

    fn name(&self) -> &'static str {
        "outer_types"
    }
}

/// Whether a subquery has a column from the query around it.
fn speaks_of_outer(plan: &LogicalPlan) -> bool {
    let mut speaks = false;
    // It never fails.
    let _ = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            speaks |= expr.exists(|expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..))))?;
            Ok(if speaks { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    speaks
}

/// The query, in which the columns of the queries around it have the types of these `scopes`, the innermost last.
pub(in crate::functions) fn typed(query: LogicalPlan, scopes: &mut Vec<DFSchema>) -> Result<Transformed<LogicalPlan>> {
    query.transform_up(|node| {
        let node = node.map_expressions(|expr| expr.transform_up(|expr| Ok(column(expr, scopes))))?;
        node.transform_data(|node| {
            scopes.push(merge_schema(&node.inputs()));
            let node = node.map_subqueries(|subquery| typed(subquery, scopes));
            scopes.pop();
            node
        })
    })
}

fn column(expr: Expr, scopes: &[DFSchema]) -> Transformed<Expr> {
    let Expr::OuterReferenceColumn(field, column) = expr else { return Transformed::no(expr) };
    let named = |scope: &DFSchema| Some(Arc::clone(&scope.fields()[scope.maybe_index_of_column(&column)?]));
    match scopes.iter().rev().find_map(named) {
        Some(now) if now.data_type() != field.data_type() || now.metadata() != field.metadata() => {
            Transformed::yes(Expr::OuterReferenceColumn(now, column))
        }
        _ => Transformed::no(Expr::OuterReferenceColumn(field, column)),
    }
}
