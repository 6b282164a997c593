//! People in front of a browser: they sign in, grant clients access, and look after their tokens.
//! An actor of its own with its own handle on the store, because it writes and the
//! [`AuthActor`](crate::auth::AuthActor) must not wait for a disk. Pages and forms are not known here.

mod actor;
mod administration;
mod attempts;
mod front;
mod gate;
mod lane;
pub(crate) mod password;
pub mod session;
mod sign_in;
mod turns;
mod uses;

pub use self::administration::{Change, Directory};
pub use self::front::People;
pub use self::password::SHORTEST_PASSWORD;
pub use self::uses::Uses;
