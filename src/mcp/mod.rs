//! The Model Context Protocol: one table of methods for both eras, each with its rules. Knows messages but no
//! server: headers come in as values, and bytes with a kind of answer go out. What is offered at an address is
//! behind one interface, [`features::Features`].

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
