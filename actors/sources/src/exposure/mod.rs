//! What of a source exists for callers, and the rights that its own user needs for that.

pub(crate) mod grants;
pub(crate) mod names;
pub(crate) mod rows;
pub(crate) mod source;
