//! `portico demo`: everything started on embedded sources with sample data.

mod credentials;
mod welcome;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::common::{Common, Failure, program};
use crate::cli::running::serve_database::public_url;
use crate::cli::{folders, running::serve};
use crate::config::Config;
use crate::sample;
use portico_actors::loopback;

/// The functions that create the files of the sample.
const SAMPLES: [(&str, fn(&Path) -> std::io::Result<()>); 2] =
    [("shop.db", sample::create), ("crm.db", sample::create_crm)];

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
    std::fs::create_dir_all(&demo.data_dir).map_err(|error| {
        let what = format_args!("the data directory {} cannot be made", demo.data_dir.display());
        Failure::unwritable(what, &error, "name another folder with --data-dir")
    })?;
    for (file, make) in SAMPLES {
        let path = demo.data_dir.join(file);
        if !path.exists() {
            make(&path).map_err(io("the sample cannot be made"))?;
        }
    }
    // Port 0 asks the system for a free one: the URLs need its number.
    let listener = TcpListener::bind(demo.listen).map_err(|error| Failure::not_listening(demo.listen, &error))?;
    let address = listener.local_addr().map_err(io("the listener failed"))?;
    let text = configuration(demo.listen, address);
    folders::write(&demo.data_dir.join("config.toml"), text.as_bytes())
        .map_err(io("the configuration cannot be written"))?;
    let config = Config::parse(&text, &demo.data_dir, &|_| None)?;
    let credentials = credentials::keep_or_make(&demo.data_dir, &config)?;
    let log_level =
        if std::env::var_os("RUST_LOG").is_some() { log::LevelFilter::Trace } else { log::LevelFilter::Warn };
    log::set_max_level(log_level);
    let program = program()?;
    let announce = || {
        common.print(&credentials, welcome::page(&credentials, &program, &demo.data_dir));
        // Without a browser the address was printed.
        if demo.open
            && let Err(error) = open::that_detached(&credentials.base_url)
        {
            eprintln!("portico: no browser was opened: {error}");
        }
    };
    actix::System::new().block_on(serve::serve(config, listener.into(), None, announce))
}

/// The configuration of this run: other commands take it too (`--config`).
fn configuration(listen: SocketAddr, address: SocketAddr) -> String {
    let mut server = format!("[server]\nlisten = \"{listen}\"\npublic_url = \"{}\"\n", public_url(address));
    if loopback::is_address(listen.ip()) {
        server.push_str("# Whoever can reach this machine alone may look.\nmetrics = \"open\"\n");
    }
    let head = "# Written by `portico demo` whenever it starts: copy it to change it.\n";
    head.to_owned() + &sample::CONFIGURATION.replacen("[server]\n", &server, 1)
}
