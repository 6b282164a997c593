//! The description of a connection, for its actor and for its calls.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::connection::settings::ConnectionSpec;
use crate::queue::Queue;

/// The names of all connections, as they are now.
pub(crate) type Names = Arc<ArcSwap<Vec<Arc<str>>>>;

/// The description of a connection, for its actor.
pub(crate) struct Description {
    pub(crate) connection: ConnectionSpec,
    /// The names of this and all other connections: adding or removing one affects no actor.
    pub(crate) names: Names,
    /// Calls that run and calls that wait. The queue outlives the actor, because results of calls do.
    pub(crate) queue: Arc<Queue>,
}
