//! The store in a schema of a PostgreSQL database.

mod schema;
mod session;
mod statements;

pub(crate) use self::schema::{check, migrate};
pub(crate) use self::session::{Notification, PostgresSession, READ, WRITE};
