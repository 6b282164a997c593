//! The store's operations, table by table: methods of [`Store`](super::Store).

pub(crate) mod clients;
pub(crate) mod consents;
pub(crate) mod grants;
pub(crate) mod keys;
pub(crate) mod origins;
pub(crate) mod revoked;
pub(crate) mod service_accounts;
pub(crate) mod sessions;
pub(crate) mod subjects;
pub(crate) mod tokens;
pub(crate) mod trail;
pub(crate) mod users;
