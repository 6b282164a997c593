//! The Model Context Protocol: one table of methods for both eras, each with its rim. Knows messages
//! and no server: headers come in as values, and what goes out is bytes and a standing. What is offered
//! at an address is behind one seam, [`features::Features`].

mod answering;
mod batch;
mod call;
pub mod changes;
mod completion;
pub mod connection;
mod context;
pub mod envelope;
pub mod era;
pub mod exchange;
pub mod features;
mod handlers;
pub mod listing;
pub mod lists;
mod lock;
pub mod logging;
mod methods;
pub mod model;
pub mod narration;
mod outcome;
mod pages;
pub mod progress;
mod prompts;
pub mod replay;
pub mod request_state;
mod resources;
mod rounds;
mod session;
pub mod sessions;
mod stateless;
pub mod subscription;
mod summary;
pub mod tasks;
mod tool_result;

pub use answering::{answer, end_session, find_session, receive};
pub use batch::{answer_batch, receive_batch};
pub use context::Context;
pub use exchange::Reception;
pub use model::{Header, Headers, ServerEvent};
pub use outcome::Outcome;
pub use summary::Summary;
