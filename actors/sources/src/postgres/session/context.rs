//! How long a call may go on: its time limit, its caller's patience, and the connection's end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::plan::CallShare;
use portico_core::call::{Limits, Notices};
use portico_core::effects::Effects;
use portico_core::error::{Error, Kind, Result};
use portico_core::identity::AssumedIdentity;

/// The source enforces the time limit; this is how much later we lose patience with the source.
const GRACE: Duration = Duration::from_secs(5);

/// The source's clock is not ours.
const TOLERANCE: Duration = Duration::from_millis(50);

pin_project! {
    /// Work with an end. An async function that selects between the two would hold the work twice: once as it was given
    /// and once as it is polled, and so would each one around it.
    struct Bounded<W, E> {
        #[pin]
        work: W,
        #[pin]
        end: E,
    }
}

impl<W: Future, E: Future<Output = Error>> Future for Bounded<W, E> {
    type Output = Result<W::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.work.poll(context) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => this.end.poll(context).map(Err),
        }
    }
}

/// A call's limits, its notices, and its identity at the source.
#[derive(Clone, Debug)]
pub(crate) struct CallContext {
    started: Instant,
    timeout: Duration,
    abandoned: CancellationToken,
    closing: CancellationToken,
    notices: Option<Notices>,
    role: Option<Arc<str>>,
    share: Option<CallShare>,
    effects: Effects,
}

impl CallContext {
    /// Starts now.
    pub(crate) fn start(limits: Limits, abandoned: CancellationToken, closing: CancellationToken) -> Self {
        Self {
            started: Instant::now(),
            timeout: limits.timeout,
            abandoned,
            closing,
            notices: None,
            role: None,
            share: None,
            effects: Effects::default(),
        }
    }

    /// Sets who receives the source's notices.
    pub(crate) fn hearing(self, notices: Option<Notices>) -> Self {
        Self { notices, ..self }
    }

    /// Sets the caller's share of the connection's room.
    pub(crate) fn with_share(self, share: Option<CallShare>) -> Self {
        Self { share, ..self }
    }

    /// Sets where it is noted what of the call may stand.
    pub(crate) fn noting(self, effects: Effects) -> Self {
        Self { effects, ..self }
    }

    /// Returns where it is noted what of the call may stand.
    pub(crate) fn effects(&self) -> Effects {
        self.effects.clone()
    }

    /// Returns the caller's share of the connection's room.
    pub(crate) fn share(&self) -> Option<CallShare> {
        self.share.clone()
    }

    /// Sets the caller's role at the source.
    pub(crate) fn with_role(self, identity: &AssumedIdentity) -> Self {
        Self { role: identity.as_ref().map(|identity| Arc::from(identity.role.as_str())), ..self }
    }

    /// The caller's role at the source, where callers have one.
    pub(crate) fn role(&self) -> Option<&Arc<str>> {
        self.role.as_ref()
    }

    /// Returns who receives the source's notices.
    pub(crate) fn notices(&self) -> Option<Notices> {
        self.notices.clone()
    }

    /// `work`, unless one of the bounds is reached before it is done.
    pub(crate) fn bound<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = Result<T>> {
        Bounded { work, end: self.end() }
    }

    /// Why to wait no longer.
    async fn end(&self) -> Error {
        let patience = self.started.checked_add(self.timeout).and_then(|end| end.checked_add(GRACE));
        tokio::select! {
            biased;
            () = self.abandoned.cancelled() => abandoned(),
            () = self.closing.cancelled() => closing(),
            () = reached(patience) => self.timed_out(),
        }
    }

    /// Returns the rest of the time limit as the source counts it, in milliseconds; 0 would mean none.
    pub(crate) fn milliseconds(&self) -> i32 {
        let left = self.timeout.saturating_sub(self.started.elapsed());
        i32::try_from(left.as_millis()).unwrap_or(i32::MAX).saturating_add(1)
    }

    /// The whole time limit in milliseconds, where hardly any of it was spent yet.
    pub(crate) fn whole_milliseconds(&self) -> Option<i32> {
        let milliseconds = i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX).saturating_add(1);
        (self.started.elapsed() < TOLERANCE).then_some(milliseconds)
    }

    /// How long to wait for a session.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Distinguishes the causes that the source reports with one SQLSTATE: our time limit, our own cancel request,
    /// and somebody else's.
    pub(crate) fn judge(&self, mut failure: Error) -> Error {
        if failure.kind != Kind::TimedOut {
            failure
        } else if self.abandoned.is_cancelled() {
            abandoned()
        } else if self.closing.is_cancelled() {
            closing()
        } else if self.started.elapsed() + TOLERANCE >= self.timeout {
            self.timed_out().sqlstate(crate::postgres::failure::CANCELLED)
        } else {
            failure.kind = Kind::Rejected;
            failure
        }
    }

    fn timed_out(&self) -> Error {
        let seconds = self.timeout.as_secs_f64();
        Error::new(Kind::TimedOut, format!("the statement took longer than {seconds} s and was cancelled"))
            .hint("narrow the statement, or ask for a longer timeout")
    }
}

fn abandoned() -> Error {
    Error::new(Kind::Abandoned, "nobody waits for the answer any more; the statement was cancelled")
}

fn closing() -> Error {
    Error::new(Kind::Unavailable, "the connection is being closed")
}

async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
