//! Rows of the tables, as statements of several of them read and change each other's. Nothing here knows the store
//! as a whole.

pub(crate) mod consents;
pub(crate) mod endings;
pub(crate) mod names;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod trail;
pub(crate) mod users;
