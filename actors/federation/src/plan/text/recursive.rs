//! Recursive queries whose later rows have other types than the first ones: the engine converts them, and rounds
//! what does not fit.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use arrow_schema::DataType as ArrowType;
use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, JoinType, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, Query, SelectItem, SetExpr, Statement, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use crate::external_error::external;
use crate::functions::types::categories::type_name;
use crate::plan::text::syntax::unnested;
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

/// Casts the whole numbers that recursive queries begin with to integers, which they are to PostgreSQL: to the engine they
/// are bigints, and the rows that follow are of the type of the first.
pub(crate) fn count_in_integers(statement: &mut Statement) {
    let _ = statement.visit(&mut Integers);
}

struct Integers;

impl VisitorMut for Integers {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        for cte in query.with.iter_mut().filter(|with| with.recursive).flat_map(|with| &mut with.cte_tables) {
            let SetExpr::SetOperation { left, .. } = cte.query.body.as_mut() else { continue };
            let SetExpr::Select(first) = left.as_mut() else { continue };
            for item in &mut first.projection {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
                let Expr::Value(value) = &*expr else { continue };
                if matches!(&value.value, Value::Number(digits, _) if digits.parse::<i32>().is_ok()) {
                    let (kind, data_type) = (CastKind::Cast, DataType::Integer(None));
                    let number = Box::new(expr.clone());
                    *expr = Expr::Cast { kind, expr: number, data_type, array: false, format: None };
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
        if let LogicalPlan::RecursiveQuery(query) = node {
            check_reference(&query.recursive_term, &query.name)?;
        }
        if let LogicalPlan::RecursiveQuery(query) = node
            && let LogicalPlan::Projection(rows) = query.recursive_term.as_ref()
        {
            for (place, expr) in rows.expr.iter().enumerate() {
                let Planned::Cast(cast) = expr.clone().unalias() else { continue };
                let is_own = casts.contains(&(query.name.to_lowercase(), place)) && !matches!(*cast.expr, Planned::Cast(_));
                let (from, to) = (cast.expr.get_type(rows.input.schema())?, cast.field.data_type());
                if !is_own && loses(&from, to) {
                    let message = format!(
                        "recursive query \"{}\" column {} has type {} in its first rows, and values that have no place in it in \
                         others",
                        query.name,
                        place + 1,
                        type_name(to)
                    );
                    let error = Error::new(Kind::Rejected, message).sqlstate("42804");
                    return Err(external(error.hint("CAST the column of the first SELECT AS numeric or timestamp, or both to one type")));
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

/// Refuses a recursive term that reads its own rows where they would not be those of the previous step, as
/// PostgreSQL does.
fn check_reference(term: &LogicalPlan, name: &str) -> EngineResult<()> {
    term.apply(|node| {
        let is_misplaced = match node {
            LogicalPlan::Aggregate(_) => reads(node, name),
            LogicalPlan::Join(of) => match of.join_type {
                JoinType::Inner => false,
                JoinType::Left => reads(&of.right, name),
                JoinType::Right => reads(&of.left, name),
                _ => reads(node, name),
            },
            _ => {
                let mut asks = false;
                node.apply_subqueries(|subquery| {
                    asks |= reads(subquery, name);
                    Ok(TreeNodeRecursion::Continue)
                })?;
                asks
            }
        };
        if is_misplaced {
            let message = format!(
                "recursive reference to query \"{name}\" must not appear within a subquery, an aggregate, or the side of an \
                 outer join that may have no row"
            );
            let hint = "join it in FROM; group the rows of the recursive query behind it";
            return Err(external(Error::new(Kind::Rejected, message).sqlstate("42P19").hint(hint)));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(drop)
}

/// Whether the plan reads the rows of the recursive query `name`.
fn reads(plan: &LogicalPlan, name: &str) -> bool {
    // It never fails.
    plan.exists(|node| Ok(matches!(node, LogicalPlan::TableScan(scan) if scan.table_name.table() == name && scan.table_name.schema().is_none())))
        .unwrap_or(true)
}

fn loses(from: &ArrowType, to: &ArrowType) -> bool {
    match (from, to) {
        (ArrowType::Decimal128(_, from), ArrowType::Decimal128(_, to)) => from > to && *to < UNBOUNDED_SCALE,
        (ArrowType::Timestamp(..), ArrowType::Date32) => true,
        (from, to) => {
            (from.is_decimal() || from.is_floating()) && (to.is_integer() || (from.is_floating() && to.is_decimal()))
        }
    }
}
