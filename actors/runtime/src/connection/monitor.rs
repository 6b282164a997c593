//! How one connection fares: Connecting, Up or Down. One monitor asks its source for signs of life; the calls
//! are let through by an actor on each thread (`actor.rs`), which read here how it fares.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix::prelude::*;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::connection::calls::runner::Runner;
use crate::connection::state::ConnectionState;
use portico_core::backoff::Backoff;
use portico_core::error::{Error, Kind};
use portico_core::event::{Event, Observer};
use portico_core::finding::{Finding, FindingSeverity};
use portico_sources::Profile;

/// The first delay after a failed attempt.
const BACKOFF_MIN: Duration = Duration::from_millis(250);
/// The longest delay between attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Why the source is looked at; the weightier reason last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PingReason {
    /// Another process announced a change: a change found is not announced again.
    Told,
    /// A reason of our own: a call that found the source unavailable, or a change made here.
    Own,
}

/// Watches one connection's source, for all threads together.
pub(crate) struct ConnectionMonitor {
    runner: Arc<Runner>,
    state: watch::Sender<ConnectionState>,
    backoff: Backoff,
    attempting: bool,
    /// Something changed while the source was being read: the result may be outdated.
    again: Option<PingReason>,
    /// The next attempt to read what could not be read.
    retry: Option<SpawnHandle>,
    /// Another monitor has taken its place; running calls may end.
    retired: bool,
    /// How many signs of life failed since the last one.
    failed: u32,
    /// Whether its user's rights were looked at.
    examined: bool,
    observer: Observer,
    /// Dropped with the monitor, also when a panic ends it.
    _obituary: ExitNotifier,
    /// Stops the actors that admit calls when the monitor ends.
    ends: Option<DropGuard>,
}

/// Notifies the supervisor that the actor is gone: a `Drop` also runs on a panic, which actix itself does not
/// report.
pub(crate) struct ExitNotifier(pub(crate) Option<Box<dyn FnOnce(bool) + Send>>);

impl Drop for ExitNotifier {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(std::thread::panicking());
        }
    }
}

impl ConnectionMonitor {
    /// Watches the source of `runner`. However it ends, it notifies `exit` and cancels `ended`.
    pub(crate) fn new(
        runner: Arc<Runner>,
        state: watch::Sender<ConnectionState>,
        observer: Observer,
        exit: ExitNotifier,
        ended: CancellationToken,
    ) -> Self {
        let seed = runner
            .description
            .connection
            .name
            .bytes()
            .fold(0x9e37_79b9_7f4a_7c15, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self {
            runner,
            state,
            backoff: Backoff::new(BACKOFF_MIN, BACKOFF_MAX, seed),
            attempting: false,
            again: None,
            retry: None,
            retired: false,
            failed: 0,
            examined: false,
            observer,
            _obituary: exit,
            ends: Some(ended.drop_guard()),
        }
    }

    fn name(&self) -> &Arc<str> {
        &self.runner.description.connection.name
    }

    /// No call is let through from here on: the actor itself ends a moment later, on its own thread.
    fn end(&mut self, ctx: &mut Context<Self>) {
        self.ends = None;
        ctx.stop();
    }

    /// Pings the source, unless that is already in progress.
    fn attempt(&mut self, ctx: &mut Context<Self>) {
        self.attempt_for(PingReason::Own, ctx);
    }

    fn attempt_for(&mut self, why: PingReason, ctx: &mut Context<Self>) {
        if self.retired || std::mem::replace(&mut self.attempting, true) {
            return;
        }
        self.runner.listen();
        let ping = self.runner.source.ping().into_actor(self);
        ctx.spawn(ping.map(move |result, actor, ctx| {
            actor.attempting = false;
            match result {
                // The state of the source is reported by the successor.
                _ if actor.retired => {}
                Ok(profile) => {
                    let again = actor.again.take();
                    // The profile may already include changes made here meanwhile.
                    actor.up(profile, again.map_or(why, |again| why.max(again)));
                    actor.examine(ctx);
                    if let Some(why) = again {
                        actor.attempt_for(why, ctx);
                    }
                }
                Err(error) => actor.failed(&error, ctx),
            }
        }));
    }

    /// A source that answers stays up, and a failed ping is repeated once. Calls are not refused because a session
    /// ended, a table is locked, a definition changes while it is read, or a ping is late while calls are answered.
    fn failed(&mut self, error: &Error, ctx: &mut Context<Self>) {
        let delay = self.backoff.delay();
        let name = Arc::clone(self.name());
        let cause = reason(error);
        let answers = error.kind != Kind::Unavailable || self.runner.has_answered();
        let was_up = matches!(*self.state.borrow(), ConnectionState::Up(_));
        self.failed = self.failed.saturating_add(1);
        if was_up && !answers && self.failed == 1 {
            // The session that was asked may have ended by itself, or before the source came back.
            self.attempt(ctx);
        } else if answers && was_up {
            (self.observer)(&Event::CatalogueUnread { name, cause, retry_in: delay });
            let next = ctx.run_later(delay, |actor, ctx| actor.look(PingReason::Own, ctx));
            if let Some(before) = self.retry.replace(next) {
                ctx.cancel_future(before);
            }
        } else {
            self.state
                .send_replace(ConnectionState::Down { until: Instant::now() + delay, why: Arc::new(error.again()) });
            (self.observer)(&Event::ConnectionDown { name, cause, retry_in: delay });
            ctx.run_later(delay, Self::attempt);
        }
    }

    fn up(&mut self, profile: Profile, why: PingReason) {
        self.backoff.reset();
        self.failed = 0;
        let was_up = matches!(*self.state.borrow(), ConnectionState::Up(_));
        let product = profile.product.clone();
        let changed = self.state.send_if_modified(|state| match state {
            ConnectionState::Up(known) if **known == profile => false,
            _ => {
                *state = ConnectionState::Up(Arc::new(profile));
                true
            }
        });
        // Texts about the source are made again.
        self.runner.refreshes.fetch_add(1, Ordering::Release);
        // Observers of the event find this state.
        if !was_up {
            (self.observer)(&Event::ConnectionUp { name: Arc::clone(self.name()), product });
        }
        if was_up && changed {
            let (id, name) = (self.runner.description.connection.id, Arc::clone(self.name()));
            (self.observer)(&Event::CatalogueChanged { id, name, told: why == PingReason::Told });
        }
    }

    /// Reports, once, what the connection's user can do at the source beyond what is exposed.
    fn examine(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.examined, true) {
            return;
        }
        let (name, observer) = (Arc::clone(self.name()), Arc::clone(&self.observer));
        let reach = self.runner.source.excess_privileges();
        let examined = async move {
            let unknown = |error: Error| {
                let cause = error.cause().unwrap_or(&error.message);
                let message = format!("what its user can do could not be compared with what is exposed: {cause}");
                vec![Finding::new(FindingSeverity::Note, message, "run portico check to try again")]
            };
            for finding in reach.await.unwrap_or_else(unknown) {
                observer(&Event::ConnectionFinding { name: Arc::clone(&name), finding });
            }
        };
        ctx.spawn(examined.into_actor(self));
    }

    /// Reads a source that is up: now, or once the current reading has ended.
    fn look(&mut self, why: PingReason, ctx: &mut Context<Self>) {
        if !matches!(*self.state.borrow(), ConnectionState::Up(_)) {
            return;
        }
        if self.attempting {
            self.again = self.again.max(Some(why));
        } else {
            self.attempt_for(why, ctx);
        }
    }
}

impl Actor for ConnectionMonitor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.attempt(ctx);
        ctx.run_interval(self.runner.description.connection.refresh, |actor, ctx| {
            // While Down the backoff decides when to try.
            if matches!(*actor.state.borrow(), ConnectionState::Up(_)) {
                actor.attempt(ctx);
            }
        });
    }
}

/// Returns why an attempt failed, and the remedy: for the log.
fn reason(error: &Error) -> String {
    let cause = error.cause().unwrap_or(&error.message);
    error.get_hint().map_or_else(|| cause.to_owned(), |remedy| format!("{cause}; {remedy}"))
}

/// The source may have gone, or something changed there: look at once.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Probe(pub(crate) PingReason);

impl Handler<Probe> for ConnectionMonitor {
    type Result = ();

    fn handle(&mut self, Probe(why): Probe, ctx: &mut Self::Context) {
        self.look(why, ctx);
    }
}

/// Tells a monitor that another one replaces it. It ends when the calls that it admitted have ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Retire;

impl Handler<Retire> for ConnectionMonitor {
    type Result = ();

    fn handle(&mut self, _: Retire, ctx: &mut Self::Context) {
        if std::mem::replace(&mut self.retired, true) {
            return;
        }
        let (idle, source) = (self.runner.idle(), Arc::clone(&self.runner.source));
        let ended = async move {
            idle.await;
            source.close().await;
        };
        ctx.spawn(ended.into_actor(self).map(|(), actor, ctx| actor.end(ctx)));
    }
}

/// Ends the actor after its source has let go of its sessions.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Close;

impl Handler<Close> for ConnectionMonitor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, _: Close, _: &mut Self::Context) -> Self::Result {
        AtomicResponse::new(Box::pin(self.runner.source.close().into_actor(self).map(|(), actor, ctx| actor.end(ctx))))
    }
}
