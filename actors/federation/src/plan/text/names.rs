//! Names of columns that stand alone. One that `USING` merges is said in full: the engine finds it in some places only. One
//! that two tables of a subquery have is ambiguous: the engine takes it for a column of the query around that.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::common::Result as EngineResult;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, Statement, TableFactor, VisitMut, VisitorMut,
};

use crate::carried::carried;
use portico_core::error::{Error, Kind};

/// The tables of one SELECT, and the names that stand alone in it.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    tables: BTreeSet<String>,
    alone: BTreeSet<String>,
}

/// Says merged columns in full, and tells which names stand alone in each SELECT.
pub(crate) fn in_full(statement: &mut Statement) -> Vec<Scope> {
    let mut selects = Selects(Vec::new());
    let _ = statement.visit(&mut selects);
    selects.0
}

/// Refuses a name that stands alone in a subquery, and is that of columns of two of its tables.
///
/// # Errors
/// `42702`.
pub(crate) fn check(plan: &LogicalPlan, scopes: &[Scope]) -> EngineResult<()> {
    plan.apply_with_subqueries(|node| {
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
                    let message = format!("column reference \"{}\" is ambiguous", column.name);
                    let error = Error::new(Kind::Rejected, message).sqlstate("42702");
                    return Err(carried(error.hint("say which table the column is of")));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

/// The name as it is looked up.
fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

struct Selects(Vec<Scope>);

impl VisitorMut for Selects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut own = Own { merged: merged(select), scope: Scope::default(), depth: 0 };
        let relations = select
            .from
            .iter()
            .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
        own.scope.tables = relations.filter_map(name).map(|name| folded(&name)).collect();
        let _ = select.visit(&mut own);
        self.0.push(own.scope);
        ControlFlow::Continue(())
    }
}

/// What a table is called in its SELECT.
fn name(of: &TableFactor) -> Option<Ident> {
    let last = |name: &ObjectName| name.0.last()?.as_ident().cloned();
    match of {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(alias.name.clone())
        }
        TableFactor::Table { name, alias: None, .. } => last(name),
        _ => None,
    }
}

/// The columns that are merged, with the table of the first of each, where that can be told.
fn merged(select: &Select) -> BTreeMap<String, Ident> {
    let mut merged = BTreeMap::new();
    let [from] = select.from.as_slice() else { return merged };
    let Some(first) = name(&from.relation) else { return merged };
    for (place, join) in from.joins.iter().enumerate() {
        let (JoinOperator::Join(JoinConstraint::Using(columns))
        | JoinOperator::Inner(JoinConstraint::Using(columns))
        | JoinOperator::Left(JoinConstraint::Using(columns))
        | JoinOperator::LeftOuter(JoinConstraint::Using(columns))) = &join.join_operator
        else {
            continue;
        };
        // Behind another join it may be a column of either table.
        let columns = columns.iter().filter_map(|column| column.0.last()?.as_ident());
        merged.extend(columns.filter(|_| place == 0).map(|column| (folded(column), first.clone())));
    }
    merged
}

/// Reads the expressions of one SELECT, and not those of the queries within.
struct Own {
    merged: BTreeMap<String, Ident>,
    scope: Scope,
    depth: usize,
}

impl VisitorMut for Own {
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
        if let (0, Expr::Identifier(column)) = (self.depth, &*expr) {
            let name = folded(column);
            match self.merged.get(&name) {
                Some(table) => *expr = Expr::CompoundIdentifier(vec![table.clone(), column.clone()]),
                None => drop(self.scope.alone.insert(name)),
            }
        }
        ControlFlow::Continue(())
    }
}
