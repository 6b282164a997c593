//! The interface to the connections: what a statement over several of them asks of each, with its caller's rights.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use portico_core::call::{Limits, Op};
use portico_core::error::Result;
use portico_core::reply::Results;
use portico_sources::Driver;

/// One connection that a statement may name.
#[derive(Clone, Debug)]
pub struct SourceConnection {
    /// Its id, the same everywhere.
    pub id: Uuid,
    /// Its name, the catalogue of everything in it.
    pub name: Arc<str>,
    /// The driver of its database.
    pub driver: &'static Driver,
    /// Whether the caller reaches it directly, and so may see the statements sent to it.
    pub is_reached: bool,
}

/// The connections that a caller reaches, by index. Every request to one is an ordinary call, so that its rights,
/// limits and records apply.
pub trait Connections: Debug + Send + Sync + 'static {
    /// Returns all of the connections.
    fn members(&self) -> &[SourceConnection];

    /// Asks the connection at `place`. Dropping the future, or the results, cancels the call at the source.
    fn ask(&self, place: usize, op: Op, limits: Limits) -> BoxFuture<'static, Result<Results>>;

    /// Notes a statement that was sent, for the record of the call.
    fn note(&self, place: usize, statement: &str);
}
