//! Portico in front of the mailbox: everything that knows HTTP, MCP, configuration files and user interfaces.
//! Connections, tokens and SQL are in `portico-actors`.
//!
//! # Decisions, with their reasons
//!
//! **Why are the MCP types our own and not `rmcp`'s?** A message is read member by member anyway, to return −32700,
//! −32600 and −32602 with the right id; what we send are six small objects; and a tool's result is written from the
//! rows directly to bytes. The crate would add 48 others for that.
//!
//! **Why is a read-only principal not shown the writing tools?** An agent is judged by whether its next call
//! succeeds. If it calls such a tool all the same, the answer is the challenge for the missing scope, so that a
//! client can ask for more.
//!
//! **Why is the result document sent only when the first row is there?** Until then an error can still have its own
//! status; many statements fail at their first row.
//!
//! **Why does a consent carry the whole request back?** It is validated again from the start, so that no page and
//! no memory has to be trusted; what a person may grant is checked once more behind the mailbox.
//!
//! **Why is a person always asked?** A client on a person's own machine can be any program there: an earlier
//! consent says nothing about which program asks now.
//!
//! **Why is the audit trail not an observer of events?** An observer is called afterwards and must return at once:
//! with a slow disk it could only lose records. A request waits for its place in the trail's queue before it is
//! processed, and its end is then recorded without waiting.
//!
//! **Why a stream of our own under the HTTP library?** The library times the first head of a connection and no
//! write, and notices that a client has left only when it writes: a statement that is silent for a minute would run
//! for a minute for no one. The stream sees every byte, and its requests check the same descriptor.

mod anonymous_quota;
pub mod app;
pub mod audit;
pub mod cli;
pub mod client_metadata;
mod client_setup;
pub mod config;
pub mod encode;
pub mod federation;
pub mod fields;
pub mod health;
mod http;
pub mod mcp;
pub mod net;
pub mod observe;
mod peer_events;
mod redaction;
pub mod reload;
mod routing;
pub mod sample;
pub mod stdio;
pub mod tools;
pub mod workspace;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use app::App;
pub(crate) use http::code;
use net::listener::Listeners;
use portico_actors::event::Event;
use tokio::time::timeout;

/// How long sources may take to cancel running statements and to close their sessions.
const SOURCES_TIMEOUT: Duration = Duration::from_secs(5);
/// How long callers are then informed that their calls were cut off.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves `app` on `listeners` until `shutdown` completes. Then it is no longer ready and takes no new calls;
/// streams end as their protocol says; running calls get a deadline, after which they are cancelled at their
/// source.
///
/// # Errors
/// If a listener cannot be used.
pub async fn run(
    app: Arc<App>,
    listeners: impl Into<Listeners>,
    shutdown: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let mut server = http::serve(Arc::clone(&app), listeners.into())?;
    let handle = server.handle();
    let ended = tokio::select! {
        ended = &mut server => Some(ended),
        () = shutdown => None,
    };
    app.draining.cancel();
    let over = async {
        let deadline = app.config().server.shutdown_timeout;
        if timeout(deadline, app.idle()).await.is_err() {
            log::warn!("calls are still running after {} s; they are cancelled", deadline.as_secs());
        }
        app.directory.drain(SOURCES_TIMEOUT).await;
        let _ = timeout(LAST_WORDS, app.idle()).await;
        handle.stop(true).await;
    };
    let ended = match ended {
        Some(ended) => {
            app.directory.drain(SOURCES_TIMEOUT).await;
            ended
        }
        // The server has to be polled while it stops.
        None => futures_util::join!(server, over).0,
    };
    if let Some(audit) = &app.audit {
        audit.close().await;
    }
    app.traces.close().await;
    (app.observer)(&Event::Stopped);
    ended
}
