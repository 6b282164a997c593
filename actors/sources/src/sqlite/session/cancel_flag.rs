//! Stops a running job, from outside and from within the engine; the moment is decided once, under one lock.
//! Cleaning up after a stopped job is in `worker_pool.rs` and `execute/`.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rusqlite::InterruptHandle;
use tokio_util::sync::CancellationToken;

use portico_core::error::{Error, Kind};
use portico_core::mutex::lock;

/// The cancel flag of one job, shared by the session that runs it and by all who may stop it.
pub(crate) struct CancelFlag {
    deadline: Instant,
    state: Mutex<State>,
    halted: CancellationToken,
    /// That of the call: the job is told a moment later, and must not commit meanwhile.
    abandoned: CancellationToken,
}

struct State {
    phase: Phase,
    /// Present only while the job is on its session: an interrupt can never hit the next job.
    engine: Option<InterruptHandle>,
}

#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// The commit has started and cannot be stopped, so that the answer is true.
    Settled,
    Halted(Kind),
}

impl CancelFlag {
    /// A flag that is raised at `deadline` at the latest, and before a commit if `abandoned` is cancelled.
    pub(crate) fn new(deadline: Instant, abandoned: CancellationToken) -> Arc<Self> {
        let state = Mutex::new(State { phase: Phase::Running, engine: None });
        Arc::new(Self { deadline, state, halted: CancellationToken::new(), abandoned })
    }

    /// When the job's time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The job begins on the session that `engine` interrupts.
    pub(crate) fn enter(&self, engine: InterruptHandle) {
        self.lock().engine = Some(engine);
    }

    /// Marks that the job has left its session: from now on it cannot be interrupted.
    pub(crate) fn leave(&self) {
        self.lock().engine = None;
    }

    /// Stops the job for the reason `why`, unless it is already stopped or committing.
    pub(crate) fn stop(&self, why: Kind) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Running) {
            state.phase = Phase::Halted(why);
            // Under the lock, so that it cannot come after `leave`. The engine drops an interrupt if nothing is
            // running; `reached` then does the work.
            if let Some(engine) = &state.engine {
                engine.interrupt();
            }
            self.halted.cancel();
        }
    }

    /// Makes the job unstoppable, because its commit begins.
    ///
    /// # Errors
    /// The reason why it was stopped before.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        if self.abandoned.is_cancelled() {
            self.stop(Kind::Abandoned);
        }
        let mut state = self.lock();
        if let Phase::Halted(why) = state.phase {
            return Err(told(why));
        }
        state.phase = Phase::Settled;
        Ok(())
    }

    /// Whether the job has to end now; the engine asks this every few thousand instructions.
    pub(crate) fn reached(&self) -> bool {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Running) && Instant::now() >= self.deadline {
            state.phase = Phase::Halted(Kind::TimedOut);
            self.halted.cancel();
        }
        matches!(state.phase, Phase::Halted(_))
    }

    /// Resolves when the job was stopped.
    pub(crate) async fn stopped(&self) {
        self.halted.cancelled().await;
    }

    /// Awaits `future`. Returns `None` if the job is stopped first.
    pub(crate) async fn unless_stopped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.halted.run_until_cancelled(future).await
    }

    /// Why the job was stopped, in the caller's words.
    pub(crate) fn verdict(&self) -> Option<Error> {
        match self.lock().phase {
            Phase::Halted(why) => Some(told(why)),
            Phase::Running | Phase::Settled => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn told(why: Kind) -> Error {
    match why {
        Kind::TimedOut => Error::new(why, "the statement exceeded its timeout and was cancelled")
            .hint("narrow the statement, or ask for a longer timeout")
            .sqlstate("57014"),
        Kind::Unavailable => {
            Error::new(why, "the connection is closing; the statement was cancelled").sqlstate("57P01")
        }
        Kind::TooLarge => Error::new(
            why,
            "the running statements keep over 1 GiB in temporary files, and this one has written most of it",
        )
        .hint("sort, group or compare fewer rows or columns, or along an index")
        .sqlstate("53400"),
        why => Error::new(why, "nobody waits for the answer any more; the statement was cancelled").sqlstate("57014"),
    }
}
