//! Statements over several connections, where this build has the engine for them.

#[cfg(not(feature = "federation"))]
mod absent;
#[cfg(feature = "federation")]
mod lent;
mod statement;

#[cfg(not(feature = "federation"))]
pub use self::absent::Federation;
#[cfg(not(feature = "federation"))]
pub(crate) use self::absent::functions;
#[cfg(feature = "federation")]
pub use self::lent::Federation;
#[cfg(feature = "federation")]
pub(crate) use self::lent::functions;
pub(crate) use self::statement::OverConnections;
pub use self::statement::SentStatements;
