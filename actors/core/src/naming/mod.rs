//! Names and texts: which are valid, which match, which are near.

pub mod calendar;
pub mod keyed;
pub mod name;
pub mod near;
pub mod pattern;
