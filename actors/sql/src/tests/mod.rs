//! The SQL room from the outside: a text in, statements out.

mod brackets;
mod classes;
mod generated;
mod hostile;
mod naming;
mod parameters;
mod positions;
mod properties;
mod redacting;
mod splitting;
mod within;

use super::*;
use crate::lexing::token::{Kind, Token};
use crate::lexing::{guard, lexer};
use crate::statement::facts;
use portico_core::error::{Kind as Failure, Result};

const SALES: Naming<'static> = Naming { connection: "sales", others: &["crm", "Billing"] };

/// The only statement of a text for PostgreSQL.
fn one(text: &str) -> Statement {
    only(text, Dialect::POSTGRESQL)
}

/// The only statement of a text for SQLite.
fn lite(text: &str) -> Statement {
    only(text, Dialect::SQLITE)
}

fn only(text: &str, dialect: Dialect) -> Statement {
    let mut all = statements(text, dialect, SALES).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

/// Whether the parser, not the scan, understood the only statement of a text.
fn is_parsed(text: &str, dialect: Dialect) -> bool {
    let tokens = lexer::tokens(text, dialect);
    let words: Vec<Token> = tokens.iter().copied().filter(|token| token.kind != Kind::Blank).collect();
    facts(text, &tokens, &words, dialect).unwrap().is_some()
}
