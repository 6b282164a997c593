//! Statements over several connections, where this build has the engine for them.

#[cfg(not(feature = "federation"))]
mod disabled;
#[cfg(feature = "federation")]
mod enabled;
mod statement;

#[cfg(not(feature = "federation"))]
pub use self::disabled::Federation;
#[cfg(not(feature = "federation"))]
pub(crate) use self::disabled::functions;
#[cfg(feature = "federation")]
pub use self::enabled::Federation;
#[cfg(feature = "federation")]
pub(crate) use self::enabled::functions;
pub(crate) use self::statement::OverConnections;
pub use self::statement::SentStatements;
