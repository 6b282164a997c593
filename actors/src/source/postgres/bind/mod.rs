//! The values of a statement: the types of its parameters, and what is bound to them.

pub(crate) mod apart;
pub(crate) mod argument;
pub(crate) mod argument_types;
pub(crate) mod inference;
pub(crate) mod shape;
pub(crate) mod ways;
