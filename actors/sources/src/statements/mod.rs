//! What drivers have in common of statements: values that are given, plans that are asked for, and what others do for them.

pub mod bindings;
pub(crate) mod explain;
pub(crate) mod foreign;
pub mod pushdown;
pub(crate) mod texts;
