//! Groups: what makes them, what determines what in them, and which values are one.

pub(crate) mod dependencies;
pub(crate) mod distinct_on;
pub(crate) mod grouping_sets;
pub(crate) mod negative_zero;
