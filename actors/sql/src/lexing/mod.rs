//! Reads a text as tokens: splits it into tokens and statements, bounds it, and interprets brackets and `@`.

pub(crate) mod blank;
pub(crate) mod bracket;
pub(crate) mod grammar_position;
pub(crate) mod guard;
pub(crate) mod lexer;
pub(crate) mod placeholder;
pub(crate) mod split;
pub(crate) mod token;
