//! From a text to the plan that runs: names, types, bounds, order.

pub(crate) mod comparison;
pub(crate) mod correlated;
mod dependencies;
mod distinct_on;
pub(crate) mod estimates;
pub(crate) mod exact;
pub(crate) mod explained;
mod grouping_sets;
pub(crate) mod joins;
pub(crate) mod labels;
pub(crate) mod origin;
pub(crate) mod patience;
pub(crate) mod planning;
pub(crate) mod rules;
pub(crate) mod text;
pub(crate) mod unique;
mod zeros;
