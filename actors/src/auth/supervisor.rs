//! Keeps one [`AuthActor`] alive. An actor that panics is gone for good in actix; a fresh one takes
//! its place after a backoff, with the same store. What it had only in memory starts anew.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use actix::dev::ToEnvelope;
use actix::{Actor, Addr, ArbiterHandle, Handler, Message};
use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use super::{AuthActor, AuthSettings};
use crate::backoff::Backoff;
use crate::error::{Error, Kind, Result};
use crate::event::Event;

/// The first delay before a fresh actor is started; it doubles with each death.
const RESTART_MIN: Duration = Duration::from_millis(100);
/// The longest one.
const RESTART_MAX: Duration = Duration::from_secs(30);
/// Who has lived so long has not died of what killed the one before.
const HEALTHY: Duration = Duration::from_secs(60);

/// Where credentials are judged: the actor that does it, whichever it is at the moment.
#[derive(Clone)]
pub struct Auth(Arc<ArcSwap<Occupant>>);

/// An actor and the thread that is its alone.
pub(super) struct Occupant {
    pub(super) address: Addr<AuthActor>,
    pub(super) arbiter: ArbiterHandle,
}

impl Auth {
    /// Starts the actor and watches over it. Must be called within an actix system.
    ///
    /// # Errors
    /// When the store cannot be opened or read now. Later on, that is tried until it can.
    pub async fn start(settings: AuthSettings) -> Result<Self> {
        let (died, deaths) = mpsc::unbounded_channel();
        let occupant = AuthActor::launch(settings.clone(), Obituary(Some(died.clone()))).await?;
        let current = Arc::new(ArcSwap::from_pointee(occupant));
        actix::spawn(supervise(Arc::downgrade(&current), settings, died, deaths));
        Ok(Self(current))
    }

    /// The actor that judges at the moment.
    pub(super) fn address(&self) -> Addr<AuthActor> {
        self.0.load().address.clone()
    }

    /// Sends `message` and waits for the answer.
    ///
    /// # Errors
    /// [`Kind::Unavailable`] when the actor died over it, or is being replaced.
    pub async fn send<M>(&self, message: M) -> Result<M::Result>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        AuthActor: Handler<M>,
        <AuthActor as Actor>::Context: ToEnvelope<AuthActor, M>,
    {
        self.address().send(message).await.map_err(|error| {
            Error::new(Kind::Unavailable, "credentials cannot be judged at the moment; try again")
                .retry_after(Duration::from_secs(1))
                .because(error)
        })
    }
}

/// Tells of its actor's death when it is dropped with it, also on a panic.
pub(super) struct Obituary(pub(super) Option<mpsc::UnboundedSender<bool>>);

impl Drop for Obituary {
    fn drop(&mut self) {
        if let Some(died) = &self.0 {
            // Nobody listens any more: then nobody needs another one.
            let _ = died.send(std::thread::panicking());
        }
    }
}

/// Replaces each actor that dies, until nobody sends to it any more.
async fn supervise(
    current: Weak<ArcSwap<Occupant>>,
    settings: AuthSettings,
    died: mpsc::UnboundedSender<bool>,
    mut deaths: mpsc::UnboundedReceiver<bool>,
) {
    let seed = u64::from(std::process::id());
    let mut backoff = Backoff::new(RESTART_MIN, RESTART_MAX, seed);
    let mut born = Instant::now();
    while let Some(panicked) = deaths.recv().await {
        if born.elapsed() > HEALTHY {
            backoff.reset();
        }
        loop {
            let restart_in = backoff.delay();
            (settings.observer)(&Event::AuthDied { panicked, restart_in });
            tokio::time::sleep(restart_in).await;
            let Some(current) = current.upgrade() else { return };
            match AuthActor::launch(settings.clone(), Obituary(Some(died.clone()))).await {
                Ok(occupant) => {
                    let before = current.swap(Arc::new(occupant));
                    // Its thread has survived it.
                    before.arbiter.stop();
                    born = Instant::now();
                    break;
                }
                Err(error) => {
                    let cause = error.cause().unwrap_or(&error.message).to_owned();
                    (settings.observer)(&Event::StoreFailed { cause });
                }
            }
        }
    }
}
