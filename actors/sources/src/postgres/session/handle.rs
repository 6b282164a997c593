//! A session: its set-up, and what is undone before the next caller gets it. Where sessions come from is in
//! `pool.rs`, what runs on one in `execute/`.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::plan::CallShare;
use crate::postgres::bind::parameter_types::ParameterTypeCache;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::connect::protocol::notices::MessageListener;
use crate::postgres::connect::protocol::session_memory::PendingReservations;
use crate::postgres::session::pool_state::{PoolState, PooledSession};
use crate::postgres::session::pooled;
use crate::postgres::session::setup::{AFTER_WRITING, CANCEL_TIMEOUT, NOTICE_OUR_END};
use crate::postgres::session::statement_cache::{RecentTexts, StatementCache};
use portico_core::call::Notices;
use portico_core::effects::Effects;

/// Ends a reader. ROLLBACK also undoes `set_config(…, false)`; advisory locks and statements that
/// a function prepared survive it.
const AFTER_READING: &str = "ROLLBACK; SELECT pg_advisory_unlock_all(); \
    SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql";

/// How long a session is used for statements without side effects before it is cleaned all the same: a changed
/// definition may have given them side effects.
pub(crate) const CLEANED: Duration = Duration::from_secs(1);

/// A session in use. It returns to the pool only if it was marked as settled; otherwise it is closed on drop, and
/// what it still runs is cancelled.
pub(crate) struct Session {
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(crate) pooled: bool,
    object: Option<PooledSession>,
    /// Its slot among the sessions in use; released once it is idle or closed.
    slot: Option<OwnedSemaphorePermit>,
    /// The caller's share of the connection's limits; released with the slot if the session is given up.
    share: Option<CallShare>,
    /// What of the caller's work may stand.
    effects: Effects,
    number: u64,
    messages: Arc<MessageListener>,
    sessions: Arc<PoolState>,
    runtime: Handle,
    settled: AtomicBool,
}

impl Session {
    /// Makes a session in use with the number `number`, and sets who receives its notices, and where its effects are
    /// noted.
    pub(crate) fn new(
        object: PooledSession,
        (slot, share): (OwnedSemaphorePermit, Option<CallShare>),
        number: u64,
        sessions: Arc<PoolState>,
        (notices, effects): (Option<Notices>, Effects),
    ) -> Self {
        let messages = Arc::clone(&object.wire.messages);
        messages.set(notices);
        let (pooled, runtime) = (object.wire.pooled, Handle::current());
        Self {
            pooled,
            object: Some(object),
            slot: Some(slot),
            share,
            effects,
            number,
            messages,
            sessions,
            runtime,
            settled: AtomicBool::default(),
        }
    }

    /// Marks that nothing runs and nothing is left of the last caller.
    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Whether the session was used before this time.
    pub(crate) fn is_reused(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.reused)
    }

    /// Whether it was opened as the caller's own role.
    pub(crate) fn is_login(&self) -> bool {
        self.object.as_ref().is_some_and(|object| object.role.is_some())
    }

    /// Returns true if a statement without side effects may run on it without a transaction and without cleaning
    /// afterwards.
    pub(crate) fn may_autocommit(&self) -> bool {
        let object = self.object();
        object.wire.only_reads() && !self.is_login() && object.cleaned.elapsed() < CLEANED
    }

    /// Returns the text to send before a statement that may take so many milliseconds and has no transaction. Once
    /// it was sent, [`Session::has_time_limit`] must be called.
    pub(crate) fn autocommits(&self, milliseconds: i32) -> Option<String> {
        self.object().bare.store(true, Ordering::Release);
        let time_limit = &self.object().time_limit;
        if time_limit.load(Ordering::Acquire) == milliseconds {
            return None;
        }
        // Until it is sent, no time limit is known.
        time_limit.store(0, Ordering::Release);
        Some(format!("SET statement_timeout = {milliseconds}"))
    }

    /// The session itself has this time limit now.
    pub(crate) fn has_time_limit(&self, milliseconds: i32) {
        self.object().time_limit.store(milliseconds, Ordering::Release);
    }

    /// The statements that it keeps prepared.
    pub(crate) fn kept(&self) -> &StatementCache {
        &self.object().kept
    }

    /// Which texts came lately on this connection.
    pub(crate) fn recent_texts(&self) -> &RecentTexts {
        &self.sessions.recent_texts
    }

    /// Its process at the source.
    pub(crate) fn process(&self) -> i32 {
        self.object.as_ref().map_or(0, |object| object.process)
    }

    /// Where work for this session is spawned: the runtime of the thread that uses it.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// How statements were prepared lately.
    pub(crate) fn parameter_types(&self) -> &ParameterTypeCache {
        &self.sessions.parameter_types
    }

    /// Returns the memory reserved for its large rows.
    pub(crate) fn lent(&self) -> &PendingReservations {
        &self.wire().lent
    }

    /// Returns what of the caller's work may stand.
    pub(crate) fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Asks the source to cancel the running statement.
    pub(crate) async fn cancel(&self) -> std::io::Result<()> {
        self.wire().canceller.cancel().await
    }

    /// Ends a reader's transaction; whether the session is as good as new.
    pub(crate) async fn after_reading(&self) -> bool {
        let object = self.object();
        if object.bare.load(Ordering::Acquire) && object.cleaned.elapsed() >= CLEANED {
            return self.clean_whole().await;
        }
        let text = if self.pooled { pooled::AFTER_ROLLBACK } else { AFTER_READING };
        self.simple_query(&reseeding(text)).await.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Also undoes what a statement without a transaction may have left behind, if a changed definition gave it
    /// side effects. Returns true if the session is clean.
    pub(crate) async fn clean_whole(&self) -> bool {
        self.object().bare.store(false, Ordering::Release);
        self.batch_execute("ROLLBACK").await.is_ok() && self.after_writing().await
    }

    /// Undoes what a writing statement may have left behind. Returns true if the session is clean.
    pub(crate) async fn after_writing(&self) -> bool {
        self.object().time_limit.store(0, Ordering::Release);
        let text = reseeding(AFTER_WRITING);
        let (reset, _) = join(self.simple_query(&text), self.batch_execute(NOTICE_OUR_END)).await;
        reset.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Commits behind a pooler, and leaves nothing in the server session. Returns the outcome of the commit, and
    /// whether our session is clean.
    pub(crate) async fn commit_pooled(&self) -> (Result<(), tokio_postgres::Error>, bool) {
        let text = reseeding(pooled::COMMIT);
        let (before, commit) = join(self.simple_query(pooled::BEFORE_COMMIT), self.batch_execute(&text)).await;
        let clean = commit.is_ok() && before.is_ok_and(|answer| holds_no_row_of_ours(&answer));
        (commit, clean)
    }

    fn wire(&self) -> &DrivenClient {
        &self.object().wire
    }

    fn object(&self) -> &PooledSession {
        self.object.as_ref().expect("the session is there until it is dropped")
    }
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.wire()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.sessions.forget_running(self.number);
        self.messages.set(None);
        let (Some(mut object), Some(slot)) = (self.object.take(), self.slot.take()) else { return };
        if !object.bare.load(Ordering::Acquire) {
            object.cleaned = Instant::now();
        }
        object.wire.lent.clear();
        if self.settled.load(Ordering::Acquire) && !object.wire.is_closed() {
            return self.sessions.put_back(object, slot, &self.runtime);
        }
        let share = self.share.take();
        self.runtime.spawn(async move {
            // A pooler forgets whose statement it was as soon as the socket is closed, so that is done last.
            let _ = timeout(CANCEL_TIMEOUT, object.wire.canceller.cancel()).await;
            object.wire.held.hold(slot, share);
            drop(object);
        });
    }
}

/// Adds a random seed for `random()` to `text`: the sequence that a caller started with `setseed` would continue
/// for the next one, and no ROLLBACK or RESET ends it.
fn reseeding(text: &str) -> String {
    format!("{text}; SET seed = {}", rand::random::<f64>())
}

/// Returns true if the answer has only the row of `pg_advisory_unlock_all`. The last query that is not a `SET`
/// finds statements that a function prepared.
fn holds_no_row_of_ours(answer: &[SimpleQueryMessage]) -> bool {
    answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() == 1
}
