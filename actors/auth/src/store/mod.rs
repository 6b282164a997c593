//! The store of users, tokens, service accounts and keys: a SQLite file, or a schema of a PostgreSQL database. The
//! command line writes to it, also while servers run. It is opened only here; credentials are verified elsewhere.

mod connection;
mod contents;
mod model;
mod open;
mod postgres;
mod reconnecting;
mod rows;
mod sql;
mod sqlite;
mod tables;

pub(crate) use self::contents::{AccountRow, Contents, GrantRow, KeyRow, TokenRow, UserRow};
pub use self::model::change::Change;
pub use self::model::location::StoreLocation;
pub(crate) use self::open::Revision;
pub use self::open::Store;
pub(crate) use self::postgres::Notification;
pub use self::reconnecting::ReconnectingStore;
pub use self::rows::trail::NewRecord;
pub(crate) use self::sqlite::{FileId, identity};
pub use self::tables::origins::UnknownOrigins;
pub(crate) use portico_core::name::key as email_key;
