//! Casts of one value to several types, and beside the value itself. The engine calls a cast by what is cast: where rows are
//! grouped or numbered it has no two columns of one name.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderBy, Query, Select, SetExpr,
    Statement, Visit, VisitMut, VisitorMut, visit_expressions_mut,
};

use super::refused::is_grouped;
use super::syntax::{call, look_at_own_expressions, selects, visit_own_expressions};
use crate::functions::allowed::is_aggregate;
use crate::functions::apart::NAME;

/// Octets of a list that is looked at, at most: each expression in it is written out.
const MOST_OCTETS: usize = 16 << 10;

/// Gives casts names of their own, where they would have another one's.
pub(super) fn tell_casts(statement: &mut Statement) {
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
                forms.add(&select.projection);
                forms.add(&select.group_by);
                forms.add(&select.having);
                forms.add(&select.named_window);
                forms.add(order);
                if forms.has_casts && forms.octets <= MOST_OCTETS {
                    forms.name(&mut select.projection);
                    forms.name(&mut select.group_by);
                    forms.name(&mut select.having);
                    forms.name(&mut select.named_window);
                    forms.name(order);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether it has groups, or functions of several rows.
fn is_of_several_rows(select: &Select, order: Option<&OrderBy>) -> bool {
    let is_one = |expr: &Expr| match expr {
        Expr::Function(call) if call.over.is_some() || is_aggregate(&call.name.to_string()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    is_grouped(select)
        || look_at_own_expressions(&select.projection, is_one).is_break()
        || look_at_own_expressions(&select.having, is_one).is_break()
        || order.is_some_and(|order| look_at_own_expressions(order, is_one).is_break())
}

/// Expressions without their casts, each with the forms that it stands in.
#[derive(Default)]
struct Forms {
    by_value: HashMap<String, HashSet<String>>,
    has_casts: bool,
    octets: usize,
}

impl Forms {
    fn add(&mut self, part: &impl Visit) {
        let _ = look_at_own_expressions::<()>(part, |expr| {
            self.has_casts |= matches!(expr, Expr::Cast { .. });
            let form = written(expr, false);
            self.octets = self.octets.saturating_add(form.len());
            if self.octets > MOST_OCTETS {
                return ControlFlow::Break(());
            }
            self.by_value.entry(written(expr, true)).or_default().insert(form);
            ControlFlow::Continue(())
        });
    }

    fn name(&self, part: &mut impl VisitMut) {
        visit_own_expressions(part, |expr| {
            if !matches!(expr, Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, .. }) {
                return;
            }
            if self.by_value.get(&written(expr, true)).is_none_or(|of| of.len() < 2) {
                return;
            }
            *expr = call(NAME, FunctionArgExpr::Expr(expr.clone()));
        });
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

/// What stands in parentheses or in a name of its own, and what is cast.
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
