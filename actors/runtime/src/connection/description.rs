//! What a connection is, for its actor and for the calls that it carries out.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::connection::settings::ConnectionSpec;
use crate::queue::Queue;

/// The names of all connections, as they are now.
pub(crate) type Names = Arc<ArcSwap<Vec<Arc<str>>>>;

/// What a connection is, for its actor.
pub(crate) struct Description {
    pub(crate) connection: ConnectionSpec,
    /// Its own name and those of all others: one that is added or removed concerns nobody's actor.
    pub(crate) names: Names,
    /// Calls that run and calls that wait. It outlives an actor: so do the results of its calls.
    pub(crate) queue: Arc<Queue>,
}
