//! The store in a SQLite file.

mod open;
mod revision;
mod schema;
mod statements;

pub(crate) use self::open::{FileId, identity, open, open_existing};
pub(crate) use self::schema::check;
pub(crate) use self::statements::{data_version, empty_log, execute, query};
