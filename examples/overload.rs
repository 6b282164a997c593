//! What becomes of the service at five times its capacity.
//!
//! How much it still does, how long those wait who are let in, how fast the others are told, and whether a caller with one call at a
//! time is served beside one with thousands. Statements sleep, so that the capacity is the pool's
//! and not the machine's.
//!
//! ```sh
//! PORTICO_BENCH=postgres://user@127.0.0.1:5432/database cargo run --release --example overload
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::cast_precision_loss)]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::rt;
use portico::config::Config;
use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::json;

/// Statements at once.
const POOL: usize = 4;
/// Calls that may wait: half a second's work.
const QUEUE: usize = 20;
/// How long each statement takes, in seconds.
const STATEMENT: f64 = 0.1;
/// How long each measurement goes on.
const SPAN: Duration = Duration::from_secs(10);
/// Calls offered for each one that can be carried out.
const OVERLOAD: f64 = 5.0;

/// A caller's tokens: one user who asks much, one who asks little.
struct Service {
    url: String,
    greedy: String,
    modest: String,
}

fn main() {
    let database = std::env::var("PORTICO_BENCH").expect("PORTICO_BENCH is the URL of a PostgreSQL database");
    let service = start(&database);
    rt::System::new().block_on(measure(&Arc::new(service)));
}

/// The service on a thread and a free port of its own.
fn start(database: &str) -> Service {
    let folder = tempfile::tempdir().unwrap().keep();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let text = format!(
        "[server]\nlisten = \"{address}\"\n[[connections]]\nid = \"{}\"\nname = \"bench\"\nurl = \"{database}\"\n\
         pool = {POOL}\nqueue = {QUEUE}\n",
        uuid::Uuid::nil()
    );
    let config = Config::parse(&text, &folder, &|_| None).unwrap();
    let mut store = Store::open(&config.store.place).unwrap();
    let mut user = |email: &str| {
        let new = NewUser { email: email.to_owned(), rights: Rights::all(Scope::Read) };
        store.add_user(new).unwrap();
        store.create_pat(email, NewPat::default()).unwrap().1.expose_secret().to_owned()
    };
    let service = Service {
        url: format!("http://{address}/api/query"),
        greedy: user("greedy@x.org"),
        modest: user("modest@x.org"),
    };
    std::thread::spawn(|| {
        rt::System::new().block_on(async {
            let app = portico::app::App::start(config, Arc::new(|_| {})).await.unwrap();
            portico::run(app, listener, std::future::pending()).await.unwrap();
        });
    });
    service
}

/// Status and duration of one call.
async fn call(http: &reqwest::Client, service: &Service, greedy: bool) -> (u16, Duration) {
    let (email, token) = if greedy { ("greedy@x.org", &service.greedy) } else { ("modest@x.org", &service.modest) };
    let started = Instant::now();
    let query = json!({"query": format!("SELECT pg_sleep({STATEMENT})")});
    let response = http.post(&service.url).basic_auth(email, Some(token)).json(&query).send().await.unwrap();
    let status = response.status().as_u16();
    response.bytes().await.unwrap();
    (status, started.elapsed())
}

/// What came of many calls.
#[derive(Default)]
struct Outcome {
    served: Vec<Duration>,
    refused: Vec<Duration>,
}

impl Outcome {
    fn add(&mut self, (status, took): (u16, Duration)) {
        match status {
            200 => self.served.push(took),
            429 => self.refused.push(took),
            other => panic!("a call was answered with {other}"),
        }
    }

    fn rate(&self, span: Duration) -> f64 {
        self.served.len() as f64 / span.as_secs_f64()
    }
}

/// Milliseconds within which `percent` of the calls were over.
fn percentile(durations: &mut [Duration], percent: usize) -> f64 {
    durations.sort_unstable();
    let at = (durations.len() * percent / 100).min(durations.len().saturating_sub(1));
    durations.get(at).map_or(0.0, |took| took.as_secs_f64() * 1e3)
}

/// So many callers, each of whom sends its next call when the last one is over.
async fn closed(
    service: &Arc<Service>,
    http: &reqwest::Client,
    callers: usize,
    greedy: bool,
    span: Duration,
) -> Outcome {
    let outcome = Mutex::new(Outcome::default());
    let until = Instant::now() + span;
    futures_util::future::join_all((0..callers).map(|_| async {
        while Instant::now() < until {
            let ended = call(http, service, greedy).await;
            outcome.lock().unwrap().add(ended);
        }
    }))
    .await;
    outcome.into_inner().unwrap()
}

/// So many calls a second, whether or not the earlier ones are over.
async fn open(service: &Arc<Service>, http: &reqwest::Client, rate: f64, span: Duration) -> (Outcome, Duration) {
    let outcome = Arc::new(Mutex::new(Outcome::default()));
    let started = Instant::now();
    let mut ticks = rt::time::interval(Duration::from_secs_f64(1.0 / rate));
    let mut calls = Vec::new();
    while started.elapsed() < span {
        ticks.tick().await;
        let (service, http, outcome) = (Arc::clone(service), http.clone(), Arc::clone(&outcome));
        calls.push(rt::spawn(async move {
            let ended = call(&http, &service, true).await;
            outcome.lock().unwrap().add(ended);
        }));
    }
    futures_util::future::join_all(calls).await;
    let outcome = std::mem::take(&mut *outcome.lock().unwrap());
    (outcome, started.elapsed())
}

async fn measure(service: &Arc<Service>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    while call(&http, service, true).await.0 != 200 {}
    let mut peak = closed(service, &http, POOL * 2, true, SPAN).await;
    let capacity = peak.rate(SPAN);
    println!("peak, {} callers: {capacity:.0}/s, p99 {:.0} ms", POOL * 2, percentile(&mut peak.served, 99));
    let mut alone = closed(service, &http, 1, false, SPAN / 2).await;
    println!("one caller alone: p99 {:.0} ms", percentile(&mut alone.served, 99));
    let flood = open(service, &http, capacity * OVERLOAD, SPAN);
    let ((mut flooded, took), mut modest) =
        futures_util::join!(flood, closed(service, &http, 1, false, SPAN.mul_f64(0.9)));
    let offered = (flooded.served.len() + flooded.refused.len()) as f64 / took.as_secs_f64();
    let served = flooded.rate(took) + modest.served.len() as f64 / took.as_secs_f64();
    println!("offered {offered:.0}/s ({:.1} times the peak) for {:.1} s", offered / capacity, took.as_secs_f64());
    println!("served {served:.0}/s, {:.0} % of the peak", served / capacity * 100.0);
    println!(
        "those let in: p50 {:.0} ms, p99 {:.0} ms; those refused: p50 {:.1} ms, p99 {:.1} ms",
        percentile(&mut flooded.served, 50),
        percentile(&mut flooded.served, 99),
        percentile(&mut flooded.refused, 50),
        percentile(&mut flooded.refused, 99),
    );
    println!(
        "beside them, a caller with one call at a time: {} served, {} refused, p50 {:.0} ms, p99 {:.0} ms",
        modest.served.len(),
        modest.refused.len(),
        percentile(&mut modest.served, 50),
        percentile(&mut modest.served, 99),
    );
}
