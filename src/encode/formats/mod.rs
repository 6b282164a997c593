//! The forms of a result, each written while it is read.

pub(in crate::encode) mod arrow;
pub(in crate::encode) mod document;
pub(in crate::encode) mod lines;
pub(in crate::encode) mod text;
pub(in crate::encode) mod tool_result;
