//! Uses of a table's key. `GROUP BY` the key allows the table's other columns too, since each group has one row:
//! the engine requires them in the list. A subquery by the key has at most one row: the engine requires an
//! aggregate.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArgExpr, GroupByExpr, Ident, LimitClause, ObjectName, OrderBy, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind as Kind, SetExpr, Statement, TableFactor, TableWithJoins,
    Value, Visit, VisitMut, Visitor, VisitorMut,
};

use crate::functions::aggregates::single;
use crate::functions::allowed::is_aggregate;
use crate::plan::columns::labels::folded;
use crate::plan::text::refused::{is_grouped, looks_at_several_rows};
use crate::plan::text::syntax::{
    call, contains, counts_queries, is_subquery, names_column, relations, selects, unnested,
};

/// The columns of a table, and those of its key.
pub(crate) struct KeyedTable {
    pub(crate) columns: Vec<String>,
    pub(crate) key: Vec<String>,
}

/// Adds the columns that a key determines to `GROUP BY` wherever it contains the key, and makes subqueries by a key
/// return an aggregate of their single row. `table` returns the tables with a key.
pub(crate) fn say_determined(statement: &mut Statement, table: &dyn Fn(&ObjectName) -> Option<KeyedTable>) {
    let mut named = Named(BTreeSet::new());
    let _ = Visit::visit(statement, &mut named);
    let _ = VisitMut::visit(statement, &mut Queries { table, of_with: named.0 });
}

/// The queries that the statement names by WITH: each may hide a table.
struct Named(BTreeSet<String>);

impl Visitor for Named {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(with.map(|table| folded(&table.alias.name)));
        ControlFlow::Continue(())
    }
}

struct Queries<'a> {
    table: &'a dyn Fn(&ObjectName) -> Option<KeyedTable>,
    of_with: BTreeSet<String>,
}

impl VisitorMut for Queries<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let order = query.order_by.as_ref().filter(|_| matches!(*query.body, SetExpr::Select(_)));
        for select in selects(&mut query.body) {
            self.complete(select, order);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Subquery(query) = expr {
            self.aggregate_one_row(query);
        }
        ControlFlow::Continue(())
    }
}

/// Returns true if the limit leaves at least one row.
fn is_of_rows(limit: &LimitClause) -> bool {
    let LimitClause::LimitOffset { limit: Some(Expr::Value(rows)), offset: None, limit_by } = limit else {
        return false;
    };
    matches!(&rows.value, Value::Number(rows, _) if rows.parse::<u64>().is_ok_and(|rows| rows > 0))
        && limit_by.is_empty()
}

impl Queries<'_> {
    /// Rewrites a query by a key that refers to the query around it: the value of its only row becomes an aggregate.
    fn aggregate_one_row(&self, query: &mut Query) -> Option<()> {
        let is_plain =
            query.with.is_none() && query.fetch.is_none() && query.limit_clause.as_ref().is_none_or(is_of_rows);
        let SetExpr::Select(select) = query.body.as_mut() else { return None };
        let [TableWithJoins { relation, joins }] = select.from.as_slice() else { return None };
        if !is_plain || !joins.is_empty() || is_grouped(select) || select.distinct.is_some() || select.having.is_some()
        {
            return None;
        }
        let (table, condition) = (self.keyed(relation)?, select.selection.as_ref()?);
        let values = table.of.key.iter().map(|key| table.equal_to(key, condition)).collect::<Option<Vec<_>>>()?;
        if !values.iter().any(|value| names_column(value)) {
            return None;
        }
        let [SelectItem::UnnamedExpr(answered) | SelectItem::ExprWithAlias { expr: answered, .. }] =
            select.projection.as_mut_slice()
        else {
            return None;
        };
        if looks_at_several_rows(&*answered) {
            return None;
        }
        *answered = call(single::NAME, FunctionArgExpr::Expr(answered.clone()));
        (query.order_by, query.limit_clause) = (None, None);
        Some(())
    }

    fn complete(&self, select: &mut Select, order: Option<&OrderBy>) {
        let GroupByExpr::Expressions(by, modifiers) = &select.group_by else { return };
        let is_set = |by: &Expr| matches!(by, Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_));
        if by.is_empty() || !modifiers.is_empty() || by.iter().any(is_set) {
            return;
        }
        let places: Vec<&Expr> = by.iter().filter_map(|by| meant(by, &select.projection)).collect();
        let mut more = Vec::new();
        for table in relations(select).filter_map(|relation| self.keyed(relation)) {
            let column =
                |by: &&Expr| table.column(by, true).or_else(|| table.column(named_in(by, &select.projection)?, true));
            let grouped: BTreeSet<&str> = places.iter().filter_map(column).collect();
            if !table.of.key.iter().all(|column| grouped.contains(column.as_str())) {
                continue;
            }
            let mut read = Read { table: &table, within: 0, aggregates: 0, columns: Vec::new() };
            read.all_of(&select.projection);
            let _ = select.projection.visit(&mut read);
            let _ = select.having.visit(&mut read);
            let _ = select.named_window.visit(&mut read);
            if let Some(OrderBy { kind: OrderByKind::Expressions(order), .. }) = order {
                // A name of the list refers to the list's expression.
                for by in order.iter().filter(|by| named_in(&by.expr, &select.projection).is_none()) {
                    let _ = by.visit(&mut read);
                }
            }
            more.extend(read.columns.into_iter().filter(|(name, _)| !grouped.contains(name.as_str())));
        }
        if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
            for (_, column) in more {
                if !by.contains(&column) {
                    by.push(column);
                }
            }
        }
    }

    /// The table, if it has a key.
    fn keyed(&self, relation: &TableFactor) -> Option<Keyed> {
        let TableFactor::Table { name, alias, args: None, .. } = relation else { return None };
        let parts: Vec<Ident> = name.0.iter().map(|part| part.as_ident().cloned()).collect::<Option<_>>()?;
        if let [alone] = parts.as_slice()
            && self.of_with.contains(&folded(alone))
        {
            return None;
        }
        let of = (self.table)(name).filter(|of| !of.key.is_empty())?;
        Some(Keyed { name: alias.as_ref().map_or(parts, |alias| vec![alias.name.clone()]), of })
    }
}

/// Returns what a group expression refers to: it may be the number of a column.
fn meant<'a>(by: &'a Expr, projection: &'a [SelectItem]) -> Option<&'a Expr> {
    match unnested(by) {
        Expr::Value(value) => {
            let Value::Number(place, _) = &value.value else { return None };
            match projection.get(place.parse::<usize>().ok()?.checked_sub(1)?)? {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(unnested(expr)),
                _ => None,
            }
        }
        other => Some(other),
    }
}

/// Returns the list's expression of this name.
fn named_in<'a>(expr: &Expr, projection: &'a [SelectItem]) -> Option<&'a Expr> {
    let Expr::Identifier(name) = expr else { return None };
    projection.iter().find_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } if folded(alias) == folded(name) => Some(unnested(expr)),
        _ => None,
    })
}

/// A table with a key, and its name in its SELECT.
struct Keyed {
    name: Vec<Ident>,
    of: KeyedTable,
}

impl Keyed {
    /// Returns the expression that the condition compares the column with, if it does not use the table's columns.
    fn equal_to<'a>(&self, column: &str, condition: &'a Expr) -> Option<&'a Expr> {
        let mut todo = vec![condition];
        while let Some(part) = todo.pop() {
            match unnested(part) {
                Expr::BinaryOp { left, op: BinaryOperator::And, right } => todo.extend([left.as_ref(), right.as_ref()]),
                Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                    for (one, other) in [(left, right), (right, left)] {
                        if self.column(unnested(one), true) == Some(column) && !self.is_spoken_of(other) {
                            return Some(other);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether a column of the table is in it, or a query, which may have one.
    fn is_spoken_of(&self, expr: &Expr) -> bool {
        contains(expr, |part| is_subquery(part) || self.column(part, true).is_some())
    }

    /// Whether it is called by this name, or by one that ends so: tables of two connections may have one name.
    fn is_called<'a>(&self, name: impl DoubleEndedIterator<Item = &'a Ident> + ExactSizeIterator) -> bool {
        name.len() <= self.name.len()
            && name.rev().zip(self.name.iter().rev()).all(|(one, of)| folded(one) == folded(of))
    }

    /// Returns the column of the table that `expr` is; an unqualified name only if it `may_be_alone`.
    fn column(&self, expr: &Expr, may_be_alone: bool) -> Option<&str> {
        let column = match expr {
            Expr::Identifier(column) if may_be_alone => column,
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table @ .., column] if self.is_called(table.iter()) => column,
                _ => return None,
            },
            _ => return None,
        };
        let name = folded(column);
        self.of.columns.iter().find(|column| **column == name).map(String::as_str)
    }
}

/// Collects the columns of a table that are read outside of aggregates, each with how it is said.
struct Read<'a> {
    table: &'a Keyed,
    /// The depth of queries around the current node, within the SELECT.
    within: usize,
    aggregates: usize,
    columns: Vec<(String, Expr)>,
}

impl Read<'_> {
    /// All columns, where the list has them by a wildcard.
    fn all_of(&mut self, projection: &[SelectItem]) {
        let is_all = |item: &SelectItem| match item {
            SelectItem::Wildcard(_) => true,
            SelectItem::QualifiedWildcard(Kind::ObjectName(of), _) => {
                let parts: Option<Vec<&Ident>> = of.0.iter().map(|part| part.as_ident()).collect();
                parts.is_some_and(|parts| self.table.is_called(parts.into_iter()))
            }
            _ => false,
        };
        if projection.iter().any(is_all) {
            let column = |name: &String| {
                let last = Ident::with_quote('"', name);
                (name.clone(), Expr::CompoundIdentifier(self.table.name.iter().cloned().chain([last]).collect()))
            };
            self.columns.extend(self.table.of.columns.iter().map(column));
        }
    }
}

fn is_call_of_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if call.over.is_none() && is_aggregate(&call.name.to_string()))
}

impl Visitor for Read<'_> {
    type Break = ();

    counts_queries!(within, &Query);

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.aggregates += usize::from(is_call_of_aggregate(expr));
        let table = self.table;
        // Within another query an unqualified name may belong to that.
        if self.aggregates == 0
            && let Some(column) = table.column(expr, self.within == 0)
        {
            self.columns.push((column.to_owned(), expr.clone()));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.aggregates -= usize::from(is_call_of_aggregate(expr));
        ControlFlow::Continue(())
    }
}
