//! Evaluates conditions in order. The engine computes both sides of AND and OR for all rows, and makes these of a
//! CASE of conditions: a condition after `x <> 0` then divides by 0. PostgreSQL leaves the order undefined, but
//! computes the conditions of one table as written.

use std::collections::HashSet;

use arrow_schema::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, TableReference};
use datafusion::logical_expr::expr::{BinaryExpr, Case, Cast, ScalarFunction};
use datafusion::logical_expr::utils::{split_binary, split_conjunction};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, cast as to_type, lit};

use crate::functions::types::common_type::is_constant;

/// The maximal number of conditions that guard another one.
const MOST_BEFORE: usize = 8;
/// Conditions of a chain that is written by hand: in longer ones each may fail by itself.
const MOST_LINKS: usize = 64;
/// The maximal number of parts of an expression that is repeated.
const MOST_PARTS: usize = 64;

/// Functions that fail for some arguments.
const PARTIAL: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "atanh",
    "digits_of",
    "exp",
    "ln",
    "log10",
    "make_date",
    "power",
    "real_of",
    "sqrt",
    "time_of",
    "with_zone",
    "without_zone",
];

/// Rewrites the expression so that what may fail is computed only for the rows that earlier conditions leave.
pub(super) fn computed(expr: Expr, schema: &DFSchema) -> EngineResult<Transformed<Expr>> {
    if !may_fail(&expr, schema)? {
        return Ok(Transformed::no(expr));
    }
    expr.transform_down(|expr| match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
            let chain = chain(&expr, op, schema)?;
            // Its links are computed so already.
            Ok(Transformed::new(chain, true, TreeNodeRecursion::Jump))
        }
        Expr::Case(case) => Ok(branches(case, schema)),
        other => Ok(Transformed::no(other)),
    })
}

/// Puts those conditions of a chain that may fail after their guards.
fn chain(whole: &Expr, op: Operator, schema: &DFSchema) -> EngineResult<Expr> {
    let links = if op == Operator::And { split_conjunction(whole) } else { split_binary(whole, op) };
    let links: Vec<Expr> =
        links.into_iter().map(|link| computed(link.clone(), schema).data()).collect::<EngineResult<_>>()?;
    let is_long = links.len() > MOST_LINKS;
    let mut guarded = Vec::with_capacity(links.len());
    for (place, link) in links.iter().enumerate() {
        let before = if !is_long && may_fail(link, schema)? { guards(link, &links[..place])? } else { Vec::new() };
        guarded.push(behind(before, op, link.clone()));
    }
    let joined = guarded
        .into_iter()
        .reduce(|left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))));
    Ok(joined.unwrap_or_else(|| whole.clone()))
}

/// Returns the conditions before it, the nearest ones, that refer to no other table than it does: a condition on
/// another table may be evaluated later.
fn guards<'a>(link: &Expr, before: &'a [Expr]) -> EngineResult<Vec<&'a Expr>> {
    let mut guards = Vec::new();
    if is_alone(link)? || joins(link) {
        return Ok(guards);
    }
    let tables = tables(link);
    for guard in before.iter().rev() {
        if guards.len() < MOST_BEFORE && is_small(guard)? && self::tables(guard).is_subset(&tables) && !is_alone(guard)?
        {
            guards.push(guard);
        }
    }
    guards.reverse();
    Ok(guards)
}

/// The tables that it speaks of.
fn tables(expr: &Expr) -> HashSet<Option<&TableReference>> {
    expr.column_refs().into_iter().map(|column| column.relation.as_ref()).collect()
}

/// Whether it is an equality of two tables: the engine looks for the rows of the other one by it.
fn joins(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = expr else { return false };
    let (left, right) = (tables(left), tables(right));
    !left.is_empty() && !right.is_empty() && left != right
}

/// Whether it has a query in it, a column of the query around it, or another value each time.
fn is_alone(expr: &Expr) -> EngineResult<bool> {
    let is_query = |expr: &Expr| matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_));
    Ok(expr.contains_outer() || expr.is_volatile() || expr.exists(|expr| Ok(is_query(expr)))?)
}

/// Whether it can be said several times.
fn is_small(expr: &Expr) -> EngineResult<bool> {
    let mut parts = 0;
    expr.apply(|_| {
        parts += 1;
        Ok(if parts > MOST_PARTS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(parts <= MOST_PARTS)
}

fn behind(before: Vec<&Expr>, op: Operator, link: Expr) -> Expr {
    if before.is_empty() {
        return link;
    }
    // Of AND one that is false says all, and of OR one that is true.
    let is_and = op == Operator::And;
    let decides = |guard: &Expr| {
        let guard = Box::new(guard.clone());
        let decided = if is_and { Expr::IsFalse(guard) } else { Expr::IsTrue(guard) };
        (Box::new(decided), Box::new(lit(i32::from(!is_and))))
    };
    let pairs = before.into_iter().map(decides).collect();
    is_one(Case::new(None, pairs, Some(Box::new(as_number(link)))))
}

/// A condition as a number: the engine makes a chain of AND and OR of a CASE of conditions.
fn as_number(condition: Expr) -> Expr {
    to_type(condition, ArrowType::Int32)
}

fn is_one(case: Case) -> Expr {
    Expr::Case(case).eq(lit(1_i32))
}

/// Rewrites a CASE of conditions to one of numbers.
fn branches(case: Case, schema: &DFSchema) -> Transformed<Expr> {
    let mut answers = case.when_then_expr.iter().map(|(_, then)| then.as_ref()).chain(case.else_expr.as_deref());
    let is_condition = |of: &Expr| of.get_type(schema).is_ok_and(|of| of == ArrowType::Boolean);
    if case.expr.is_some() || !answers.any(is_condition) {
        return Transformed::no(Expr::Case(case));
    }
    let number = |condition: Box<Expr>| Box::new(as_number(*condition));
    let pairs = case.when_then_expr.into_iter().map(|(when, then)| (when, number(then))).collect();
    Transformed::yes(is_one(Case::new(None, pairs, case.else_expr.map(number))))
}

fn may_fail(expr: &Expr, schema: &DFSchema) -> EngineResult<bool> {
    expr.exists(|expr| Ok(is_partial(expr, schema)))
}

/// Returns true if it fails for some rows, by itself.
fn is_partial(expr: &Expr, schema: &DFSchema) -> bool {
    let is_some_zero = |divisor: &Expr| match divisor {
        Expr::Literal(ScalarValue::Int32(Some(divisor)), _) => *divisor == 0,
        divisor => !is_constant(divisor),
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::Divide | Operator::Modulo, right, .. }) => is_some_zero(right),
        Expr::ScalarFunction(ScalarFunction { func, args }) => match (func.name(), args.as_slice()) {
            ("quotient" | "float_divided", [_, divisor]) => is_some_zero(divisor),
            (name, args) => PARTIAL.contains(&name) && !args.iter().all(is_constant),
        },
        Expr::Cast(Cast { expr, field }) => {
            !is_constant(expr) && !field.data_type().is_string() && expr.get_type(schema).is_ok_and(|of| of.is_string())
        }
        _ => false,
    }
}
