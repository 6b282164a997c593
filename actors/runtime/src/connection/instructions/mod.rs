//! `get_instructions`: what an agent should know before its first query. What is read for it is in
//! [`survey`], its examples in [`examples`].

mod examples;
mod quoted;
mod survey;
mod text;

pub(super) use text::write;
