//! Events that observers may want to know of. The code emits them; each observer picks what it uses.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::call::RequestId;
use super::trace::TraceParent;
use crate::error::Kind;
use crate::finding::Finding;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A call ended, or a request was refused before it became a call.
    CallEnded(Box<CallEnded>),
    /// A connection is up: its source answered.
    ConnectionUp {
        /// The connection's name.
        name: Arc<str>,
        /// The source's product and version.
        product: String,
    },
    /// Something about a connection that is up is less protected than it appears. Emitted once for each of its
    /// actors.
    ConnectionFinding {
        /// The connection's name.
        name: Arc<str>,
        /// What was found.
        finding: Finding,
    },
    /// The catalogue of a connection, its tools or tables, has changed.
    CatalogueChanged {
        /// The connection's id.
        id: Uuid,
        /// The connection's name.
        name: Arc<str>,
        /// Whether the catalogue was read because another process announced a change.
        told: bool,
    },
    /// A connection's source answers, but its catalogue could not be read again: the known one stays in force.
    CatalogueUnread {
        /// The connection's name.
        name: Arc<str>,
        /// For the log: what the source said.
        cause: String,
        /// When the next attempt is made.
        retry_in: Duration,
    },
    /// A connection's source went away, or an attempt to reach it failed.
    ConnectionDown {
        /// The connection's name.
        name: Arc<str>,
        /// For the log: what the source or the network said.
        cause: String,
        /// When the next attempt is made.
        retry_in: Duration,
    },
    /// A connection without calls has closed its sessions; the next use opens them again.
    ConnectionIdle {
        /// The connection's name.
        name: Arc<str>,
        /// How long it had no calls.
        after: Duration,
    },
    /// The monitor of a connection died.
    ConnectionDied {
        /// The connection's name.
        name: Arc<str>,
        /// Whether a panic was its end.
        panicked: bool,
        /// When it is started again; `None` if it has died too often.
        restart_in: Option<Duration>,
    },
    /// The actor that authenticates credentials died.
    AuthDied {
        /// Whether a panic was its end.
        panicked: bool,
        /// When it is started again.
        restart_in: Duration,
    },
    /// The keys of a trusted issuer could not be fetched; the known ones stay in force.
    IssuerFailed {
        /// Its name, as tokens give it.
        issuer: String,
        /// For the log.
        cause: String,
    },
    /// The store could not be read; what is in memory stays in force.
    StoreFailed {
        /// For the log.
        cause: String,
    },
    /// An operation on the store failed, such as a write; the error was returned to its caller.
    StoreWorkFailed {
        /// For the log.
        cause: String,
    },
    /// The store can be read again, and what was changed meanwhile is in force.
    StoreResumed,
    /// The audit trail cannot be written.
    AuditFailed {
        /// For the log: what failed, and why.
        cause: String,
        /// Whether calls are refused until it works again; otherwise their records are lost.
        refuses: bool,
    },
    /// The audit trail is written again.
    AuditResumed {
        /// Records that were lost meanwhile.
        lost: u64,
    },
    /// The configuration was read again and is in force.
    Reloaded {
        /// A summary of the changes.
        summary: String,
    },
    /// The configuration was read again and refused; nothing has changed.
    ReloadRefused {
        /// What is wrong with it, each with its place and remedy.
        problems: Vec<String>,
    },
    /// The service has ended; no event follows. An observer with buffered data writes it before it returns.
    Stopped,
}

/// An ended call. The log line, the metrics, the span of its trace and its audit record are made from it.
#[derive(Clone, Debug)]
pub struct CallEnded {
    /// The request.
    pub id: Box<RequestId>,
    /// The client's address, as determined behind trusted proxies.
    pub client: Option<IpAddr>,
    /// The caller's subject; empty when none was authenticated.
    pub subject: String,
    /// The connection's name, if one was found; a comma list if there were several.
    pub connection: Option<Arc<str>>,
    /// The connection's id as requested; `None` for several connections.
    pub connection_id: Option<Uuid>,
    /// The workspace's name, if the call was for one.
    pub workspace: Option<Arc<str>>,
    /// The tool's name, or the path.
    pub what: String,
    /// What a tool does, one word of a closed set; `None` if `what` says it already.
    pub operation: Option<&'static str>,
    /// The trace that the request belongs to, with the span id that the source receives: our own if spans are
    /// recorded, otherwise the caller's.
    pub trace: Option<TraceParent>,
    /// The trace and the span that the caller sent.
    pub parent: Option<TraceParent>,
    /// The driver of the connection: `postgres` or `sqlite`.
    pub driver: Option<&'static str>,
    /// When the connection received the call; `None` if it did not.
    pub asked: Option<Instant>,
    /// The statement's class, if there was a statement.
    pub class: Option<&'static str>,
    /// Rows sent.
    pub rows: u64,
    /// How long the call waited for a permit of the connection; `None` if it never got one.
    pub queued: Option<Duration>,
    /// How long the source then took until the answer could start.
    pub source: Option<Duration>,
    /// From the request's arrival to its last byte.
    pub took: Duration,
    /// `None` for success.
    pub failure: Option<Kind>,
    /// The inner cause of an internal failure, for the log.
    pub cause: Option<String>,
}

/// Takes every event; must return at once.
pub type Observer = Arc<dyn Fn(&Event) + Send + Sync>;
