//! Names of a workspace's main folder in a statement with another default folder.

use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectNamePart, Query, Statement, TableFactor, VisitMut, VisitorMut};

use portico_core::workspace::{MAIN, Workspace};

/// Qualifies names with the main folder that `folder`, the statement's default one, does not contain: the engine
/// completes each unqualified name with the default folder.
pub(super) fn qualify(statement: &mut Statement, workspace: &Workspace, folder: &str) {
    let _ = statement.visit(&mut Names { workspace, folder, around: Vec::new() });
}

struct Names<'a> {
    workspace: &'a Workspace,
    folder: &'a str,
    /// The queries around the place that is visited, the innermost last.
    around: Vec<With>,
}

/// The common table expressions of a query.
struct With {
    names: Vec<String>,
    is_recursive: bool,
    /// The number of those whose own query has been visited: they come before all else of their query.
    visited: usize,
}

impl With {
    fn of(query: &Query) -> Self {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        Self {
            names: tables.map(|table| normalized(&table.alias.name)).collect(),
            is_recursive: query.with.as_ref().is_some_and(|with| with.recursive),
            visited: 0,
        }
    }

    /// Whether the place that is visited sees a common table expression with this name: within one of them only
    /// those before it, and itself where it is recursive.
    fn has(&self, name: &str) -> bool {
        let seen = self.visited + usize::from(self.is_recursive);
        self.names.iter().take(seen).any(|known| known == name)
    }
}

/// The name as the engine compares it.
fn normalized(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_ascii_lowercase() }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.around.push(With::of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.around.pop();
        if let Some(around) = self.around.last_mut() {
            around.visited = around.names.len().min(around.visited + 1);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let Ok(TableReference::Bare { table }) = object_name_to_table_reference(name.clone(), true)
            && !self.around.iter().any(|with| with.has(&table))
            && self.workspace.resolve(&[&table], Some(self.folder)).is_ok_and(|(found, _)| found == MAIN)
        {
            name.0.insert(0, ObjectNamePart::Identifier(Ident::new(MAIN)));
        }
        ControlFlow::Continue(())
    }
}
