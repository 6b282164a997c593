//! The control socket, beside a store that is a file: `portico reload`, `health` and `doctor` query the running
//! service, and commands that change the store notify it. One line of JSON each way; only the service's own user
//! and root may use it.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::config::{Problem, Problems};
use crate::net::listener::{self, Made};
use crate::reload::Report;

/// How long a client may take to send its request.
const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximal number of clients at once: with one more, the one that waits longest is disconnected.
const ASKERS: usize = 16;
/// Bytes of a question at most.
const LONGEST_QUESTION: u64 = 1024;
/// How long a reload may take: every source has its own limit on a first attempt, at most 300 s.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(330);
/// The timeout of all other requests, which wait for nothing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum ControlRequest {
    /// Read the configuration again.
    Reload,
    /// Return whether a call would be taken, and the state of the connections.
    Health,
    /// Read the store: its current content is in force when this is answered.
    Look,
}

/// The response.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::cli) struct ControlResponse {
    /// Whether it was done.
    pub(in crate::cli) ok: bool,
    /// In words.
    pub(in crate::cli) message: String,
    /// Names of connections, when it was done.
    #[serde(default)]
    pub(in crate::cli) report: Report,
    /// The problems of the file, if it was not taken over.
    #[serde(default)]
    pub(in crate::cli) problems: Vec<Problem>,
    /// The configuration that the service runs with, where its health was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) config: Option<PathBuf>,
}

impl From<Result<Report, Problems>> for ControlResponse {
    fn from(result: Result<Report, Problems>) -> Self {
        match result {
            Ok(report) => Self { ok: true, message: report.to_string(), report, ..Self::default() },
            Err(Problems(problems)) => {
                let message = "the configuration was not taken over; the service goes on as it was".to_owned();
                Self { message, problems, ..Self::default() }
            }
        }
    }
}

impl ControlResponse {
    /// Words without a report.
    pub(in crate::cli) fn new(ok: bool, message: String) -> Self {
        Self { ok, message, ..Self::default() }
    }
}

/// The socket, taken away when the service ends.
pub(in crate::cli) struct Control {
    listener: UnixListener,
    _made: Made,
    /// The most recent clients, which may not have sent their request yet.
    askers: VecDeque<AbortOnDropHandle<()>>,
}

impl Control {
    /// Opens the socket.
    ///
    /// # Errors
    /// When another process listens there, or the folder cannot be written to.
    pub(in crate::cli) fn open(path: &Path) -> io::Result<Self> {
        let listener = listener::bind_unix(path)?;
        let made = Made(vec![path.to_owned()]);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener: UnixListener::from_std(listener)?, _made: made, askers: VecDeque::new() })
    }

    /// Serves each request with `answer`. A client that sends nothing blocks no one, nor does a slow answer.
    pub(in crate::cli) async fn serve<A>(mut self, answer: impl Fn(ControlRequest) -> A + Clone + 'static)
    where
        A: Future<Output = ControlResponse> + 'static,
    {
        loop {
            let stream = accepted(&self.listener).await;
            let answer = answer.clone();
            let asker = actix::spawn(async move {
                match timeout(ASK_TIMEOUT, read(stream)).await {
                    Ok(Ok((question, stream))) => drop(actix::spawn(reply(stream, answer(question)))),
                    Ok(Err(error)) => log::warn!("a question at the control socket was refused: {error}"),
                    Err(_) => log::warn!("a client connected to the control socket and sent nothing"),
                }
            });
            self.askers.retain(|asker| !asker.is_finished());
            if self.askers.len() == ASKERS {
                self.askers.pop_front();
            }
            self.askers.push_back(AbortOnDropHandle::new(asker));
        }
    }
}

/// Accepts the next client.
async fn accepted(listener: &UnixListener) -> UnixStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                log::warn!("the control socket failed: {error}");
                // Without descriptors the next attempt would fail at once.
                tokio::time::sleep(ASK_TIMEOUT).await;
            }
        }
    }
}

async fn read(mut stream: UnixStream) -> io::Result<(ControlRequest, UnixStream)> {
    let user = stream.peer_cred()?.uid();
    if user != 0 && user != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("user {user} may not use the control socket"),
        ));
    }
    let mut line = String::new();
    BufReader::new((&mut stream).take(LONGEST_QUESTION)).read_line(&mut line).await?;
    Ok((serde_json::from_str(&line)?, stream))
}

/// Sends the answer, unless the client has left.
async fn reply(mut stream: UnixStream, answer: impl Future<Output = ControlResponse>) {
    let line = serde_json::to_string(&answer.await).unwrap_or_default() + "\n";
    let _ = timeout(ASK_TIMEOUT, stream.write_all(line.as_bytes())).await;
}

/// Why there is no answer.
pub(in crate::cli) enum Unanswered {
    /// No service listens there.
    Nobody(PathBuf),
    /// The socket failed.
    Failed(io::Error),
    /// There was no answer in time.
    Late(Duration),
    /// The service runs with this configuration, and was asked about another one.
    Other(PathBuf),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody(path) => write!(
                f,
                "no running service listens at {}; start one with this configuration, or name its own with --config",
                path.display()
            ),
            Self::Failed(error) => write!(f, "the running service did not answer: {error}"),
            Self::Other(file) => write!(
                f,
                "the service that listens there runs with {}; name that file with --config, or give this one a store of its own",
                file.display()
            ),
            Self::Late(after) => write!(f, "the running service did not answer within {} s", after.as_secs()),
        }
    }
}

/// Makes the service whose socket is at `path` read the store, if there is one.
pub(in crate::cli) async fn notify_service(path: &Path) {
    // It looks by itself too.
    if let Err(Unanswered::Failed(error)) = ask(path, ControlRequest::Look).await {
        log::warn!("the running service could not be told of the change, and will find it by itself: {error}");
    }
}

/// Makes the service whose socket is at `path` read the configuration `file` again.
pub(in crate::cli) async fn ask_to_reload(path: &Path, file: &Path) -> Result<ControlResponse, Unanswered> {
    ask_health(path, file).await?;
    ask(path, ControlRequest::Reload).await
}

/// Asks for the state of the service with the configuration `file`, whose socket is at `path`.
pub(in crate::cli) async fn ask_health(path: &Path, file: &Path) -> Result<ControlResponse, Unanswered> {
    let answer = ask(path, ControlRequest::Health).await?;
    // Where one of the two cannot be looked at from here, they may be the same.
    let identity = |file: &Path| file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    match &answer.config {
        Some(other) if identity(other).zip(identity(file)).is_some_and(|(one, two)| one != two) => {
            Err(Unanswered::Other(other.clone()))
        }
        _ => Ok(answer),
    }
}

/// Sends a request to the service whose socket is at `path`.
async fn ask(path: &Path, question: ControlRequest) -> Result<ControlResponse, Unanswered> {
    let stream = UnixStream::connect(path).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Unanswered::Nobody(path.to_owned()),
        _ => Unanswered::Failed(error),
    })?;
    let exchange = async move {
        let mut stream = stream;
        let line = serde_json::to_string(&question)? + "\n";
        stream.write_all(line.as_bytes()).await?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).await?;
        if answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&answer)?)
    };
    let limit = if question == ControlRequest::Reload { RELOAD_TIMEOUT } else { ANSWER_TIMEOUT };
    match timeout(limit, exchange).await {
        Ok(answered) => answered.map_err(Unanswered::Failed),
        Err(_) => Err(Unanswered::Late(limit)),
    }
}
