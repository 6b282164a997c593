//! The channel between a session's thread and the reader of its answer: few batches in flight,
//! and either end notices when the other is gone. What flows through it is made in `execute/`.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use futures_util::Stream;
use futures_util::stream;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::task::AbortOnDropHandle;

use crate::sqlite::decode::rows::{RowBatch, too_large};
use crate::sqlite::session::cancel_flag::CancelFlag;
use portico_core::budget::{Budget, Loan};
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

/// Both ends of one job's answer.
pub(crate) fn channel(cancel: &Arc<CancelFlag>, watch: AbortOnDropHandle<()>) -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(IN_FLIGHT);
    (
        Sender { parts: sender, cancel: Arc::clone(cancel) },
        Receiver { parts: receiver, cancel: Arc::clone(cancel), _watch: watch, ended: false, results: 1 },
    )
}

impl Sender {
    /// Hands over one part, waiting while the reader is behind.
    ///
    /// # Errors
    /// Why nobody will read it: the job was stopped, or its reader is gone.
    pub(crate) fn send(&self, part: Part) -> Result<()> {
        let part = match self.parts.try_send(Ok(part)) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(self.gone()),
            Err(TrySendError::Full(part)) => part,
        };
        let sent = wait(async {
            tokio::select! {
                biased;
                () = self.cancel.stopped() => false,
                sent = self.parts.send(part) => sent.is_ok(),
            }
        });
        if sent { Ok(()) } else { Err(self.gone()) }
    }

    /// Hands over a batch; a heavy one only when the reader has taken all before it, so that what
    /// waits is bounded in octets as well as in parts.
    ///
    /// # Errors
    /// See [`Sender::send`].
    pub(crate) fn send_rows(&self, batch: RowBatch) -> Result<()> {
        if batch.is_heavy() {
            let empty = wait(async {
                tokio::select! {
                    biased;
                    () = self.cancel.stopped() => false,
                    slots = self.parts.reserve_many(IN_FLIGHT) => slots.is_ok(),
                }
            });
            if !empty {
                return Err(self.gone());
            }
        }
        self.send(Part::Rows(Box::new(batch)))
    }

    /// Waits until `budget` has room for so many octets of a row.
    ///
    /// # Errors
    /// It never has; or see [`Sender::send`].
    pub(crate) fn borrow(&self, budget: &Budget, octets: usize) -> Result<Loan> {
        if octets > budget.most() {
            return Err(too_large(budget.most()));
        }
        let lent = wait(async {
            tokio::select! {
                biased;
                () = self.cancel.stopped() => None,
                lent = budget.lend(octets) => Some(lent),
            }
        });
        lent.ok_or_else(|| self.gone())
    }

    /// Ends the answer with a failure.
    pub(crate) fn fail(&self, error: Error) {
        // Full or closed: the reader finds the same verdict in the flag, or is gone.
        let undelivered = self.parts.try_send(Err(error)).err();
        if let Some(TrySendError::Full(part)) = undelivered {
            wait(async {
                tokio::select! {
                    biased;
                    () = self.cancel.stopped() => {}
                    _ = self.parts.send(part) => {}
                }
            });
        }
    }

    fn gone(&self) -> Error {
        self.cancel.stop(Kind::Abandoned);
        self.cancel.verdict().unwrap_or_else(|| Error::internal("the reader left while the commit ran"))
    }
}

impl Receiver {
    /// The job answers with so many results instead of one.
    pub(crate) fn expect(&mut self, results: usize) {
        self.results = results;
    }

    /// The next part; `None` after the last one or a failure.
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
        stream::unfold((Some(first), self), |(first, mut receiver)| async move {
            let part = match first {
                Some(part) => Ok(part),
                None => receiver.next().await?,
            };
            Some((part, (None, receiver)))
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.cancel.stop(Kind::Abandoned);
    }
}

/// Waits for `future` on a thread of our own, where nothing else is to be done.
fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}
