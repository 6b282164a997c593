//! The rules and methods of individual revisions.

pub(super) mod batch;
pub(super) mod session;
pub(super) mod stateless;
