//! A session: what every fresh one is told, and what is undone before the next caller gets it. Where
//! sessions come from is in `sessions.rs`, what runs on one in `statement.rs`.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{join, join3};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::call::Notices;
use crate::source::postgres::bind::inference::Ways;
use crate::source::postgres::connect::connector::Wire;
use crate::source::postgres::connect::lending::Lent;
use crate::source::postgres::connect::notices::Hearer;
use crate::source::postgres::session::pool::{Pooled, Shared};
use crate::source::postgres::session::pooled;

/// The settings that change how values are written and texts are read, which the database or the role
/// may have set otherwise: for a session (`SET`), or for a transaction behind a pooler (`SET LOCAL`).
macro_rules! settings {
    ($set:literal) => {
        concat!(
            $set,
            " DateStyle = 'ISO'; ",
            $set,
            " IntervalStyle = 'postgres'; ",
            $set,
            " bytea_output = 'hex'; ",
            $set,
            " extra_float_digits = 1; ",
            $set,
            " array_nulls = on; ",
            $set,
            " standard_conforming_strings = on; ",
            $set,
            " client_encoding = 'UTF8'"
        )
    };
}
pub(crate) use settings;

/// How a fresh session is set up. The second lock on every session: also where the first (`BEGIN READ
/// ONLY`) did not come about, what runs cannot write. Writers say `READ WRITE`.
macro_rules! setup {
    () => {
        concat!("SET default_transaction_read_only = on; ", settings!("SET"))
    };
}

const SETUP: &str = setup!();
/// Lets the source notice, PostgreSQL 14 and later, that our process has gone. Platforms without
/// the means refuse it, and do without.
const NOTICE_OUR_END: &str = "SELECT set_config('client_connection_check_interval', '2s', false) \
    WHERE current_setting('client_connection_check_interval', true) IS NOT NULL";
/// Ends a reader. ROLLBACK also undoes `set_config(…, false)`; advisory locks and statements that
/// a function prepared survive it.
const AFTER_READING: &str = "ROLLBACK; SELECT pg_advisory_unlock_all(); \
    SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql";
/// After a writer. `DISCARD ALL` would also drop the statements that the wire library keeps.
const AFTER_WRITING: &str = concat!(
    "RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; ",
    setup!(),
    "; CLOSE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES; SELECT pg_advisory_unlock_all(); \
     SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql"
);
/// How long a fresh session may take to hear what every one is told.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request to cancel may take. Where the source cannot be reached, what runs there is
/// ended by its own time limit.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// A session that is out. It goes back to the pool only when somebody vouches for its state;
/// dropped otherwise it is closed, and whatever it may still run is cancelled.
pub(crate) struct Session {
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(crate) pooled: bool,
    object: Option<Pooled>,
    /// Its place among those that may be out; given back once it is idle or closed.
    slot: Option<OwnedSemaphorePermit>,
    number: u64,
    hearer: Arc<Hearer>,
    sessions: Arc<Shared>,
    runtime: Handle,
    settled: AtomicBool,
}

impl Session {
    /// A session that is handed out as `number`, and who hears what the source says on it.
    pub(crate) fn new(
        object: Pooled,
        slot: OwnedSemaphorePermit,
        number: u64,
        sessions: Arc<Shared>,
        notices: Option<Notices>,
    ) -> Self {
        let hearer = object.wire.hearer();
        hearer.set(notices);
        let (pooled, runtime, settled) = (object.wire.pooled, Handle::current(), AtomicBool::new(false));
        Self { pooled, object: Some(object), slot: Some(slot), number, hearer, sessions, runtime, settled }
    }

    /// Vouches that nothing runs and nothing is left of the last caller.
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

    /// Its process at the source.
    pub(crate) fn process(&self) -> i32 {
        self.object.as_ref().map_or(0, |object| object.process)
    }

    /// Where work for this session is spawned: the runtime that drives its connection.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// How statements were prepared lately.
    pub(crate) fn ways(&self) -> &Ways {
        &self.sessions.ways
    }

    /// What its large rows were lent.
    pub(crate) fn lent(&self) -> &Lent {
        self.wire().lent()
    }

    /// Asks the source to cancel what runs.
    pub(crate) async fn cancel(&self) -> std::io::Result<()> {
        self.wire().canceller().cancel().await
    }

    /// Ends a reader's transaction; whether the session is as good as new.
    pub(crate) async fn after_reading(&self) -> bool {
        let text = if self.pooled { pooled::AFTER_ROLLBACK } else { AFTER_READING };
        self.simple_query(&reseeding(text)).await.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Undoes what a writer may have left behind; whether the session is as good as new.
    pub(crate) async fn after_writing(&self) -> bool {
        let text = reseeding(AFTER_WRITING);
        let (reset, _) = join(self.simple_query(&text), self.batch_execute(NOTICE_OUR_END)).await;
        reset.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Commits behind a pooler, and leaves nothing in the server's session; whether it stays done,
    /// and whether our session is as good as new.
    pub(crate) async fn commit_pooled(&self) -> (Result<(), tokio_postgres::Error>, bool) {
        let text = reseeding(pooled::COMMIT);
        let (before, commit) = join(self.simple_query(pooled::BEFORE_COMMIT), self.batch_execute(&text)).await;
        let clean = commit.is_ok() && before.is_ok_and(|answer| holds_no_row_of_ours(&answer));
        (commit, clean)
    }

    fn wire(&self) -> &Wire {
        &self.object.as_ref().expect("the session is there until it is dropped").wire
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
        self.hearer.set(None);
        let (Some(object), Some(slot)) = (self.object.take(), self.slot.take()) else { return };
        object.wire.lent().clear();
        if self.settled.load(Ordering::Acquire) && !object.wire.is_closed() {
            return self.sessions.put_back(object, slot, &self.runtime);
        }
        self.runtime.spawn(async move {
            // Best effort: the closed socket ends the session in any case. A pooler forgets whose
            // statement it was as soon as the socket is closed, so that comes last.
            let _ = timeout(CANCEL_TIMEOUT, object.wire.canceller().cancel()).await;
            drop(object);
            drop(slot);
        });
    }
}

/// What every fresh session is told, the housekeeping's too; its process at the source. Behind a pooler
/// that would be told to a session of somebody else's, and there is no process.
pub(crate) async fn introduce(wire: &Wire) -> Result<i32, tokio_postgres::Error> {
    let mut process = 0;
    if !wire.pooled {
        let asked = wire.query_typed_one("SELECT pg_catalog.pg_backend_pid()", &[]);
        let (told, _, asked) = join3(wire.batch_execute(SETUP), wire.batch_execute(NOTICE_OUR_END), asked).await;
        told?;
        process = asked?.try_get(0)?;
    }
    wire.pin();
    Ok(process)
}

/// `text` with a seed for `random()` that nobody chose: what a caller's `setseed` began would go on for the
/// next one, and no ROLLBACK or RESET ends it.
fn reseeding(text: &str) -> String {
    format!("{text}; SET seed = {}", rand::random::<f64>())
}

/// The last query that is no `SET` finds statements that a function prepared; `pg_advisory_unlock_all`
/// alone answers with one row.
fn holds_no_row_of_ours(answer: &[SimpleQueryMessage]) -> bool {
    answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() == 1
}
