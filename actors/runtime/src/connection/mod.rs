//! One connection: its actor, which is Connecting, Up or Down, gives permits and lets calls through; and how
//! a call is carried out, outside of the actor's context, so that no failure there can reach the actor.

mod actor;
mod attended;
mod description;
mod instructions;
mod misspelt;
mod run;
mod runner;
mod script;
mod settings;
mod state;
mod texts;

pub(crate) use actor::{Close, ConnectionActor, Look, Obituary, Retire, Why};
pub(crate) use description::{Description, Names};
pub use settings::{Connection, Intensity, Start};
pub use state::State;
pub(crate) use state::unavailable;
