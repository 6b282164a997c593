//! Names of columns that stand alone. One that `USING` merges is said in full: the engine finds it in some places only. One
//! that two tables of a subquery have is ambiguous: the engine takes it for a column of the query around that.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, Result as EngineResult};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr as Planned, ExprSchemable, Join, JoinConstraint as Merging, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Select, Statement, TableFactor, TableWithJoins, VisitMut,
    VisitorMut,
};

use crate::external_error::external;
use crate::plan::columns::labels::{folded, shown};
use crate::plan::text::syntax::{relations, visit_own_expressions};
use portico_core::error::{Error, Kind};

/// The tables of one SELECT, and the names that stand alone in it.
#[derive(Debug)]
pub(crate) struct Scope {
    tables: BTreeSet<String>,
    alone: BTreeSet<String>,
    /// Qualified columns, by their table and name.
    with_table: BTreeSet<(String, String)>,
    /// Merged columns, by their first table and name: the qualified ones, and the others.
    in_full: BTreeSet<(String, String)>,
    merged: BTreeSet<(String, String)>,
}

/// Qualifies merged columns, and returns the unqualified names of each SELECT.
pub(crate) fn in_full(statement: &mut Statement) -> Vec<Scope> {
    let mut selects = Selects(Vec::new());
    let _ = statement.visit(&mut selects);
    selects.0
}

/// Refuses an ambiguous unqualified name in a subquery; and one that two columns of one table have, of which the
/// engine takes the first.
///
/// # Errors
/// `42702`.
pub(crate) fn check(plan: &LogicalPlan, scopes: &[Scope]) -> EngineResult<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::SubqueryAlias(table) = node {
            let alias = table.alias.table();
            let is_said = |name: &str, scope: &Scope| {
                (scope.tables.contains(alias) && scope.alone.contains(name))
                    || scope.with_table.contains(&(alias.to_owned(), name.to_owned()))
            };
            let mut repeated = repeated_names(&table.input).into_iter();
            if let Some(name) = repeated.find(|name| scopes.iter().any(|scope| is_said(name, scope))) {
                return Err(ambiguous(name, "give the columns of the subquery names of their own"));
            }
        }
        let schema = LazyCell::new(|| merge_schema(&node.inputs()));
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                let Planned::OuterReferenceColumn(_, column) = expr else { return Ok(TreeNodeRecursion::Continue) };
                let fields = schema.iter().filter(|(_, field)| *field.name() == column.name);
                let tables: BTreeSet<&str> = fields.filter_map(|(of, _)| Some(of?.table())).collect();
                let is_meant = |scope: &Scope| {
                    scope.alone.contains(&column.name) && tables.iter().all(|table| scope.tables.contains(*table))
                };
                if tables.len() > 1 && scopes.iter().any(is_meant) {
                    return Err(ambiguous(&column.name, "say which table the column is of"));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

/// The names that several columns of a query have: some have marks, and the engine numbers all but the first (`id:1`).
fn repeated_names(query: &LogicalPlan) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let marked = query.schema().fields().iter().map(|field| shown(field.name()));
    let mut repeated: Vec<&str> = marked.filter(|name| !seen.insert(*name)).collect();
    if let LogicalPlan::Projection(columns) = query {
        repeated.extend(columns.expr.iter().filter_map(|expr| {
            let Planned::Alias(alias) = expr else { return None };
            let Planned::Column(column) = alias.expr.as_ref() else { return None };
            let number = alias.name.strip_prefix(column.name.as_str())?.strip_prefix(':')?;
            number.parse::<usize>().is_ok().then(|| shown(&column.name))
        }));
    }
    repeated
}

fn ambiguous(name: &str, hint: &'static str) -> DataFusionError {
    let message = format!("column reference \"{name}\" is ambiguous");
    external(Error::new(Kind::Rejected, message).sqlstate("42702").hint(hint))
}

/// Keeps the type of a qualified column if `USING` gives the merged column another one.
///
/// # Errors
/// `0A000` if both are used: the engine does not distinguish them.
pub(crate) fn unmerged(plan: LogicalPlan, scopes: &[Scope]) -> EngineResult<LogicalPlan> {
    plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::Join(join) = node else { return Ok(Transformed::no(node)) };
        let is_said = |of: &(String, String)| scopes.iter().any(|scope| scope.in_full.contains(of));
        let is_merged = |of: &(String, String)| scopes.iter().any(|scope| scope.merged.contains(of));
        let (mut said, mut merged) = (false, false);
        for (left, right) in join.on.iter().filter(|_| join.join_constraint == Merging::Using) {
            let (one, other) = (left.get_type(join.left.schema())?, right.get_type(join.right.schema())?);
            let Planned::Column(Column { relation: Some(table), name, .. }) = left else { continue };
            let of = (table.table().to_owned(), name.clone());
            let is_narrow = one.is_integer() && other.is_integer() && one.primitive_width() < other.primitive_width();
            if is_narrow && is_said(&of) && is_merged(&of) {
                let message = format!(
                    "{}.{} beside the column that USING makes of it, which has another type, is not supported over \
                     several connections",
                    of.0, of.1
                );
                let error = Error::new(Kind::Rejected, message).sqlstate("0A000");
                return Err(external(error.hint("use only one of them, or write ON")));
            }
            (said, merged) = (said || is_said(&of), merged || is_merged(&of));
        }
        if !said || merged {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        Ok(Transformed::yes(LogicalPlan::Join(Join { join_constraint: Merging::On, ..join })))
    })
    .data()
}

struct Selects(Vec<Scope>);

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let merged = merged(select);
        let tables = relations(select).filter_map(table_name).map(|name| folded(&name)).collect();
        let (mut alone, mut in_full, mut used) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut with_table = BTreeSet::new();
        visit_own_expressions(select, |expr| {
            if let Expr::CompoundIdentifier(parts) = &*expr
                && let [.., table, column] = parts.as_slice()
            {
                let of = (folded(table), folded(column));
                if merged.get(&of.1).is_some_and(|first| folded(first) == of.0) {
                    in_full.insert(of.clone());
                }
                with_table.insert(of);
            }
            let Expr::Identifier(column) = &*expr else { return };
            let name = folded(column);
            match merged.get(&name) {
                Some(table) => {
                    used.insert((folded(table), name));
                    *expr = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]);
                }
                None => drop(alone.insert(name)),
            }
        });
        self.0.push(Scope { tables, alone, with_table, in_full, merged: used });
        ControlFlow::Continue(())
    }
}

/// Returns the name of a table in its SELECT.
pub(super) fn table_name(of: &TableFactor) -> Option<Ident> {
    let last = |name: &ObjectName| name.0.last()?.as_ident().cloned();
    match of {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        TableFactor::Table { name, alias: None, .. } => last(name),
        _ => None,
    }
}

/// Returns the merged columns, with the table of the first of each, if known.
fn merged(select: &Select) -> BTreeMap<String, Ident> {
    let [TableWithJoins { relation, joins }] = select.from.as_slice() else { return BTreeMap::new() };
    // Behind another join it may be a column of either table.
    let (Some(first), Some(join)) = (table_name(relation), joins.first()) else { return BTreeMap::new() };
    match &join.join_operator {
        JoinOperator::Join(JoinConstraint::Using(columns))
        | JoinOperator::Inner(JoinConstraint::Using(columns))
        | JoinOperator::Left(JoinConstraint::Using(columns))
        | JoinOperator::LeftOuter(JoinConstraint::Using(columns)) => {
            let columns = columns.iter().filter_map(|column| column.0.last()?.as_ident());
            columns.map(|column| (folded(column), first.clone())).collect()
        }
        _ => BTreeMap::new(),
    }
}
