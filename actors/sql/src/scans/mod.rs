//! Reads a text by its tokens alone, for error texts, logs and sources; access is never decided by it.

pub(crate) mod frame;
pub(crate) mod listed;
pub(crate) mod plain;
pub(crate) mod procedure;
pub(crate) mod redact;
pub(crate) mod repeated;
pub(crate) mod session_user;
pub(crate) mod statement_form;
pub(crate) mod temporary;
