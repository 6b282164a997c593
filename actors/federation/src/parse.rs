//! The text as both readers take it: ours says what kind of statement it is, the engine's plans it. What either refuses
//! is refused.

use std::ops::ControlFlow;

use datafusion::common::config::Dialect as EngineDialect;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{ExplainStatement, Statement as Parsed};
use datafusion::sql::sqlparser::ast;

use crate::failure::told;
use portico_core::error::{Error, Result};
use portico_sql::{Class, Dialect, Given};

/// A query, read.
pub(crate) struct Query {
    pub(crate) parsed: Parsed,
    /// The names of its placeholders, in order.
    pub(crate) placeholders: Vec<String>,
    /// Whether it is to be explained.
    pub(crate) explain: Option<Explain>,
}

/// What is told in place of a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explain {
    /// The plan, with what each source is sent.
    Plan,
    /// The same after it has run, with rows, octets and time.
    Analyze,
}

/// The one query of `text`; `given` are the names of values.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for what is no single statement that reads,
/// [`Kind::Rejected`](portico_core::error::Kind::Rejected) for what cannot be parsed.
pub(crate) fn query(text: &str, given: &[&str], state: &SessionState) -> Result<Query> {
    let given: Given = given.iter().map(|name| (*name).to_owned()).collect();
    let mut statements = portico_sql::statements_over_connections(text, Dialect::POSTGRESQL, &given)?;
    let count = statements.len();
    let one = statements.pop().filter(|_| count == 1).ok_or_else(|| {
        Error::invalid(format!("query: a statement over several connections comes alone; this text holds {count}"))
            .hint("send each statement in a request of its own")
    })?;
    if one.class != Class::Select {
        return Err(only_reads(&one.verb));
    }
    let parsed = state.sql_to_statement(&one.text, &EngineDialect::PostgreSQL).map_err(told)?;
    let (mut parsed, explain) = match parsed {
        Parsed::Explain(ExplainStatement { statement, options }) => {
            (*statement, Some(if options.analyze { Explain::Analyze } else { Explain::Plan }))
        }
        parsed => (parsed, None),
    };
    if let Parsed::Statement(inner) = &mut parsed {
        leave_out_collations(inner)?;
    }
    match &parsed {
        Parsed::Statement(inner) if matches!(**inner, ast::Statement::Query(_)) => {
            Ok(Query { parsed, placeholders: one.placeholders, explain })
        }
        _ => Err(only_reads(&one.verb)),
    }
}

/// The engine orders by octets, as these two collations do; it knows no other.
fn leave_out_collations(statement: &mut ast::Statement) -> Result<()> {
    let found = ast::visit_expressions_mut(statement, |expr| {
        while let ast::Expr::Collate { expr: inner, collation } = expr {
            let name = collation.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone());
            if !matches!(name.as_deref(), Some("C" | "c" | "POSIX" | "posix")) {
                return ControlFlow::Break(collation.to_string());
            }
            *expr = std::mem::replace(inner, ast::Expr::Value(ast::Value::Null.into()));
        }
        ControlFlow::Continue(())
    });
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(name) => Err(Error::invalid(format!(
            "query: COLLATE {name} over several connections, where text goes by its octets"
        ))
        .hint("leave it out, or write COLLATE \"C\"")),
    }
}

fn only_reads(verb: &str) -> Error {
    Error::invalid(format!(
        "query: {verb} over several connections; a statement that names several connections only reads"
    ))
    .hint("address one connection with what writes; read from the others in a statement of its own")
}
