//! The interface to what is offered at an address, and the form of lists and results.

mod api;
pub(super) mod pages;
pub(super) mod structured;
mod tool_list;
pub(super) mod tool_result;

pub use api::{
    ClientInput, CompletionRequest, CompletionTarget, Digests, FeatureRequest, Features, InputRequest, InputRequired,
    ListKind, RequestError, RequestResult, ToolOutcome, UNKNOWN_DIGEST,
};
pub use tool_list::ToolList;
pub(super) use tool_list::{ToolListCache, ToolListKey, digest};
