//! The MCP endpoint that messages are carried to, over HTTP: the credential, and what is done if it cannot be
//! reached. The content of messages is not known here.

use std::cell::Cell;
use std::error::Error as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use portico_actors::error::{Error, Kind, Result};
use reqwest::{Method, Response};
use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep};

use super::token_provider::TokenProvider;
use portico_actors::loopback;

/// The accepted media types of answers.
pub(super) const STREAM: &str = "text/event-stream";
const EITHER: &str = "application/json, text/event-stream";
const JSON: &str = "application/json";

/// How long to wait for a service that was never reached: the parent process needs to know.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// How long one is waited for that was there before, and may be starting again.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the first attempt waits, and the longest wait between two.
const DELAY: Duration = Duration::from_millis(50);
const LONGEST_DELAY: Duration = Duration::from_secs(1);
/// How long an attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept: shorter than the service keeps it.
const IDLE: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request was not delivered: nothing was done.
    Unreached(String),
    /// The connection broke: the request may have been executed, or not.
    Broken(String),
    /// There is no credential.
    Credential(Error),
}

impl Failure {
    /// Converts an error of the HTTP library.
    pub(super) fn from_error(error: &reqwest::Error) -> Self {
        // Its own text contains only the address; the underlying cause says why.
        let mut cause = error.source();
        while let Some(deeper) = cause.and_then(|cause| cause.source()) {
            cause = Some(deeper);
        }
        let words = cause.map_or_else(|| error.to_string(), ToString::to_string);
        if error.is_connect() || error.is_builder() { Self::Unreached(words) } else { Self::Broken(words) }
    }

    /// Returns the error for the client.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Credential(error) => error,
            Self::Unreached(words) => {
                Error::new(Kind::Unavailable, format!("the Portico server cannot be reached: {words}"))
                    .hint("check whether it runs at the address of --server; nothing was done")
            }
            Self::Broken(words) => Error::new(
                Kind::Unavailable,
                format!("the connection to the Portico server broke before the answer came: {words}"),
            )
            .hint("the request may have been carried out: check that before you send it again"),
        }
    }
}

/// The headers beside a body.
pub(super) type Headers = Vec<(&'static str, String)>;

/// One MCP endpoint.
pub struct Server {
    http: reqwest::Client,
    url: String,
    credential: Rc<dyn TokenProvider>,
    /// Whether it has ever answered.
    is_known: Cell<bool>,
}

/// Whether an address is on this machine, which no proxy reaches.
fn is_here(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(loopback::is_host))
}

/// Returns the HTTP client.
fn client() -> reqwest::ClientBuilder {
    // A session's id goes with its requests: they must not be sent elsewhere.
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
}

impl Server {
    /// The endpoint at `url`, whom `credential` is shown.
    ///
    /// # Errors
    /// There is no client of HTTP to be had.
    pub fn new(url: String, credential: Rc<dyn TokenProvider>) -> Result<Self> {
        // Reading the system's certificates takes longer than everything else here.
        let mut client = if url.starts_with("https:") { client() } else { client().tls_certs_only([]) };
        if is_here(&url) {
            client = client.no_proxy();
        }
        Self::by(client, url, credential)
    }

    /// The endpoint at `path` of the service that listens on a Unix socket.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub fn at_socket(socket: &Path, path: &str, credential: Rc<dyn TokenProvider>) -> Result<Self> {
        let client = client().no_proxy().tls_certs_only([]).unix_socket(socket);
        Self::by(client, format!("http://localhost{path}"), credential)
    }

    fn by(client: reqwest::ClientBuilder, url: String, credential: Rc<dyn TokenProvider>) -> Result<Self> {
        let http = client.build().map_err(Error::internal)?;
        Ok(Self { http, url, credential, is_known: Cell::new(false) })
    }

    /// Posts a message until the service takes it: one that is starting, or is about to stop, is waited for. `streams`
    /// tells whether the answer may be a stream.
    pub(super) async fn post(&self, body: &Bytes, headers: &Headers, streams: bool) -> Result<Response, Failure> {
        let accept = if streams { EITHER } else { JSON };
        let patience = if self.is_known.get() { PATIENCE } else { FIRST_PATIENCE };
        let (deadline, mut delay, mut is_told) = (Instant::now() + patience, DELAY, false);
        let sent = loop {
            let sent = self.send(&Method::POST, Some(body), headers, accept).await;
            let why = match &sent {
                Err(Failure::Unreached(words)) => format!("cannot be reached: {words}"),
                // It goes down, or has not begun.
                Ok(response) if response.status().as_u16() == 503 => "takes no calls just now".to_owned(),
                _ => break sent,
            };
            if Instant::now() + delay > deadline {
                break sent;
            }
            if !std::mem::replace(&mut is_told, true) {
                log::warn!("{} {why}; trying again", self.url);
            }
            drop(sent);
            sleep(delay).await;
            delay = (delay * 2).min(LONGEST_DELAY);
        };
        sent.inspect(|_| self.is_known.set(true))
    }

    /// Opens the stream on which a session is told things, or takes up one that broke.
    pub(super) async fn get(&self, headers: &Headers) -> Result<Response, Failure> {
        self.send(&Method::GET, None, headers, STREAM).await
    }

    /// Ends a session.
    pub(super) async fn delete(&self, headers: &Headers) -> Result<Response, Failure> {
        self.send(&Method::DELETE, None, headers, JSON).await
    }

    async fn send(
        &self,
        method: &Method,
        body: Option<&Bytes>,
        headers: &Headers,
        accept: &'static str,
    ) -> Result<Response, Failure> {
        let mut token = self.credential.token().await.map_err(Failure::Credential)?;
        let mut is_renewed = false;
        loop {
            let mut request = self.http.request(method.clone(), &self.url).bearer_auth(token.expose_secret());
            request = request.header("accept", accept);
            for (name, value) in headers {
                request = request.header(*name, value.as_str());
            }
            if let Some(body) = body {
                request = request.header("content-type", JSON).body(body.clone());
            }
            let response = request.send().await.map_err(|error| Failure::from_error(&error))?;
            if response.status().as_u16() != 401 || std::mem::replace(&mut is_renewed, true) {
                return Ok(response);
            }
            match self.credential.renewed(&token).await.map_err(Failure::Credential)? {
                Some(renewed) => token = renewed,
                None => return Ok(response),
            }
        }
    }
}
