//! How often one call has the whole process ask for memory: workers, actors, drivers, trail and log.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use env_logger::Target;
use portico::app::App;
use portico::config::{Config, Log as LogSettings};
use portico::observe::{Log, lines};
use stats_alloc::Region;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::budget::Report;
use super::caller::{self, Client, Scenario};
use super::support::app::{Caller, callers, on_a_system, within};
use super::support::configuration::Configuration;
use super::support::postgres::TestPostgres;
use super::{ALLOCATOR, ALONE};

/// How often it may be asked for, and how many octets in all.
const fn budget(scenario: Scenario) -> (f64, f64) {
    match scenario {
        Scenario::LiteralKey => (258.0, 65_000.0),
        Scenario::SameText => (252.0, 65_000.0),
        Scenario::BoundParameter => (290.0, 66_000.0),
        Scenario::ToolsList => (148.0, 41_000.0),
    }
}

#[tokio::test]
async fn a_call_asks_for_memory_no_more_often_than_its_budget_says() {
    let _alone = ALONE.lock().await;
    let url = TestPostgres::shared().database("allocations").await;
    caller::fill(&url).await;
    // The lines are made as ever, and read by nobody.
    let mut logger = lines::builder(&LogSettings::default());
    logger.target(Target::Pipe(Box::new(std::io::sink()))).init();
    let service = Service::start(caller::configuration(&url)).await;
    let mut report = Report::new(file!());
    for scenario in Scenario::ALL {
        // Nothing but the service runs in this process until it is answered.
        let mut client = Client::dial(service.port, &service.reader);
        let change = client.call(scenario, || Region::new(ALLOCATOR), |region| region.change());
        let (times, octets) = budget(scenario);
        report.compare(scenario, "allocations", caller::mean(change.allocations + change.reallocations), times);
        report.compare(scenario, "octets allocated", caller::mean(change.bytes_allocated), octets);
    }
    report.close();
}

/// The service in this process, with the observer that the program has.
struct Service {
    port: u16,
    reader: Caller,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Service {
    async fn start(configuration: Configuration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let folder = configuration.write();
        let config = Config::load(&folder.path().join("config.toml")).unwrap();
        let (_, reader, _) = callers(&config.store.place);
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, ready) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            on_a_system(async move {
                let log = Log::default();
                let app = App::start(config, Arc::new(move |event| log.write(event))).await.unwrap();
                let directory = app.directory.clone();
                actix::spawn(async move {
                    directory.settled().await;
                    started.send(()).unwrap();
                });
                portico::run(app, listener, async { drop(stopped.await) }).await.unwrap();
            });
        });
        within("the service to be ready", ready).await.unwrap();
        Self { port, reader, stop: Some(stop), thread: Some(thread), _folder: folder }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking(), "the service panicked");
    }
}
