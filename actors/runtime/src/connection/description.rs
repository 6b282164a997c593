//! What a connection is, for its actor and for the calls that it carries out.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use uuid::Uuid;

use crate::queue::Queue;
use portico_core::identity::Mapping;
use portico_sources::Access;
use portico_sql::Dialect;

/// The names of all connections, as they are now.
pub(crate) type Names = Arc<ArcSwap<Vec<Arc<str>>>>;

/// What a connection is, for its actor.
pub(crate) struct Description {
    pub(crate) id: Uuid,
    pub(crate) name: Arc<str>,
    pub(crate) dialect: Dialect,
    pub(crate) access: Access,
    /// Its own name and those of all others: one that is added or removed concerns nobody's actor.
    pub(crate) names: Names,
    /// Calls that run and calls that wait. It outlives an actor: so do the results of its calls.
    pub(crate) queue: Arc<Queue>,
    /// How long a call may wait for its turn.
    pub(crate) queue_timeout: Duration,
    /// How long a reader may take nothing of an answer whose statement still runs.
    pub(crate) reader_timeout: Duration,
    /// Whether statements carry the caller's trace as a comment.
    pub(crate) trace_comments: bool,
    /// The administrator's own words for `get_instructions`.
    pub(crate) instructions: Option<String>,
    /// How often the source is asked for a sign of life, and its profile read anew.
    pub(crate) refresh: Duration,
    /// Which role each caller has at the source; absent where all share the connection's own user.
    pub(crate) identity: Option<Arc<Mapping>>,
}
