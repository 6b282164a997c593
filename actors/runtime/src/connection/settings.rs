//! The settings of a connection for the Directory, and how restarts are limited.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use portico_core::identity::Mapping;
use portico_sources::{Access, Driver, OpenSource};

/// The settings that the Directory runs a connection with.
#[derive(Clone)]
pub struct ConnectionSpec {
    /// Addresses it in URLs.
    pub id: Uuid,
    /// The first part of `connection.schema.table`.
    pub name: Arc<str>,
    /// A digest of its declaration. While a reload comes into force, it tells callers whether what they know of the
    /// connection was declared together with the source that they find.
    pub fingerprint: u64,
    /// Makes its source: its database behind a driver.
    pub open: OpenSource,
    /// The driver of its database.
    pub driver: &'static Driver,
    /// Whether it may write.
    pub access: Access,
    /// Calls that may run at once.
    pub permits: usize,
    /// How many of these one caller may have; absent: all but one, and at least one.
    pub share: Option<usize>,
    /// Calls that may wait for a permit.
    pub queue: usize,
    /// How long a call may wait for its turn.
    pub queue_timeout: Duration,
    /// How long a reader may read nothing of an answer whose statement still runs.
    pub reader_timeout: Duration,
    /// Whether statements carry the caller's trace as a comment.
    pub trace_comments: bool,
    /// The plan cost, in the source's units, beyond which a tool's query is refused; absent: no limit.
    pub cost_limit: Option<u32>,
    /// The administrator's own words for `get_instructions`.
    pub instructions: Option<String>,
    /// How often the source is asked for a sign of life, and its profile read anew.
    pub refresh: Duration,
    /// Which role each caller has at the source; absent where all share the connection's own user.
    pub identity: Option<Arc<Mapping>>,
    /// When it is started.
    pub start: Start,
    /// How long it may be unused until it closes its sessions; absent means never.
    pub idle_timeout: Option<Duration>,
}

/// When a connection is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// With the service.
    #[default]
    Eager,
    /// With its first use; until then it is idle.
    Lazy,
}

/// How often an actor may die before the supervisor gives up, and how fast it is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Intensity {
    /// The number of deaths within [`Intensity::within`] after which the supervisor gives up.
    pub deaths: usize,
    /// The time in which deaths are counted.
    pub within: Duration,
    /// The first delay before a fresh actor is started; it doubles with each death.
    pub backoff: Duration,
}

impl Default for Intensity {
    fn default() -> Self {
        Self { deaths: 5, within: Duration::from_secs(60), backoff: Duration::from_millis(100) }
    }
}
