//! What the revisions have each for itself: what a request must carry, and what only one of them knows.

pub(super) mod batch;
pub(super) mod session;
pub(super) mod stateless;
