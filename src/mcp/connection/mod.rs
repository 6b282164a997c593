//! What a configured connection offers through the seam.

mod completion;
mod connected;
mod prompts;
mod resources;

pub use connected::Connected;
