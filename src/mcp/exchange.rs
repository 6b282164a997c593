//! A request and the one who made it, while it is answered: what is told on the way (progress, log
//! messages), what is asked back, and where that travels. What a request does is not known here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portico_actors::call::{Notices, Severity};
use portico_actors::error::{Error, Kind, Result};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::mcp::era::Era;
use crate::mcp::extensions::tasks::Deferral;
use crate::mcp::lock::lock;
use crate::mcp::logging::{self, Level};
use crate::mcp::sessions::Session;
use crate::mcp::streams::progress::{Progress, Token};
use crate::shares::{Room, Short};

/// Messages of one request that wait to be sent, at most. Log messages beyond that are dropped: a
/// slow reader must not hold up the statement.
const WAITING: usize = 256;

/// What is known of a message before it is answered.
#[derive(Debug)]
pub struct Reception {
    pub(super) era: Era,
    /// The session that it belongs to.
    pub session: Option<Arc<Session>>,
    /// The name under which the caller wants to hear of its progress; only calls have any.
    pub token: Option<Token>,
    /// From which severity on the caller wants log messages of this request alone.
    pub(super) level: Option<Level>,
    /// What the client can do, as far as it has declared that.
    pub(super) capabilities: Value,
}

impl Reception {
    /// Of what has neither progress nor log messages: a batch.
    pub(super) fn quiet(era: Era, session: Option<Arc<Session>>) -> Self {
        let capabilities = session.as_ref().map(|session| session.capabilities()).unwrap_or_default();
        Self { era, session, token: None, level: None, capabilities }
    }
}

/// What is told before the response.
#[derive(Debug)]
pub enum Told {
    /// A notification, or a request to the client.
    Message(Vec<u8>),
    /// The stream is to be closed here, and may be taken up again.
    Pause,
}

/// What is told, in its order.
pub type Telling = mpsc::Receiver<Told>;

/// Where log messages of one request go, and which are wanted.
#[derive(Clone, Debug, Default)]
struct Outlet {
    level: Option<Level>,
    session: Option<Arc<Session>>,
    told: Option<mpsc::Sender<Told>>,
}

impl Outlet {
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
        match (&self.told, &self.session) {
            (Some(told), _) => drop(told.try_send(Told::Message(message))),
            (None, Some(session)) => session.announce(message.into()),
            (None, None) => {}
        }
    }
}

/// One request and its caller.
#[derive(Debug, Default)]
pub struct Exchange {
    /// Counts what a call reads.
    pub progress: Arc<Progress>,
    token: Option<Token>,
    outlet: Outlet,
    capabilities: Value,
    /// Whether what is offered tells its progress itself.
    own_progress: AtomicBool,
    /// Whether the call becomes a task.
    deferral: Mutex<Deferral>,
    era: Era,
    /// For what is prepared to answer; without bounds where there is none.
    room: Mutex<Option<Room<String>>>,
}

/// One result that is prepared.
pub(super) struct Preparing<'x> {
    exchange: &'x Exchange,
    octets: usize,
}

/// What is kept of a result's rows at once: they, their text, and both in the answer.
const COPIES: usize = 3;

impl Preparing<'_> {
    /// The rows of the result have so many octets by now.
    ///
    /// # Errors
    /// [`Kind::Busy`]: there is no room for them.
    pub(super) fn grow_to(&mut self, octets: usize) -> Result<()> {
        let more = octets.saturating_sub(self.octets);
        self.octets = octets;
        let mut room = lock(&self.exchange.room);
        let grown = room.as_mut().map_or(Ok(()), |room| room.grow(more * COPIES));
        grown.map_err(|short| {
            let whose = if short == Short::Each { " for this principal" } else { "" };
            Error::new(
                Kind::Busy,
                format!("the service is busy: as many bytes as it prepares at once{whose} are in answers"),
            )
            .retry_after(Duration::from_secs(1))
            .hint("ask for fewer rows or columns at once, or again when other answers have been read")
        })
    }
}

impl Exchange {
    /// Of the message that `reception` is about. Where `streams` is false its answer is one body:
    /// what is told goes to the session's listening stream, if there is one.
    pub(crate) fn begin(reception: &Reception, streams: bool, room: Room<String>) -> (Self, Telling) {
        let (sender, telling) = mpsc::channel(WAITING);
        let exchange = Self {
            progress: Arc::default(),
            token: reception.token.clone().filter(|_| streams),
            outlet: Outlet {
                level: reception.level,
                session: reception.session.clone(),
                told: streams.then_some(sender),
            },
            capabilities: reception.capabilities.clone(),
            own_progress: AtomicBool::new(false),
            deferral: Mutex::default(),
            era: reception.era,
            room: Mutex::new(Some(room)),
        };
        (exchange, telling)
    }

    /// Counts a result that is prepared.
    pub(super) fn preparing(&self) -> Preparing<'_> {
        Preparing { exchange: self, octets: 0 }
    }

    /// What was taken for the answer, which goes with it.
    pub(crate) fn take_room(&self) -> Option<Room<String>> {
        lock(&self.room).take()
    }

    /// Tells the client a log message, if it wants to hear of it. `data` must hold no secret and
    /// no value that the caller gave.
    pub fn log(&self, level: Level, logger: &str, data: &Value) {
        self.outlet.log(level, logger, data);
    }

    /// Tells the client what the source says beside its results, if it wants to hear of anything
    /// so light.
    pub fn notices(&self, logger: &str) -> Option<Notices> {
        if !self.outlet.hears(Level::Warning) {
            return None;
        }
        let (outlet, logger) = (self.outlet.clone(), logger.to_owned());
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
            outlet.log(level, &logger, &data);
        }))
    }

    /// Tells how far the request is, if the client asked to hear of it; from the first time on
    /// nothing else is told of its progress.
    pub async fn tell_progress(&self, progress: f64, total: f64, message: &str) {
        let (Some(token), Some(told)) = (&self.token, &self.outlet.told) else { return };
        self.own_progress.store(true, Ordering::Relaxed);
        let notification = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\
             \"progress\":{progress},\"total\":{total},\"message\":{}}}}}",
            token.as_json(),
            Value::from(message)
        );
        let _ = told.send(Told::Message(notification.into_bytes())).await;
    }

    /// Whether what is offered tells its progress itself.
    pub(super) fn tells_own_progress(&self) -> bool {
        self.own_progress.load(Ordering::Relaxed)
    }

    /// The token under which the client wants to hear of progress.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// The session that the request belongs to.
    pub fn session(&self) -> Option<&Session> {
        self.outlet.session.as_deref()
    }

    /// How the request is served.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Whether the client has declared the capability `name`.
    pub fn client_can(&self, name: &str) -> bool {
        self.capabilities.get(name).is_some_and(Value::is_object)
    }

    /// Whether the client has declared the extension `name`.
    pub fn client_extends(&self, name: &str) -> bool {
        self.capabilities.get("extensions").and_then(|all| all.get(name)).is_some_and(Value::is_object)
    }

    /// Decides whether the call becomes a task.
    pub(super) fn defer(&self, deferral: Deferral) {
        *lock(&self.deferral) = deferral;
    }

    /// What has been decided of that.
    pub(super) fn deferral(&self) -> Deferral {
        lock(&self.deferral).clone()
    }

    /// Asks the client and waits for its answer: through the request's task, if it has become one,
    /// or on the request's own stream, which the 2025 revisions allow within a session.
    ///
    /// # Errors
    /// [`Kind::Invalid`] where the client cannot be asked or answers with an error, and
    /// [`Kind::TimedOut`] where it does not answer within `patience`.
    pub async fn ask(&self, capability: &str, method: &str, params: Value, patience: Duration) -> Result<Value> {
        if !self.client_can(capability) {
            return Err(Error::invalid(format!("the client has not declared the capability {capability}")));
        }
        if let Deferral::Begun(task) = self.deferral() {
            return task.ask(method, params, patience).await;
        }
        let (Some(told), Some(session)) = (&self.outlet.told, &self.outlet.session) else {
            return Err(Error::invalid("the client can only be asked on a stream within a session, or by a task"));
        };
        let asking = session.ask();
        let id = asking.id();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        told.send(Told::Message(request.into_bytes()))
            .await
            .map_err(|_| Error::new(Kind::Abandoned, "nobody listens"))?;
        match tokio::time::timeout(patience, asking.answer()).await {
            Ok(Some(Ok(result))) => Ok(result),
            Ok(Some(Err(error))) => {
                let words = error["message"].as_str().unwrap_or("no reason given").to_owned();
                Err(Error::invalid(format!("the client refused {method}: {words}")))
            }
            Ok(None) => Err(Error::new(Kind::Abandoned, "the session is over")),
            Err(_) => Err(Error::new(Kind::TimedOut, format!("the client did not answer {method}"))),
        }
    }

    /// Closes the request's stream while it goes on; the client takes it up again
    /// (MCP 2025-11-25, transports §Sending Messages). Whether the stream can be closed.
    pub async fn pause(&self) -> bool {
        let (Some(told), Some(session)) = (&self.outlet.told, &self.outlet.session) else { return false };
        session.resumes() && told.send(Told::Pause).await.is_ok()
    }
}
