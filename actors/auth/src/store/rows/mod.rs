//! Rows of the tables, read and changed by the statements of several tables. Nothing here knows the store as a
//! whole.

pub(crate) mod cascade;
pub(crate) mod consents;
pub(crate) mod names;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod trail;
pub(crate) mod users;
