//! A text as tokens: cut, bounded, split into statements; what a bracket and an `@` mean in it.

pub(crate) mod blank;
pub(crate) mod bracket;
pub(crate) mod guard;
pub(crate) mod lexer;
pub(crate) mod place;
pub(crate) mod placeholder;
pub(crate) mod split;
pub(crate) mod token;
