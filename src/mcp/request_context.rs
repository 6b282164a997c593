//! A request and its client while it is answered: what is sent meanwhile (progress, log messages), what is asked of
//! the client, and by which way. What a request does is not known here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use portico_actors::call::{Notices, Severity};
use portico_actors::effects::Effects;
use portico_actors::error::Result;
use portico_actors::mutex::lock;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::mcp::era::Era;
use crate::mcp::extensions::tasks::TaskPromotion;
use crate::mcp::logging::{self, Level};
use crate::mcp::model::Id;
use crate::mcp::sessions::Session;
use crate::mcp::streams::progress::Progress;
use portico_actors::shares::Allowance;

/// Messages of one request that wait to be sent, at most. Log messages beyond that are dropped: a
/// slow reader must not hold up the statement.
const WAITING: usize = 256;

/// What is known of a message before it is answered.
#[derive(Debug)]
pub struct ParsedRequest {
    pub(super) era: Era,
    /// The session that it belongs to.
    pub session: Option<Arc<Session>>,
    /// The caller's token for progress; only calls have any.
    pub token: Option<Id>,
    /// The lowest severity of log messages that the caller wants for this request alone.
    pub(super) level: Option<Level>,
    /// The client's declared capabilities.
    pub(super) capabilities: Value,
    /// The client's name, where the message says it.
    pub(super) client: Option<String>,
}

impl ParsedRequest {
    /// Makes the request of a batch, which has neither progress nor log messages.
    pub(super) fn quiet(era: Era, session: Option<Arc<Session>>) -> Self {
        let capabilities = session.as_ref().map(|session| session.capabilities()).unwrap_or_default();
        Self { era, session, token: None, level: None, capabilities, client: None }
    }
}

/// A message sent before the response.
#[derive(Debug)]
pub enum OutboundMessage {
    /// A notification, or a request to the client.
    Message(Vec<u8>),
    /// The stream is to be closed here, and may be taken up again.
    Pause,
}

/// The messages to send, in order.
pub type OutboundMessages = mpsc::Receiver<OutboundMessage>;

/// Where log messages of one request go, and which are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct LogSink {
    level: Option<Level>,
    pub(super) session: Option<Arc<Session>>,
    pub(super) outbound: Option<mpsc::Sender<OutboundMessage>>,
}

impl LogSink {
    fn hears(&self, level: Level) -> bool {
        let asked = match &self.session {
            Some(session) => session.level(),
            None => self.level,
        };
        asked.is_some_and(|asked| level >= asked)
    }

    fn log(&self, level: Level, logger: &str, data: &Value) {
        if !self.hears(level) {
            return;
        }
        let message = logging::notification(level, logger, data);
        match (&self.outbound, &self.session) {
            (Some(outbound), _) => drop(outbound.try_send(OutboundMessage::Message(message))),
            (None, Some(session)) => session.announce(message.into()),
            (None, None) => {}
        }
    }
}

/// One request and its caller.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// Counts what a call reads.
    pub progress: Arc<Progress>,
    /// The client's token for progress.
    pub(super) token: Option<Id>,
    pub(super) sink: LogSink,
    capabilities: Value,
    client: Option<String>,
    /// Whether the feature reports its progress itself.
    pub(super) reports_progress: AtomicBool,
    /// Whether the call becomes a task.
    promotion: Mutex<TaskPromotion>,
    /// How the request is served.
    pub era: Era,
    /// What of it may stand at connections.
    pub(crate) effects: Effects,
    /// The memory allowance of the answer; unlimited if absent.
    room: Mutex<Option<Allowance<String>>>,
}

/// The number of copies of a result's rows at one time: the rows, their text, and both in the answer.
const COPIES: usize = 3;

impl RequestContext {
    /// Makes the context of the message `parsed`. If `streams` is false its answer is one body: what is sent before
    /// goes to the session's listening stream, if there is one.
    pub(crate) fn begin(parsed: ParsedRequest, streams: bool, room: Allowance<String>) -> (Self, OutboundMessages) {
        let (sender, outbound) = mpsc::channel(WAITING);
        let ParsedRequest { era, session, token, level, capabilities, client } = parsed;
        let request = Self {
            token: token.filter(|_| streams),
            sink: LogSink { level, session, outbound: streams.then_some(sender) },
            capabilities,
            client,
            era,
            effects: Effects::noted(),
            room: Mutex::new(Some(room)),
            ..Self::default()
        };
        (request, outbound)
    }

    /// Takes memory for so many more bytes of a result's rows.
    ///
    /// # Errors
    /// [`Kind::Busy`](portico_actors::error::Kind::Busy): there is not enough.
    pub(super) fn prepare(&self, octets: usize) -> Result<()> {
        lock(&self.room).as_mut().map_or(Ok(()), |room| room.prepare(octets * COPIES))
    }

    /// Returns the allowance of the answer, to be held with it.
    pub(crate) fn take_room(&self) -> Option<Allowance<String>> {
        lock(&self.room).take()
    }

    /// Sends the client a log message, if it wants it. `data` must contain no secret and no value that the caller
    /// gave.
    pub fn log(&self, level: Level, logger: &str, data: &Value) {
        self.sink.log(level, logger, data);
    }

    /// Returns true if the client wants any log messages.
    pub(super) fn is_heard(&self) -> bool {
        self.sink.hears(Level::Emergency)
    }

    /// Returns the receiver of the source's notices, if the client wants log messages of such a low severity.
    pub fn notices(&self, logger: &str) -> Option<Notices> {
        if !self.sink.hears(Level::Warning) {
            return None;
        }
        let (sink, logger) = (self.sink.clone(), logger.to_owned());
        Some(Notices::new(move |notice| {
            let level = match notice.severity {
                Severity::Debug => Level::Debug,
                Severity::Info => Level::Info,
                Severity::Notice => Level::Notice,
                Severity::Warning => Level::Warning,
            };
            let mut data = json!({"message": notice.message, "sqlState": notice.sqlstate});
            if let Some(hint) = notice.hint {
                data["hint"] = Value::from(hint);
            }
            sink.log(level, &logger, &data);
        }))
    }

    /// The session that the request belongs to.
    pub fn session(&self) -> Option<&Arc<Session>> {
        self.sink.session.as_ref()
    }

    /// The client's name, as it gave it.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref().or_else(|| self.session()?.client())
    }

    /// Whether the client has declared the capability `name`.
    pub fn client_can(&self, name: &str) -> bool {
        self.capabilities.get(name).is_some_and(Value::is_object)
    }

    /// Whether the client has declared the extension `name`.
    pub fn client_extends(&self, name: &str) -> bool {
        self.capabilities.get("extensions").and_then(|all| all.get(name)).is_some_and(Value::is_object)
    }

    /// Returns the client's token for progress, unless the feature reports progress itself.
    pub(super) fn own_token(&self) -> Option<&Id> {
        self.token.as_ref().filter(|_| !self.reports_progress.load(Ordering::Relaxed))
    }

    /// Decides whether the call becomes a task.
    pub fn promote(&self, promotion: TaskPromotion) {
        *lock(&self.promotion) = promotion;
    }

    /// Returns the decision on that.
    pub(super) fn promotion(&self) -> TaskPromotion {
        lock(&self.promotion).clone()
    }
}
