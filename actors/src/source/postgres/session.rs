//! Sessions: the pool of them, what every fresh one is told, and what is undone before the next
//! caller gets one. What runs on a session is in `statement.rs`.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    self, Hook, HookError, Metrics, ObjectId, Pool, PoolError, RecycleError, RecycleResult, TimeoutType, Timeouts,
};
use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::clock::Clock;
use super::connecting::{Canceller, Connector, Wire};
use super::custom_types::CustomTypes;
use super::notices::Hearer;
use super::{failure, pooled};
use crate::error::{Error, Kind, Result};

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
pub(super) use settings;

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
/// How long an idle session may take to become ready for its next caller.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a fresh session may take to hear what every one is told.
pub(super) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request to cancel may take. Where the source cannot be reached, what runs there is
/// ended by its own time limit.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The pooled sessions of one connection.
pub(super) struct Sessions {
    pool: Pool<Maker>,
    running: Arc<Running>,
    generation: Arc<AtomicU64>,
    /// Process numbers at the source, by the pool's own number of a session.
    processes: Mutex<HashMap<ObjectId, i32>>,
    most: usize,
}

/// Makes sessions for the pool.
struct Maker {
    connector: Arc<Connector>,
    generation: Arc<AtomicU64>,
}

/// A session of the pool, and when it was made.
struct Pooled {
    wire: Wire,
    generation: u64,
}

type Object = managed::Object<Maker>;

impl managed::Manager for Maker {
    type Type = Pooled;
    type Error = Error;

    async fn create(&self) -> Result<Pooled> {
        let generation = self.generation.load(Ordering::Acquire);
        Ok(Pooled { wire: self.connector.connect().boxed().await?, generation })
    }

    async fn recycle(&self, pooled: &mut Pooled, _: &Metrics) -> RecycleResult<Error> {
        if pooled.wire.is_closed() || pooled.generation != self.generation.load(Ordering::Acquire) {
            return Err(RecycleError::message("closed, or renounced"));
        }
        Ok(())
    }
}

/// How to cancel what runs on the sessions that are out, for the end of the whole connection.
#[derive(Default)]
struct Running {
    next: AtomicU64,
    cancels: Mutex<HashMap<u64, Canceller>>,
}

impl Sessions {
    /// A pool of `most` sessions; none is opened yet.
    pub(super) fn new(connector: Arc<Connector>, most: usize, types: &Arc<CustomTypes>) -> Result<Self> {
        let generation: Arc<AtomicU64> = Arc::default();
        let maker = Maker { connector, generation: Arc::clone(&generation) };
        let (fresh, known) = (Arc::clone(types), Arc::clone(types));
        let pool = Pool::builder(maker)
            .max_size(most.max(1))
            .runtime(Runtime::Tokio1)
            .recycle_timeout(Some(RECYCLE_TIMEOUT))
            .post_create(Hook::async_fn(move |pooled: &mut Pooled, _| {
                let types = Arc::clone(&fresh);
                Box::pin(async move {
                    let greeting = timeout(GREETING_TIMEOUT, introduce(&pooled.wire)).await;
                    greeting
                        .map_err(|_| failure::unavailable("a fresh session did not answer in time"))
                        .and_then(|greeting| greeting.map_err(|error| failure::connecting(&error)))
                        .map_err(HookError::Backend)?;
                    if !pooled.wire.pooled {
                        types.teach(&pooled.wire).await;
                    }
                    Ok(())
                })
            }))
            .post_recycle(Hook::async_fn(move |pooled: &mut Pooled, metrics| {
                let types = Arc::clone(&known);
                let last_out = metrics.recycled.unwrap_or(metrics.created);
                Box::pin(async move {
                    if !pooled.wire.pooled && types.changed_since(last_out) {
                        types.teach(&pooled.wire).await;
                    }
                    Ok(())
                })
            }))
            .build()
            .map_err(Error::internal)?;
        Ok(Self { pool, running: Arc::default(), generation, processes: Mutex::default(), most })
    }

    /// The sessions that are open now.
    pub(super) fn count(&self) -> crate::source::Pool {
        let status = self.pool.status();
        crate::source::Pool { open: status.size, idle: status.available, most: status.max_size }
    }

    /// One session for the call of `clock`, waited for as long as that allows.
    pub(super) async fn take(&self, clock: &Clock) -> Result<Arc<Session>> {
        let timeouts = Timeouts { wait: Some(clock.timeout()), ..self.pool.timeouts() };
        let object = self.pool.timeout_get(&timeouts).await.map_err(|error| match error {
            PoolError::Timeout(TimeoutType::Wait) => {
                Error::new(Kind::Busy, "every session of this connection is in use").retry_after(Duration::from_secs(1))
            }
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error,
            other => failure::unavailable(other),
        })?;
        let process = self.process(&object).await?;
        let number = self.running.next.fetch_add(1, Ordering::Relaxed);
        self.running.lock().insert(number, object.wire.canceller());
        let hearer = object.wire.hearer();
        hearer.set(clock.notices());
        Ok(Arc::new(Session {
            pooled: object.wire.pooled,
            object: Some(object),
            number,
            process,
            hearer,
            running: Arc::clone(&self.running),
            runtime: Handle::current(),
            settled: AtomicBool::new(false),
        }))
    }

    /// The session's process at the source, asked for once. Behind a pooler it is nobody's.
    async fn process(&self, object: &Object) -> Result<i32> {
        if object.wire.pooled {
            return Ok(0);
        }
        let number = Object::id(object);
        let known = self.processes.lock().unwrap_or_else(PoisonError::into_inner).get(&number).copied();
        if let Some(process) = known {
            return Ok(process);
        }
        let row = object.wire.query_typed_one("SELECT pg_catalog.pg_backend_pid()", &[]).await;
        let process = row.and_then(|row| row.try_get(0)).map_err(|error| failure::connecting(&error))?;
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        // Sessions come and go; those that are still there are asked again.
        if processes.len() > self.most.saturating_mul(4) {
            processes.clear();
        }
        processes.insert(number, process);
        Ok(process)
    }

    /// Forgets the idle sessions: when one turned out dead, the others are likely to be.
    pub(super) fn forget_idle(&self) {
        drop(self.pool.retain(|_, _| false).removed);
    }

    /// Forgets every session, those that are out as soon as they come back: the server behind them
    /// is no longer the one that was asked for.
    pub(super) fn renounce(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.forget_idle();
    }

    /// Lets nobody in any more and cancels what runs.
    pub(super) async fn close(&self) {
        self.pool.close();
        let cancels: Vec<Canceller> = self.running.lock().drain().map(|(_, cancel)| cancel).collect();
        // Where the source cannot be reached, nothing of ours runs there for long either.
        join_all(cancels.into_iter().map(|canceller| timeout(CANCEL_TIMEOUT, canceller.cancel()))).await;
    }
}

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Canceller>> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is out. It goes back to the pool only when somebody vouches for its state;
/// dropped otherwise it is closed, and whatever it may still run is cancelled.
pub(super) struct Session {
    /// Behind a pooler that hands out server sessions by the transaction.
    pub(super) pooled: bool,
    object: Option<Object>,
    number: u64,
    process: i32,
    hearer: Arc<Hearer>,
    running: Arc<Running>,
    runtime: Handle,
    settled: AtomicBool,
}

impl Session {
    /// Vouches that nothing runs and nothing is left of the last caller.
    pub(super) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Whether the session was used before this time.
    pub(super) fn is_reused(&self) -> bool {
        self.object.as_ref().is_some_and(|object| Object::metrics(object).recycle_count > 0)
    }

    /// Its process at the source.
    pub(super) fn process(&self) -> i32 {
        self.process
    }

    /// Where work for this session is spawned: the runtime that drives its connection.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Asks the source to cancel what runs.
    pub(super) async fn cancel(&self) -> std::io::Result<()> {
        self.wire().canceller().cancel().await
    }

    /// Ends a reader's transaction; whether the session is as good as new.
    pub(super) async fn after_reading(&self) -> bool {
        let text = if self.pooled { pooled::AFTER_ROLLBACK } else { AFTER_READING };
        self.simple_query(text).await.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Undoes what a writer may have left behind; whether the session is as good as new.
    pub(super) async fn after_writing(&self) -> bool {
        let (reset, _) = join(self.simple_query(AFTER_WRITING), self.batch_execute(NOTICE_OUR_END)).await;
        reset.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Commits behind a pooler, and leaves nothing in the server's session; whether it stays done,
    /// and whether our session is as good as new.
    pub(super) async fn commit_pooled(&self) -> (Result<(), tokio_postgres::Error>, bool) {
        let (before, commit) = join(self.simple_query(pooled::BEFORE_COMMIT), self.batch_execute(pooled::COMMIT)).await;
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
        self.running.lock().remove(&self.number);
        self.hearer.set(None);
        let Some(object) = self.object.take() else { return };
        if self.settled.load(Ordering::Acquire) && !object.wire.is_closed() {
            return;
        }
        let lost = Object::take(object);
        self.runtime.spawn(async move {
            // Best effort: the closed socket ends the session in any case. A pooler forgets whose
            // statement it was as soon as the socket is closed, so that comes last.
            let _ = timeout(CANCEL_TIMEOUT, lost.wire.canceller().cancel()).await;
            drop(lost);
        });
    }
}

/// What every fresh session is told, the housekeeping's too. Behind a pooler that would be told to
/// a session of somebody else's.
pub(super) async fn introduce(wire: &Wire) -> Result<(), tokio_postgres::Error> {
    if !wire.pooled {
        join(wire.batch_execute(SETUP), wire.batch_execute(NOTICE_OUR_END)).await.0?;
    }
    wire.pin();
    Ok(())
}

/// The last query of the batch finds statements that a function prepared; `pg_advisory_unlock_all`
/// alone answers with one row.
fn holds_no_row_of_ours(answer: &[SimpleQueryMessage]) -> bool {
    answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() == 1
}
