//! What drivers have in common of statements: values that are given, plans that are asked for, and what others do for them.

pub(crate) mod explain;
pub(crate) mod foreign;
pub mod given;
pub mod pushdown;
pub(crate) mod texts;
