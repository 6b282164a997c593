//! `portico demo`: everything started on an embedded source with sample data.

mod credentials;
mod welcome;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use portico_actors::directory::{self, Start};
use portico_actors::source::sqlite::DatabaseFile;
use portico_actors::source::{Access, Exposure};

use super::common::{Common, Failure};
use super::output::{print_json, say};
use super::serve;
use crate::config::{
    Config, Connection, Fingerprint, Keys, Limits, Log, MetricsAccess, OAuth, Server, Store, Telemetry, Tokens,
};
use crate::sample;
use crate::tools::Switches;
use credentials::{CONNECTION_ID, CONNECTION_NAME, Credentials};

const INSTRUCTIONS: &str = "A small shop with made-up customers. Amounts of an order are in its own currency; \
                            amount / orders.euro_rate is in euro. Cancelled orders are no revenue.";

#[derive(Args, Debug)]
pub(super) struct Demo {
    /// The address to listen on.
    #[arg(long, default_value = Server::DEFAULT_LISTEN)]
    listen: SocketAddr,
    /// Where the sample data, the store and the credentials are kept between runs.
    #[arg(long, value_name = "DIR", default_value = "portico-demo")]
    data_dir: PathBuf,
}

pub(super) fn run(demo: Demo, common: &Common) -> Result<(), Failure> {
    let io = |what: &str| {
        let what = format!("{what} in {}", demo.data_dir.display());
        move |error| Failure::Io(what, error)
    };
    std::fs::create_dir_all(&demo.data_dir).map_err(io("the data directory cannot be made"))?;
    let shop = demo.data_dir.join("shop.db");
    if !shop.exists() {
        sample::create(&shop).map_err(io("the sample cannot be made"))?;
    }
    let mut config = config(demo.listen, &demo.data_dir, &shop);
    // Port 0 asks the system for a free one: the URLs need its number.
    let listener = TcpListener::bind(demo.listen)
        .map_err(|error| Failure::Io(format!("{} cannot be listened on", demo.listen), error))?;
    let address = listener.local_addr().map_err(io("the listener failed"))?;
    config.server.public_url = public_url(address);
    let credentials = credentials::keep(&demo.data_dir, &config)?;
    let json = common.json;
    let log_level =
        if std::env::var_os("RUST_LOG").is_some() { log::LevelFilter::Trace } else { log::LevelFilter::Warn };
    log::set_max_level(log_level);
    actix::System::new().block_on(serve::serve(config, listener.into(), None, move || announce(&credentials, json)))
}

fn announce(credentials: &Credentials, json: bool) {
    if json {
        print_json(&serde_json::json!(credentials));
    } else {
        say(welcome::page(credentials));
    }
}

fn config(listen: SocketAddr, data_dir: &Path, shop: &Path) -> Config {
    Config {
        server: Server {
            // Whoever measures what streams cost has one user to do it with.
            max_streams: 20_000,
            // Whoever tries a demo expects Ctrl-C to work at once.
            shutdown_timeout: Duration::from_secs(2),
            // Whoever can reach this machine alone may look.
            metrics: if listen.ip().is_loopback() { MetricsAccess::Open } else { MetricsAccess::Admin },
            ..Server::at(listen, public_url(listen))
        },
        store: Store::of_file(data_dir.join("portico.db")),
        audit: crate::audit::Settings::default(),
        tokens: Tokens { lifetime: Tokens::DEFAULT_LIFETIME, clock_skew: Tokens::DEFAULT_CLOCK_SKEW },
        // Whoever tries a demo expects any client to connect.
        oauth: OAuth { dynamic_registration: true, ..OAuth::default() },
        limits: Limits::default(),
        log: Log::default(),
        telemetry: Telemetry::default(),
        issuers: Vec::new(),
        connections: vec![Arc::new(Connection {
            id: CONNECTION_ID,
            name: Arc::from(CONNECTION_NAME),
            location: Arc::new(DatabaseFile(shop.to_owned())),
            access: Access::ReadWrite,
            pool: Connection::DEFAULT_POOL,
            queue: Connection::DEFAULT_QUEUE,
            pool_per_principal: None,
            queue_timeout: directory::Connection::DEFAULT_QUEUE_TIMEOUT,
            reader_timeout: directory::Connection::DEFAULT_READER_TIMEOUT,
            connect_timeout: Connection::DEFAULT_CONNECT_TIMEOUT,
            max_rows: Connection::DEFAULT_MAX_ROWS,
            max_bytes: Connection::DEFAULT_MAX_BYTES,
            trace_comments: false,
            instructions: Some(INSTRUCTIONS.to_owned()),
            refresh: directory::Connection::DEFAULT_REFRESH,
            procedures: sample::procedures().into(),
            tools: Arc::default(),
            switches: Switches::default(),
            exposure: Exposure::default(),
            prompts: Arc::default(),
            identity: None,
            start: Start::Eager,
            idle_timeout: None,
            fingerprint: Fingerprint::default(),
        })],
        keys: Keys::default(),
    }
}

fn public_url(address: SocketAddr) -> String {
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    }
}
