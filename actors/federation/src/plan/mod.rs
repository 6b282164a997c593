//! From a text to the plan that runs: names, types, bounds, order.

pub(crate) mod columns;
pub(crate) mod comparison;
pub(crate) mod correlated;
pub(crate) mod estimates;
pub(crate) mod exact;
pub(crate) mod explained;
pub(crate) mod groups;
pub(crate) mod joins;
pub(crate) mod plan_deadline;
pub(crate) mod planning;
pub(crate) mod rules;
mod sorted;
pub(crate) mod text;
pub(crate) mod volatile;
