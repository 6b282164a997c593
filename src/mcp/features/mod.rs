//! The seam to what is offered at an address, and how that is listed and answered with.

mod api;
mod lists;
pub(super) mod pages;
mod tool_list;
pub(super) mod tool_result;

pub use api::{
    Answer, ClientInput, CompletionRequest, CompletionTarget, FeatureRequest, Features, InputRequest, InputRequired,
    RequestError, ToolOutcome,
};
pub use lists::{Digests, ListKind, UNKNOWN};
pub use tool_list::ToolList;
pub(super) use tool_list::{ToolListCache, ToolListKey};
