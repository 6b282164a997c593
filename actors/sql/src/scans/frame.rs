//! Rewrites a PostgreSQL statement that is ready for the source: with more parameters, or within a statement of the
//! driver's own.

use std::collections::BTreeMap;

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Kind, Token, words};
use crate::rewrite::{self, Anchor, Edit};

/// Returns the parameters, from 0, that are used only as the one of this number is: each tested for NULL on its
/// own, or as a whole argument of the same call.
pub fn parameters_like(text: &str, number: usize) -> Vec<usize> {
    let words = words(&tokens_at_source(text, Dialect::POSTGRESQL));
    let is = |at: usize, word: &[&str]| words.get(at).is_some_and(|token| token.is_any(text, word));
    let of = |at: usize, kinds: &[Kind]| words.get(at).is_some_and(|token| kinds.contains(&token.kind));
    // An operand starts after these, whatever operators in it bind more tightly.
    let begins = |at: usize| {
        of(at, &[Kind::Open, Kind::Comma]) || is(at, &["HAVING", "NOT", "ON", "OR", "SELECT", "WHEN", "WHERE"])
    };
    let mut calls = Vec::new();
    // For each parenthesis whether an AND belongs to a BETWEEN, and the last that does not.
    let (mut between, mut both) = (vec![false], None);
    // The use of each parameter; `None` if it is used in several ways, or in another way.
    let mut forms = BTreeMap::<usize, Option<(bool, usize)>>::new();
    for (at, token) in words.iter().enumerate() {
        match token.kind {
            Kind::Open => {
                calls.push(at);
                between.push(false);
            }
            Kind::Close => {
                calls.pop();
                between.pop();
            }
            _ if token.is_any(text, &["BETWEEN"]) => between.last_mut().into_iter().for_each(|open| *open = true),
            _ if token.is_any(text, &["AND"]) => {
                both = match between.last_mut().map(std::mem::take) {
                    Some(true) => both,
                    _ => Some(at),
                };
            }
            _ => {}
        }
        let Some(index) = parameter_index(*token, text) else { continue };
        let is_null_test = is(at + 1, &["IS"]) && is(at + if is(at + 2, &["NOT"]) { 3 } else { 2 }, &["NULL"]);
        let form = match at.checked_sub(1) {
            Some(before) if is_null_test && (begins(before) || both == Some(before)) => Some((true, 0)),
            Some(before) if of(before, &[Kind::Open, Kind::Comma]) && of(at + 1, &[Kind::Comma, Kind::Close]) => {
                calls.last().map(|call| (false, *call))
            }
            _ => None,
        };
        forms.entry(index).and_modify(|known| *known = known.filter(|known| Some(*known) == form)).or_insert(form);
    }
    let wanted = forms.get(&number).copied().flatten();
    let alike = forms.iter().filter(|(_, form)| wanted.is_some() && **form == wanted);
    alike.map(|(index, _)| *index).collect()
}

/// The characters in front of each parameter in `text`, and which it is, from 0.
pub fn parameter_positions(text: &str) -> Vec<(usize, usize)> {
    let (mut characters, mut read) = (0, 0);
    let mut position = |token: Token| {
        characters += text.get(read..token.start).map_or(0, |between| between.chars().count());
        read = token.start;
        characters
    };
    parameters(text).filter_map(|(token, index)| Some((position(token), index?))).collect()
}

/// Returns, for each place of a parameter in `text`, the first similar place of the same parameter: the `in_front`
/// tokens before both places, or the `behind` tokens after them, are the same.
pub fn alike_parameters(text: &str, in_front: usize, behind: usize) -> Vec<usize> {
    let words = words(&tokens_at_source(text, Dialect::POSTGRESQL));
    let parameters = words.iter().enumerate().filter(|(_, token)| token.kind == Kind::Parameter);
    let places: Vec<usize> = parameters.map(|(at, _)| at).collect();
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map(|token| token.text(text).to_lowercase());
    let are_same = |width: usize, step: fn(usize, usize) -> Option<usize>, one: usize, other: usize| {
        width > 0 && (0..=width).all(|far| word(step(one, far)) == word(step(other, far)))
    };
    let is_alike = |one: usize, other: usize| {
        one == other
            || are_same(in_front, usize::checked_sub, one, other)
            || are_same(behind, usize::checked_add, one, other)
    };
    let first = |place: &usize| places.iter().position(|other| is_alike(*place, *other)).unwrap_or_default();
    places.iter().map(first).collect()
}

/// A statement in which places of a value are parameters of their own.
#[derive(Clone, Debug)]
pub struct ParametersApart {
    /// The statement with these parameters.
    pub text: String,
    /// For each of them, the index from 0 of the original parameter that it replaces.
    pub parameters: Vec<usize>,
    anchors: Vec<Anchor>,
}

impl ParametersApart {
    /// Where in the statement a position of the text lies; both in characters counted from 1.
    pub fn original_position(&self, position: usize) -> usize {
        rewrite::original(&self.anchors, position)
    }
}

/// Rewrites `text` so that each occurrence of its `count` parameters gets a parameter of its own, shared with the
/// earlier occurrence that `first` names (or itself). Returns `None` if this results in no more parameters than
/// before.
pub fn parameters_apart(text: &str, count: usize, first: impl Fn(usize) -> Option<usize>) -> Option<ParametersApart> {
    let (mut edits, mut old, mut numbers) = (Vec::new(), Vec::<usize>::new(), Vec::<usize>::new());
    for (place, (token, index)) in parameters(text).enumerate() {
        let index = index.filter(|index| *index < count)?;
        let number = match numbers.get(first(place)?) {
            Some(number) if old.get(number.checked_sub(1)?) == Some(&index) => *number,
            _ => {
                old.push(index);
                old.len()
            }
        };
        numbers.push(number);
        edits.push(Edit { range: token.range(), replacement: format!("${number}") });
    }
    let mut values = old.clone();
    values.sort_unstable();
    values.dedup();
    if values.len() == old.len() {
        return None;
    }
    let (text, anchors) = rewrite::apply(text, 0..text.len(), 0, &edits);
    Some(ParametersApart { text, parameters: old, anchors })
}

/// Replaces each parameter of `text` by what `written` returns for its index from 0.
pub fn parameters_written(text: &str, written: impl Fn(usize) -> Option<String>) -> String {
    let edit =
        |(token, index): (Token, Option<usize>)| Some(Edit { range: token.range(), replacement: written(index?)? });
    let edits: Vec<Edit> = parameters(text).filter_map(edit).collect();
    rewrite::apply(text, 0..text.len(), 0, &edits).0
}

/// The parameters of `text` in their order, each with its place from 0, where it has one.
fn parameters(text: &str) -> impl Iterator<Item = (Token, Option<usize>)> {
    let tokens = tokens_at_source(text, Dialect::POSTGRESQL).into_iter();
    tokens.filter(|token| token.kind == Kind::Parameter).map(|token| (token, parameter_index(token, text)))
}

/// Returns the index of a parameter from 0; `None` for another token, or if it has no index.
pub(crate) fn parameter_index(token: Token, text: &str) -> Option<usize> {
    let number = token.text(text).get(1..).filter(|_| token.kind == Kind::Parameter)?;
    number.parse::<usize>().ok()?.checked_sub(1)
}

/// Returns the position of the query after the WITH list; `None` if the statement does not start with one.
pub fn query_behind_with(text: &str) -> Option<usize> {
    let words = words(&tokens_at_source(text, Dialect::POSTGRESQL));
    let is = |at: usize, word: &[&str]| words.get(at).is_some_and(|token| token.is_any(text, word));
    let of = |at: usize, kind: Kind| words.get(at).is_some_and(|token| token.kind == kind);
    // The index after the parenthesis that closes the one at `at`.
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
        let apart = |text: &str, count: usize| {
            let places: Vec<usize> = parameters(text).map(|(_, index)| index.unwrap()).collect();
            let first = |place: usize| places.iter().position(|other| *other == places[place]);
            parameters_apart(text, count, |place| if places[place] == 0 { Some(place) } else { first(place) })
        };
        let told = |apart: ParametersApart| (apart.text, apart.parameters);
        let (text, places) = told(apart("SELECT '$1', $1 + $2 -- $1\n, $2, (a)[$1]", 2).unwrap());
        assert_eq!(text, "SELECT '$1', $1 + $2 -- $1\n, $2, (a)[$3]");
        assert_eq!(places, [0, 1, 0]);
        let (text, places) = told(apart("SELECT $2 + $1, $2, $1", 2).unwrap());
        assert_eq!((text.as_str(), places), ("SELECT $1 + $2, $1, $3", vec![1, 0, 0]));
        assert!(apart("SELECT $1, $2, $2", 2).is_none());
        let third = parameters_apart("SELECT $1, $2, $1, $2, $1", 2, |place| [0, 1, 2, 1, 0].get(place).copied());
        assert_eq!(third.map(told), Some(("SELECT $1, $2, $3, $2, $1".to_owned(), vec![0, 1, 0])));
        let many = format!("SELECT {}'ä', nope", "$1, ".repeat(12));
        let apart = parameters_apart(&many, 1, Some).unwrap();
        let at = |text: &str, what: &str| text.chars().count() - what.len() + 1;
        assert_eq!(apart.text.len(), many.len() + 3);
        assert_eq!(apart.original_position(at(&apart.text, "nope")), at(&many, "nope"));
        assert_eq!(apart.original_position(at(&apart.text, "$12, 'a', nope")), at(&many, "$1, 'a', nope"));
    }

    #[test]
    fn parameters_that_stand_alike_are_found() {
        let text =
            "SELECT f($1, $2, $3 + 1, $4), g($5) WHERE ($6 IS NULL OR a = $4) AND ($7 is not null) AND ($8 IS NULL)";
        for (number, expected) in [(0, &[0, 1][..]), (4, &[4]), (5, &[5, 6, 7]), (2, &[]), (3, &[]), (9, &[])] {
            assert_eq!(parameters_like(text, number), expected, "{number}");
        }
        let text = "SELECT $1 IS NULL, $2 IS NULL WHERE $3 IS NULL OR $4 IS NULL AND $5 IS NULL AND NOT $6 IS NOT NULL \
                    AND a BETWEEN (SELECT b AND $7 IS NULL) AND $8 IS NULL AND $9 + $10 IS NULL AND a = $11 IS NULL";
        assert_eq!(parameters_like(text, 2), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(parameter_positions("SELECT 'ä', $2, $1"), [(12, 1), (16, 0)]);
    }

    #[test]
    fn places_that_look_alike_are_found() {
        let text =
            "SELECT lower(name) || $1, $1 || x FROM t WHERE day > $1 GROUP BY LOWER(name)||$1, $1 || x HAVING $2";
        assert_eq!(alike_parameters(text, 2, 2), [0, 1, 2, 0, 1, 5]);
        assert_eq!(alike_parameters(text, 3, 0), [0, 1, 2, 0, 1, 5]);
        let one_side = "SELECT a || $1, b, $1 || x FROM t GROUP BY $1 || x, a || $1";
        assert_eq!(alike_parameters(one_side, 2, 0), [0, 1, 2, 0]);
        assert_eq!(alike_parameters(one_side, 0, 2), [0, 1, 1, 3]);
        assert_eq!(alike_parameters(one_side, 2, 2), [0, 1, 1, 0]);
        assert_eq!(alike_parameters("$1 $1", 1, 1), [0, 1]);
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
