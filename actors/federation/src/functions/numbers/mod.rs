//! Numbers with PostgreSQL's semantics where the engine's differ: nothing wraps around or becomes infinite,
//! quotients and averages have enough digits, and rounding is the same.

pub(crate) mod aggregates;
pub(crate) mod doubles;
pub(crate) mod extremes;
mod functions;
pub(crate) mod percentile;
mod root;
pub(crate) mod rounding;
pub(crate) mod sign;

pub(crate) use self::functions::{Checked, DIGITS, SCALE, as_exact, checked, common, is_exact, quotient, wider};
