//! What a client gets only if it asks for it, and a configured connection needs little of: tasks, and
//! requests that take several rounds. The conformance suite asks for all of it.

mod client_requests;
pub(super) mod input;
pub mod request_state;
pub mod tasks;
