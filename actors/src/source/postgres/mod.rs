//! PostgreSQL as a source. Only this folder names the wire library and the pool.

pub(crate) mod bind;
pub mod blocking;
pub(crate) mod catalog;
pub(crate) mod connect;
pub(crate) mod decode;
pub(crate) mod execute;
pub(crate) mod failure;
pub(crate) mod grants;
pub(crate) mod quote;
pub(crate) mod session;
pub(crate) mod source;
pub(crate) mod walls;

pub use crate::source::postgres::connect::login::check_name;
pub use crate::source::postgres::grants::apply::{apply as apply_grants, grants};
pub use crate::source::postgres::source::{Postgres, understand};
pub use crate::source::postgres::walls::functions::{functions_differ, functions_query};
