//! Groups: group expressions, functional dependencies, and equal values.

pub(crate) mod dependencies;
pub(crate) mod distinct_on;
pub(crate) mod grouping_sets;
pub(crate) mod negative_zero;
