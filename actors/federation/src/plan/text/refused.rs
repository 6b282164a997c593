//! Refuses what has another result in the engine than in PostgreSQL, with what to write instead.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, LimitClause,
    NamedWindowDefinition, NamedWindowExpr, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Statement, TableFactor, TableWithJoins, UnaryOperator, Value, ValueWithSpan, Visit, Visitor,
    WindowSpec, WindowType, visit_expressions,
};

use crate::functions::allowed::{is_aggregate, is_missing, is_ordered_set, is_window};
use crate::plan::columns::labels::{MARK, folded};
use crate::plan::text::names::table_name;
use crate::plan::text::syntax::{
    compares_with_query, has_subquery, look_at_own_expressions, names_column, relations, unnested,
};
use portico_core::error::{Error, Kind, Result};

/// Refuses a statement with such a part.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid), with what to write instead.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    match statement.visit(&mut Parts) {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(()),
    }
}

type Checked = ControlFlow<Error>;

fn refuse(what: &str, hint: &'static str) -> Checked {
    ControlFlow::Break(Error::invalid(format!("query: {what} is not supported over several connections")).hint(hint))
}

/// Refuses syntax that only the engine accepts.
fn no_syntax(what: &str, hint: &'static str) -> Checked {
    let error = Error::new(Kind::Rejected, format!("query: {what} is not PostgreSQL syntax"));
    ControlFlow::Break(error.sqlstate("42601").hint(hint))
}

struct Parts;

impl Visitor for Parts {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        order(query)?;
        body(&query.body)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        match factor {
            TableFactor::Table { sample: Some(_), .. } => {
                refuse("TABLESAMPLE", "leave it out, or run the statement on the table's own connection")
            }
            // The columns of `SELECT *` are not known here.
            TableFactor::NestedJoin { table_with_joins, .. } => joins(table_with_joins, true),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            // The engine takes its patterns for regular expressions.
            Expr::SimilarTo { .. } => refuse("SIMILAR TO", "write LIKE, or ~ with a regular expression"),
            Expr::BinaryOp { op, .. } => operator(op),
            Expr::RLike { .. } => no_syntax("RLIKE", "write ~, or ~* where case does not count"),
            Expr::Convert { .. } => no_syntax("CONVERT", "write CAST(value AS type)"),
            Expr::CompoundFieldAccess { .. } => {
                refuse("a part of an array or a row", "choose it in a view on the table's own connection")
            }
            // The engine takes both for octets.
            Expr::Value(ValueWithSpan { value: Value::HexStringLiteral(_), .. }) => {
                refuse("a hexadecimal number or bit string", "write the number in decimal digits")
            }
            Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => membership_of(subquery),
            Expr::Cast { kind: CastKind::TryCast | CastKind::SafeCast, .. } => {
                no_syntax("a cast that gives NULL where it fails", "write CAST")
            }
            // The engine writes the array as a text.
            Expr::Cast { data_type: DataType::Array(_), .. } => {
                refuse("a cast to an array", "write = ANY (…) as IN (…), or cast it on its own connection")
            }
            Expr::QualifiedWildcard(..) => refuse("a whole row", "name one of its columns"),
            Expr::Function(call) => called(call),
            // Rows are equal to the engine where PostgreSQL does not know.
            Expr::Tuple(_) => refuse("a row", "compare its columns one by one"),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Refuses operators that only the engine has, or that mean another thing to it.
fn operator(op: &BinaryOperator) -> Checked {
    match op {
        // The engine gives it another precedence.
        BinaryOperator::PGExp => refuse("the operator ^", "write power(a, b)"),
        // It loses NULL.
        BinaryOperator::PGBitwiseXor => refuse("the operator #", "write (a | b) - (a & b)"),
        BinaryOperator::Spaceship => no_syntax("the operator <=>", "write IS NOT DISTINCT FROM"),
        BinaryOperator::Xor => no_syntax("XOR", "write <> between conditions, and (a | b) - (a & b) between numbers"),
        BinaryOperator::MyIntegerDivide | BinaryOperator::DuckIntegerDivide => {
            no_syntax("the operator DIV", "write /, which divides whole numbers into whole numbers")
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Refuses parts of a call that the engine ignores: it counts all rows for `count(o.*)`, and ignores the base of a
/// window definition.
fn called(call: &Function) -> Checked {
    if let Some(WindowType::WindowSpec(window)) = &call.over {
        begun(window)?;
    }
    let has_row = matches!(&call.args, FunctionArguments::List(list) if list.args.iter().any(|argument| {
        matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)))
    }));
    if has_row {
        return refuse("a whole row", "name a column that is never NULL, such as count(o.id)");
    }
    aggregate_only(call)
}

fn begun(window: &WindowSpec) -> Checked {
    match &window.window_name {
        Some(name) => refuse(
            &format!("a window that begins with {name}"),
            "write OVER and its name without parentheses, or write the window in full",
        ),
        None => ControlFlow::Continue(()),
    }
}

/// Refuses clauses of aggregates in other functions, where the engine ignores them.
fn aggregate_only(call: &Function) -> Checked {
    let name = call.name.to_string();
    let last = call.name.0.last().and_then(|part| part.as_ident());
    let is_ours = last.is_some_and(|last| last.value.starts_with(MARK));
    if is_missing(&name) || is_ours {
        let error = Error::new(Kind::Rejected, format!("function {name} is not supported over several connections"));
        let hint = if is_ours {
            "names that begin with such a sign are the service's own"
        } else {
            "string_agg makes one text of the values; call it on the table's own connection, or in a view there"
        };
        return ControlFlow::Break(error.sqlstate("42883").hint(hint));
    }
    let (is_distinct, is_ordered) = match &call.args {
        FunctionArguments::List(list) => (
            matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct)),
            list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_))),
        ),
        _ => (false, false),
    };
    let said = [(call.filter.is_some(), "FILTER"), (is_distinct, "DISTINCT"), (is_ordered, "ORDER BY")];
    let refused = |message: String, code| ControlFlow::Break(Error::new(Kind::Rejected, message).sqlstate(code));
    if call.over.is_some() && !is_aggregate(&name) && !is_window(&name) {
        let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
        return refused(message, "42809");
    }
    if !call.within_group.is_empty() && !is_ordered_set(&name) {
        return refused(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"), "42809");
    }
    let has_none = matches!(&call.args, FunctionArguments::List(list) if list.args.is_empty());
    if has_none && is_aggregate(&name) && !is_ordered_set(&name) {
        return refused(format!("{name}(*) must be used to call a parameterless aggregate function"), "42809");
    }
    if is_distinct && is_of_all(&call.args) {
        return refused("DISTINCT cannot be used with *".to_owned(), "42601");
    }
    match said.into_iter().find(|(is_said, _)| *is_said) {
        Some((_, what)) if !is_aggregate(&name) => {
            refused(format!("{what} specified, but {name} is not an aggregate function"), "42809")
        }
        _ if is_distinct && call.over.is_some() => {
            refused("DISTINCT is not implemented for window functions".to_owned(), "0A000")
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Whether it is called with `*`.
fn is_of_all(args: &FunctionArguments) -> bool {
    let is_all = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
    matches!(args, FunctionArguments::List(list) if list.args.iter().any(is_all))
}

/// In the standard a name inside of an expression is an input column, in the engine an output column.
fn order(query: &Query) -> Checked {
    if let Some(OrderByKind::Expressions(by)) = query.order_by.as_ref().map(|by| &by.kind)
        && by.iter().any(|by| has_subquery(&by.expr))
    {
        return refuse("ORDER BY a query", "select it under a name, and order by that name");
    }
    let (Some(by), SetExpr::Select(select)) = (&query.order_by, query.body.as_ref()) else {
        return ControlFlow::Continue(());
    };
    let OrderByKind::Expressions(by) = &by.kind else { return ControlFlow::Continue(()) };
    let is_renamed = |ident: &Ident| {
        select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                let is_itself = matches!(expr, Expr::Identifier(column) if column.value == alias.value)
                    || matches!(expr, Expr::CompoundIdentifier(parts) if parts.last().is_some_and(|last| last.value == alias.value));
                alias.value == ident.value && !is_itself
            }
            _ => false,
        })
    };
    for by in by.iter().filter(|by| !matches!(by.expr, Expr::Identifier(_))) {
        let found = visit_expressions(&by.expr, |expr| match expr {
            Expr::Identifier(ident) if is_renamed(ident) => ControlFlow::Break(ident.value.clone()),
            _ => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(name) = found {
            let what = format!("ORDER BY an expression of {name}, which is also a name in the SELECT list,");
            return refuse(&what, "order by the name alone, or say which table the column is of");
        }
    }
    ControlFlow::Continue(())
}

/// An aggregate without GROUP BY has a row even without input, and OFFSET may leave none: the engine only considers
/// what the query reads.
fn membership_of(query: &Query) -> Checked {
    let has_offset = query.limit_clause.as_ref().is_some_and(|clause| match clause {
        LimitClause::LimitOffset { offset, .. } => offset.is_some(),
        LimitClause::OffsetCommaLimit { .. } => true,
    });
    if has_offset {
        return refuse("EXISTS or IN with a query that has OFFSET", "put the query into WITH or FROM");
    }
    let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
    if is_grouped(select) {
        return ControlFlow::Continue(());
    }
    let aggregates = select.projection.iter().any(|item| {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return false };
        visit_expressions(expr, |expr| match expr {
            Expr::Function(call) if call.over.is_none() && is_aggregate(&call.name.to_string()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
        .is_break()
    });
    if aggregates || select.having.is_some() {
        return refuse(
            "EXISTS or IN with an aggregate without GROUP BY",
            "compare with the aggregate in a subquery of its own",
        );
    }
    ControlFlow::Continue(())
}

fn body(of: &SetExpr) -> Checked {
    match of {
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            if matches!(
                set_quantifier,
                SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
            ) {
                return no_syntax("a set operation BY NAME", "list the columns of both queries in one order");
            }
            // The engine looks rows up, and does not count them.
            if matches!(op, SetOperator::Except | SetOperator::Intersect | SetOperator::Minus)
                && *set_quantifier == SetQuantifier::All
            {
                return refuse(
                    &format!("{op} ALL"),
                    "leave ALL out, or number the rows of each value on both sides by row_number()",
                );
            }
            body(left)?;
            body(right)
        }
        SetExpr::Select(select) => clauses(select),
        _ => ControlFlow::Continue(()),
    }
}

fn clauses(select: &Select) -> Checked {
    if select.qualify.is_some() {
        return no_syntax("QUALIFY", "choose rows by a window function around a subquery that computes it");
    }
    if matches!(select.group_by, GroupByExpr::All(_)) {
        return no_syntax("GROUP BY ALL", "list what to group by");
    }
    named_once(select)?;
    let has_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    for from in &select.from {
        joins(from, has_all)?;
    }
    for NamedWindowDefinition(_, window) in &select.named_window {
        if let NamedWindowExpr::WindowSpec(window) = window {
            begun(window)?;
        }
    }
    for (condition, clause) in [(&select.selection, "WHERE"), (&select.having, "HAVING")] {
        let Some(condition) = condition else { continue };
        misplaced(condition, clause)?;
        membership(condition, true)?;
    }
    ControlFlow::Continue(())
}

/// Refuses a FROM with two tables of one name, whose columns the engine cannot tell apart.
fn named_once(select: &Select) -> Checked {
    let mut named: Vec<(String, Option<&ObjectName>)> = Vec::new();
    for table in relations(select) {
        let Some(name) = table_name(table).map(|name| folded(&name)) else { continue };
        let whole = match table {
            TableFactor::Table { name, alias: None, .. } => Some(name),
            _ => None,
        };
        // Two tables of two connections may have one name.
        let is_same = |(other, of): &(String, Option<&ObjectName>)| {
            *other == name && (whole.is_none() || of.is_none() || whole == *of)
        };
        if named.iter().any(is_same) {
            let error = Error::new(Kind::Rejected, format!("table name \"{name}\" specified more than once"));
            return ControlFlow::Break(error.sqlstate("42712").hint("give one of the two an alias of its own"));
        }
        named.push((name, whole));
    }
    ControlFlow::Continue(())
}

/// Refuses functions of several rows where a condition looks at one.
fn misplaced(condition: &Expr, clause: &str) -> Checked {
    look_at_own_expressions(condition, |expr| {
        let Expr::Function(call) = expr else { return ControlFlow::Continue(()) };
        let (what, state) = match call.over {
            Some(_) => ("window functions", "42P20"),
            None if clause != "HAVING" && is_aggregate(&call.name.to_string()) => ("aggregate functions", "42803"),
            None => return ControlFlow::Continue(()),
        };
        let error = Error::new(Kind::Rejected, format!("{what} are not allowed in {clause}")).sqlstate(state);
        ControlFlow::Break(error.hint("compute it in a subquery, and choose among its rows"))
    })
}

/// The engine keeps the first side's column where the standard merges both, and leaves it in its place.
fn joins(of: &TableWithJoins, has_all: bool) -> Checked {
    for Join { join_operator, .. } in &of.joins {
        let (constraint, keeps_first) = match join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint) => (constraint, true),
            JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) => (constraint, false),
            JoinOperator::CrossJoin(JoinConstraint::None) => continue,
            _ => return no_syntax("a join of this kind", "write JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN"),
        };
        match constraint {
            JoinConstraint::None => {
                return no_syntax("JOIN without ON", "write ON with what the rows have in common, or CROSS JOIN");
            }
            JoinConstraint::Using(_) | JoinConstraint::Natural if !keeps_first || has_all => {
                let what = if keeps_first {
                    "SELECT * of a join by USING or NATURAL"
                } else {
                    "a RIGHT or FULL join by USING or NATURAL"
                };
                return refuse(what, "write ON with both columns, and select one of them, or coalesce of both");
            }
            JoinConstraint::On(condition) => {
                if compares_with_query(condition) {
                    return refuse("ANY or ALL with a query in ON", "move the condition into WHERE, or write IN");
                }
                misplaced(condition, "JOIN conditions")?;
                membership(condition, true)?;
            }
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

/// In the engine a value is in the rows of a query or not; in the standard the result is unknown if NULL is among
/// them. Both are equivalent if only truth matters: in a condition by itself, and under AND and OR.
fn membership(condition: &Expr, is_alone: bool) -> Checked {
    match condition {
        Expr::Nested(inner) => membership(inner, is_alone),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            membership(left, is_alone)?;
            membership(right, is_alone)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            membership(left, false)?;
            membership(right, false)
        }
        Expr::InSubquery { expr, negated: true, .. } if is_alone => is_looked_up(expr),
        Expr::InSubquery { negated: false, .. } => ControlFlow::Continue(()),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match unnested(expr) {
            Expr::InSubquery { expr, negated: false, .. } if is_alone => is_looked_up(expr),
            Expr::InSubquery { negated: true, .. } => ControlFlow::Continue(()),
            inner => no_members(inner),
        },
        other => no_members(other),
    }
}

/// The engine looks the values of a column up in the rows of the query, and among these for NULL. A constant it holds against
/// each of them.
fn is_looked_up(value: &Expr) -> Checked {
    if names_column(value) {
        return ControlFlow::Continue(());
    }
    refuse("a constant NOT IN a query", "write NOT EXISTS")
}

/// Whether a function of several rows is called in it, outside of the queries within.
pub(super) fn looks_at_several_rows(node: &impl Visit) -> bool {
    let found = look_at_own_expressions(node, |expr| match expr {
        Expr::Function(call) if call.over.is_some() || is_aggregate(&call.name.to_string()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether it has a GROUP BY.
pub(super) fn is_grouped(select: &Select) -> bool {
    !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
}

/// Refuses IN with a query; nested queries have conditions of their own.
fn no_members(condition: &Expr) -> Checked {
    look_at_own_expressions(condition, |expr| match expr {
        Expr::InSubquery { .. } => refuse(
            "IN with a query, inside of NOT, CASE, a function or beside OR where it is negated,",
            "write EXISTS or NOT EXISTS, or have the condition stand by itself",
        ),
        _ => ControlFlow::Continue(()),
    })
}
