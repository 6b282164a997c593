//! One connection: its monitor, by which it is Connecting, Up or Down; its actors, one on each thread, which let
//! calls through; and how a call is carried out, outside of the actor's context, so that no failure there can
//! reach the actor.

mod actor;
mod attended;
mod briefed;
mod columns;
mod description;
mod guards;
mod instructions;
mod listing;
mod misspelt;
mod monitor;
mod nearby;
mod run;
mod runner;
mod script;
mod settings;
mod state;
mod within;

pub(crate) use actor::LiveConnection;
pub use attended::attended;
pub(crate) use description::{Description, Names};
pub(crate) use monitor::{Close, ConnectionMonitor, Look, Obituary, Retire, Why};
pub(crate) use runner::Runner;
pub use settings::{Connection, Intensity, Start};
pub use state::State;
pub(crate) use state::unavailable;
