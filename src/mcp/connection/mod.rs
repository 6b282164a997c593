//! The features of configured connections.

mod ask;
mod completion;
mod features;
mod greeting;
mod instructions;
mod offers;
mod plan;
mod prompts;
mod relations;
mod resources;
mod workspace;

pub use features::ConnectionFeatures;
