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
    /// Some rows, or `None` if the statement has ended without (further) rows.
    pub(crate) first: Option<RowBatch>,
    pub(crate) progress: Progress,
    pub(crate) sent: SentText,
    /// The lookup of its tables that was started meanwhile.
    pub(crate) asked: Option<TableLookup>,
    /// The key by which its tables can be predicted the next time.
    pub(crate) fingerprint: Option<QueryFingerprint>,
}

/// How far a statement is.
pub(crate) enum Progress {
    /// More rows may come.
    RunningStatement(RunningStatement),
    /// Complete, with the number of changed rows; and the session, if its transaction continues.
    Over(u64, Option<Arc<Session>>),
}

/// Waits for the end of a statement that has no more rows. Returns the number of changed rows, and the session if
/// its transaction continues; otherwise the session is returned to the pool.
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
