//! What all statements of a connection share.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::postgres::bind::argument;
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::execute::envelope::options::{ExecOptions, TransactionPosition};
use crate::postgres::execute::execution::{Execution, Values};
use crate::postgres::session::pool::SessionPool;
use crate::postgres::walls::check::Walls;
use crate::postgres::walls::policy::StatementUse;
use crate::{Access, Prepared, Settings};
use portico_core::error::{Error, Result};
use portico_core::identity::AssumedIdentity;
use portico_core::trace::TraceParent;
use portico_sql::{Class, Dialect, StatementForm, statement_form};

pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(crate) access: Access,
    pub(crate) sessions: SessionPool,
    /// Whether a pooler hands out the server's sessions by the transaction.
    pub(crate) pooled: bool,
    /// Whether the address asks for a server that can write, and this connection may.
    pub(crate) wants_writer: bool,
    pub(crate) cache: Arc<CatalogCache>,
    pub(crate) walls: Arc<Walls>,
    pub(crate) settings: Settings,
    pub(crate) closing: CancellationToken,
}

/// The options, identity and trace that statements run with.
#[derive(Clone, Copy)]
pub(crate) struct CallOptions<'a> {
    /// The walls that restrict what they may use.
    pub(crate) walls: &'a Walls,
    pub(crate) options: ExecOptions,
    pub(crate) by: &'a AssumedIdentity,
    pub(crate) trace: Option<TraceParent>,
}

impl Shared {
    /// A caller's statement, unless it is one that no caller may run here.
    pub(crate) fn execution(
        &self,
        prepared: Prepared,
        asked: CallOptions<'_>,
        extent: StatementUse,
    ) -> Result<Execution> {
        let Prepared { mut statement, values, default_schema, by_administrator } = prepared;
        match statement.class {
            Class::Transaction => {
                return Err(Error::invalid(
                    "each call is its own transaction: it is committed when it succeeds and undone when it fails",
                )
                .hint("send the statement alone, without BEGIN, COMMIT or SAVEPOINT"));
            }
            Class::Session => {
                return Err(Error::invalid("a statement that changes the session has no effect beyond its own call")
                    .hint("send the statement that needs the setting alone, with its names written in full"));
            }
            _ => {}
        }
        if statement.class == Class::Other
            && statement_form(&statement.text).0 == StatementForm::Other("COPY".to_owned())
        {
            return Err(Error::invalid("COPY is not available").hint("use SELECT to read and INSERT to write"));
        }
        if statement.text.contains('\0') {
            return Err(Error::invalid("the statement contains the character NUL, which the source does not know"));
        }
        let values = argument::in_order(&statement.placeholders, values)?;
        let with = (values.as_slice(), default_schema.as_deref());
        let (guarded, admission) = if by_administrator {
            asked.walls.advise(&statement, with, (asked.options, asked.by), extent)
        } else {
            asked.walls.guard(&mut statement, with, (asked.options, asked.by), extent)?
        };
        if let Some(trace) = asked.trace.filter(|_| !portico_sql::is_open(&statement.text, Dialect::POSTGRESQL)) {
            // The source's positions stay valid: the comment is at the end of the text.
            trace.comment(&mut statement.text);
        }
        Ok(Execution {
            text: statement.text.clone(),
            class: statement.class,
            returns_rows: statement.returns_rows || statement.class == Class::Select,
            options: asked.options,
            values: Values::Inferred(values),
            default_schema,
            origin: Some(statement),
            position: TransactionPosition::ALONE,
            opens_cursors: false,
            is_overloaded: false,
            identity: asked.by.clone(),
            guarded,
            admission,
        })
    }
}
