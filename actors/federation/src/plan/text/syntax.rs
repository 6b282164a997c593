//! Pieces of syntax, read and written.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, JoinConstraint, JoinOperator, Query, Select, SetExpr, Statement, TableFactor,
    UnaryOperator, Value, ValueWithSpan, Visit, VisitMut, Visitor, VisitorMut, visit_expressions,
};

/// The relations that a SELECT reads, in order.
pub(super) fn relations(select: &Select) -> impl Iterator<Item = &TableFactor> {
    select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)))
}

/// Returns true if an expression compares with ANY or ALL of a subquery.
pub(super) fn compares_with_query(expr: &Expr) -> bool {
    contains(expr, |part| match part {
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => matches!(**right, Expr::Subquery(_)),
        _ => false,
    })
}

/// Returns true if an expression is a subquery itself.
pub(super) const fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Subquery(_))
}

/// Returns true if an expression contains a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    contains(expr, is_subquery)
}

/// Returns true if `is_sought` holds for a part of an expression.
pub(super) fn contains(expr: &Expr, is_sought: impl Fn(&Expr) -> bool) -> bool {
    let found =
        visit_expressions(
            expr,
            |part| {
                if is_sought(part) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
    found.is_break()
}

/// Returns true if an ON contains a subquery.
pub(super) fn joins_by_query(statement: &Statement) -> bool {
    let mut conditions = JoinConditions { has_query: false };
    let _ = statement.visit(&mut conditions);
    conditions.has_query
}

struct JoinConditions {
    has_query: bool,
}

impl Visitor for JoinConditions {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let joins = select.from.iter().flat_map(|from| &from.joins);
        let mut conditions = joins.filter_map(|join| match &join.join_operator {
            JoinOperator::Join(JoinConstraint::On(on))
            | JoinOperator::Inner(JoinConstraint::On(on))
            | JoinOperator::Left(JoinConstraint::On(on))
            | JoinOperator::LeftOuter(JoinConstraint::On(on))
            | JoinOperator::Right(JoinConstraint::On(on))
            | JoinOperator::RightOuter(JoinConstraint::On(on))
            | JoinOperator::FullOuter(JoinConstraint::On(on)) => Some(on),
            _ => None,
        });
        self.has_query |= conditions.any(has_subquery);
        ControlFlow::Continue(())
    }
}

/// Returns the SELECTs of a query, the first of a set operation first; without those of a query in parentheses.
pub(in crate::plan) fn selects(body: &mut SetExpr) -> Vec<&mut Select> {
    let (mut todo, mut selects) = (vec![body], Vec::new());
    while let Some(body) = todo.pop() {
        match body {
            SetExpr::Select(select) => selects.push(select.as_mut()),
            SetExpr::SetOperation { left, right, .. } => todo.extend([right.as_mut(), left.as_mut()]),
            _ => {}
        }
    }
    selects
}

/// The methods of a visitor that count in `depth` the queries around the current node.
macro_rules! counts_queries {
    ($depth:ident, $query:ty) => {
        fn pre_visit_query(&mut self, _: $query) -> ControlFlow<Self::Break> {
            self.$depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: $query) -> ControlFlow<Self::Break> {
            self.$depth -= 1;
            ControlFlow::Continue(())
        }
    };
}
pub(super) use counts_queries;

/// Visits the expressions of `node`, inner ones first, and none of nested queries.
pub(super) fn visit_own_expressions(node: &mut impl VisitMut, visit: impl FnMut(&mut Expr)) {
    let _ = node.visit(&mut Own { visit, depth: 0 });
}

struct Own<F> {
    visit: F,
    depth: usize,
}

impl<F: FnMut(&mut Expr)> VisitorMut for Own<F> {
    type Break = ();

    counts_queries!(depth, &mut Query);

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0 {
            (self.visit)(expr);
        }
        ControlFlow::Continue(())
    }
}

/// Visits the expressions of `node`, outer ones first, and none of nested queries, until one breaks.
pub(super) fn look_at_own_expressions<B>(
    node: &impl Visit,
    look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    node.visit(&mut Looked { look, depth: 0 })
}

struct Looked<F> {
    look: F,
    depth: usize,
}

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Looked<F> {
    type Break = B;

    counts_queries!(depth, &Query);

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        if self.depth == 0 { (self.look)(expr) } else { ControlFlow::Continue(()) }
    }
}

/// Whether a column is named in it.
pub(super) fn names_column(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Returns the expression inside of parentheses.
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

/// A call of a function of these values.
pub(super) fn call_of<const N: usize>(name: &str, values: [Expr; N]) -> Expr {
    called(name, values.map(FunctionArgExpr::Expr))
}

/// A call of a function of one argument.
pub(super) fn call(name: &str, argument: FunctionArgExpr) -> Expr {
    called(name, [argument])
}

fn called<const N: usize>(name: &str, arguments: [FunctionArgExpr; N]) -> Expr {
    Expr::Function(Function {
        name: vec![Ident::new(name)].into(),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.map(FunctionArg::Unnamed).into(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The value as one of this type.
pub(super) fn cast_to(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
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
