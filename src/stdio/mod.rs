//! The launched form of the protocol: a client starts us as its own process, and speaks lines of JSON on our standard
//! input and output (MCP, stdio transport). Every message is carried to an MCP endpoint over HTTP, which is a service
//! that runs elsewhere, or one in this very process: what a message means is decided there, and nowhere here.

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

/// Carries the lines of `input` to `server` and its messages to `output`, until the input ends, nobody reads the
/// output any more, or `stop` completes. What runs then is cancelled at its source. Must run inside an actix system.
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
            Some(frame) => bridge.take(frame).await,
            None => break,
        }
    }
    bridge.end().await;
    writer.finished(bridge).await;
}
