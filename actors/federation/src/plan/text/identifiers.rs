//! Refuses identifiers that the engine takes for names and PostgreSQL for something else: what stands in single quotes
//! is a text, and `user` a function.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Ident, ObjectName, Query, Select, SelectItem, Statement, TableAlias, TableFactor, Visit,
    Visitor,
};

use crate::engine_words::no_function_without_brackets;
use portico_core::error::{Error, Kind, Result};

/// Checks the names that `statement` contains and those that it gives.
///
/// # Errors
/// [`Kind::Rejected`] with 42601; 0A000 for a function that is not available.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    match statement.visit(&mut Names) {
        ControlFlow::Break(refused) => Err(refused),
        ControlFlow::Continue(()) => Ok(()),
    }
}

type Checked = ControlFlow<Error>;

struct Names;

impl Visitor for Names {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> Checked {
        query.with.iter().flat_map(|with| &with.cte_tables).try_for_each(|table| alias(&table.alias))
    }

    fn pre_visit_select(&mut self, select: &Select) -> Checked {
        select.projection.iter().try_for_each(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => name(alias),
            _ => ControlFlow::Continue(()),
        })
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Checked {
        match factor {
            TableFactor::Table { alias: Some(given), .. }
            | TableFactor::Derived { alias: Some(given), .. }
            | TableFactor::TableFunction { alias: Some(given), .. }
            | TableFactor::Function { alias: Some(given), .. }
            | TableFactor::UNNEST { alias: Some(given), .. }
            | TableFactor::NestedJoin { alias: Some(given), .. } => alias(given),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Checked {
        object(relation)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Checked {
        match expr {
            Expr::Identifier(column) => {
                no_function(column)?;
                name(column)
            }
            Expr::CompoundIdentifier(parts) => parts.iter().try_for_each(name),
            Expr::Function(call) => {
                if let (FunctionArguments::None, [part]) = (&call.args, call.name.0.as_slice()) {
                    part.as_ident().map_or(ControlFlow::Continue(()), no_function)?;
                }
                object(&call.name)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// What is a function whatever columns there are. The engine has the present time itself.
fn no_function(name: &Ident) -> Checked {
    let word = name.value.to_ascii_lowercase();
    match no_function_without_brackets(&word).filter(|_| name.quote_style.is_none() && word != "current_timestamp") {
        Some(refused) => ControlFlow::Break(refused),
        None => ControlFlow::Continue(()),
    }
}

fn alias(alias: &TableAlias) -> Checked {
    name(&alias.name)?;
    alias.columns.iter().try_for_each(|column| name(&column.name))
}

fn object(of: &ObjectName) -> Checked {
    of.0.iter().filter_map(|part| part.as_ident()).try_for_each(name)
}

fn name(name: &Ident) -> Checked {
    if name.quote_style != Some('\'') {
        return ControlFlow::Continue(());
    }
    let error =
        Error::new(Kind::Rejected, format!("query: the name {name} stands in single quotes, which are for texts"));
    ControlFlow::Break(error.sqlstate("42601").hint("write a name in double quotes; texts are joined with ||"))
}
