//! A running statement: sent, answering, ended, or cancelled. If it is dropped before its end, it is cancelled at
//! the source, and the session is kept only if its state is certain.

use std::future::poll_fn;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use futures_util::{FutureExt, Stream};
use tokio_postgres::{Row, RowStream};

use crate::postgres::failure;
use crate::postgres::session::handle::Session;
use portico_core::budget::MemoryReservation;

/// Rows of one batch at most.
const BATCH_ROWS: usize = 256;
/// Octets of one batch, give or take a row: wide rows must not pile up.
const BATCH_OCTETS: usize = 256 * 1024;
/// Most statements whose reader leaves early have already ended at the source.
const GRACE: Duration = Duration::from_millis(20);
/// How long a cancelled statement may take to end before its session is given up.
const LAST_CALL: Duration = Duration::from_secs(5);

type WireResult<T> = Result<T, tokio_postgres::Error>;

/// The rows of a statement, and behind the last of them how many were changed.
pub(crate) trait Answering: Stream<Item = WireResult<Row>> + Send {
    /// Rows changed, once all were read.
    fn affected(&self) -> u64;
}

/// Rows from wherever they come.
pub(crate) type Rows = Pin<Box<dyn Answering>>;

impl Answering for RowStream {
    fn affected(&self) -> u64 {
        self.rows_affected().unwrap_or(0)
    }
}

/// Rows of a statement that does not count them.
pub(crate) struct Uncounted<S>(Pin<Box<S>>);

impl<S: Stream<Item = WireResult<Row>> + Send + 'static> Uncounted<S> {
    pub(crate) fn rows(rows: S) -> Rows {
        Box::pin(Self(Box::pin(rows)))
    }
}

impl<S: Stream<Item = WireResult<Row>>> Stream for Uncounted<S> {
    type Item = WireResult<Row>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl<S: Stream<Item = WireResult<Row>> + Send> Answering for Uncounted<S> {
    fn affected(&self) -> u64 {
        0
    }
}

/// The wire's own rows.
pub(crate) fn rows(rows: RowStream) -> Rows {
    Box::pin(rows)
}

/// Rows that have arrived, and the memory reserved for large ones.
#[derive(Default)]
pub(crate) struct RowBatch {
    rows: Vec<Row>,
    octets: usize,
    lent: Vec<MemoryReservation>,
}

impl RowBatch {
    /// Whether it has as much as a batch should have.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= BATCH_ROWS || self.octets >= BATCH_OCTETS
    }

    /// Adds a row that came in on `session`.
    pub(crate) fn push(&mut self, row: Row, session: &Session) {
        let octets = row.raw_size_bytes();
        self.octets += octets;
        if octets >= BATCH_OCTETS {
            self.lent.extend(session.lent().take(octets));
        }
        self.rows.push(row);
    }

    /// About how many octets the rows have.
    pub(crate) fn octets(&self) -> usize {
        self.octets
    }
}

impl Deref for RowBatch {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.rows
    }
}

/// The outcome of ending a transaction.
pub(crate) struct EndOutcome {
    /// Whether the changes are committed; a deferred constraint fails here.
    pub(crate) outcome: WireResult<()>,
    /// Whether the session is as good as new.
    pub(crate) clean: bool,
}

/// How a statement's transaction ends.
pub(crate) enum TransactionEnd {
    /// Sent directly after the statement, whatever its result: used if nothing remains to be decided.
    Sent(MaybeDone<BoxFuture<'static, EndOutcome>>),
    /// Held back until the last row was read: if the reader of a writing statement leaves, it is rolled back.
    Held {
        /// For a statement that was read to its end.
        keep: BoxFuture<'static, EndOutcome>,
        /// For any other.
        undo: BoxFuture<'static, EndOutcome>,
    },
    /// Being sent.
    Unsettled,
}

/// A statement that was sent.
pub(crate) struct RunningStatement {
    state: Option<State>,
}

struct State {
    session: Arc<Session>,
    opening: Option<BoxFuture<'static, WireResult<Rows>>>,
    rows: Option<Rows>,
    end: TransactionEnd,
    affected: u64,
    /// The source said that it cancelled: no late cancel request can hit the next caller.
    cancelled: bool,
}

impl RunningStatement {
    /// Sends `opening`, and an `end` that is not held back right behind it, once it is first polled.
    pub(crate) fn new(
        session: Arc<Session>,
        opening: BoxFuture<'static, WireResult<Rows>>,
        end: TransactionEnd,
    ) -> Self {
        // Earlier answers on this session were read completely.
        session.lent().clear();
        let state = State { session, opening: Some(opening), rows: None, end, affected: 0, cancelled: false };
        Self { state: Some(state) }
    }

    /// Returns some rows as soon as there is one; `None` after the last.
    pub(crate) async fn batch(&mut self) -> WireResult<Option<RowBatch>> {
        match &mut self.state {
            Some(state) => poll_fn(|cx| state.poll_batch(cx)).await,
            None => Ok(None),
        }
    }

    /// Waits for the end of the transaction, if there are no more rows. Returns the number of changed rows, and the
    /// session, if it is clean, to be settled or used further.
    pub(crate) async fn end(mut self) -> WireResult<(u64, Option<Arc<Session>>)> {
        let Some(state) = &mut self.state else { return Ok((0, None)) };
        let ended = state.ended().await;
        let state = self.state.take();
        let affected = state.as_ref().map_or(0, |state| state.affected);
        let session = state.map(|state| state.session).filter(|_| ended.clean);
        ended.outcome.map(|()| (affected, session))
    }

    /// Drops the statement and its session at once.
    pub(crate) fn discard(mut self) {
        self.state = None;
    }

    /// Calls the statement off: its session, if it can be used again.
    pub(crate) async fn stop(mut self) -> Option<Arc<Session>> {
        self.state.take()?.wind_down().await
    }
}

impl Drop for RunningStatement {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            let runtime = state.session.runtime().clone();
            runtime.spawn(async move {
                if let Some(session) = state.wind_down().await {
                    session.settle();
                }
            });
        }
    }
}

impl State {
    fn poll_batch(&mut self, cx: &mut Context<'_>) -> Poll<WireResult<Option<RowBatch>>> {
        if let Some(opening) = &mut self.opening {
            let opened = opening.poll_unpin(cx);
            if let TransactionEnd::Sent(end) = &mut self.end {
                // Its first poll sends it right behind the statement.
                let _ = end.poll_unpin(cx);
            }
            let opened = ready!(opened);
            self.opening = None;
            match opened {
                Ok(rows) => self.rows = Some(rows),
                Err(error) => return Poll::Ready(Err(self.noticed(error))),
            }
        }
        let mut batch = RowBatch::default();
        while !batch.is_full() {
            let Some(rows) = &mut self.rows else { break };
            match rows.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(row))) => batch.push(row, &self.session),
                Poll::Ready(Some(Err(error))) => {
                    self.rows = None;
                    return Poll::Ready(Err(self.noticed(error)));
                }
                Poll::Ready(None) => {
                    self.affected = rows.affected();
                    self.rows = None;
                }
                Poll::Pending if batch.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(Ok(Some(batch).filter(|batch| !batch.is_empty())))
    }

    async fn ended(&mut self) -> EndOutcome {
        const UNKNOWN: EndOutcome = EndOutcome { outcome: Ok(()), clean: false };
        self.send_end(true);
        let TransactionEnd::Sent(end) = &mut self.end else { return UNKNOWN };
        (&mut *end).await;
        Pin::new(end).take_output().unwrap_or(UNKNOWN)
    }

    /// Decides upon an end that was held back; one that was sent stays as it is.
    fn send_end(&mut self, keeps: bool) {
        self.end = match std::mem::replace(&mut self.end, TransactionEnd::Unsettled) {
            TransactionEnd::Held { keep, undo } => TransactionEnd::Sent(maybe_done(if keeps { keep } else { undo })),
            sent => sent,
        };
    }

    fn noticed(&mut self, error: tokio_postgres::Error) -> tokio_postgres::Error {
        self.cancelled |= failure::is_cancelled(&error);
        if failure::is_undone(&error) {
            // A COMMIT that was sent behind it finds a transaction that has failed.
            self.session.effects().undone();
        }
        error
    }

    /// Cancels the statement if necessary. Returns the session, if it is certain that nothing can affect its next
    /// user.
    async fn wind_down(mut self) -> Option<Arc<Session>> {
        if self.session.is_closed() {
            return None;
        }
        self.send_end(false);
        let clean = tokio::time::timeout(LAST_CALL, async {
            if tokio::time::timeout(GRACE, self.drain()).await.is_err() {
                self.session.cancel().await.ok()?;
                self.drain().await;
                // A cancel request that arrives after its statement's end would cancel the next one.
                self.cancelled.then_some(())?;
            }
            let ended = self.ended().await;
            ended.clean.then_some(())
        })
        .await;
        clean.ok().flatten()?;
        Some(self.session)
    }

    /// Reads and drops the remaining rows. May be dropped and called again.
    async fn drain(&mut self) {
        while matches!(poll_fn(|cx| self.poll_batch(cx)).await, Ok(Some(_))) {}
        let TransactionEnd::Sent(end) = &mut self.end else { return };
        (&mut *end).await;
        if let MaybeDone::Done(EndOutcome { outcome: Err(error), .. }) = end {
            self.cancelled |= failure::is_cancelled(error);
        }
    }
}
