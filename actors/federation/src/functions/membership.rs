//! Comparison of a value with those of a query: IN, ANY and ALL compare like the operator, so both sides get the
//! type that the operator would give them.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result as EngineResult};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery};

use crate::functions::types::common_type::alike;

/// The name of the query's column while it is compared with the value. No other column has it.
const LISTED: &str = "\u{0}listed";

/// The value and the query of one column, of types that compare as PostgreSQL's do.
pub(in crate::functions) fn looked_up(
    value: Expr,
    query: Subquery,
    schema: &DFSchema,
    by_order: bool,
) -> EngineResult<(Expr, Subquery)> {
    let Some(field) = query.subquery.schema().fields().first() else { return Ok((value, query)) };
    let named = field.as_ref().clone().with_name(LISTED);
    let beside = DFSchema::from_unqualified_fields(vec![named].into(), HashMap::default())?;
    let listed = Expr::Column(Column::from_name(LISTED));
    let [value, compared] = alike([value, listed.clone()], &schema.join(&beside)?, by_order)?;
    if compared == listed {
        return Ok((value, query));
    }
    let (qualifier, field) = query.subquery.schema().qualified_field(0);
    // In a correlated subquery the column itself may be beside this one.
    let own = Column::from((qualifier, field));
    let compared = compared.transform(|expr| {
        Ok(if expr == listed { Transformed::yes(Expr::Column(own.clone())) } else { Transformed::no(expr) })
    });
    let plan = LogicalPlan::Projection(Projection::try_new(
        vec![compared.data()?.alias(LISTED)],
        Arc::clone(&query.subquery),
    )?);
    Ok((value, Subquery { subquery: Arc::new(plan), ..query }))
}
