//! The sessions of one connection: so many at once, each of the connection's own user or, where
//! callers sign in as roles of their own, of a role's. What a session is told is in `session.rs`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::{Error, Kind, Result};
use crate::source::postgres::bind::inference::Ways;
use crate::source::postgres::connect::cancel::Canceller;
use crate::source::postgres::connect::connector::{Connector, Wire};
use crate::source::postgres::connect::login;
use crate::source::postgres::failure;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::custom_types::CustomTypes;
use crate::source::postgres::session::handle::{CANCEL_TIMEOUT, GREETING_TIMEOUT, Session, introduce};

/// How long an idle session may take to become ready for its next caller.
const RECYCLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The sessions of one connection. Those that nobody uses are kept for the next call of the same
/// role; where there is no room for another, the one that was idle longest makes way.
pub(crate) struct Sessions(Arc<Shared>);

pub(crate) struct Shared {
    connector: Arc<Connector>,
    types: Arc<CustomTypes>,
    /// How statements are prepared that need more than their values' own types.
    pub(crate) ways: Ways,
    most: usize,
    /// How long a role's session is kept that nobody uses; `None` where no role has sessions.
    role_idle: Option<Duration>,
    /// One for each session that may be out.
    slots: Arc<Semaphore>,
    /// Those that are open, out or idle.
    open: Arc<AtomicUsize>,
    generation: AtomicU64,
    idle: Mutex<Idle>,
    /// How roles connect, with the passwords that were read for them.
    roles: Mutex<HashMap<Arc<str>, Arc<Connector>>>,
    /// How to cancel what runs on the sessions that are out, for the end of the whole connection.
    running: Mutex<HashMap<u64, Canceller>>,
    next: AtomicU64,
}

#[derive(Default)]
struct Idle {
    /// The one that came back last is the last one.
    sessions: Vec<Pooled>,
    /// Whether somebody looks for those that are idle too long.
    watched: bool,
}

/// A session of the pool.
pub(crate) struct Pooled {
    pub(crate) wire: Wire,
    /// Whose it is; `None` for the connection's own user.
    pub(crate) role: Option<Arc<str>>,
    /// Its process at the source. Behind a pooler it is nobody's.
    pub(crate) process: i32,
    /// Whether it was used before.
    pub(crate) reused: bool,
    generation: u64,
    /// When it was handed out last.
    out: Instant,
    /// When it came back.
    back: Instant,
    _open: Counted,
}

/// Counts what is open until it is dropped.
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

impl Sessions {
    /// At most `most` sessions; none is opened yet.
    pub(crate) fn new(connector: Arc<Connector>, most: usize, types: &Arc<CustomTypes>) -> Self {
        let most = most.max(1);
        Self(Arc::new(Shared {
            role_idle: connector.login().map(|login| login.idle_timeout),
            connector,
            types: Arc::clone(types),
            ways: Ways::default(),
            most,
            slots: Arc::new(Semaphore::new(most)),
            open: Arc::default(),
            generation: AtomicU64::new(0),
            idle: Mutex::default(),
            roles: Mutex::default(),
            running: Mutex::default(),
            next: AtomicU64::new(0),
        }))
    }

    /// The sessions that are open now.
    pub(crate) fn count(&self) -> crate::source::Pool {
        let idle = self.0.idle().sessions.len();
        crate::source::Pool { open: self.0.open.load(Ordering::Acquire).max(idle), idle, most: self.0.most }
    }

    /// One session for the call of `clock`, waited for as long as that allows.
    pub(crate) async fn take(&self, clock: &Clock) -> Result<Arc<Session>> {
        let shared = &self.0;
        let slot = timeout(clock.timeout(), Arc::clone(&shared.slots).acquire_owned()).await.map_err(|_| {
            Error::new(Kind::Busy, "every session of this connection is in use").retry_after(Duration::from_secs(1))
        })?;
        let slot = slot.map_err(|_| failure::unavailable("the connection is being closed"))?;
        // A connection whose callers sign in by themselves has no session of its own user's for them.
        let role = clock.role().filter(|_| shared.role_idle.is_some());
        let mut pooled = match shared.reuse(role).await {
            Some(pooled) => pooled,
            None => shared.connect(role).await?,
        };
        pooled.out = Instant::now();
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        shared.running().insert(number, pooled.wire.canceller());
        Ok(Arc::new(Session::new(pooled, slot, number, Arc::clone(shared), clock.notices())))
    }

    /// Forgets the idle sessions: when one turned out dead, the others are likely to be.
    pub(crate) fn forget_idle(&self) {
        let forgotten = std::mem::take(&mut self.0.idle().sessions);
        drop(forgotten);
    }

    /// Forgets every session, those that are out as soon as they come back: the server behind them
    /// is no longer the one that was asked for.
    pub(crate) fn renounce(&self) {
        self.0.generation.fetch_add(1, Ordering::AcqRel);
        self.forget_idle();
    }

    /// Lets nobody in any more and cancels what runs.
    pub(crate) async fn close(&self) {
        self.0.slots.close();
        self.forget_idle();
        let cancels: Vec<Canceller> = self.0.running().drain().map(|(_, cancel)| cancel).collect();
        // Where the source cannot be reached, nothing of ours runs there for long either.
        join_all(cancels.into_iter().map(|canceller| timeout(CANCEL_TIMEOUT, canceller.cancel()))).await;
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, Canceller>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing has to be cancelled any more on the session `number`.
    pub(crate) fn forget_running(&self, number: u64) {
        self.running().remove(&number);
    }

    /// Whether a session is what one would open now.
    fn is_good(&self, pooled: &Pooled) -> bool {
        !pooled.wire.is_closed() && pooled.generation == self.generation.load(Ordering::Acquire)
    }

    /// An idle session of `role`, the last one that came back.
    async fn reuse(&self, role: Option<&Arc<str>>) -> Option<Pooled> {
        loop {
            let mut pooled = {
                let mut idle = self.idle();
                let place = idle.sessions.iter().rposition(|pooled| pooled.role.as_ref() == role)?;
                idle.sessions.remove(place)
            };
            if !self.is_good(&pooled) {
                continue;
            }
            if !pooled.wire.pooled && self.types.changed_since(pooled.out) {
                let taught = timeout(RECYCLE_TIMEOUT, self.types.teach(&pooled.wire)).await;
                if taught.is_err() {
                    continue;
                }
            }
            pooled.reused = true;
            return Some(pooled);
        }
    }

    /// A fresh session of `role`.
    async fn connect(&self, role: Option<&Arc<str>>) -> Result<Pooled> {
        let generation = self.generation.load(Ordering::Acquire);
        let open = self.make_room();
        let connector = match role {
            None => Arc::clone(&self.connector),
            Some(role) => self.connector_of(role)?,
        };
        let wire = connector.connect().boxed().await?;
        let greeting = timeout(GREETING_TIMEOUT, introduce(&wire)).await;
        let process = greeting
            .map_err(|_| failure::unavailable("a fresh session did not answer in time"))?
            .map_err(|error| failure::connecting(&error))?;
        if let Some(role) = role {
            let verified = timeout(GREETING_TIMEOUT, login::verify(&wire, role)).await;
            verified.map_err(|_| failure::unavailable("a fresh session did not answer in time"))??;
        }
        if !wire.pooled {
            self.types.teach(&wire).await;
        }
        let now = Instant::now();
        let role = role.cloned();
        Ok(Pooled { wire, role, process, reused: false, generation, out: now, back: now, _open: open })
    }

    /// Counts one more session, and closes idle ones where that is more than there may be. Each session
    /// that is out or on its way has a slot, so that as many as are too many are idle.
    fn make_room(&self) -> Counted {
        let mut idle = self.idle();
        let open = Counted::new(&self.open);
        let excess = self.open.load(Ordering::Acquire).saturating_sub(self.most).min(idle.sessions.len());
        let closed: Vec<Pooled> = idle.sessions.drain(..excess).collect();
        drop(idle);
        drop(closed);
        open
    }

    fn connector_of(&self, role: &Arc<str>) -> Result<Arc<Connector>> {
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Takes a session back that somebody vouches for.
    pub(crate) fn put_back(self: &Arc<Self>, mut pooled: Pooled, slot: OwnedSemaphorePermit, runtime: &Handle) {
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

    /// Closes sessions that nobody uses, as long as there are any.
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
                let closed: Vec<Pooled> = idle.sessions.drain(..last).collect();
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
