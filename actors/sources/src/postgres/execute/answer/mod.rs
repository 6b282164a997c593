//! The answer of a statement: from the first message to the end of its rows.

pub(crate) mod response;
pub(crate) mod rows;
pub(crate) mod running;
pub(crate) mod text_fallback;
