//! A hostile load: each attack over each transport, with a trail and without, with both kinds of store, near and far.
//! Somebody else's calls are measured meanwhile, and what the process has of the machine afterwards.

mod attacks;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portico_actors::source::postgres::Address;
use rustix::process::{Resource, getrlimit, setrlimit};

use self::attacks::{ALL, Target, UnderWay};
use crate::operations::load::fairness::ask;
use crate::support::app::{DEADLINE, PACE, Shared, builder, callers, within};
use crate::support::configuration::{BOTH_DOORS, Configuration};
use crate::support::postgres::TestPostgres;
use crate::support::proxy::ChaosProxy;
use crate::support::raw::Place;
use crate::support::service::{Census, Service};
use crate::support::tls::{Authority, TLS};

/// What a call of somebody else takes at most while others attack,
const BOUND: Duration = Duration::from_millis(250);
/// or so many times what it takes before that: other programs have the machine too.
const SLOWER: u32 = 5;
/// Calls that are measured at a time. It is their median that counts, and a second series where the first was late:
/// the attackers, the service and other tests share two cores, and the kernel may keep a single call from any of them.
const SERIES: usize = 25;
/// From one of them to the next: a series takes a second, in which an attack unfolds.
const BETWEEN: Duration = Duration::from_millis(40);
/// Descriptors that may be open afterwards besides those from before: sessions at the source and at the store.
const SESSIONS: usize = 64;
/// Threads that may have come: those for blocking work end when they had none for ten seconds.
const THREADS: usize = 8;
/// Memory that may have come, in KiB: what the allocator keeps of its arenas once it has given back what is not used.
const MEMORY: u64 = 64 * 1024;
/// The most memory at any time beyond that from before, in KiB: `max_answers` below, bodies, connections and their TLS.
const PEAK: u64 = 400 * 1024;
/// Has the allocator give back at once what it would keep for ten seconds.
const ALLOCATOR: (&str, &str) = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:200,muzzy_decay_ms:0");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Plain,
    Secured,
    Unix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Store {
    File,
    Database,
    /// The database answers so much later.
    Far(Duration),
}

/// A service that is attacked.
#[derive(Clone, Copy, Debug)]
struct Setting {
    store: Store,
    audit: &'static str,
    /// The transports that attacks take in turn.
    ways: [Way; 2],
}

const SETTINGS: [Setting; 4] = [
    Setting { store: Store::File, audit: "", ways: [Way::Plain, Way::Unix] },
    Setting {
        store: Store::Database,
        audit: "[audit]\nfile = \"audit.jsonl\"\nstore = true\nqueue = 100\n",
        ways: [Way::Secured, Way::Secured],
    },
    Setting { store: Store::Far(Duration::from_millis(5)), audit: "", ways: [Way::Secured, Way::Unix] },
    // The end of an answer waits for its record, wherever that goes: here it does not go to the store.
    Setting {
        store: Store::Far(Duration::from_secs(1)),
        audit: "[audit]\nfile = \"audit.jsonl\"\nqueue = 100\n",
        ways: [Way::Unix, Way::Plain],
    },
];

impl Setting {
    /// How the attack with this number comes.
    const fn way(&self, number: usize) -> Way {
        self.ways[number % 2]
    }
}

#[test]
fn each_attack_meets_each_transport_each_store_and_a_trail_or_none() {
    for (number, (name, _)) in ALL.iter().enumerate() {
        let ways: BTreeSet<Way> = SETTINGS.iter().map(|setting| setting.way(number)).collect();
        let stores: BTreeSet<Store> = SETTINGS.iter().map(|setting| setting.store).collect();
        let trails: BTreeSet<bool> = SETTINGS.iter().map(|setting| setting.audit.is_empty()).collect();
        assert_eq!((ways.len(), stores.len(), trails.len()), (3, 4, 2), "{name}: {ways:?}");
    }
}

#[actix_web::test]
async fn with_a_file_as_store_nobody_else_is_harmed() {
    SETTINGS[0].withstand().await;
}

#[actix_web::test]
async fn with_a_database_as_store_nobody_else_is_harmed() {
    SETTINGS[1].withstand().await;
}

#[actix_web::test]
async fn with_a_store_that_is_not_near_nobody_else_is_harmed() {
    SETTINGS[2].withstand().await;
}

#[actix_web::test]
async fn with_a_store_that_is_far_away_nobody_else_is_harmed() {
    SETTINGS[3].withstand().await;
}

/// A service, and each way to it.
struct Field {
    service: Service,
    authority: Authority,
    proxy: Option<ChaosProxy>,
}

impl Setting {
    async fn start(&self) -> Field {
        let tls = if self.ways.contains(&Way::Secured) { TLS } else { "" };
        let server = "metrics = \"open\"\nmax_calls = 300\nmax_answers = 67_108_864";
        let service = Configuration::new().server(BOTH_DOORS).server(server).server(tls).sqlite("shop", "pool = 4");
        let service = service.with(self.audit);
        let service = service.with("[limits]\nregistrations_per_address = 1000\n[oauth]\ndynamic_registration = true");
        let authority = Authority::new("own");
        authority.sign(service.path(), "server");
        if self.store == Store::File {
            return Field { service: service.serve_with(&[ALLOCATOR]).await, authority, proxy: None };
        }
        let url = TestPostgres::shared().database("store").await;
        let proxy = ChaosProxy::start(&url, true).await;
        let url = proxy.url(&url);
        let place = Address::from(url.as_str());
        let known = tokio::task::spawn_blocking(move || callers(place)).await.unwrap();
        let service = service.on(Shared { url, callers: Some(known) }).serve_with(&[ALLOCATOR]).await;
        Field { service, authority, proxy: Some(proxy) }
    }

    async fn withstand(&self) {
        more_descriptors();
        let field = self.start().await;
        // What is opened once is open before it is counted.
        for way in self.ways {
            field.taken("nothing", way).await;
        }
        let before = field.service.census();
        let wanted = std::env::var("PORTICO_ATTACK").unwrap_or_default();
        for (number, (name, attack)) in ALL.iter().enumerate().filter(|(_, (name, _))| name.contains(&wanted)) {
            let (way, target) = (self.way(number), field.target(self.way(number)));
            let calm = field.taken("nothing", way).await;
            if let (Some(proxy), Store::Far(delay)) = (&field.proxy, self.store) {
                proxy.delay(delay);
            }
            let mut under_way = UnderWay::begin();
            attack(&target, &field.service, &mut under_way);
            field.others_are_served(name, way, calm).await;
            under_way.end().await;
            if let Some(proxy) = &field.proxy {
                proxy.restore();
            }
            field.quiet(name, before, |now| now.descriptors <= before.descriptors + SESSIONS).await;
        }
        let peak = field.service.resident_peak();
        assert!(peak <= before.resident + PEAK, "{peak} KiB at a time, {before:?}");
        let settled = |now: Census| now.threads <= before.threads + THREADS && now.resident <= before.resident + MEMORY;
        field.quiet("all of them", before, settled).await;
    }
}

impl Field {
    fn url(&self, way: Way) -> String {
        match way {
            Way::Plain => format!("http://localhost:{}", self.service.port()),
            Way::Secured => format!("https://localhost:{}", self.service.port()),
            Way::Unix => "http://localhost".to_owned(),
        }
    }

    fn target(&self, way: Way) -> Target {
        let socket = self.service.folder.path().join("portico.sock");
        let settings = Arc::new(self.authority.settings(None, &[b"h2"]));
        let place = match way {
            Way::Plain => Place::Tcp(self.service.port()),
            Way::Secured => Place::Secured(self.service.port(), Arc::clone(&settings)),
            Way::Unix => Place::Unix(socket.clone()),
        };
        let client = move || {
            match way {
                Way::Plain => builder(),
                Way::Secured => builder().tls_backend_preconfigured((*settings).clone()),
                Way::Unix => builder().unix_socket(socket.clone()),
            }
            .build()
            .unwrap()
        };
        let (name, reader) = (self.service.writer.name.clone(), self.service.reader.clone());
        Target { url: self.url(way), place, client: Box::new(client), name, reader }
    }

    /// Has somebody else served in time, who takes `calm` beside nothing.
    async fn others_are_served(&self, meanwhile: &str, way: Way, calm: Duration) {
        let bound = BOUND.max(calm * SLOWER);
        let mut taken = self.taken(meanwhile, way).await;
        if taken > bound {
            taken = self.taken(meanwhile, way).await;
        }
        assert!(taken <= bound, "{meanwhile}, {way:?}: a call of somebody else takes {taken:?}, and {calm:?} before");
    }

    /// What the calls of somebody take who is known, on a connection that stays, by the same door: the median.
    async fn taken(&self, meanwhile: &str, way: Way) -> Duration {
        let door = ((self.target(way).client)(), self.url(way));
        let (mut pace, mut taken) = (tokio::time::interval(BETWEEN), Vec::new());
        for _ in 0..SERIES {
            pace.tick().await;
            let begun = Instant::now();
            let answer = within("a call", ask(&self.service, &door, "SELECT 1").send()).await.unwrap();
            let status = answer.status();
            let text = within("its rows", answer.text()).await.unwrap();
            assert_eq!(status, 200, "{meanwhile}, {way:?}: {text}");
            taken.push(begun.elapsed());
        }
        taken.sort();
        taken[SERIES / 2]
    }

    /// Waits until nothing is worked on, and what the process has of the machine is as `wanted`.
    async fn quiet(&self, after: &str, before: Census, wanted: impl Fn(Census) -> bool) {
        let door = self.target(Way::Unix);
        let client = (door.client)();
        let until = Instant::now() + DEADLINE;
        loop {
            let metrics = client.get(format!("{}/metrics", door.url)).send().await.unwrap().text().await.unwrap();
            let now = self.service.census();
            let idle = metrics.contains("\nportico_http_requests_running 0\n");
            if idle && wanted(now) {
                return;
            }
            assert!(Instant::now() < until, "after {after}: {now:?}, and {before:?} before; idle: {idle}");
            tokio::time::sleep(PACE).await;
        }
    }
}

/// The attackers have a descriptor for each connection too.
fn more_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}
