//! From a text to the plan that runs: names, types, bounds, order.

pub(crate) mod bounds;
mod chain;
pub(crate) mod comparison;
pub(crate) mod crossed;
mod distinct_on;
pub(crate) mod exact;
pub(crate) mod exists;
pub(crate) mod explained;
pub(crate) mod labels;
pub(crate) mod order;
pub(crate) mod origin;
pub(crate) mod parameters;
pub(crate) mod parse;
pub(crate) mod planning;
mod refused;
pub(crate) mod sources;
mod spelling;
pub(crate) mod unique;
mod zeros;
