//! Everything worth observing. The code says what happened; observers decide who cares.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::call::RequestId;
use super::trace::TraceParent;
use crate::error::Kind;
use crate::finding::Finding;

/// Something happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A call came to its end, or a request that was refused before it was one.
    CallEnded(Box<CallEnded>),
    /// A connection is up: its source answered.
    ConnectionUp {
        /// The connection's name.
        name: Arc<str>,
        /// The source's product and version.
        product: String,
    },
    /// Something about a connection that is up is weaker than it looks. Told once for each of its actors.
    ConnectionFinding {
        /// The connection's name.
        name: Arc<str>,
        /// What was found.
        finding: Finding,
    },
    /// What a connection offers is another than it was: its tools, its tables.
    CatalogueChanged {
        /// The connection's id.
        id: Uuid,
        /// The connection's name.
        name: Arc<str>,
        /// Whether its source was looked at because another process said so.
        told: bool,
    },
    /// A connection's source answers, and what it offers could not be read anew: what is known stays in force.
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
    /// A connection that nobody used has let go of its sessions; the next use brings it back.
    ConnectionIdle {
        /// The connection's name.
        name: Arc<str>,
        /// How long nobody had used it.
        after: Duration,
    },
    /// A connection's actor died.
    ConnectionDied {
        /// The connection's name.
        name: Arc<str>,
        /// Whether a panic was its end.
        panicked: bool,
        /// When a fresh actor is started; `None` when it has died too often.
        restart_in: Option<Duration>,
    },
    /// The actor that judges credentials died.
    AuthDied {
        /// Whether a panic was its end.
        panicked: bool,
        /// When a fresh one is started.
        restart_in: Duration,
    },
    /// The keys of a trusted issuer could not be fetched; those that are known stay in force.
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
    /// Something that was asked for could not be done at the store, such as to write it: whoever asked was told so.
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
        /// Whether calls are refused until it can; else their records are lost.
        refuses: bool,
    },
    /// The audit trail is written again.
    AuditResumed {
        /// Records that were lost meanwhile.
        lost: u64,
    },
    /// The configuration was read again and is in force.
    Reloaded {
        /// What has changed, in words.
        summary: String,
    },
    /// The configuration was read again and refused; nothing has changed.
    ReloadRefused {
        /// What is wrong with it, each with its place and remedy.
        problems: Vec<String>,
    },
    /// The service has ended; nothing follows. Who keeps something back writes it before it returns.
    Stopped,
}

/// One ended call. The line of the log, the counts of the metrics, the span of its trace and its record in the audit
/// trail are made of it.
#[derive(Clone, Debug)]
pub struct CallEnded {
    /// The request.
    pub id: Box<RequestId>,
    /// The client's address; proxies that are trusted are looked through.
    pub client: Option<IpAddr>,
    /// The caller's subject; empty when none was authenticated.
    pub subject: String,
    /// The connection's name, where one was found; the names with commas between where several were asked.
    pub connection: Option<Arc<str>>,
    /// The connection's id as asked for; none where several were asked.
    pub connection_id: Option<Uuid>,
    /// The workspace's name, where one was asked.
    pub workspace: Option<Arc<str>>,
    /// The tool's name, or the path.
    pub what: String,
    /// What a tool does, in a word of a closed set; none where `what` says it already.
    pub operation: Option<&'static str>,
    /// The trace that the request is part of, with the span that its source is told of: our own where
    /// spans are recorded, else the caller's.
    pub trace: Option<TraceParent>,
    /// The trace and the span that the caller joins the request to.
    pub parent: Option<TraceParent>,
    /// The driver of the connection: `postgres` or `sqlite`.
    pub driver: Option<&'static str>,
    /// When the connection was asked; none where it was not.
    pub asked: Option<Instant>,
    /// The statement's class, where there was a statement.
    pub class: Option<&'static str>,
    /// Rows sent.
    pub rows: u64,
    /// How long it waited for its turn at the connection; none where it came to no turn.
    pub queued: Option<Duration>,
    /// How long the source then took until the answer could begin.
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
