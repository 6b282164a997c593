//! The values of a statement: the types of its parameters, and the values bound to them.

pub(crate) mod argument;
pub(crate) mod argument_types;
pub(crate) mod attempts;
pub(crate) mod fingerprint;
pub(crate) mod inference;
pub(crate) mod parameter_types;
pub(crate) mod split_parameters;
pub(crate) mod type_search;
pub(crate) mod values;
