//! Mixed load for minutes or days, every answer checked, on a database that fails now and then.
//!
//! It starts a service in-process, and checks every answer against what it must be: the SQL API in each form, MCP in both eras, and
//! tokens. The service has the sample data in SQLite, and with `--postgres` a database behind a
//! proxy that fails now and then.
//!
//! ```sh
//! cargo run --release --example soak -- --minutes 60 --callers 16 --postgres postgres://user@127.0.0.1:5432/database
//! ```
//!
//! It makes the tables `soak_numbers` and `soak_kept` in that database and drops them again. Exits
//! with 1 on a wrong answer, on a call that hangs, and when descriptors stay open that were not
//! open after the first seconds. What it prints of the process holds for service and callers
//! together. Linux only.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod ledger;
mod mcp;
mod service;
mod sql;
mod weather;
// The tests break the same proxy.
#[path = "../../tests/it/support/proxy.rs"]
mod proxy;

use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use ledger::{Ledger, Process};
use service::{Caller, POOL, Service};
use weather::Weather;

/// How long any call may take. Each of them asks for a limit far below it at the source.
const HANG: Duration = Duration::from_secs(60);
/// Load before the first look at what stays open at rest.
const WARM_UP: Duration = Duration::from_secs(20);
/// Descriptors of one session: SQLite's database, log and index, or a socket to the proxy and the
/// proxy's two.
const SESSION: usize = 3;
/// Descriptors that may come and go by themselves: a look at the database, a timer.
const SLACK: usize = 8;

#[derive(Parser)]
struct Arguments {
    /// How long.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// How many call at once.
    #[arg(long, default_value_t = 8)]
    callers: u64,
    /// A PostgreSQL database to go through the failing proxy to, as postgres://user@host:port/database.
    #[arg(long)]
    postgres: Option<String>,
    /// Where chance begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[actix::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let weather = Rc::new(Weather::default());
    let proxy = match &arguments.postgres {
        Some(url) => Some(proxy::ChaosProxy::start(url, true).await),
        None => None,
    };
    let far = proxy.as_ref().zip(arguments.postgres.as_ref()).map(|(proxy, url)| proxy.url(url));
    let service = Rc::new(Service::start(far.as_deref()).await);
    service.set_up().await;
    let ledger = Rc::new(Ledger::default());

    let until = Instant::now() + Duration::from_secs_f64(arguments.minutes * 60.0);
    let load = Load { service: Rc::clone(&service), ledger: Rc::clone(&ledger), weather: Rc::clone(&weather) };
    println!("{} callers for {} minutes at {}", arguments.callers, arguments.minutes, service.url);
    load.run(arguments.callers, arguments.seed, Instant::now() + WARM_UP).await;
    let before = rest(usize::MAX).await;
    println!("at rest after the first {} s: {before}", WARM_UP.as_secs());
    ledger.start();

    let chaos = proxy.map(|proxy| actix::spawn(weather::change(proxy, Rc::clone(&weather), until)));
    let minutes = {
        let ledger = Rc::clone(&ledger);
        actix::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_mins(1)).await;
                ledger.tell_minute(&Process::read());
            }
        })
    };
    load.run(arguments.callers, arguments.seed + arguments.callers, until).await;
    minutes.abort();
    // Restored for good, so that the tables can be dropped.
    let proxy = match chaos {
        Some(chaos) => Some(chaos.await.unwrap()),
        None => None,
    };
    service.tear_down().await;
    let most = before.descriptors + POOL * SESSION * service.targets.len() + SLACK;
    let after = rest(most).await;
    drop(proxy);
    ledger.tell_minute(&Process::read());
    let failed = ledger.tell_all(&weather);
    println!("at rest before: {before}; after: {after}");
    if after.descriptors > most {
        println!("FAILED: descriptors grew; {most} could be explained");
    }
    if failed || after.descriptors > most { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Waits until no more than `most` descriptors are open, and no fewer from one look to the next:
/// what was left behind is cleared away within a heartbeat. Gives up after a minute and a half.
async fn rest(most: usize) -> Process {
    let deadline = Instant::now() + Duration::from_secs(90);
    let mut pace = tokio::time::interval(Duration::from_secs(4));
    pace.tick().await;
    let mut last = Process::read();
    loop {
        pace.tick().await;
        let now = Process::read();
        if (now.descriptors <= most && now.descriptors >= last.descriptors) || Instant::now() > deadline {
            return now;
        }
        last = now;
    }
}

/// What all callers share.
struct Load {
    service: Rc<Service>,
    ledger: Rc<Ledger>,
    weather: Rc<Weather>,
}

impl Load {
    /// So many callers, each of whom sends its next call when the last one is over.
    async fn run(&self, callers: u64, seed: u64, until: Instant) {
        let tasks: Vec<_> = (0..callers)
            .map(|number| {
                let caller = Caller::new(Rc::clone(&self.service), seed + number);
                actix::spawn(calls(caller, Rc::clone(&self.ledger), Rc::clone(&self.weather), until))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    }
}

/// The calls of one caller.
async fn calls(mut caller: Caller, ledger: Rc<Ledger>, weather: Rc<Weather>, until: Instant) {
    while Instant::now() < until {
        let at = caller.dice.below(caller.service.targets.len() as u64);
        let at = usize::try_from(at).unwrap();
        let (started, mut kind) = (Instant::now(), "");
        let ended = tokio::time::timeout(HANG, async {
            if caller.dice.below(3) == 0 {
                mcp::call(&mut caller, at, &mut kind).await
            } else {
                sql::call(&mut caller, at, &mut kind).await
            }
        })
        .await;
        let target = &caller.service.targets[at];
        let may_fail = target.fails && weather.was_bad_since(started);
        ledger.add(kind, target.name, started.elapsed(), ended.ok(), may_fail);
    }
}
