//! The Model Context Protocol: one table of methods for both eras, each with its rules. Knows messages
//! and no server: headers come in as values, and what goes out is bytes and how they are answered with.
//! What is offered at an address is behind one seam, [`features::Features`].

mod answer;
mod call;
pub mod connection;
mod context;
pub mod envelope;
pub mod era;
pub mod extensions;
pub mod features;
mod handlers;
pub mod logging;
mod methods;
pub mod model;
pub mod request_context;
pub mod sessions;
pub mod streams;
pub mod target;
mod versions;

pub use answer::{answer, end_session, find_session, receive};
pub use call::Outcome;
pub use context::{Context, Summary};
pub use methods::subject_of;
pub use model::{Header, Headers, ServerEvent};
pub use request_context::ParsedRequest;
pub use versions::batch::{answer_batch, receive_batch};
