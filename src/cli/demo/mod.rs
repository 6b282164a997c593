//! `portico demo`: everything started on an embedded source with sample data.

mod credentials;
mod welcome;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use clap::Args;

use super::common::{Common, Failure};
use super::serve;
use crate::config::{Config, Listen, MetricsAccess};
use crate::sample;

#[derive(Args, Debug)]
pub(super) struct Demo {
    /// The address to listen on.
    #[arg(long, default_value = "127.0.0.1:8787")]
    listen: SocketAddr,
    /// Where the sample data, the store and the credentials are kept between runs.
    #[arg(long, value_name = "DIR", default_value = "portico-demo")]
    data_dir: PathBuf,
    /// Open its page in a browser.
    #[arg(long)]
    open: bool,
}

pub(super) fn run(demo: Demo, common: &Common) -> Result<(), Failure> {
    let io = |what: &str| {
        let what = format!("{what} in {}", demo.data_dir.display());
        move |error: std::io::Error| Failure::io(what, error)
    };
    std::fs::create_dir_all(&demo.data_dir).map_err(io("the data directory cannot be made"))?;
    let shop = demo.data_dir.join("shop.db");
    if !shop.exists() {
        sample::create(&shop).map_err(io("the sample cannot be made"))?;
    }
    // Port 0 asks the system for a free one: the URLs need its number.
    let listener = TcpListener::bind(demo.listen)
        .map_err(|error| Failure::io(format_args!("{} cannot be listened on", demo.listen), error))?;
    let address = listener.local_addr().map_err(io("the listener failed"))?;
    let mut config = Config::parse(sample::CONFIGURATION, &demo.data_dir, &|_| None)?;
    config.server.listen = vec![Listen::Tcp(demo.listen)];
    config.server.public_url = public_url(address);
    if demo.listen.ip().is_loopback() {
        // Whoever can reach this machine alone may look.
        config.server.metrics = MetricsAccess::Open;
    }
    let credentials = credentials::keep(&demo.data_dir, &config)?;
    let log_level =
        if std::env::var_os("RUST_LOG").is_some() { log::LevelFilter::Trace } else { log::LevelFilter::Warn };
    log::set_max_level(log_level);
    let program = std::env::current_exe().map_err(|error| Failure::io("this program's own path", error))?;
    let announce = || {
        common.tell(&credentials, welcome::page(&credentials, &program, &demo.data_dir));
        // Whoever has no browser has read the address.
        if demo.open
            && let Err(error) = open::that_detached(&credentials.base_url)
        {
            eprintln!("portico: no browser was opened: {error}");
        }
    };
    actix::System::new().block_on(serve::serve(config, listener.into(), None, announce))
}

fn public_url(address: SocketAddr) -> String {
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        format!("http://localhost:{}", address.port())
    } else {
        format!("http://{address}")
    }
}
