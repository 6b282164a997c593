//! Middleware around the handlers, each for the requests whose policy requires it.

pub(in crate::http) mod audit_trail;
pub(in crate::http) mod body;
pub(in crate::http) mod drain;
pub(in crate::http) mod head;
pub(in crate::http) mod limits;
pub(in crate::http) mod origin;
pub(in crate::http) mod path;
pub(in crate::http) mod recorder;
pub(in crate::http) mod request_id;
pub(in crate::http) mod span;
pub(in crate::http) mod timing;
