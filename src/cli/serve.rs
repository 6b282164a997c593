//! `portico serve`.

use std::net::TcpListener;
use std::sync::Arc;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::{Common, Failure, start_log};
use crate::app::App;
use crate::config::Config;
use crate::observe;

pub(super) fn run(common: &Common) -> Result<(), Failure> {
    let config = Config::load(&common.config)?;
    start_log(&config.log);
    let listener = listen(&config)?;
    actix::System::new().block_on(serve(config, listener, || {}))
}

/// Binds the configured address.
pub(super) fn listen(config: &Config) -> Result<TcpListener, Failure> {
    let address = config.server.listen;
    TcpListener::bind(address).map_err(|error| Failure::Io(format!("{address} cannot be listened on"), error))
}

/// Serves until the process is told to stop. `started` is called once the service listens.
pub(super) async fn serve(config: Config, listener: TcpListener, started: impl FnOnce()) -> Result<(), Failure> {
    let io = |error| Failure::Io("the listener failed".to_owned(), error);
    raise_file_limit();
    let address = listener.local_addr().map_err(io)?;
    let app = App::start(config, Arc::new(observe::log_event)).await?;
    if app.config.store.key.is_none() {
        log::warn!("signing keys are stored unencrypted; set PORTICO_STORE_KEY or store.key_file to encrypt them");
    }
    log::info!("listening on {address} as {}", app.config.server.public_url);
    started();
    crate::run(app, listener, stop_signal()).await.map_err(io)?;
    log::info!("stopped");
    Ok(())
}

/// Every client's connection is an open file, and the usual soft limit is for programs with few:
/// takes as many as the process may have.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    let words = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    if before == limit.maximum {
        log::info!("open files: {} at most", words(before));
        return;
    }
    limit.current = limit.maximum;
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => log::info!("open files: {} at most, raised from {}", words(limit.current), words(before)),
        Err(error) => log::warn!("open files: {} at most; the limit cannot be raised: {error}", words(before)),
    }
}

/// Completes on SIGINT and on SIGTERM.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        log::error!("SIGTERM cannot be watched; only Ctrl-C stops the service");
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    log::info!("stopping");
}
