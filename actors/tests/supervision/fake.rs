//! A source that a test controls; only for supervision, since no real source fails on command.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use portico_actors::call::{AllowedStatements, Limits, MetadataFilter, MetadataKind, Op, RequestId, Sql};
use portico_actors::directory::{ConnectionEntry, ConnectionSpec, Directory, Intensity, Start};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::event::Event;
use portico_actors::principal::{Claims, Principal, Rights, Scope, Validity};
use portico_actors::reply::{Part, Reply, Results};
use portico_actors::source::{Access, OpenSource, Plan, Profile, Source, catalog, drivers};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use uuid::Uuid;

/// Far longer than any event of these tests takes.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(60);

/// The next behaviour of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Well,
    Away,
    /// Answers that it cannot be read.
    Locked,
    /// Panics.
    Mad,
    /// Never answers.
    Silent,
}

#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) ping: Mutex<Mood>,
    pub(crate) run: Mutex<Mood>,
    /// The number of plans whose future or results have not been dropped.
    pub(crate) running: Arc<AtomicUsize>,
    /// The version that it reports.
    pub(crate) version: AtomicUsize,
    /// How often it was made.
    pub(crate) opens: AtomicUsize,
    /// How often it was asked for a sign of life.
    pub(crate) asked: AtomicUsize,
    /// Whether it has let go of its sessions.
    pub(crate) closed: AtomicBool,
    /// Whether its first sign of life waits for [`Fake::opened`].
    pub(crate) held: AtomicBool,
    /// Lets a sign of life through.
    pub(crate) opened: Arc<Notify>,
    /// The threads that plans were run on, in order.
    pub(crate) threads: Mutex<Vec<ThreadId>>,
}

struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Fake {
    pub(crate) fn set(&self, ping: Mood, run: Mood) {
        *self.ping.lock().unwrap() = ping;
        *self.run.lock().unwrap() = run;
    }
}

async fn in_mood<T>(mood: Mood, well: T) -> Result<T> {
    match mood {
        Mood::Well => Ok(well),
        Mood::Away => Err(Error::new(Kind::Unavailable, "away").because("the test said so")),
        Mood::Locked => Err(Error::new(Kind::TimedOut, "locked")),
        Mood::Mad => panic!("the test said so"),
        Mood::Silent => std::future::pending().await,
    }
}

impl Source for Fake {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let mood = *self.ping.lock().unwrap();
        let product = format!("Fake {}", self.version.load(Ordering::SeqCst));
        self.asked.fetch_add(1, Ordering::SeqCst);
        let held = self.held.load(Ordering::SeqCst).then(|| Arc::clone(&self.opened));
        async move {
            if let Some(opened) = held {
                opened.notified().await;
            }
            in_mood(mood, Profile { product, ..Profile::default() }).await
        }
        .boxed()
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let mood = *self.run.lock().unwrap();
        self.threads.lock().unwrap().push(std::thread::current().id());
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Running(Arc::clone(&self.running));
        async move {
            let parts =
                vec![Ok(Part::Columns(catalog::columns(MetadataKind::Catalogs))), Ok(Part::Done { affected: -1 })];
            in_mood(mood, ()).await?;
            Ok(Results::new(plan.access == Access::ReadWrite, stream::iter(parts)).with_guard(running))
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.closed.store(true, Ordering::SeqCst);
        async {}.boxed()
    }
}

/// A connection to `source`.
pub(crate) fn connection(index: usize, source: &Arc<Fake>, permits: usize, queue: usize) -> ConnectionSpec {
    ConnectionSpec {
        id: Uuid::from_u128(index as u128 + 1),
        name: format!("c{index}").into(),
        fingerprint: 0,
        open: opening(source),
        driver: drivers::named("sqlite").expect("there is one"),
        access: Access::ReadWrite,
        permits,
        // Every caller is the same one.
        share: Some(permits),
        queue,
        queue_timeout: Duration::from_secs(10),
        reader_timeout: Duration::from_secs(30),
        trace_comments: false,
        cost_limit: None,
        instructions: None,
        identity: None,
        // No test waits for the clock.
        refresh: Duration::from_hours(24),
        start: Start::Eager,
        idle_timeout: None,
    }
}

/// Opens the one fake source, and counts how often it was opened.
fn opening(source: &Arc<Fake>) -> OpenSource {
    let source = Arc::clone(source);
    Arc::new(move || {
        source.opens.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::clone(&source) as Arc<dyn Source>)
    })
}

pub(crate) struct House {
    pub(crate) directory: Directory,
    pub(crate) sources: Vec<Arc<Fake>>,
    pub(crate) ids: Vec<Uuid>,
    events: UnboundedReceiver<Event>,
}

impl House {
    /// Starts one connection for each mood of its first ping.
    pub(crate) fn start(pings: &[Mood], intensity: Intensity, permits: usize, queue: usize) -> Self {
        // No test waits for the clock.
        Self::with_refresh(pings, intensity, permits, queue, Duration::from_hours(24))
    }

    pub(crate) fn with_refresh(
        pings: &[Mood],
        intensity: Intensity,
        permits: usize,
        queue: usize,
        refresh: Duration,
    ) -> Self {
        let settings = |connection| ConnectionSpec { permits, queue, refresh, ..connection };
        Self::with(pings, intensity, settings)
    }

    /// Starts one connection for each mood of its first ping, with `settings`.
    pub(crate) fn with(
        pings: &[Mood],
        intensity: Intensity,
        settings: impl Fn(ConnectionSpec) -> ConnectionSpec,
    ) -> Self {
        let (tell, events) = unbounded_channel();
        let (mut sources, mut ids, mut connections) = (Vec::new(), Vec::new(), Vec::new());
        for (index, ping) in pings.iter().enumerate() {
            let source = Arc::new(Fake { ping: Mutex::new(*ping), ..Fake::default() });
            let connection = settings(connection(index, &source, 2, 2));
            let id = connection.id;
            connections.push(connection);
            sources.push(source);
            ids.push(id);
        }
        let observer = Arc::new(move |event: &Event| drop(tell.send(event.clone())));
        Self { directory: Directory::start(connections, intensity, observer), sources, ids, events }
    }

    /// Runs a statement to its end, as a caller who may write.
    pub(crate) async fn execute(&self, index: usize, text: &str) {
        let entry = self.directory.get(self.ids[index]).expect("the connection is listed");
        let by = Arc::new(Principal {
            subject: "test".to_owned(),
            rights: Rights::all(Scope::Write),
            claims: Claims::default(),
            credential: None,
            validity: Validity::default(),
        });
        let op = Op::Execute(AllowedStatements::Any, Sql { text: text.to_owned(), ..Sql::default() });
        match self.directory.ask(&entry, RequestId::fresh(), by, op, Limits::default()).await {
            Ok(Reply::Results(results)) => drop(results.collect::<Vec<_>>().await),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until the connection's profile says this product.
    pub(crate) async fn product(&self, index: usize, product: &str) {
        let entry = self.directory.get(self.ids[index]).expect("the connection is listed");
        let mut state = entry.watch();
        let said = async {
            while entry.profile().is_none_or(|profile| profile.product != product) {
                state.changed().await.expect("the actor lives");
            }
        };
        tokio::time::timeout(DEADLINE, said).await.expect("the profile did not come");
    }

    pub(crate) async fn ask(&self, index: usize) -> Result<Results> {
        ask(self.directory.clone(), self.ids[index]).await
    }

    /// Reads one answer to its end.
    pub(crate) async fn answers(&self, index: usize) -> bool {
        match self.ask(index).await {
            Ok(results) => results.map(|part| part.is_ok()).collect::<Vec<_>>().await == [true, true],
            Err(_) => false,
        }
    }

    /// Waits for the next event that `wanted` makes something of.
    pub(crate) async fn event<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        loop {
            let event = tokio::time::timeout(DEADLINE, self.events.recv()).await.expect("no such event came");
            let event = event.expect("the house stands");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }
}

pub(crate) async fn ask(directory: Directory, id: Uuid) -> Result<Results> {
    let entry = directory.get(id).expect("the connection is listed");
    ask_entry(&directory, &entry).await
}

pub(crate) async fn ask_entry(directory: &Directory, entry: &ConnectionEntry) -> Result<Results> {
    let by = Arc::new(Principal {
        subject: "test".to_owned(),
        rights: Rights::all(Scope::Read),
        claims: Claims::default(),
        credential: None,
        validity: Validity::default(),
    });
    let op = Op::Describe(MetadataKind::Catalogs, MetadataFilter::default());
    match directory.ask(entry, RequestId::fresh(), by, op, Limits::default()).await? {
        Reply::Results(results) => Ok(results),
        Reply::Text(text) => panic!("a listing answered with {text:?}"),
    }
}
