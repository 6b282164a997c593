//! What published clients want so that they use this service: for `portico connect`, and for people's own page.

pub(crate) mod client;
pub(crate) mod form;
pub(crate) mod forms;
pub(crate) mod place;
mod programs;
