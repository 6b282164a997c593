//! Functions, operators and casts as PostgreSQL has them.

pub(crate) mod allowed;
pub(crate) mod apart;
mod cases;
mod casts;
mod elapsed;
pub(crate) mod formatted;
pub(crate) mod growing;
pub(crate) mod numbers;
pub(crate) mod ordered_set;
pub(crate) mod outer_types;
mod padded;
pub(crate) mod parts;
pub(crate) mod postgresql;
mod recursive;
mod set_operations;
mod time_texts;
pub(crate) mod times;
mod together;
pub(crate) mod type_names;
pub(crate) mod typed;
pub(crate) mod types;
mod windows;
