//! `get_instructions`: what an agent should know before its first query. What is read for it is in
//! [`survey`]; a text is kept until the source is read again.

mod survey;
mod text;

pub(super) use survey::list;
pub(super) use text::write;
