//! What people do in a browser: they sign in, give clients access, and manage their tokens. An actor of its own
//! with its own handle on the store, because it writes and the [`AuthActor`](crate::AuthActor) must not wait for a
//! disk. Pages and forms are not known here.

mod actor;
mod administration;
mod attempts;
pub(crate) mod password;
mod password_limiter;
mod service;
pub mod session;
mod sign_in;
mod store_queue;
mod uses;

pub use self::administration::{AdminAction, Directory};
pub use self::password::SHORTEST_PASSWORD;
pub use self::service::Accounts;
pub use self::uses::Uses;
