//! Sessions: the pool of them, what every fresh one is told, and what is undone before the next
//! caller gets one. What runs on a session is in `statement.rs`.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, ObjectId, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType,
    Timeouts,
};
use futures_util::future::join;
use tokio::runtime::Handle;
use tokio_postgres::{CancelToken, Client, Config, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::clock::Clock;
use super::custom_types::CustomTypes;
use super::failure;
use super::notices::{Driving, Hearer, Hearers};
use crate::error::{Error, Kind, Result};

/// The second lock on every session: also where the first (`BEGIN READ ONLY`) did not come about,
/// what runs cannot write. Writers say `READ WRITE`.
const READ_BY_DEFAULT: &str = "SET default_transaction_read_only = on";
/// Lets the source notice, PostgreSQL 14 and later, that our process has gone. Platforms without
/// the means refuse it, and do without.
const NOTICE_OUR_END: &str = "SELECT set_config('client_connection_check_interval', '2s', false) \
    WHERE current_setting('client_connection_check_interval', true) IS NOT NULL";
/// Ends a reader. ROLLBACK also undoes `set_config(…, false)`; advisory locks and statements that
/// a function prepared survive it.
const AFTER_READING: &str = "ROLLBACK; SELECT pg_advisory_unlock_all(); \
    SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql";
/// After a writer. `DISCARD ALL` would also drop the statements that the wire library keeps.
const AFTER_WRITING: &str = "RESET SESSION AUTHORIZATION; RESET ALL; SET default_transaction_read_only = on; \
    CLOSE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES; SELECT pg_advisory_unlock_all(); \
    SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql";
/// How long an idle session may take to become ready for its next caller.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The pooled sessions of one connection.
pub(super) struct Sessions {
    pool: Pool,
    tls: MakeRustlsConnect,
    running: Arc<Running>,
    hearers: Hearers,
    /// Process numbers at the source, by the pool's own number of a session.
    processes: Mutex<HashMap<ObjectId, i32>>,
    most: usize,
}

/// Cancel tokens of the sessions that are out, for the end of the whole connection.
#[derive(Default)]
struct Running {
    next: AtomicU64,
    tokens: Mutex<HashMap<u64, CancelToken>>,
}

impl Sessions {
    /// A pool of `most` sessions; none is opened yet.
    pub(super) fn new(
        config: Config,
        tls: MakeRustlsConnect,
        most: usize,
        connect_timeout: Duration,
        types: &Arc<CustomTypes>,
    ) -> Result<Self> {
        let hearers = Hearers::default();
        let driving = Driving { tls: tls.clone(), hearers: hearers.clone() };
        let manager = Manager::from_connect(config, driving, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let (fresh, known) = (Arc::clone(types), Arc::clone(types));
        let pool = Pool::builder(manager)
            .max_size(most.max(1))
            .runtime(Runtime::Tokio1)
            .create_timeout(Some(connect_timeout))
            .recycle_timeout(Some(RECYCLE_TIMEOUT))
            .post_create(Hook::async_fn(move |client, _| {
                let types = Arc::clone(&fresh);
                Box::pin(async move {
                    introduce(client).await.map_err(HookError::Backend)?;
                    types.teach(client).await;
                    Ok(())
                })
            }))
            .post_recycle(Hook::async_fn(move |client, metrics| {
                let types = Arc::clone(&known);
                let last_out = metrics.recycled.unwrap_or(metrics.created);
                Box::pin(async move {
                    if types.changed_since(last_out) {
                        types.teach(client).await;
                    }
                    Ok(())
                })
            }))
            .build()
            .map_err(Error::internal)?;
        Ok(Self { pool, tls, running: Arc::default(), hearers, processes: Mutex::default(), most })
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
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                failure::connecting(&error)
            }
            other => failure::unavailable(other),
        })?;
        let process = self.process(&object).await?;
        let number = self.running.next.fetch_add(1, Ordering::Relaxed);
        self.running.lock().insert(number, object.cancel_token());
        let hearer = self.hearers.find(process);
        if let Some(hearer) = &hearer {
            hearer.set(clock.notices());
        }
        Ok(Arc::new(Session {
            object: Some(object),
            number,
            process,
            hearer,
            running: Arc::clone(&self.running),
            tls: self.tls.clone(),
            runtime: Handle::current(),
            settled: AtomicBool::new(false),
        }))
    }

    /// The session's process at the source, asked for once.
    async fn process(&self, object: &Object) -> Result<i32> {
        let number = Object::id(object);
        let known = self.processes.lock().unwrap_or_else(PoisonError::into_inner).get(&number).copied();
        if let Some(process) = known {
            return Ok(process);
        }
        let row = object.query_typed_one("SELECT pg_catalog.pg_backend_pid()", &[]).await;
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

    /// Lets nobody in any more and cancels what runs.
    pub(super) async fn close(&self) {
        self.pool.close();
        let tokens: Vec<CancelToken> = self.running.lock().drain().map(|(_, token)| token).collect();
        for token in tokens {
            // Where the source cannot be reached, nothing of ours runs there for long either.
            let _ = token.cancel_query(self.tls.clone()).await;
        }
    }
}

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, CancelToken>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that is out. It goes back to the pool only when somebody vouches for its state;
/// dropped otherwise it is closed, and whatever it may still run is cancelled.
pub(super) struct Session {
    object: Option<Object>,
    number: u64,
    process: i32,
    hearer: Option<Arc<Hearer>>,
    running: Arc<Running>,
    tls: MakeRustlsConnect,
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
    pub(super) async fn cancel(&self) -> Result<(), tokio_postgres::Error> {
        self.cancel_token().cancel_query(self.tls.clone()).await
    }

    /// Ends a reader's transaction; whether the session is as good as new.
    pub(super) async fn after_reading(&self) -> bool {
        self.simple_query(AFTER_READING).await.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }

    /// Undoes what a writer may have left behind; whether the session is as good as new.
    pub(super) async fn after_writing(&self) -> bool {
        let (reset, _) = join(self.simple_query(AFTER_WRITING), self.batch_execute(NOTICE_OUR_END)).await;
        reset.is_ok_and(|answer| holds_no_row_of_ours(&answer))
    }
}

impl Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.object.as_ref().expect("the session is there until it is dropped")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.running.lock().remove(&self.number);
        if let Some(hearer) = &self.hearer {
            hearer.set(None);
        }
        let Some(object) = self.object.take() else { return };
        if self.settled.load(Ordering::Acquire) && !object.is_closed() {
            return;
        }
        let (token, tls) = (object.cancel_token(), self.tls.clone());
        drop(Object::take(object));
        self.runtime.spawn(async move {
            // Best effort: the closed socket ends the session in any case.
            let _ = token.cancel_query(tls).await;
        });
    }
}

/// What every fresh session is told, the housekeeping's too.
pub(super) async fn introduce(client: &Client) -> Result<(), tokio_postgres::Error> {
    join(client.batch_execute(READ_BY_DEFAULT), client.batch_execute(NOTICE_OUR_END)).await.0
}

/// The last query of the batch finds statements that a function prepared; `pg_advisory_unlock_all`
/// alone answers with one row.
fn holds_no_row_of_ours(answer: &[SimpleQueryMessage]) -> bool {
    answer.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count() == 1
}
