//! The Model Context Protocol, in both eras.

mod agents;
mod any_bytes;
mod digest;
mod envelope;
pub(crate) mod instructions;
pub(crate) mod listen;
mod logging;
mod own_tools;
mod progress;
mod resources;
mod results;
mod resume;
mod rmcp;
pub(crate) mod seam;
mod sessions;
mod several;
mod streams;
mod table;
mod tasks;
mod tools;
