//! `get_instructions`: what an agent should know before its first query. The data is read in [`survey`]; a text is
//! cached until the source is read again.

mod survey;
mod text;

pub(super) use survey::list;
pub(super) use text::write;
