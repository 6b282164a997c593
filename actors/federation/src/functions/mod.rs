//! Functions, operators and casts as PostgreSQL has them.

pub(crate) mod allowed;
pub(crate) mod apart;
pub(crate) mod calendar;
mod cases;
mod casts;
mod elapsed;
pub(crate) mod formatted;
pub(crate) mod growing;
mod in_turn;
pub(crate) mod numbers;
pub(crate) mod ordered_set;
pub(crate) mod outer_types;
mod own;
mod padded;
pub(crate) mod parts;
pub(crate) mod postgresql;
mod recursive;
pub(crate) mod regular;
mod set_operations;
pub(crate) mod single;
mod time_texts;
pub(crate) mod times;
mod together;
pub(crate) mod type_names;
pub(crate) mod typed;
pub(crate) mod types;
mod windows;
