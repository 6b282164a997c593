//! SQLite as a source. Only this folder, the store and the sample data name the engine's library.

mod advice;
pub(crate) mod catalog;
pub(crate) mod connect;
pub(crate) mod decode;
pub(crate) mod driver;
pub(crate) mod execute;
mod explain;
pub(crate) mod failure;
pub(crate) mod functions;
mod pushdown;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod source;
pub(crate) mod walls;

#[cfg(test)]
mod tests;

pub use self::driver::{DRIVER, DatabaseFile};
