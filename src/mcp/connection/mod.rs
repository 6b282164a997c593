//! What a configured connection offers through the seam.

mod completion;
mod features;
mod prompts;
mod resources;

pub use features::ConnectionFeatures;
