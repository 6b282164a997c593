//! Checks what a caller's statement does: the authorizer, the hidden objects, and the visible schema.

pub(crate) mod authorizer;
pub(crate) mod hidden_objects;
pub(crate) mod visible_objects;
pub(crate) mod visible_schema;
