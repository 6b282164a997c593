//! Rewrites PostgreSQL's syntax to equivalent syntax of the engine.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DateTimeField, ExactNumberInfo, Expr, ExtractSyntax, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, LimitClause, Query, Select, SelectItem, SetExpr, Statement,
    TimezoneInfo, TypedString, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use uuid::Uuid;

use crate::functions::allowed::canonical;
use crate::functions::regular::{MATCHES, MATCHES_ANY_CASE};
use crate::functions::times::calendar::{BIN, TIME_ZONE};
use crate::plan::columns::labels::folded;
use crate::plan::text::intervals;
use crate::plan::text::refused::is_grouped;
use crate::plan::text::syntax::{
    binary, call, call_of, cast_to, nested, not, number, string, text_of, unnested, value_text, visit_own_expressions,
};
use portico_core::error::{Error, Kind, Result};

/// Rewrites comparisons of rows, or with the elements of an array, to single values; and FETCH to LIMIT.
pub(crate) fn value_by_value(statement: &mut Statement) {
    let _ = statement.visit(&mut Rows);
}

/// Rewrites the rest, once the columns have PostgreSQL's names, which depend on the original syntax.
///
/// # Errors
/// [`Kind::Rejected`] for a literal that is not a value of its type.
pub(crate) fn translate(statement: &mut Statement) -> Result<()> {
    match statement.visit(&mut Words) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Digits of an exact number before the point, and behind it, at most.
const MOST_DIGITS: i64 = 38;

/// A limit that no result reaches: 2⁶², to which the rows that are skipped can be added.
const NO_LIMIT: &str = "4611686018427387904";

struct Rows;

impl VisitorMut for Rows {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(fetch) = query.fetch.take_if(|fetch| !(fetch.with_ties || fetch.percent)) {
            let limit = Some(fetch.quantity.clone().unwrap_or_else(|| number("1")));
            match &mut query.limit_clause {
                None => {
                    query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
                }
                Some(LimitClause::LimitOffset { limit: none @ None, .. }) => *none = limit,
                // Both are one too many.
                Some(_) => query.fetch = Some(fetch),
            }
        }
        // Without a limit the engine moves a sort from one side of what skips rows to the other, or leaves it out.
        if let Some(LimitClause::LimitOffset { limit: none @ None, offset: Some(_), .. }) = &mut query.limit_clause {
            *none = Some(number(NO_LIMIT));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(said) = compared(expr).or_else(|| listed(expr)) {
            *expr = said;
        }
        ControlFlow::Continue(())
    }
}

/// A comparison of rows for equality.
fn compared(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => equal(left, right),
        Expr::BinaryOp { left, op: BinaryOperator::NotEq, right } => equal(left, right).map(not),
        Expr::InList { expr, list, negated } => {
            let row = row(expr)?;
            // Each value is said once for each row of the list.
            let is_plain =
                |value: &Expr| matches!(value, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_));
            if list.len() > 1 && !row.iter().all(is_plain) {
                return None;
            }
            let any = list.iter().map(|of| equal(expr, of)).collect::<Option<Vec<_>>>()?;
            let any = any.into_iter().reduce(|one, other| binary(one, BinaryOperator::Or, other))?;
            let any = nested(any);
            Some(if *negated { not(any) } else { any })
        }
        _ => None,
    }
}

/// Whether two rows of as many values are equal, if they are rows.
fn equal(left: &Expr, right: &Expr) -> Option<Expr> {
    let (left, right) = (row(left)?, row(right)?);
    if left.len() != right.len() {
        return None;
    }
    let pairs = left.iter().zip(right).map(|(left, right)| binary(left.clone(), BinaryOperator::Eq, right.clone()));
    let all = pairs.reduce(|one, other| binary(one, BinaryOperator::And, other))?;
    Some(nested(all))
}

fn row(expr: &Expr) -> Option<&[Expr]> {
    match unnested(expr) {
        Expr::Tuple(values) => Some(values),
        _ => None,
    }
}

/// `= ANY (ARRAY[…])` and `<> ALL (ARRAY[…])` as lists.
fn listed(expr: &Expr) -> Option<Expr> {
    let (left, right, negated) = match expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => (left, right, false),
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => (left, right, true),
        _ => return None,
    };
    let Expr::Array(array) = unnested(right) else { return None };
    let list = Some(array.elem.clone()).filter(|list| !list.is_empty())?;
    Some(Expr::InList { expr: left.clone(), list, negated })
}

struct Words;

impl VisitorMut for Words {
    type Break = Error;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                visit_own_expressions(expr, count_existing);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(call) = expr {
            with_interval(call);
            by_its_name(call);
        }
        let said = match expr {
            Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
                escape(pattern, escape_char);
                None
            }
            Expr::Function(call) => function(call).or_else(|| ranked(call)).map(Ok),
            Expr::BinaryOp { left, op, right } => matched(left, op, right).map(Ok),
            Expr::AtTimeZone { timestamp, time_zone } => {
                Some(Ok(call_of(TIME_ZONE, [Expr::clone(time_zone), instant(timestamp)])))
            }
            Expr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon, expr: inner, data_type: DataType::Uuid, ..
            } => string(inner).map(uuid),
            Expr::TypedString(TypedString { data_type: DataType::Uuid, value, .. }) => value_text(value).map(uuid),
            Expr::Value(value) => huge(value),
            _ => intervals::said(expr).map(Ok),
        };
        match said {
            Some(Ok(said)) => *expr = said,
            Some(Err(error)) => return ControlFlow::Break(error),
            None => {}
        }
        ControlFlow::Continue(())
    }
}

/// Says the first value of `date_bin` as an interval, where it is a text in quotes.
fn with_interval(call: &mut Function) {
    if let FunctionArguments::List(list) = &mut call.args
        && call.name.to_string().eq_ignore_ascii_case(BIN)
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(stride))) = list.args.first_mut()
    {
        intervals::in_quotes(stride);
    }
}

/// Calls a function by the name that the engine has for it.
fn by_its_name(call: &mut Function) {
    let name = match (call.name.0.as_slice(), &call.args) {
        ([name], FunctionArguments::List(list)) => name.as_ident().and_then(|name| match folded(name).as_str() {
            // With one argument it is the logarithm to base 10; the engine's is another one.
            "log" if list.args.len() == 1 => Some("log10"),
            name => canonical(name),
        }),
        _ => None,
    };
    if let Some(name) = name {
        call.name = vec![Ident::new(name)].into();
    }
}

/// Replaces a pattern's own escape character by a backslash, as PostgreSQL's `do_like_escape` does.
fn escape(pattern: &mut Expr, sign: &mut Option<ValueWithSpan>) {
    let Some(text) = string(pattern).map(str::to_owned) else { return };
    let Some(by) = sign.as_ref().and_then(value_text) else { return };
    let mut signs = by.chars();
    let (by, None) = (signs.next(), signs.next()) else { return };
    let mut escaped = String::with_capacity(text.len());
    let mut is_behind = false;
    for c in text.chars() {
        if Some(c) == by && !is_behind {
            escaped.push('\\');
            is_behind = true;
            continue;
        }
        if c == '\\' && !is_behind {
            escaped.push('\\');
        }
        escaped.push(c);
        is_behind = false;
    }
    *sign = None;
    *pattern = text_of(escaped);
}

/// Calls that are operators or clauses to the engine.
fn function(call: &Function) -> Option<Expr> {
    let name = call.name.to_string().to_lowercase();
    let is_plain = call.over.is_none() && call.filter.is_none() && call.within_group.is_empty();
    let FunctionArguments::List(list) = &call.args else { return None };
    let mut values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    });
    let (Some(first), Some(second), None) = (values.next().flatten(), values.next().flatten(), values.next()) else {
        return None;
    };
    match name.as_str() {
        "mod" if is_plain => Some(nested(binary(nested(first), BinaryOperator::Modulo, nested(second)))),
        "date_part" if is_plain => {
            let field = DateTimeField::Custom(Ident::new(string(&first)?.to_lowercase()));
            let part = Expr::Extract { field, syntax: ExtractSyntax::From, expr: Box::new(second) };
            Some(cast_to(part, DataType::Double(ExactNumberInfo::None)))
        }
        _ => None,
    }
}

/// A text in quotes as an instant, which it is before AT TIME ZONE.
fn instant(expr: &Expr) -> Expr {
    match string(unnested(expr)) {
        Some(_) => cast_to(expr.clone(), DataType::Timestamp(None, TimezoneInfo::WithTimeZone)),
        None => expr.clone(),
    }
}

/// The function behind an operator of regular expressions.
fn matched(text: &Expr, op: &BinaryOperator, pattern: &Expr) -> Option<Expr> {
    let (name, is_negated) = match op {
        BinaryOperator::PGRegexMatch => (MATCHES, false),
        BinaryOperator::PGRegexNotMatch => (MATCHES, true),
        BinaryOperator::PGRegexIMatch => (MATCHES_ANY_CASE, false),
        BinaryOperator::PGRegexNotIMatch => (MATCHES_ANY_CASE, true),
        _ => return None,
    };
    let call = call_of(name, [text.clone(), pattern.clone()]);
    Some(if is_negated { nested(not(call)) } else { call })
}

/// A rank as PostgreSQL's: to the engine it is a number without a sign.
fn ranked(call: &Function) -> Option<Expr> {
    call.over.as_ref()?;
    let data_type = match call.name.to_string().to_lowercase().as_str() {
        "row_number" | "rank" | "dense_rank" => DataType::BigInt(None),
        "ntile" => DataType::Integer(None),
        _ => return None,
    };
    Some(cast_to(Expr::Function(call.clone()), data_type))
}

/// UUIDs of a source have the canonical form.
fn uuid(text: &str) -> Result<Expr> {
    let read = Uuid::try_parse(text.trim()).map_err(|_| {
        Error::new(Kind::Rejected, format!("invalid input syntax for type uuid: \"{text}\"")).sqlstate("22P02")
    })?;
    Ok(text_of(read.hyphenated().to_string()))
}

/// A number beyond all exact ones as a float: the engine counts the zeros that an exponent says in one octet.
///
/// # Errors
/// `22003` for one beyond all floats.
fn huge(value: &ValueWithSpan) -> Option<Result<Expr>> {
    let Value::Number(text, _) = &value.value else { return None };
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = i64::try_from(whole.trim_start_matches('0').len()).unwrap_or(i64::MAX);
    let zeros = exponent.parse::<i64>().unwrap_or(i64::MAX);
    let is_exact = digits.saturating_add(zeros) <= MOST_DIGITS
        && zeros.saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX)) >= -MOST_DIGITS;
    if is_exact {
        return None;
    }
    if text.parse::<f64>().is_ok_and(f64::is_infinite) {
        let message = format!("\"{text}\" is out of range for type double precision");
        return Some(Err(Error::new(Kind::Rejected, message).sqlstate("22003")));
    }
    Some(Ok(cast_to(text_of(text.clone()), DataType::Double(ExactNumberInfo::None))))
}

/// Rewrites EXISTS as a count of rows where it is a value: the engine supports it only in conditions.
fn count_existing(expr: &mut Expr) {
    if let Expr::Exists { subquery, negated } = expr
        && let Some(counted) = counted(subquery)
    {
        let op = if *negated { BinaryOperator::Eq } else { BinaryOperator::Gt };
        *expr = nested(binary(Expr::Subquery(Box::new(counted)), op, number("0")));
    }
}

/// Returns a query for the number of rows of a plain SELECT.
fn counted(query: &Query) -> Option<Query> {
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    if is_grouped(select) || select.having.is_some() || query.with.is_some() || query.limit_clause.is_some() {
        return None;
    }
    let projection = vec![SelectItem::UnnamedExpr(call("count", FunctionArgExpr::Wildcard))];
    let select = Select { projection, distinct: None, ..Select::clone(select) };
    Some(Query { body: Box::new(SetExpr::Select(Box::new(select))), order_by: None, ..query.clone() })
}
