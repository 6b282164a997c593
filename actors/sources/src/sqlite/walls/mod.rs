//! What a caller's statement may do: the authorizer, what is hidden, and the schema without it.

pub(crate) mod authorizer;
pub(crate) mod hidden_objects;
pub(crate) mod visible_objects;
pub(crate) mod visible_schema;
