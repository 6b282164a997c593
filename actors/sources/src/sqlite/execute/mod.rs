//! Running statements and declared procedures.

pub(crate) mod argument;
pub(crate) mod check;
pub(crate) mod procedure;
pub(crate) mod statement;
pub(crate) mod step;
