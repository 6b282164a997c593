//! Checks what a caller's statement uses, on a connection that hides something, gives its callers roles, or is
//! read-only.

pub(crate) mod admitted_statements;
pub(crate) mod analyze;
pub(crate) mod autocommit_safety;
pub(crate) mod callable_functions;
pub(crate) mod check;
pub(crate) mod functions;
pub(crate) mod hidden_errors;
pub(crate) mod judge;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod refusal;
pub(crate) mod tree;
