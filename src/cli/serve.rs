//! `portico serve`.

use std::net::TcpListener;
use std::sync::Arc;

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
    let address = listener.local_addr().map_err(io)?;
    let app = App::start(config, Arc::new(observe::log_event)).await?;
    log::info!("listening on {address} as {}", app.config.server.public_url);
    started();
    crate::run(app, listener, stop_signal()).await.map_err(io)?;
    log::info!("stopped");
    Ok(())
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
