//! Recursive queries whose rows are of other types than their first ones: the engine makes them of the types of these,
//! and rounds what does not fit.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use arrow_schema::DataType as ArrowType;
use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, LogicalPlan};
use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement, Visit, Visitor};

use super::syntax::unnested;
use crate::carried::carried;
use crate::functions::types::type_name;
use crate::tables::table::UNBOUNDED_SCALE;
use portico_core::error::{Error, Kind};

/// The columns of recursive queries that are written as casts, by the query's name and their place.
pub(crate) type Casts = BTreeSet<(String, usize)>;

/// Finds them.
pub(crate) fn casts(statement: &Statement) -> Casts {
    let mut found = Found(Casts::new());
    let _ = statement.visit(&mut found);
    found.0
}

struct Found(Casts);

impl Visitor for Found {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().filter(|with| with.recursive).flat_map(|with| &with.cte_tables) {
            let SetExpr::SetOperation { right, .. } = cte.query.body.as_ref() else { continue };
            let SetExpr::Select(select) = right.as_ref() else { continue };
            for (place, item) in select.projection.iter().enumerate() {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
                if matches!(unnested(expr), Expr::Cast { .. }) {
                    self.0.insert((cte.alias.name.value.to_lowercase(), place));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Refuses one that would be rounded.
///
/// # Errors
/// `42804`.
pub(crate) fn check(plan: &LogicalPlan, casts: &Casts) -> EngineResult<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::RecursiveQuery(query) = node
            && let LogicalPlan::Projection(rows) = query.recursive_term.as_ref()
        {
            for (place, expr) in rows.expr.iter().enumerate() {
                let Planned::Cast(cast) = expr.clone().unalias() else { continue };
                let is_own = casts.contains(&(query.name.to_lowercase(), place)) && !matches!(*cast.expr, Planned::Cast(_));
                let (from, to) = (cast.expr.get_type(rows.input.schema())?, cast.field.data_type());
                if !is_own && loses(&from, to) {
                    let message = format!(
                        "recursive query \"{}\" column {} has type {} in its first rows, and digits behind the point that these \
                         do not have in others",
                        query.name,
                        place + 1,
                        type_name(to)
                    );
                    let error = Error::new(Kind::Rejected, message).sqlstate("42804");
                    return Err(carried(error.hint("CAST the column of the first SELECT AS numeric, or both to one type")));
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

fn loses(from: &ArrowType, to: &ArrowType) -> bool {
    match (from, to) {
        (ArrowType::Decimal128(_, from), ArrowType::Decimal128(_, to)) => from > to && *to < UNBOUNDED_SCALE,
        (from, to) => {
            (from.is_decimal() || from.is_floating()) && (to.is_integer() || (from.is_floating() && to.is_decimal()))
        }
    }
}
