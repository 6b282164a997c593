//! What of a source is exposed to callers, and the privileges that its own user needs for that.

pub(crate) mod grants;
pub(crate) mod names;
pub(crate) mod rows;
pub(crate) mod source;
