//! Casts of one value to several types, and beside the value itself. The engine names a cast after its operand:
//! groups and window functions cannot have two columns of one name.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderBy, Query, Select, SetExpr,
    Statement, VisitMut, VisitorMut, visit_expressions_mut,
};

use crate::functions::types::named_cast::NAME;
use crate::plan::text::refused::{is_grouped, looks_at_several_rows};
use crate::plan::text::syntax::{call, selects, visit_own_expressions};

/// Octets of a list that is looked at, at most: each expression in it is written out.
const MOST_OCTETS: usize = 16 << 10;

/// Names casts that would have the name of another column.
pub(super) fn name_casts(statement: &mut Statement) {
    let _ = statement.visit(&mut Queries);
}

struct Queries;

impl VisitorMut for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        // The order of a set operation is one of its columns.
        let mut none = None;
        let order = if matches!(*query.body, SetExpr::Select(_)) { &mut query.order_by } else { &mut none };
        for select in selects(&mut query.body) {
            if is_of_several_rows(select, order.as_ref()) {
                let mut forms = Forms::default();
                in_each_part(select, order, |expr| forms.add(expr));
                if forms.has_casts && forms.octets <= MOST_OCTETS {
                    in_each_part(select, order, |expr| forms.name(expr));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Visits the expressions computed for groups and window functions.
fn in_each_part(select: &mut Select, order: &mut Option<OrderBy>, mut visit: impl FnMut(&mut Expr)) {
    visit_own_expressions(&mut select.projection, &mut visit);
    visit_own_expressions(&mut select.group_by, &mut visit);
    visit_own_expressions(&mut select.having, &mut visit);
    visit_own_expressions(&mut select.named_window, &mut visit);
    visit_own_expressions(order, &mut visit);
}

/// Whether it has groups, or functions of several rows.
fn is_of_several_rows(select: &Select, order: Option<&OrderBy>) -> bool {
    is_grouped(select)
        || looks_at_several_rows(&select.projection)
        || looks_at_several_rows(&select.having)
        || order.is_some_and(looks_at_several_rows)
}

/// Expressions without their casts, each with its variants.
#[derive(Default)]
struct Forms {
    by_value: HashMap<String, HashSet<String>>,
    has_casts: bool,
    octets: usize,
}

impl Forms {
    fn add(&mut self, expr: &Expr) {
        self.has_casts |= matches!(expr, Expr::Cast { .. });
        if self.octets > MOST_OCTETS {
            return;
        }
        let form = written(expr, false);
        self.octets = self.octets.saturating_add(form.len());
        self.by_value.entry(written(expr, true)).or_default().insert(form);
    }

    fn name(&self, expr: &mut Expr) {
        if !matches!(expr, Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, .. }) {
            return;
        }
        if self.by_value.get(&written(expr, true)).is_some_and(|of| of.len() > 1) {
            *expr = call(NAME, FunctionArgExpr::Expr(expr.clone()));
        }
    }
}

/// The expression as text, with its casts or without them.
fn written(expr: &Expr, is_bare: bool) -> String {
    let mut expr = expr.clone();
    let _ = visit_expressions_mut(&mut expr, |expr| {
        while let Some(inner) = inner_of(expr, is_bare) {
            *expr = inner;
        }
        ControlFlow::<()>::Continue(())
    });
    expr.to_string()
}

/// Returns the expression inside of parentheses, of an alias, or of a cast.
fn inner_of(expr: &Expr, is_bare: bool) -> Option<Expr> {
    match expr {
        Expr::Nested(inner) => Some(Expr::clone(inner)),
        Expr::Cast { expr, .. } if is_bare => Some(Expr::clone(expr)),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) if name.to_string() == NAME => {
            match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(inner))] => Some(inner.clone()),
                _ => None,
            }
        }
        _ => None,
    }
}
