//! The sessions of one connection: the pool, their set-up, and how long a call may use one.

pub(crate) mod context;
pub(crate) mod custom_types;
pub(crate) mod handle;
pub(crate) mod housekeeping;
pub(crate) mod internal_query;
pub(crate) mod pool;
pub(crate) mod pool_state;
pub(crate) mod pooled;
pub(crate) mod setup;
pub(crate) mod statement_cache;
