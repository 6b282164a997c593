//! What drivers have in common for statements: binding values, asking for plans, and pushing work down.

pub mod bindings;
pub(crate) mod explain;
pub(crate) mod foreign;
pub mod pushdown;
pub(crate) mod texts;
