//! One connection: its monitor, which makes it Connecting, Up or Down; its actors, one on each thread, which admit
//! calls; and the execution of a call, outside of the actor's context, so that no failure there can reach the
//! actor.

mod actor;
mod calls;
mod description;
mod instructions;
mod instructions_key;
mod monitor;
mod names;
mod settings;
mod state;

pub(crate) use actor::LiveConnection;
pub use calls::reader_timeout::with_reader_timeout;
pub(crate) use calls::runner::Runner;
pub(crate) use description::{Description, Names};
pub(crate) use monitor::{Close, ConnectionMonitor, ExitNotifier, PingReason, Probe, Retire};
pub use settings::{ConnectionSpec, Intensity, Start};
pub(crate) use state::unavailable;
pub use state::{ConnectionState, changed};
