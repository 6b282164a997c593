//! Features that a client gets only on request, and that configured connections rarely use: tasks, and requests of
//! several rounds. The conformance suite uses all of them.

mod client_requests;
pub(super) mod input;
pub mod request_state;
pub mod tasks;
