//! The redirect URI of a sign-in: a port of this machine, open for one answer.

use portico_actors::error::{Error, Kind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};

/// Bytes of a request's head at most.
const LONGEST: usize = 16 * 1024;
/// How long a browser may take to send it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The port.
pub(super) struct Callback {
    listener: TcpListener,
    /// Its address, for the server.
    pub(super) address: String,
}

impl Callback {
    /// Opens it.
    ///
    /// # Errors
    /// No port can be opened.
    pub(super) async fn open() -> Result<Self> {
        let failed = |error| Error::new(Kind::Unavailable, "no port can be opened for the browser").because(error);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}/callback") })
    }

    /// Waits for the answer with our `state` by `issuer`: the code.
    ///
    /// # Errors
    /// The person did not agree, or the server did not.
    pub(super) async fn answer(self, state: &str, issuer: &str) -> Result<String> {
        loop {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let Ok(Some(query)) = timeout(PATIENCE, query(&mut stream)).await else {
                reply(&mut stream, "404 Not Found", "There is nothing here.").await;
                continue;
            };
            let parameter = |name: &str| {
                form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name).map(|(_, value)| value)
            };
            // An answer from elsewhere is ignored (RFC 6749 §10.12, RFC 9207).
            if parameter("state").as_deref() != Some(state) || parameter("iss").is_some_and(|iss| iss != issuer) {
                reply(&mut stream, "400 Bad Request", "This is not an answer to what was asked.").await;
                continue;
            }
            if let Some(code) = parameter("code") {
                reply(&mut stream, "200 OK", "You are signed in. Go back to your program; this page can be closed.")
                    .await;
                return Ok(code.into_owned());
            }
            let words = parameter("error_description").or_else(|| parameter("error")).unwrap_or_default();
            reply(&mut stream, "200 OK", "Access was not given. Go back to your program; this page can be closed.")
                .await;
            return Err(Error::unauthenticated(format!("access was not given: {words}"))
                .hint("send the request again to be asked once more"));
        }
    }
}

/// Returns the query of a request for the only path.
async fn query(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > LONGEST || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    let target = std::str::from_utf8(line).ok()?.strip_prefix("GET ")?.split(' ').next()?;
    target.strip_prefix("/callback?").map(str::to_owned)
}

async fn reply(stream: &mut TcpStream, status: &str, words: &str) {
    let page = format!("<!doctype html><html lang=\"en\"><title>Portico</title><p>{words}</p></html>");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: default-src 'none'\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // The browser may have left, and loses nothing.
    let _ = timeout(PATIENCE, stream.write_all(answer.as_bytes())).await;
}
