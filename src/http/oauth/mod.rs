//! The OAuth endpoints.

pub(in crate::http) mod form;
pub(in crate::http) mod register;
pub(in crate::http) mod token;
