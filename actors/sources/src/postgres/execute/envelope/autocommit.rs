//! Runs statements without side effects on the session (`walls/autocommit_safety.rs`) without a transaction and without
//! cleaning up after them. The session itself is read-only and has the time limit. If the text is repeated, the
//! session keeps it prepared.

use futures_util::FutureExt;
use futures_util::future::{join, maybe_done, ready};
use tokio_postgres::Statement;
use tokio_postgres::error::SqlState;

use crate::postgres::bind::argument::BoundValue;
use crate::postgres::bind::argument_types::fits;
use crate::postgres::bind::argument_types::own;
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::bind::values;
use crate::postgres::decode::columns::{ColumnDescription, descriptions};
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::execute::answer::running::{EndOutcome, TransactionEnd};
use crate::postgres::execute::execution::{Execution, Values};
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::error::Result;
use tokio_postgres::types::Type;

/// How a statement runs without a transaction around it.
pub(crate) struct Autocommit {
    /// The text sent before it.
    pub(crate) opening: Option<String>,
    /// The time limit that the session has once that is said.
    pub(crate) milliseconds: Option<i32>,
    /// The statement that the session has prepared.
    pub(crate) statement: Option<Statement>,
    pub(crate) bound: Vec<BoundValue>,
}

impl Autocommit {
    /// Returns how `execution` runs on `session`, if it can now run without a transaction. Before any other
    /// statement of a caller, the session drops its prepared statements.
    pub(crate) async fn plan(session: &Session, execution: &Execution, context: &CallContext) -> Result<Option<Self>> {
        if !execution.may_autocommit() {
            if matches!(execution.values, Values::Inferred(_)) {
                session.kept().clear();
            }
            return Ok(None);
        }
        let Some(milliseconds) = context.whole_milliseconds().filter(|_| session.may_autocommit()) else {
            return Ok(None);
        };
        let fingerprint = may_keep(execution).then(|| execution.exact());
        let Some(statement) = fingerprint.and_then(|fingerprint| session.kept().get(&fingerprint)) else {
            if !execution.arguments().is_empty() {
                return Ok(None);
            }
            let mut plain = Self::begun(session, milliseconds, None, Vec::new());
            if let Some(fingerprint) = fingerprint.filter(|fingerprint| session.recent_texts().came_before(fingerprint))
            {
                plain.statement = context.bound(plain.prepare(session, execution, fingerprint)).await?;
            }
            return Ok(Some(plain));
        };
        let given = execution.arguments();
        let takes = |(argument, type_)| own(argument) == Type::UNKNOWN || fits(argument, type_);
        if !given.iter().zip(statement.params()).all(takes) {
            return Ok(None);
        }
        // Nothing was sent yet, and the session is intact.
        let bound = values::bound(given, &statement, None).inspect_err(|_| session.settle())?;
        Ok(Some(Self::begun(session, milliseconds, Some(statement), bound)))
    }

    fn begun(session: &Session, milliseconds: i32, statement: Option<Statement>, bound: Vec<BoundValue>) -> Self {
        Self { opening: session.autocommits(milliseconds), milliseconds: Some(milliseconds), statement, bound }
    }

    /// Prepares the statement and caches it; errors are reported when it runs.
    async fn prepare(
        &mut self,
        session: &Session,
        execution: &Execution,
        fingerprint: QueryFingerprint,
    ) -> Option<Statement> {
        let opened = open(session, self.opening.as_deref(), self.milliseconds);
        let (opened, made) = join(opened, session.prepare_typed(&execution.text, &[])).await;
        // Else it is said again.
        opened.ok()?;
        self.opening = None;
        let statement = made.ok()?;
        keep(session, execution, fingerprint, &statement).then_some(statement)
    }

    /// The columns that the session knows already.
    pub(crate) fn columns(&self) -> Option<Vec<ColumnDescription>> {
        self.statement.as_ref().map(|statement| descriptions(statement.columns()))
    }
}

/// Says `opening`, behind which the session has a time limit of so many `milliseconds`.
pub(crate) async fn open(
    session: &Session,
    opening: Option<&str>,
    milliseconds: Option<i32>,
) -> Result<(), tokio_postgres::Error> {
    let Some(opening) = opening else { return Ok(()) };
    session.batch_execute(opening).await?;
    if let Some(milliseconds) = milliseconds {
        session.has_time_limit(milliseconds);
    }
    Ok(())
}

/// Returns the end of a statement without a transaction: nothing is sent.
pub(crate) fn nothing_to_end() -> TransactionEnd {
    TransactionEnd::Sent(maybe_done(ready(EndOutcome { outcome: Ok(()), clean: true }).boxed()))
}

/// Returns true if a cached statement no longer fits the objects that it names.
pub(crate) fn is_outdated(error: &tokio_postgres::Error) -> bool {
    let outdated = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INVALID_SQL_STATEMENT_NAME];
    error.code().is_some_and(|code| outdated.contains(code))
}

/// Describes the columns of a statement whose answer was empty.
pub(crate) async fn described(
    session: &Session,
    execution: &Execution,
) -> Result<Vec<ColumnDescription>, tokio_postgres::Error> {
    let statement = session.prepare_typed(&execution.text, &[]).await?;
    Ok(descriptions(statement.columns()))
}

/// Caches `statement`, prepared from the unchanged text of `execution`, if that text was seen before.
pub(crate) fn keep_if_it_comes_again(session: &Session, execution: &Execution, statement: &Statement) {
    let fingerprint = may_keep(execution).then(|| execution.exact());
    if let Some(fingerprint) = fingerprint.filter(|fingerprint| session.recent_texts().came_before(fingerprint)) {
        keep(session, execution, fingerprint, statement);
    }
}

/// Descriptions refer to tables by OID, and a cached statement may contain OIDs of tables that no longer exist.
fn may_keep(execution: &Execution) -> bool {
    execution.may_autocommit() && execution.admission.reusable && !execution.options.describes
}

/// Whether it was kept: its values can be read as they come.
fn keep(session: &Session, execution: &Execution, fingerprint: QueryFingerprint, statement: &Statement) -> bool {
    let natively = statement.columns().iter().all(|column| ColumnDecoder::from_type(column.type_()).is_some());
    if natively {
        session.kept().insert(fingerprint, &execution.text, statement);
    }
    natively
}
