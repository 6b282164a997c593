//! The seam to what is offered at an address, and how that is listed and answered with.

mod api;
mod listing;
mod lists;
pub(super) mod pages;
pub(super) mod tool_result;

pub use api::{Answer, Asked, Completion, Features, Given, Input, Question, Reference, Refusal, Wanting};
pub use listing::Listing;
pub(super) use listing::{Key, Listings};
pub use lists::{Digests, List, UNKNOWN};
