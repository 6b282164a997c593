//! The store of users, tokens, service accounts and keys: a SQLite file, or a schema of a PostgreSQL
//! database. It is written by the command line, also while servers run. The only place that opens it;
//! nothing here judges a credential.

mod accounts;
mod authority;
mod change;
mod clients;
mod columns;
mod connection;
mod consents;
mod contents;
mod failure;
mod file;
mod grants;
mod handle;
mod keys;
mod namesakes;
mod open;
mod origins;
mod place;
mod remote;
mod revoked;
mod row;
mod rows;
mod sessions;
mod subjects;
mod tokens;
mod trail;
mod users;
mod values;

pub use self::change::Change;
pub(crate) use self::contents::{Contents, TokenRow};
pub(crate) use self::file::{Identity, identity};
pub use self::handle::Handle;
pub(crate) use self::open::Revision;
pub use self::open::Store;
pub use self::origins::OfUnknownOrigin;
pub use self::place::Place;
pub(crate) use self::remote::Notification;
pub use self::rows::trail::NewRecord;
pub(crate) use crate::name::key as email_key;
