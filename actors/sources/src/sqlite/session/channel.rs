//! The channel between a session's thread and the reader of its answer: few batches are in flight, and either end
//! notices if the other is gone. Its parts are made in `execute/`.

use std::sync::Arc;

use futures_executor::block_on;
use futures_util::stream;
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::task::AbortOnDropHandle;

use crate::sqlite::decode::rows::{RowBatch, too_large};
use crate::sqlite::session::cancel_flag::CancelFlag;
use portico_core::budget::{Budget, MemoryReservation};
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::Part;

/// Parts that may wait for a slow reader; a session's thread waits with the next one in hand.
const IN_FLIGHT: usize = 3;

/// The session's end.
pub(crate) struct Sender {
    parts: mpsc::Sender<Result<Part>>,
    cancel: Arc<CancelFlag>,
}

/// The reader's end; dropping it stops the job.
pub(crate) struct Receiver {
    parts: mpsc::Receiver<Result<Part>>,
    cancel: Arc<CancelFlag>,
    /// Cancels at the deadline, or when the call is abandoned.
    _watch: AbortOnDropHandle<()>,
    ended: bool,
    /// Results that are still to be completed.
    results: usize,
}

/// Both ends of one job's answer, which has so many `results`.
pub(crate) fn channel(cancel: &Arc<CancelFlag>, watch: AbortOnDropHandle<()>, results: usize) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(IN_FLIGHT);
    (
        Sender { parts: sender, cancel: Arc::clone(cancel) },
        Receiver { parts: receiver, cancel: Arc::clone(cancel), _watch: watch, ended: false, results },
    )
}

impl Sender {
    /// Sends one part, and waits while the reader is behind.
    ///
    /// # Errors
    /// Why it will not be read: the job was stopped, or its reader is gone.
    pub(crate) fn send(&self, part: Part) -> Result<()> {
        let part = match self.parts.try_send(Ok(part)) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(self.gone()),
            Err(TrySendError::Full(part)) => part,
        };
        self.wait(self.parts.send(part)).and_then(|sent| sent.map_err(|_| self.gone()))
    }

    /// Sends a batch; a heavy one only once the reader has taken all before it, so that what waits is bounded in
    /// bytes as well as in parts.
    ///
    /// # Errors
    /// See [`Sender::send`].
    pub(crate) fn send_rows(&self, batch: RowBatch) -> Result<()> {
        if batch.is_heavy() {
            drop(self.wait(self.parts.reserve_many(IN_FLIGHT))?.map_err(|_| self.gone())?);
        }
        self.send(Part::Rows(Box::new(batch)))
    }

    /// Waits until `budget` has room for so many octets of a row.
    ///
    /// # Errors
    /// It never has; or see [`Sender::send`].
    pub(crate) fn borrow(&self, budget: &Budget, octets: usize) -> Result<MemoryReservation> {
        if octets > budget.most() {
            return Err(too_large(budget.most()));
        }
        self.wait(budget.reserve(octets))
    }

    /// Ends the answer with a failure.
    pub(crate) fn fail(&self, error: Error) {
        // Where it is not delivered, the reader finds the same verdict in the flag, or is gone.
        if let Err(TrySendError::Full(part)) = self.parts.try_send(Err(error)) {
            let _undelivered = self.wait(self.parts.send(part)).is_err();
        }
    }

    /// Waits for `future` on a thread of our own, which has nothing else to do.
    fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        block_on(self.cancel.unless_stopped(future)).ok_or_else(|| self.gone())
    }

    fn gone(&self) -> Error {
        self.cancel.stop(Kind::Abandoned);
        self.cancel.verdict().unwrap_or_else(|| Error::internal("the reader left while the commit ran"))
    }
}

impl Receiver {
    /// Returns the next part; `None` after the last one or a failure.
    pub(crate) async fn next(&mut self) -> Option<Result<Part>> {
        if self.ended {
            return None;
        }
        let part = tokio::select! {
            biased;
            part = self.parts.recv() => part,
            // The engine may be in one long instruction: the reader need not wait for it.
            () = self.cancel.stopped() => None,
        };
        let part = part.unwrap_or_else(|| {
            Err(self.cancel.verdict().unwrap_or_else(|| Error::internal("a session ended without an answer")))
        });
        if let Ok(Part::Done { .. }) = part {
            self.results = self.results.saturating_sub(1);
        }
        self.ended = part.is_err() || self.results == 0;
        Some(part)
    }

    /// The parts that are still to come, after `first`.
    pub(crate) fn into_stream(self, first: Part) -> impl Stream<Item = Result<Part>> + Send {
        let rest = stream::unfold(self, |mut receiver| async move { Some((receiver.next().await?, receiver)) });
        stream::iter([Ok(first)]).chain(rest)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.cancel.stop(Kind::Abandoned);
    }
}
