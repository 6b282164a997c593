//! The seam between a connection and its database: one trait with few methods.

use futures_util::future::BoxFuture;

use crate::error::Result;
use crate::reply::Results;
use crate::source::grants::Finding;
use crate::source::plan::Plan;
use crate::source::profile::Profile;

/// A database, reached through a driver of its own.
///
/// The futures are `Send` and own what they need: they run on the connection's thread, the
/// streams inside their answers on the HTTP worker that reads them.
pub trait Source: Send + Sync + 'static {
    /// Connects if need be, asks for a sign of life, and reads what callers may want to know
    /// without a question of their own.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](crate::error::Kind::Unavailable) when the database is away or
    /// refuses us; the inner cause says why.
    fn ping(&self) -> BoxFuture<'static, Result<Profile>>;

    /// Answers as soon as the first columns are known, or fails with what the source said.
    ///
    /// Whatever is dropped before its end, this future or the results, is cancelled at the source.
    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>>;

    /// Compares what the connection's own user can do at the source with what the connection exposes: what is
    /// weaker than it looks. A source without users of its own has nothing to tell.
    fn reach(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Lets go of every session; what still runs is cancelled.
    fn close(&self) -> BoxFuture<'static, ()>;

    /// The sessions that are open now, for gauges; `None` where there are none to count.
    fn pool(&self) -> Option<Pool> {
        None
    }
}

/// The sessions of a source at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Sessions that are open.
    pub open: usize,
    /// Of these, the ones that nobody uses.
    pub idle: usize,
    /// Sessions that may be open at most.
    pub most: usize,
}
