//! What the engine would answer otherwise than PostgreSQL does: it is refused, with what to write in its place.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, Statement, TableFactor, TableWithJoins, UnaryOperator, Visit, Visitor,
};

use portico_core::error::{Error, Result};

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
    ControlFlow::Break(Error::invalid(format!("query: {what} over several connections")).hint(hint))
}

struct Parts;

impl Visitor for Parts {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        body(&query.body)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        match factor {
            TableFactor::Table { sample: Some(_), .. } => {
                refuse("TABLESAMPLE", "leave it out, or run the statement on the table's own connection")
            }
            // What SELECT * has of it is not seen from here.
            TableFactor::NestedJoin { table_with_joins, .. } => joins(table_with_joins, true),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            // Regular expressions of the engine are others than PostgreSQL's, and it takes these patterns for one.
            Expr::SimilarTo { .. } => refuse("SIMILAR TO", "write LIKE"),
            Expr::BinaryOp {
                op:
                    BinaryOperator::PGRegexMatch
                    | BinaryOperator::PGRegexIMatch
                    | BinaryOperator::PGRegexNotMatch
                    | BinaryOperator::PGRegexNotIMatch,
                ..
            } => refuse("a regular expression", "write LIKE, or match on the table's own connection"),
            // Its zone would be of the type, and not of the value.
            Expr::AtTimeZone { .. } => {
                refuse("AT TIME ZONE", "all times are in UTC here; convert them on the table's own connection")
            }
            // Rows are equal to the engine where PostgreSQL does not know.
            Expr::Tuple(_) => refuse("a row", "compare its columns one by one"),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn body(of: &SetExpr) -> Checked {
    match of {
        SetExpr::SetOperation { op, set_quantifier, left, right } => {
            // The engine looks rows up, and does not count them.
            if matches!(op, SetOperator::Except | SetOperator::Intersect | SetOperator::Minus)
                && matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName)
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
    let has_all = select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    for from in &select.from {
        joins(from, has_all)?;
    }
    for condition in [&select.selection, &select.having, &select.qualify].into_iter().flatten() {
        membership(condition, true)?;
    }
    ControlFlow::Continue(())
}

/// The engine keeps the column of one side where the standard merges both, and leaves it in its place.
fn joins(of: &TableWithJoins, has_all: bool) -> Checked {
    for Join { join_operator, .. } in &of.joins {
        let (constraint, is_inner) = match join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (constraint, true),
            JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) => (constraint, false),
            _ => continue,
        };
        match constraint {
            JoinConstraint::Using(_) | JoinConstraint::Natural if !is_inner || has_all => {
                let what = if is_inner {
                    "SELECT * of a join by USING or NATURAL"
                } else {
                    "an outer join by USING or NATURAL"
                };
                return refuse(
                    what,
                    "write ON with both columns, and name which one, or coalesce of both, is to be answered",
                );
            }
            JoinConstraint::On(condition) => membership(condition, true)?,
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

/// To the engine a value is in the rows of a query or is not; to the standard it is neither where NULL is among them. Both
/// are alike where nothing but truth is asked for: in a condition by itself, and under AND and OR.
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
        Expr::InSubquery { negated, .. } if is_alone || !negated => ControlFlow::Continue(()),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => match unnested(expr) {
            Expr::InSubquery { negated, .. } if is_alone || *negated => ControlFlow::Continue(()),
            inner => inner.visit(&mut Members { depth: 0 }),
        },
        other => other.visit(&mut Members { depth: 0 }),
    }
}

fn unnested(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

/// Refuses IN with a query; what stands in queries inside has conditions of its own.
struct Members {
    depth: usize,
}

impl Visitor for Members {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &Query) -> Checked {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> Checked {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::InSubquery { .. } if self.depth == 0 => refuse(
                "IN with a query, inside of NOT, CASE, a function or beside OR where it is negated,",
                "write EXISTS or NOT EXISTS, or have the condition stand by itself",
            ),
            _ => ControlFlow::Continue(()),
        }
    }
}
