//! A statement that has begun to answer.

use std::sync::Arc;

use super::running::{RowBatch, RunningStatement};
use crate::postgres::bind::fingerprint::QueryFingerprint;
use crate::postgres::catalog::relations::TableLookup;
use crate::postgres::decode::columns::ColumnDescription;
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::execute::envelope::options::TransactionPosition;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use portico_core::error::Result;

/// A statement that has begun to answer.
pub(crate) struct Response {
    pub(crate) columns: Vec<ColumnDescription>,
    pub(crate) forms: Vec<ColumnDecoder>,
    /// Some rows, or `None` when the statement has ended without any (more).
    pub(crate) first: Option<RowBatch>,
    pub(crate) progress: Progress,
    pub(crate) sent: SentText,
    /// What was asked of its tables meanwhile.
    pub(crate) asked: Option<TableLookup>,
    /// By what its tables can be foreseen the next time.
    pub(crate) fingerprint: Option<QueryFingerprint>,
}

/// How far a statement is.
pub(crate) enum Progress {
    /// More rows may come.
    RunningStatement(RunningStatement),
    /// It is complete; so many rows were changed. The session, if its transaction goes on.
    Over(u64, Option<Arc<Session>>),
}

/// Waits for the end of a statement that has no more rows: how many rows were changed, and the
/// session where its transaction goes on. Elsewhere it is given back.
pub(crate) async fn finish(
    running: RunningStatement,
    context: &CallContext,
    position: TransactionPosition,
) -> Result<Result<(u64, Option<Arc<Session>>), tokio_postgres::Error>> {
    Ok(context.bound(running.end()).await?.map(|(affected, session)| match session {
        Some(session) if position.ends => {
            session.settle();
            (affected, None)
        }
        session => (affected, session),
    }))
}
