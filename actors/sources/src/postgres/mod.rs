//! PostgreSQL as a source. Only this folder names the wire library and `deadpool_postgres`, of which it uses the
//! client's wrapper.

pub(crate) mod address;
mod advice;
pub(crate) mod bind;
pub mod blocking;
pub(crate) mod catalog;
pub(crate) mod connect;
pub(crate) mod decode;
pub(crate) mod driver;
pub(crate) mod execute;
mod explain;
pub(crate) mod failure;
pub(crate) mod grants;
mod pushdown;
pub(crate) mod quote;
pub(crate) mod session;
pub(crate) mod source;
pub(crate) mod ttl_cache;
pub(crate) mod walls;

pub use self::address::{Address, Files};
pub use self::driver::DRIVER;
pub use self::walls::functions::{functions_listed, functions_query, is_function_listed};
pub use self::walls::tree::is_label_known;
