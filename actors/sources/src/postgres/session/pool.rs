//! The session pool of one connection: a limited number of sessions, each of the connection's own user or, if
//! callers log in as roles of their own, of a role. Their set-up is in `session/setup.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::plan::CallShare;
use crate::postgres::bind::parameter_types::ParameterTypeCache;
use crate::postgres::connect::connector::Connector;
use crate::postgres::connect::protocol::cancel::Canceller;
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::custom_types::CustomTypes;
use crate::postgres::session::handle::{CLEANED, Session};
use crate::postgres::session::pool_state::{PoolState, PooledSession};
use crate::postgres::session::setup::CANCEL_TIMEOUT;
use crate::postgres::session::statement_cache::RecentTexts;
use portico_core::call::Notices;
use portico_core::effects::Effects;
use portico_core::error::{Error, Kind, Result};

/// The session pool of one connection. Idle sessions are kept for the next call of the same role; if the limit is
/// reached, the session that was idle longest is closed.
pub(crate) struct SessionPool(Arc<PoolState>);

impl SessionPool {
    /// Makes a pool of at most `most` sessions; none is opened yet.
    pub(crate) fn new(connector: Arc<Connector>, most: usize, types: &Arc<CustomTypes>) -> Self {
        let most = most.max(1);
        Self(Arc::new(PoolState {
            role_idle: connector.login().map(|login| login.idle_timeout),
            connector,
            types: Arc::clone(types),
            parameter_types: ParameterTypeCache::default(),
            recent_texts: RecentTexts::default(),
            most,
            slots: Arc::new(Semaphore::new(most)),
            open: Arc::default(),
            generation: AtomicU64::new(0),
            idle: Mutex::default(),
            roles: Mutex::default(),
            running: Mutex::default(),
            next: AtomicU64::new(0),
            tidied: AtomicBool::default(),
        }))
    }

    /// The sessions that are open now.
    pub(crate) fn count(&self) -> crate::Pool {
        let idle = self.0.idle().sessions.len();
        crate::Pool { open: self.0.open.load(Ordering::Acquire).max(idle), idle, most: self.0.most }
    }

    /// One session for the call of `context`, waited for as long as that allows. It keeps no statement prepared.
    pub(crate) async fn take(&self, context: &CallContext) -> Result<Arc<Session>> {
        let session = self.take_with_kept(context).await?;
        session.kept().clear();
        Ok(session)
    }

    /// Takes a session for a caller that handles its cached statements itself.
    pub(crate) async fn take_with_kept(&self, context: &CallContext) -> Result<Arc<Session>> {
        let shared = &self.0;
        let slot = timeout(context.timeout(), Arc::clone(&shared.slots).acquire_owned()).await.map_err(|_| {
            Error::new(Kind::Busy, "every session of this connection is in use").retry_after(Duration::from_secs(1))
        })?;
        let slot = slot.map_err(|_| failure::unavailable("the connection is being closed"))?;
        // If callers log in as themselves, they never get a session of the connection's own user.
        let role = context.role().filter(|_| shared.role_idle.is_some());
        let mut pooled = match shared.reuse(role).await {
            Some(pooled) => pooled,
            None => shared.connect(role).await?,
        };
        pooled.out = Instant::now();
        // Nearly always the task already runs, and then no shared memory is written.
        if !shared.tidied.load(Ordering::Acquire) && !shared.tidied.swap(true, Ordering::AcqRel) {
            tokio::spawn(tidy(Tidying(Arc::downgrade(shared))));
        }
        Ok(Arc::new(hand_out(pooled, (slot, context.share()), shared, (context.notices(), context.effects()))))
    }

    /// Forgets the idle sessions: when one turned out dead, the others are likely to be.
    pub(crate) fn forget_idle(&self) {
        let forgotten = std::mem::take(&mut self.0.idle().sessions);
        drop(forgotten);
    }

    /// Drops all sessions, those in use as soon as they come back: their server is no longer the one that was
    /// requested.
    pub(crate) fn evict_all(&self) {
        self.0.generation.fetch_add(1, Ordering::AcqRel);
        self.forget_idle();
    }

    /// Refuses new callers, and cancels running statements.
    pub(crate) async fn close(&self) {
        self.0.slots.close();
        self.forget_idle();
        let cancels: Vec<Arc<Canceller>> = self.0.running().drain().map(|(_, cancel)| cancel).collect();
        // If the source cannot be reached, our statements do not run there for long either.
        join_all(cancels.iter().map(|canceller| timeout(CANCEL_TIMEOUT, canceller.cancel()))).await;
    }
}

fn hand_out(
    pooled: PooledSession,
    place: (OwnedSemaphorePermit, Option<CallShare>),
    shared: &Arc<PoolState>,
    told: (Option<Notices>, Effects),
) -> Session {
    let number = shared.next.fetch_add(1, Ordering::Relaxed);
    shared.running().insert(number, Arc::clone(&pooled.wire.canceller));
    Session::new(pooled, place, number, Arc::clone(shared), told)
}

/// Until it is dropped, idle sessions are looked after.
struct Tidying(Weak<PoolState>);

impl Drop for Tidying {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.tidied.store(false, Ordering::Release);
        }
    }
}

/// Cleans idle sessions on which a statement ran without a transaction: otherwise its possible side effects, such
/// as a lock, would stay.
async fn tidy(tidying: Tidying) {
    loop {
        tokio::time::sleep(CLEANED).await;
        let Some(shared) = tidying.0.upgrade() else { return };
        while let Ok(slot) = Arc::clone(&shared.slots).try_acquire_owned() {
            let Some(pooled) = shared.pick_bare(CLEANED) else { break };
            let session = hand_out(pooled, (slot, None), &shared, (None, Effects::default()));
            if timeout(CANCEL_TIMEOUT, session.clean_whole()).await == Ok(true) {
                session.settle();
            }
        }
        if !shared.has_bare() {
            return;
        }
    }
}
