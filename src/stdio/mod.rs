//! The stdio transport of MCP: a client starts this program as its own process, and sends lines of JSON through
//! standard input and output. Every message is carried to an MCP endpoint over HTTP, of a service that runs
//! elsewhere or in this process: messages are interpreted only there.

mod bridge;
mod call;
mod cancelling;
mod events;
mod frames;
pub mod oauth;
mod oversized;
mod server;
mod session;
mod subscription;
mod token_provider;

use std::future::Future;
use std::io::{Read, Write};

use bridge::Bridge;
pub use server::Server;
pub use token_provider::{Bearer, TokenProvider};

/// Carries the lines of `input` to `server` and its messages to `output`, until the input ends, the output is
/// closed, or `stop` completes. Running requests are then cancelled at their source. Must run inside an actix
/// system.
pub async fn run(
    server: Server,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
) {
    let mut lines = frames::incoming(input);
    let (out, writer) = frames::outgoing(output);
    let bridge = Bridge::new(server, out);
    tokio::pin!(stop);
    loop {
        let frame = tokio::select! {
            frame = lines.recv() => frame,
            () = bridge.unheard() => None,
            () = &mut stop => None,
        };
        match frame {
            Some(frame) => bridge.take(frame),
            None => break,
        }
    }
    bridge.end().await;
    writer.finished(bridge).await;
}
