//! Pieces of syntax, read and written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Query, Select, TableFactor, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};

/// The relations that a SELECT reads, in order.
pub(super) fn relations(select: &Select) -> impl Iterator<Item = &TableFactor> {
    select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)))
}

/// Visits the expressions of `node`, those within others first, and none of the queries within.
pub(super) fn visit_own_expressions(node: &mut impl VisitMut, visit: impl FnMut(&mut Expr)) {
    let _ = node.visit(&mut Own { visit, depth: 0 });
}

struct Own<F> {
    visit: F,
    depth: usize,
}

impl<F: FnMut(&mut Expr)> VisitorMut for Own<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            (self.visit)(expr);
        }
        ControlFlow::Continue(())
    }
}

/// What stands in the parentheses.
pub(super) fn unnested(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

pub(super) fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

pub(super) fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) }
}

pub(super) fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_owned(), false).into())
}

pub(super) fn text_of(text: String) -> Expr {
    Expr::Value(Value::SingleQuotedString(text).into())
}

/// The text of a literal.
pub(super) fn string(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => value_text(value),
        _ => None,
    }
}

/// The text of a value.
pub(super) fn value_text(value: &ValueWithSpan) -> Option<&str> {
    match &value.value {
        Value::SingleQuotedString(text) => Some(text),
        _ => None,
    }
}
