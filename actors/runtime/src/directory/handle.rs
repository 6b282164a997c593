//! The front of the supervisor: a snapshot in which callers look up connections without a message, and the way of
//! their calls to the actors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use arc_swap::ArcSwap;
use tokio::sync::watch;
use uuid::Uuid;

use super::entry::ConnectionEntry;
use super::idle::{Wake, gone};
use super::reload::{Prepare, TakeOver};
use super::snapshot::Snapshot;
use super::supervisor::{Drain, Supervisor};
use super::usage::ConnectionLease;
use crate::connection::{ConnectionSpec, Intensity, changed, unavailable};
use portico_core::call::{Call, Limits, Notices, Op, Origin};
use portico_core::effects::Effects;
use portico_core::error::{Error, Result};
use portico_core::event::Observer;
use portico_core::heartbeat::Heartbeat;
use portico_core::principal::Principal;
use portico_core::reply::Reply;

/// The front of the supervisor: looks up without a hop, sends with one.
#[derive(Clone)]
pub struct Directory {
    snapshot: Arc<ArcSwap<Snapshot>>,
    supervisor: Addr<Supervisor>,
    beats: Arc<[Heartbeat]>,
    /// Counts announcements.
    revision: watch::Sender<u64>,
}

impl Directory {
    /// Starts a supervisor and one actor for each connection. Must run inside an actix system.
    pub fn start(connections: Vec<ConnectionSpec>, intensity: Intensity, observer: Observer) -> Self {
        let snapshot = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        let (supervisor, beats) = Supervisor::start(connections, intensity, Arc::clone(&snapshot), observer);
        Self { snapshot, supervisor, beats, revision: watch::Sender::new(0) }
    }

    /// Starts an actor for each of `start`, in place of an existing one with the same id, and ends those of
    /// `remove`. Running calls of the old actors continue under the old settings; all other connections are
    /// unaffected.
    ///
    /// Completes when each new actor had its first attempt; until then callers find what was there before. Then
    /// `in_force` is called, to update what is known of the connections elsewhere, and callers find the new ones.
    ///
    /// # Errors
    /// If the supervisor is gone.
    pub async fn reload(&self, start: Vec<ConnectionSpec>, remove: Vec<Uuid>, in_force: impl FnOnce()) -> Result<()> {
        let prepared = self.supervisor.send(Prepare(start)).await.map_err(Error::internal)?;
        in_force();
        self.supervisor.send(TakeOver { prepared, remove }).await.map_err(Error::internal)
    }

    /// Has the source of a connection looked at, because another process says that its catalogue has
    /// changed. One that is idle or gone is let alone: its next use reads everything anew.
    pub fn on_catalog_changed(&self, id: Uuid) {
        if let Some(entry) = self.get(id) {
            entry.on_catalog_changed();
        }
    }

    /// The same for every connection: any of them may have changed.
    pub fn on_any_catalog_changed(&self) {
        for entry in self.list() {
            entry.on_catalog_changed();
        }
    }

    /// Notifies the watchers of [`Directory::revised`] that data about a connection may have changed.
    pub fn announce(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    /// Changes with each announcement.
    pub fn revised(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// The signs of life of the threads that the actors live on.
    pub fn beats(&self) -> &[Heartbeat] {
        &self.beats
    }

    /// The connection with this id.
    pub fn get(&self, id: Uuid) -> Option<ConnectionEntry> {
        self.snapshot.load().get(id)
    }

    /// The connection with this name, in any case.
    pub fn named(&self, name: &str) -> Option<ConnectionEntry> {
        self.snapshot.load().named(name)
    }

    /// Every connection, ordered by name.
    pub fn list(&self) -> Vec<ConnectionEntry> {
        self.list_of(|_| true)
    }

    /// Returns the connections for which `wanted` is true, ordered by name.
    pub fn list_of(&self, wanted: impl Fn(Uuid) -> bool) -> Vec<ConnectionEntry> {
        self.snapshot.load().entries_of(wanted).collect()
    }

    /// Whether every connection had its first attempt, or waits for its first use.
    pub fn ready(&self) -> bool {
        self.snapshot.load().entries_of(|_| true).all(|entry| entry.attempted())
    }

    /// Completes when every connection that is there now had its first attempt, or waits for its
    /// first use.
    pub async fn settled(&self) {
        for entry in self.list() {
            entry.settled().await;
        }
    }

    /// Returns the current connection, started if it was idle, once its first attempt has ended; and a lease that
    /// keeps it from becoming idle until dropped.
    ///
    /// # Errors
    /// If it was removed, or the service ends.
    pub async fn lease(&self, entry: &ConnectionEntry) -> Result<(ConnectionEntry, ConnectionLease)> {
        let (entry, in_use) = self.begin(entry).await?;
        entry.settled().await;
        Ok((entry, in_use))
    }

    /// The connection as it is now, started if it was idle.
    async fn begin(&self, entry: &ConnectionEntry) -> Result<(ConnectionEntry, ConnectionLease)> {
        // It cannot become idle from here on, and the entry can be older than the actor that answers now.
        let in_use = entry.state.usage.begin();
        let found = self.get(entry.id).ok_or_else(|| gone(&entry.name))?;
        match in_use {
            Some(in_use) if !found.is_idle() => Ok((found, in_use)),
            _ => {
                let wake = Wake { id: entry.id, name: Arc::clone(&entry.name) };
                self.supervisor.send(wake).await.map_err(|_| unavailable(&entry.name, Instant::now(), None))?
            }
        }
    }

    /// Calls `entry`'s actor. Dropping this future cancels the call at the source.
    ///
    /// # Errors
    /// In addition to the call's own, if a reload has changed the connection since `entry` was looked up: what the call
    /// may do and was planned from is not in force any more.
    pub async fn ask(
        &self,
        entry: &ConnectionEntry,
        origin: impl Into<Origin>,
        by: Arc<Principal>,
        op: Op,
        limits: Limits,
    ) -> Result<Reply> {
        self.ask_and_note(entry, origin, by, op, limits, (None, Effects::default())).await
    }

    /// As above; the notices of the source are passed on, and what of the call may stand is noted.
    pub async fn ask_and_note(
        &self,
        entry: &ConnectionEntry,
        origin: impl Into<Origin>,
        by: Arc<Principal>,
        op: Op,
        limits: Limits,
        (notices, effects): (Option<Notices>, Effects),
    ) -> Result<Reply> {
        // A call that loses its credential is abandoned like one that loses its client.
        let abandoned = by.validity.child_token();
        let guard = abandoned.clone().drop_guard();
        let call = Call { origin: origin.into(), by: by.at(entry.id), op, limits, abandoned, notices, effects };
        let (found, in_use) = self.begin(entry).await?;
        // Each declaration of a connection has a queue of its own.
        if !Arc::ptr_eq(&found.state.queue, &entry.state.queue) {
            return Err(changed(&entry.name));
        }
        let reply = found.actor()?.call(call).await?;
        // From here on the results' own drop cancels.
        guard.disarm();
        Ok(match reply {
            Reply::Results(results) => Reply::Results(results.with_guard(in_use)),
            reply @ Reply::Text(_) => reply,
        })
    }

    /// Ends every actor after its source has let go of its sessions, or at the deadline.
    pub async fn drain(&self, deadline: Duration) {
        let _ = tokio::time::timeout(deadline, self.supervisor.send(Drain)).await;
    }
}
