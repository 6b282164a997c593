//! Commands that check and change nothing: `portico check`, `doctor` and `health`.

pub(in crate::cli) mod assets;
pub(in crate::cli) mod check;
pub(in crate::cli) mod doctor;
pub(in crate::cli) mod exposure;
pub(in crate::cli) mod health;
pub(in crate::cli) mod reach;
pub(in crate::cli) mod relations;
pub(in crate::cli) mod sign_in;
pub(in crate::cli) mod writable;
