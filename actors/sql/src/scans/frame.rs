//! What a driver makes of a statement of PostgreSQL that is ready for the source: the same statement with
//! more parameters, or in a frame of the driver's own.

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Kind, Token};
use crate::rewrite::{self, Edit};

/// The statement `text` with a parameter for each place of those of its `count` parameters for which
/// `is_open` holds, and for each of the new ones which of the old, from 0, it stands for; `None` where none
/// of them stands twice.
pub fn parameters_apart(text: &str, count: usize, is_open: impl Fn(usize) -> bool) -> Option<(String, Vec<usize>)> {
    let (mut edits, mut places) = (Vec::new(), Vec::new());
    let mut numbers: Vec<Option<usize>> = vec![None; count];
    let mut differ = false;
    for (token, index) in parameters(text) {
        let index = index?;
        let known = numbers.get_mut(index)?;
        let number = match *known {
            Some(number) if !is_open(index) => number,
            earlier => {
                places.push(index);
                differ |= earlier.is_some();
                *known.insert(places.len())
            }
        };
        edits.push(Edit { range: token.range(), replacement: format!("${number}") });
    }
    differ.then(|| (rewrite::apply(text, 0..text.len(), 0, &edits).0, places))
}

/// The statement `text` with what `written` gives for each parameter, by its place from 0, in its stead.
pub fn parameters_written(text: &str, written: impl Fn(usize) -> Option<String>) -> String {
    let edit =
        |(token, index): (Token, Option<usize>)| Some(Edit { range: token.range(), replacement: written(index?)? });
    let edits: Vec<Edit> = parameters(text).filter_map(edit).collect();
    rewrite::apply(text, 0..text.len(), 0, &edits).0
}

/// The parameters of `text` in their order, each with its place from 0, where it has one.
fn parameters(text: &str) -> impl Iterator<Item = (Token, Option<usize>)> {
    let tokens = tokens_at_source(text, Dialect::POSTGRESQL).into_iter();
    tokens.filter(|token| token.kind == Kind::Parameter).map(|token| {
        let number = token.text(text).get(1..).and_then(|number| number.parse::<usize>().ok());
        (token, number.and_then(|number| number.checked_sub(1)))
    })
}

/// Where the query begins behind the list of its WITH; `None` where the statement has none in front.
pub fn query_behind_with(text: &str) -> Option<usize> {
    let tokens = tokens_at_source(text, Dialect::POSTGRESQL);
    let words: Vec<Token> = tokens.into_iter().filter(|token| token.kind != Kind::Blank).collect();
    let is = |at: usize, word: &[&str]| words.get(at).is_some_and(|token| token.is_any(text, word));
    let of = |at: usize, kind: Kind| words.get(at).is_some_and(|token| token.kind == kind);
    // Behind the parenthesis that closes the one at `at`.
    let behind = |at: usize| {
        let mut depth = 0_usize;
        let closing = words.iter().skip(at).position(|token| {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        closing.map(|closing| at + closing + 1)
    };
    let mut at = if is(0, &["WITH"]) { 1 } else { return None };
    at += usize::from(is(at, &["RECURSIVE"]) && !is(at + 1, &["AS"]));
    loop {
        at += 1;
        if of(at, Kind::Open) {
            at = behind(at)?;
        }
        at += if is(at, &["AS"]) { 1 } else { return None };
        at += usize::from(is(at, &["NOT"]));
        at += usize::from(is(at, &["MATERIALIZED"]));
        at = if of(at, Kind::Open) { behind(at)? } else { return None };
        for (clause, last) in [("SEARCH", "SET"), ("CYCLE", "USING")] {
            if is(at, &[clause]) {
                at += 2 + words.iter().skip(at).position(|token| token.is_word(text, last))?;
            }
        }
        if !of(at, Kind::Comma) {
            return words.get(at).map(|token| token.start);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_of_an_open_value_has_a_parameter() {
        let apart = |text: &str, count: usize| parameters_apart(text, count, |index| index == 0);
        let (text, places) = apart("SELECT '$1', $1 + $2 -- $1\n, $2, (a)[$1]", 2).unwrap();
        assert_eq!(text, "SELECT '$1', $1 + $2 -- $1\n, $2, (a)[$3]");
        assert_eq!(places, [0, 1, 0]);
        let (text, places) = apart("SELECT $2 + $1, $2, $1", 2).unwrap();
        assert_eq!((text.as_str(), places), ("SELECT $1 + $2, $1, $3", vec![1, 0, 0]));
        assert_eq!(apart("SELECT $1, $2, $2", 2), None);
    }

    #[test]
    fn each_parameter_is_written_otherwise() {
        let written =
            parameters_written("SELECT '$1', $1 + $22 -- $1\n, $3", |index| (index != 2).then(|| format!("<{index}>")));
        assert_eq!(written, "SELECT '$1', <0> + <21> -- $1\n, $3");
    }

    #[test]
    fn the_query_behind_with_is_found() {
        for (head, query) in [
            ("WITH a AS (SELECT ')' FROM \"(\") ", "SELECT 1"),
            ("with recursive a(n, m) as not materialized (values (1)), b AS (DELETE FROM t RETURNING *) ", "TABLE b"),
            ("WITH recursive AS (SELECT 1) ", "(SELECT 2)"),
            (
                "WITH /* ( */ RECURSIVE a AS (SELECT 1) SEARCH DEPTH FIRST BY x, y SET s CYCLE x, y SET c USING p, b AS (SELECT 2) -- )\n",
                "INSERT INTO t TABLE a",
            ),
        ] {
            assert_eq!(query_behind_with(&format!("{head}{query}")), Some(head.len()), "{head}");
        }
        for text in [
            "SELECT 1",
            "(WITH a AS (SELECT 1) TABLE a)",
            "WITH",
            "WITH a",
            "WITH a AS SELECT 1",
            "WITH a AS (SELECT 1",
        ] {
            assert_eq!(query_behind_with(text), None, "{text}");
        }
    }
}
