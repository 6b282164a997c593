//! The open sessions: how one is opened, reused, and returned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::postgres::bind::parameter_types::ParameterTypeCache;
use crate::postgres::connect::connector::Connector;
use crate::postgres::connect::login;
use crate::postgres::connect::protocol::cancel::Canceller;
use crate::postgres::connect::protocol::driven_client::DrivenClient;
use crate::postgres::failure;
use crate::postgres::session::custom_types::CustomTypes;
use crate::postgres::session::setup::{GREETING_TIMEOUT, set_up_session};
use crate::postgres::session::statement_cache::{RecentTexts, StatementCache};
use portico_core::error::Result;
use portico_core::mutex::lock;
use portico_core::worker::WorkerId;

/// How long an idle session may take to become ready for its next caller.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a thread uses sessions driven by another one before it opens one of its own.
const BORROWS: u32 = 16;

/// The state that all sessions of a connection share.
pub(crate) struct PoolState {
    pub(crate) connector: Arc<Connector>,
    pub(crate) types: Arc<CustomTypes>,
    /// How statements are prepared that need more than their values' own types.
    pub(crate) parameter_types: ParameterTypeCache,
    /// Which texts came lately.
    pub(crate) recent_texts: RecentTexts,
    pub(crate) most: usize,
    /// How long a role's idle session is kept; `None` if roles have no sessions.
    pub(crate) role_idle: Option<Duration>,
    /// One for each session that may be out.
    pub(crate) slots: Arc<Semaphore>,
    /// The number of open sessions, in use or idle.
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) generation: AtomicU64,
    pub(crate) idle: Mutex<IdleSessions>,
    /// How roles connect, with the passwords that were read for them.
    pub(crate) roles: Mutex<HashMap<Arc<str>, Arc<Connector>>>,
    /// How to cancel the statements of sessions in use, for closing the connection.
    pub(crate) running: Mutex<HashMap<u64, Arc<Canceller>>>,
    pub(crate) next: AtomicU64,
    /// Whether a task looks for idle sessions to clean.
    pub(crate) tidied: AtomicBool,
}

#[derive(Default)]
pub(crate) struct IdleSessions {
    /// The most recently returned session is the last one.
    pub(crate) sessions: Vec<PooledSession>,
    /// Whether a task looks for sessions that were idle too long.
    pub(crate) watched: bool,
    /// How often each thread has used one of another's.
    borrowed: HashMap<WorkerId, u32>,
}

impl IdleSessions {
    /// Counts the use of another thread's session by `worker`. Returns true if it should open one of its own
    /// instead.
    fn is_weary(&mut self, worker: WorkerId) -> bool {
        let borrowed = self.borrowed.entry(worker).or_default();
        *borrowed = (*borrowed + 1) % BORROWS;
        *borrowed == 0
    }
}

/// A session of the pool.
pub(crate) struct PooledSession {
    pub(crate) wire: DrivenClient,
    /// Its role; `None` for the connection's own user.
    pub(crate) role: Option<Arc<str>>,
    /// The thread that drives it.
    worker: WorkerId,
    /// Its process id at the source. Behind a pooler it is not fixed.
    pub(crate) process: i32,
    /// Whether it was used before.
    pub(crate) reused: bool,
    pub(crate) generation: u64,
    /// When it was handed out last.
    pub(crate) out: Instant,
    /// When it came back.
    pub(crate) back: Instant,
    /// When it was last free of any caller's state.
    pub(crate) cleaned: Instant,
    /// The time limit in milliseconds that the session itself has; 0 where that is not known.
    pub(crate) time_limit: AtomicI32,
    /// Whether a statement ran on it without a transaction since it was cleaned whole.
    pub(crate) bare: AtomicBool,
    pub(crate) kept: StatementCache,
    _open: Counted,
}

/// Counts an open session until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl PoolState {
    /// Returns the idle sessions.
    pub(crate) fn idle(&self) -> MutexGuard<'_, IdleSessions> {
        lock(&self.idle)
    }

    /// Returns how to cancel running statements.
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<u64, Arc<Canceller>>> {
        lock(&self.running)
    }

    /// Removes the canceller of the session `number`.
    pub(crate) fn forget_running(&self, number: u64) {
        self.running().remove(&number);
    }

    /// Returns true if a session is open and of the current generation.
    fn is_good(&self, pooled: &PooledSession) -> bool {
        !pooled.wire.is_closed() && pooled.generation == self.generation.load(Ordering::Acquire)
    }

    /// Takes an idle session of `role`: the most recently returned one driven by this thread, or else by any
    /// thread.
    fn pick(&self, role: Option<&Arc<str>>) -> Option<PooledSession> {
        let worker = WorkerId::current();
        let is_ours = |pooled: &PooledSession| pooled.role.as_ref() == role;
        let mut idle = self.idle();
        let own = idle.sessions.iter().rposition(|pooled| is_ours(pooled) && pooled.worker == worker);
        let place = match own {
            Some(place) => place,
            None => {
                let place = idle.sessions.iter().rposition(is_ours)?;
                if self.open.load(Ordering::Acquire) < self.most && idle.is_weary(worker) {
                    return None;
                }
                place
            }
        };
        Some(idle.sessions.remove(place))
    }

    /// Takes a session that was idle for so long and was not fully cleaned since a statement ran on it without a
    /// transaction.
    pub(crate) fn pick_bare(&self, rested: Duration) -> Option<PooledSession> {
        let mut idle = self.idle();
        let is_due = |pooled: &PooledSession| pooled.bare.load(Ordering::Acquire) && pooled.back.elapsed() >= rested;
        let place = idle.sessions.iter().position(is_due)?;
        Some(idle.sessions.remove(place))
    }

    /// Returns true if a session needs cleaning, or may need it when it comes back.
    pub(crate) fn has_bare(&self) -> bool {
        self.slots.available_permits() < self.most
            || self.idle().sessions.iter().any(|pooled| pooled.bare.load(Ordering::Acquire))
    }

    /// Returns an idle session of `role`; `None` if one has to be opened.
    pub(crate) async fn reuse(&self, role: Option<&Arc<str>>) -> Option<PooledSession> {
        loop {
            let mut pooled = self.pick(role)?;
            if !self.is_good(&pooled) {
                continue;
            }
            if !pooled.wire.pooled && self.types.changed_since(pooled.out) {
                let warmed = timeout(RECYCLE_TIMEOUT, self.types.warm_types(&pooled.wire)).await;
                if warmed.is_err() {
                    continue;
                }
            }
            pooled.reused = true;
            return Some(pooled);
        }
    }

    /// A fresh session of `role`.
    pub(crate) async fn connect(&self, role: Option<&Arc<str>>) -> Result<PooledSession> {
        let generation = self.generation.load(Ordering::Acquire);
        let open = self.make_room();
        let connector = match role {
            None => Arc::clone(&self.connector),
            Some(role) => self.connector_of(role)?,
        };
        let wire = connector.connect().boxed().await?;
        let greeting = timeout(GREETING_TIMEOUT, set_up_session(&wire)).await;
        let process = greeting
            .map_err(|_| failure::unavailable("a fresh session did not answer in time"))?
            .map_err(|error| failure::connecting(&error))?;
        if let Some(role) = role {
            let verified = timeout(GREETING_TIMEOUT, login::verify(&wire, role)).await;
            verified.map_err(|_| failure::unavailable("a fresh session did not answer in time"))??;
        }
        if !wire.pooled {
            self.types.warm_types(&wire).await;
        }
        let now = Instant::now();
        let role = role.cloned();
        Ok(PooledSession {
            wire,
            role,
            worker: WorkerId::current(),
            process,
            reused: false,
            generation,
            out: now,
            back: now,
            cleaned: now,
            time_limit: AtomicI32::default(),
            bare: AtomicBool::default(),
            kept: StatementCache::default(),
            _open: open,
        })
    }

    /// Counts one more session, and closes idle ones if there are too many. Each session in use or being opened has
    /// a slot, so at least as many as are too many are idle.
    fn make_room(&self) -> Counted {
        let mut idle = self.idle();
        let open = Counted::new(&self.open);
        let excess = self.open.load(Ordering::Acquire).saturating_sub(self.most).min(idle.sessions.len());
        let closed: Vec<PooledSession> = idle.sessions.drain(..excess).collect();
        drop(idle);
        drop(closed);
        open
    }

    fn connector_of(&self, role: &Arc<str>) -> Result<Arc<Connector>> {
        let mut roles = lock(&self.roles);
        if let Some(connector) = roles.get(role) {
            return Ok(Arc::clone(connector));
        }
        // There may be as many roles as callers.
        if roles.len() > self.most.saturating_mul(8) {
            roles.clear();
        }
        let connector = Arc::new(self.connector.for_role(role)?);
        roles.insert(Arc::clone(role), Arc::clone(&connector));
        Ok(connector)
    }

    /// Takes back a session that was marked as settled.
    pub(crate) fn put_back(self: &Arc<Self>, mut pooled: PooledSession, slot: OwnedSemaphorePermit, runtime: &Handle) {
        if self.is_good(&pooled) && !self.slots.is_closed() {
            pooled.back = Instant::now();
            let mut idle = self.idle();
            idle.sessions.push(pooled);
            let watch = self.role_idle.filter(|_| !std::mem::replace(&mut idle.watched, true));
            drop(idle);
            if let Some(patience) = watch {
                self.watch(patience, runtime);
            }
        }
        drop(slot);
    }

    /// Closes sessions that were idle too long, as long as there are any.
    fn watch(self: &Arc<Self>, patience: Duration, runtime: &Handle) {
        let shared = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(patience / 2).await;
                let Some(shared) = shared.upgrade() else { return };
                let mut idle = shared.idle();
                let kept = idle.sessions.iter().position(|pooled| pooled.back.elapsed() < patience);
                let last = kept.unwrap_or(idle.sessions.len());
                // They stand in the order in which they came back.
                let closed: Vec<PooledSession> = idle.sessions.drain(..last).collect();
                let over = idle.sessions.is_empty();
                idle.watched = !over;
                drop(idle);
                drop(closed);
                if over {
                    return;
                }
            }
        });
    }
}
