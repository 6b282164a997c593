//! A request and the one who made it, while it is answered: what is sent on the way (progress, log
//! messages), what is asked back, and where that travels. What a request does is not known here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use portico_actors::call::{Notices, Severity};
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
    /// The name under which the caller wants to hear of its progress; only calls have any.
    pub token: Option<Id>,
    /// From which severity on the caller wants log messages of this request alone.
    pub(super) level: Option<Level>,
    /// What the client can do, as far as it has declared that.
    pub(super) capabilities: Value,
    /// The client's name, where the message says it.
    pub(super) client: Option<String>,
}

impl ParsedRequest {
    /// Of what has neither progress nor log messages: a batch.
    pub(super) fn quiet(era: Era, session: Option<Arc<Session>>) -> Self {
        let capabilities = session.as_ref().map(|session| session.capabilities()).unwrap_or_default();
        Self { era, session, token: None, level: None, capabilities, client: None }
    }
}

/// What is sent before the response.
#[derive(Debug)]
pub enum OutboundMessage {
    /// A notification, or a request to the client.
    Message(Vec<u8>),
    /// The stream is to be closed here, and may be taken up again.
    Pause,
}

/// What is to be sent, in its order.
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
    /// Under which name the client wants to hear of progress.
    pub(super) token: Option<Id>,
    pub(super) sink: LogSink,
    capabilities: Value,
    client: Option<String>,
    /// Whether what is offered tells its progress itself.
    pub(super) reports_progress: AtomicBool,
    /// Whether the call becomes a task.
    promotion: Mutex<TaskPromotion>,
    /// How the request is served.
    pub era: Era,
    /// For what is prepared to answer; without bounds where there is none.
    room: Mutex<Option<Allowance<String>>>,
}

/// What is kept of a result's rows at once: they, their text, and both in the answer.
const COPIES: usize = 3;

impl RequestContext {
    /// Of the message that `parsed` is about. Where `streams` is false its answer is one body:
    /// what is sent before goes to the session's listening stream, if there is one.
    pub(crate) fn begin(parsed: ParsedRequest, streams: bool, room: Allowance<String>) -> (Self, OutboundMessages) {
        let (sender, outbound) = mpsc::channel(WAITING);
        let ParsedRequest { era, session, token, level, capabilities, client } = parsed;
        let request = Self {
            token: token.filter(|_| streams),
            sink: LogSink { level, session, outbound: streams.then_some(sender) },
            capabilities,
            client,
            era,
            room: Mutex::new(Some(room)),
            ..Self::default()
        };
        (request, outbound)
    }

    /// Takes room for so many more octets of a result's rows.
    ///
    /// # Errors
    /// [`Kind::Busy`](portico_actors::error::Kind::Busy): there is none for them.
    pub(super) fn prepare(&self, octets: usize) -> Result<()> {
        lock(&self.room).as_mut().map_or(Ok(()), |room| room.prepare(octets * COPIES))
    }

    /// What was taken for the answer, which goes with it.
    pub(crate) fn take_room(&self) -> Option<Allowance<String>> {
        lock(&self.room).take()
    }

    /// Tells the client a log message, if it wants to hear of it. `data` must hold no secret and
    /// no value that the caller gave.
    pub fn log(&self, level: Level, logger: &str, data: &Value) {
        self.sink.log(level, logger, data);
    }

    /// Whether the client wants to hear of anything at all.
    pub(super) fn is_heard(&self) -> bool {
        self.sink.hears(Level::Emergency)
    }

    /// Tells the client what the source says beside its results, if it wants to hear of anything
    /// so light.
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

    /// Under which name the client hears of progress that is not told by what is offered.
    pub(super) fn own_token(&self) -> Option<&Id> {
        self.token.as_ref().filter(|_| !self.reports_progress.load(Ordering::Relaxed))
    }

    /// Decides whether the call becomes a task.
    pub fn promote(&self, promotion: TaskPromotion) {
        *lock(&self.promotion) = promotion;
    }

    /// What has been decided of that.
    pub(super) fn promotion(&self) -> TaskPromotion {
        lock(&self.promotion).clone()
    }
}
