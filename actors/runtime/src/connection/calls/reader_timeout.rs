//! Results with a reader timeout: a reader that takes nothing for some time blocks a session that others wait for.
//! A reader whose credential has lost its validity gets nothing more.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::Stream;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use portico_core::error::{Error, Kind};
use portico_core::mutex::lock;
use portico_core::principal::Validity;
use portico_core::reply::{Part, Results};

/// A part may take its reader a second longer for each so many octets.
const SLOWEST: usize = 64 * 1024;
/// When to look again for results that are being read at the moment.
const AGAIN: Duration = Duration::from_millis(10);

/// Bounds the time between reads: if nothing is read for `patience`, the results are dropped with all that they
/// hold, and the reader gets an error; the same if the credential of the call has lost its `validity`.
pub fn with_reader_timeout(results: Results, patience: Duration, validity: Validity) -> Results {
    let (class, dry_run, queued, hint) = (results.class, results.dry_run, results.queued, results.hint.clone());
    let mut bounded = Results::new(results.writes, ReaderTimeout::new(results, patience, validity));
    (bounded.class, bounded.dry_run, bounded.queued, bounded.hint) = (class, dry_run, queued, hint);
    bounded
}

/// A stream that drops its results if they are not read.
struct ReaderTimeout {
    shared: Arc<Shared>,
    /// The task that checks for the reader.
    watch: Option<AbortHandle>,
}

struct Shared {
    held: Mutex<Held>,
    patience: Duration,
    validity: Validity,
    /// Since when more rows are ready for a reader that found none last time. The reader may never come again: the
    /// consumer of its rows may have stopped.
    ready: Mutex<Option<Instant>>,
    /// The reader to wake.
    reader: Mutex<Option<Waker>>,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        lock(&self.ready).get_or_insert_with(Instant::now);
        let reader = lock(&self.reader).take();
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

struct Held {
    results: Option<Results>,
    /// When the reader has to read the next part; `None` while it waits for us.
    due: Option<Instant>,
    /// Why the results were dropped, until the reader gets the error.
    taken: Option<Error>,
}

impl ReaderTimeout {
    /// Drops `results` if nothing of them is read for `patience`, or if `validity` is lost.
    fn new(results: Results, patience: Duration, validity: Validity) -> Self {
        let held = Mutex::new(Held { results: Some(results), due: None, taken: None });
        let (ready, reader) = (Mutex::default(), Mutex::default());
        Self { shared: Arc::new(Shared { held, patience, validity, ready, reader }), watch: None }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }

    /// Drops the results of a late or no longer valid reader; otherwise returns when to check again.
    fn look(&self) -> Result<Results, Instant> {
        let is_lost = self.validity.is_lost();
        let soon = Instant::now() + if is_lost { AGAIN } else { self.patience };
        let mut held = match self.held.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            // It is being read.
            Err(TryLockError::WouldBlock) => return Err(soon),
        };
        if is_lost {
            held.taken = held.results.is_some().then(|| self.validity.refusal());
            return held.results.take().ok_or(soon);
        }
        let ready = *lock(&self.ready);
        match held.due.or_else(|| Some(ready? + self.patience)) {
            Some(due) if due <= Instant::now() => {
                held.taken = held.results.is_some().then(|| late_reader(self.patience));
                held.results.take().ok_or(soon)
            }
            due => Err(due.unwrap_or(soon)),
        }
    }
}

/// Looks until the reader is late or not let in any more, or the results are over, which ends this from outside.
async fn watch(shared: Arc<Shared>) {
    loop {
        match shared.look() {
            // Dropping them cancels the statement.
            Ok(results) => {
                drop(results);
                return shared.wake();
            }
            Err(later) if shared.validity.is_lost() => tokio::time::sleep_until(later).await,
            Err(later) => tokio::select! {
                () = tokio::time::sleep_until(later) => {}
                () = shared.validity.lost() => {}
            },
        }
    }
}

impl Stream for ReaderTimeout {
    type Item = Result<Part, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut held = this.shared.lock();
        held.due = None;
        *lock(&this.shared.ready) = None;
        let Some(results) = &mut held.results else {
            return Poll::Ready(held.taken.take().map(Err));
        };
        *lock(&this.shared.reader) = Some(cx.waker().clone());
        let waker = Waker::from(Arc::clone(&this.shared));
        let next = Pin::new(results).poll_next(&mut Context::from_waker(&waker));
        let next = next.map_err(|failure| this.shared.validity.explain(failure));
        let mut must_watch = false;
        match &next {
            Poll::Ready(Some(Ok(part))) => {
                let octets = if let Part::Rows(batch) = part { batch.octets() } else { 0 };
                let longer = Duration::from_secs((octets / SLOWEST) as u64);
                held.due = Some(Instant::now() + this.shared.patience + longer);
                must_watch = matches!(part, Part::Rows(_));
            }
            Poll::Ready(_) => {
                let over = held.results.take();
                drop(held);
                drop(over);
            }
            // During a long silence the validity may be lost.
            Poll::Pending => must_watch = true,
        }
        if must_watch && this.watch.is_none() {
            this.watch = Some(tokio::spawn(watch(Arc::clone(&this.shared))).abort_handle());
        }
        next
    }
}

impl Drop for ReaderTimeout {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
        // The watching task may hold the rest a moment longer, but the statement has to end now.
        let results = self.shared.lock().results.take();
        drop(results);
    }
}

fn late_reader(patience: Duration) -> Error {
    let seconds = patience.as_secs_f64();
    Error::new(Kind::TimedOut, format!("the answer was not read for {seconds} s, and its statement was cancelled"))
        .hint("read the answer as it comes, or ask for less of it")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::{FutureExt, StreamExt, stream};
    use tokio::sync::oneshot;

    use super::*;
    use portico_core::reply::{Batch, Cell};

    struct Rows(usize);

    impl Batch for Rows {
        fn rows(&self) -> usize {
            1
        }

        fn octets(&self) -> usize {
            self.0
        }

        fn cell(&self, _: usize, _: usize) -> Result<Cell<'_>, Error> {
            Ok(Cell::Null)
        }
    }

    /// Makes endless results in parts of so many bytes, and a receiver that completes when they are dropped.
    fn results(octets: usize) -> (Results, oneshot::Receiver<()>) {
        let (kept, gone) = oneshot::channel::<()>();
        let rows = stream::repeat_with(move || Ok(Part::Rows(Box::new(Rows(octets)) as Box<dyn Batch>)));
        (Results::new(false, rows).with_guard(kept), gone)
    }

    /// How long the reader has for the next part.
    fn left(bounded: &ReaderTimeout) -> Option<Duration> {
        bounded.shared.lock().due.map(|due| due.saturating_duration_since(Instant::now()))
    }

    #[tokio::test]
    async fn who_reads_nothing_loses_the_rest_and_is_told() {
        let (results, gone) = results(0);
        let mut bounded = with_reader_timeout(results, Duration::from_millis(50), Validity::default());
        bounded.next().await.unwrap().unwrap();
        let gone = tokio::time::timeout(Duration::from_secs(60), gone).await;
        assert!(gone.is_ok_and(|gone| gone.is_err()), "it is let go of without the reader");
        let error = bounded.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, Kind::TimedOut);
        assert!(error.message.contains("0.05 s"), "{error:?}");
        assert!(bounded.next().await.is_none());
    }

    #[tokio::test]
    async fn a_large_part_may_take_longer_and_the_source_as_long_as_it_likes() {
        const HOUR: Duration = Duration::from_secs(3600);
        let (results, _gone) = results(7200 * SLOWEST);
        let silent = results.take(1).chain(stream::pending());
        let mut bounded = ReaderTimeout::new(Results::new(false, silent), HOUR, Validity::default());
        assert_eq!(left(&bounded), None, "it has not begun");
        bounded.next().await.unwrap().unwrap();
        assert!(left(&bounded).is_some_and(|left| left > 2 * HOUR && left <= 3 * HOUR));
        assert!(bounded.next().now_or_never().is_none());
        assert_eq!(left(&bounded), None, "it waits for us");
    }

    #[tokio::test]
    async fn who_found_nothing_and_does_not_come_again_is_late_too() {
        let (source, rows) = tokio::sync::mpsc::unbounded_channel::<Result<Part, Error>>();
        let rows = stream::unfold(rows, |mut rows| async move { rows.recv().await.map(|part| (part, rows)) });
        let (kept, gone) = oneshot::channel::<()>();
        let part = || Ok(Part::Rows(Box::new(Rows(0)) as Box<dyn Batch>));
        let mut bounded = ReaderTimeout::new(
            Results::new(false, rows).with_guard(kept),
            Duration::from_millis(50),
            Validity::default(),
        );
        source.send(part()).unwrap();
        bounded.next().await.unwrap().unwrap();
        assert!(bounded.next().now_or_never().is_none());
        source.send(part()).unwrap();
        let gone = tokio::time::timeout(Duration::from_secs(60), gone).await;
        assert!(gone.is_ok_and(|gone| gone.is_err()), "there was more for it, and it did not come");
    }

    #[tokio::test]
    async fn who_is_not_let_in_any_more_loses_the_rest_whether_it_reads_or_not() {
        for waits in [false, true] {
            let (results, gone) = results(0);
            let validity = Validity::default();
            let silent = Results::new(false, results.take(1).chain(stream::pending()));
            let mut bounded = ReaderTimeout::new(silent, Duration::from_secs(3600), validity.clone());
            bounded.next().await.unwrap().unwrap();
            let told = if waits {
                let next = tokio::time::timeout(Duration::from_secs(60), bounded.next());
                let (told, ()) = tokio::join!(next, async { validity.lose() });
                told.expect("nobody woke the reader")
            } else {
                validity.lose();
                let gone = tokio::time::timeout(Duration::from_secs(60), gone).await;
                assert!(gone.is_ok_and(|gone| gone.is_err()), "it is let go of without the reader");
                bounded.next().await
            };
            assert_eq!(told.unwrap().unwrap_err().kind, Kind::Unauthenticated);
            assert!(bounded.next().await.is_none());
        }
    }

    #[tokio::test]
    async fn dropped_it_lets_go_at_once() {
        let (results, mut gone) = results(0);
        let mut bounded = with_reader_timeout(results, Duration::from_secs(3600), Validity::default());
        bounded.next().await.unwrap().unwrap();
        drop(bounded);
        assert!(gone.try_recv().is_err_and(|why| why == oneshot::error::TryRecvError::Closed));
    }
}
