//! Numbers as PostgreSQL has them, where the engine's own differ: nothing wraps around or becomes infinite, quotients and
//! averages have digits enough, and what is rounded is rounded as there.

pub(crate) mod aggregates;
pub(crate) mod doubles;
pub(crate) mod extremes;
mod functions;
pub(crate) mod percentile;
mod root;
pub(crate) mod rounding;
pub(crate) mod sign;

pub(crate) use self::functions::{Checked, DIGITS, SCALE, as_exact, checked, common, is_exact, quotient, wider};
