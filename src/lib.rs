//! Portico in front of the mailbox: everything that knows HTTP, MCP, files of configuration and
//! people. What knows connections, tokens and SQL is in `portico-actors`.
//!
//! # Decisions, with their reasons
//!
//! **Why are the MCP types our own and not `rmcp`'s?** A message is read member by member anyway,
//! to give −32700, −32600 and −32602 with the right id; what we send are six small objects; and a
//! tool's result is written straight to bytes from the rows. The crate would add 48 others for that.
//!
//! **Why is a read-only principal not shown the writing tools?** An agent is judged by whether its
//! next call succeeds. Called all the same, such a tool is answered with the challenge for the
//! missing scope, so that a client can ask for more.
//!
//! **Why is the result document sent only when the first row is there?** Until then a failure can
//! still have its own status; many statements fail at their first row.
//!
//! **Why does a consent carry the whole request back?** It is judged again from the start, so that no
//! page and no memory has to be believed; what a person may give is checked once more behind the
//! mailbox.
//!
//! **Why is a person always asked?** A client on somebody's own machine can be any program there: that
//! it was allowed once tells nothing about who asks now.
//!
//! **Why is the audit trail no observer of events?** An observer is told afterwards and must return at
//! once: with a slow disk it could only lose records. A request waits for its place in the trail's
//! queue before it is worked on, and its end is then recorded without waiting.
//!
//! **Why a stream of our own under the HTTP library?** It times the first head of a connection and no write, and
//! notices that a client has left only when it writes: a statement that is silent for a minute would go on for a
//! minute for nobody. The stream sees every octet, and its requests look at the same descriptor.

pub mod app;
pub mod audit;
pub mod cli;
pub mod client_document;
mod clients;
pub mod condition;
pub mod config;
pub mod encode;
pub mod federation;
pub mod fields;
mod http;
pub mod mcp;
pub mod net;
pub mod observe;
mod peers;
mod redaction;
pub mod reload;
mod routing;
pub mod sample;
pub mod stdio;
mod strangers;
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

/// How long sources may take to cancel what runs and to let go of their sessions.
const SOURCES_TIMEOUT: Duration = Duration::from_secs(5);
/// How long callers are told, after that, that their calls were cut.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves `app` on `listeners` until `shutdown` completes. Then it is no longer ready and takes no
/// new calls; streams end as their protocol says; calls that run get their deadline, and what is
/// not over by then is cancelled at its source.
///
/// # Errors
/// When a listener cannot be used.
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
