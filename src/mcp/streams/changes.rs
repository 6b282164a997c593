//! Detects changes of the lists that a caller was shown. Who is notified, and how, is up to the subscription.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_all;
use portico_actors::connection::ConnectionState;
use portico_actors::directory::{ConnectionEntry, Directory};
use tokio::sync::watch;
use uuid::Uuid;

use crate::mcp::features::{Digests, Features, ListKind, UNKNOWN_DIGEST};
use crate::mcp::target::ConnectionLeases;

/// The initial delay before checking again for a connection whose actor died; it doubles.
const LOOK_AGAIN_MIN: Duration = Duration::from_millis(250);
/// The longest.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(15);

/// Completes with true when `signal` has changed, and never without a signal.
async fn changed(signal: &mut Option<watch::Receiver<u64>>) -> bool {
    if let Some(signal) = signal
        && signal.changed().await.is_ok()
    {
        return true;
    }
    std::future::pending().await
}

/// What a watcher watches.
pub trait Watched {
    /// Returns the connections in their current state; `None` if nothing is left to be watched.
    fn entries(&self) -> Option<Vec<ConnectionEntry>>;

    /// Returns the digests of the caller's lists, if anything is left to be watched.
    fn digests(&self) -> Option<Digests>;
}

/// One connection that is watched.
struct Watch {
    id: Uuid,
    state: watch::Receiver<ConnectionState>,
}

impl Watch {
    fn new(entry: &ConnectionEntry) -> Self {
        Self { id: entry.id, state: entry.watch() }
    }

    /// Completes when its state has changed; after the end of its actor, when there is a successor, or the
    /// connection is gone too. Dropping the future loses nothing.
    async fn changed(&mut self, directory: &Directory) {
        if self.state.changed().await.is_ok() {
            return;
        }
        let mut wait = LOOK_AGAIN_MIN;
        while let Some(entry) = directory.get(self.id) {
            let state = entry.watch();
            if state.has_changed().is_ok() {
                self.state = state;
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_AGAIN_MAX);
        }
    }
}

/// Completes when one of `watches` has changed.
async fn any_changed(watches: &mut [Watch], directory: &Directory) {
    if watches.is_empty() {
        return std::future::pending().await;
    }
    select_all(watches.iter_mut().map(|watch| watch.changed(directory).boxed_local())).await;
}

/// Watches connections for one caller. It has no queue: several changes before the next call count as one.
pub struct ChangeWatcher {
    directory: Directory,
    watches: Vec<Watch>,
    features: Arc<dyn Features>,
    signal: Option<watch::Receiver<u64>>,
    /// Changes with the configuration.
    revised: watch::Receiver<u64>,
    watched: Box<dyn Watched>,
    announced: Digests,
    _in_use: ConnectionLeases,
}

impl ChangeWatcher {
    /// Starts with the current state of `watched`. `in_use` keeps the connections from becoming idle meanwhile.
    pub fn new(
        directory: Directory,
        in_use: ConnectionLeases,
        features: Arc<dyn Features>,
        watched: Box<dyn Watched>,
    ) -> Self {
        let mut signal = features.changed();
        if let Some(signal) = &mut signal {
            signal.mark_unchanged();
        }
        let mut watches: Vec<Watch> = watched.entries().unwrap_or_default().iter().map(Watch::new).collect();
        for watch in &mut watches {
            watch.state.mark_unchanged();
        }
        let revised = directory.revised();
        let announced = watched.digests().unwrap_or_default();
        Self { directory, watches, features, signal, revised, watched, announced, _in_use: in_use }
    }

    /// Returns the version of the resource `uri`; `None` if it cannot be watched.
    pub fn version(&self, uri: &str) -> Option<u64> {
        self.features.version(uri)
    }

    /// Returns the digests that were reported last, or read first.
    pub fn announced(&self) -> Digests {
        self.announced
    }

    /// Sets what the client knows to `announced`: changes are compared with it.
    pub fn resume(&mut self, announced: Digests) {
        self.announced = announced;
        self.revised.mark_changed();
    }

    /// Completes with the lists that have changed; with none if only a resource may have; with `None` if nothing is
    /// left to be watched. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Vec<ListKind>> {
        loop {
            let (signalled, revised) = tokio::select! {
                signalled = changed(&mut self.signal) => (signalled, false),
                () = any_changed(&mut self.watches, &self.directory) => (false, false),
                // The directory is held here: its signal does not end.
                _ = self.revised.changed() => (false, true),
            };
            let entries = self.watched.entries()?;
            // Another configuration may have others, and other actors for them.
            let same = entries.iter().map(|entry| entry.id).eq(self.watches.iter().map(|watch| watch.id));
            if revised || !same {
                self.watches = entries.iter().map(Watch::new).collect();
            }
            let mut changed = Vec::new();
            for (list, seen) in ListKind::ALL.into_iter().zip(self.watched.digests()?) {
                if seen != UNKNOWN_DIGEST && std::mem::replace(&mut self.announced[list as usize], seen) != seen {
                    changed.push(list);
                }
            }
            if signalled || !changed.is_empty() {
                return Some(changed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use portico_actors::directory::{ConnectionSpec, Intensity, Start};
    use portico_actors::error::{Error, Result};
    use portico_actors::reply::Results;
    use portico_actors::source::{Access, Plan, Profile, Source, drivers};

    use super::*;
    use crate::mcp::connection::ConnectionFeatures;

    /// A source that says how old it is, and panics at the age of one: then its actor dies.
    #[derive(Default)]
    struct Ageing(AtomicU8);

    impl Source for Ageing {
        fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
            let age = self.0.load(Ordering::SeqCst);
            async move {
                assert!(age != 1, "the test said so");
                Ok(Profile { product: age.to_string(), ..Profile::default() })
            }
            .boxed()
        }

        fn run(&self, _: Plan) -> BoxFuture<'static, Result<Results>> {
            async { Err(Error::internal("nothing runs here")) }.boxed()
        }

        fn close(&self) -> BoxFuture<'static, ()> {
            async {}.boxed()
        }
    }

    /// The age that the connection says.
    struct Age(Directory, Uuid);

    impl Watched for Age {
        fn entries(&self) -> Option<Vec<ConnectionEntry>> {
            Some(vec![self.0.get(self.1)?])
        }

        fn digests(&self) -> Option<Digests> {
            let age = self.0.get(self.1)?.profile().and_then(|profile| profile.product.parse::<u64>().ok());
            Some([age.map_or(UNKNOWN_DIGEST, |age| age + 1), 1, 1])
        }
    }

    #[actix::test]
    async fn a_connection_whose_actor_died_is_found_again_and_what_changed_meanwhile_is_told() {
        let source = Arc::new(Ageing::default());
        let id = Uuid::from_u128(1);
        let connection = ConnectionSpec {
            id,
            name: "c".into(),
            fingerprint: 0,
            open: {
                let source = Arc::clone(&source) as Arc<dyn Source>;
                Arc::new(move || Ok(Arc::clone(&source)))
            },
            driver: drivers::named("sqlite").unwrap(),
            access: Access::ReadOnly,
            permits: 1,
            queue: 1,
            identity: None,
            share: None,
            queue_timeout: Duration::from_secs(10),
            reader_timeout: Duration::from_secs(30),
            trace_comments: false,
            cost_limit: None,
            instructions: None,
            refresh: Duration::from_millis(1),
            start: Start::Eager,
            idle_timeout: None,
        };
        let (tell, mut died) = tokio::sync::mpsc::unbounded_channel();
        let observer = Arc::new(move |event: &portico_actors::event::Event| {
            if matches!(event, portico_actors::event::Event::ConnectionDied { .. }) {
                let _ = tell.send(());
            }
        });
        let intensity = Intensity { deaths: 1_000_000, backoff: Duration::from_millis(1), ..Intensity::default() };
        let directory = Directory::start(vec![connection], intensity, observer);
        let entry = directory.get(id).unwrap();
        let mut state = entry.watch();
        while entry.profile().is_none() {
            state.changed().await.unwrap();
        }
        let watched = Box::new(Age(directory.clone(), id));
        let mut changes = ChangeWatcher::new(
            directory,
            ConnectionLeases::default(),
            Arc::new(ConnectionFeatures::default()),
            watched,
        );
        assert_eq!(changes.announced(), [1, 1, 1]);
        source.0.store(1, Ordering::SeqCst);
        died.recv().await.unwrap();
        source.0.store(2, Ordering::SeqCst);
        assert_eq!(changes.next().await, Some(vec![ListKind::Tools]));
        assert_eq!(changes.announced(), [3, 1, 1]);
    }
}
