//! Finds parameters in expressions that a query lists and repeats: those of GROUP BY, ORDER BY and DISTINCT ON.
//! PostgreSQL compares such expressions by their parameters.

use std::ops::Range;

use crate::dialect::Dialect;
use crate::lexing::lexer::tokens_at_source;
use crate::lexing::token::{Kind, Token, words};
use crate::scans::frame::parameter_index;

/// The maximal number of parameters, and of tokens; statements with more are not examined.
const MOST_PLACES: usize = 512;
const MOST_WORDS: usize = 10_000;
/// Words that end a list outside of parentheses.
const ENDS: [&str; 24] = [
    "HAVING",
    "WINDOW",
    "ORDER",
    "GROUP",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "FOR",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "RETURNING",
    "WHERE",
    "FROM",
    "SELECT",
    "SET",
    "VALUES",
    "ON",
    "RANGE",
    "ROWS",
    "GROUPS",
    "INTO",
    "DO",
    "WHEN",
];
/// Words behind an expression that say how rows are ordered by it.
const ORDERS: [&str; 4] = ["ASC", "DESC", "NULLS", "USING"];

/// A token with its qualifiers, as in `schema.table.column`.
#[derive(Clone, Copy)]
struct Item {
    token: Token,
    /// Where its first qualifier begins.
    start: usize,
    /// The query that contains it.
    query: usize,
    /// Its number among the places of parameters, where it is one.
    place: Option<usize>,
}

impl Item {
    fn is_any(&self, text: &str, words: &[&str]) -> bool {
        self.start == self.token.start && self.token.is_any(text, words)
    }
}

/// A place of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    /// The index of the parameter, from 0.
    pub index: usize,
    /// The first occurrence of the parameter in the same expression of a list, or itself.
    pub repeats: usize,
}

/// Returns the occurrences of parameters in `text`; `None` if one of them cannot be read.
pub fn parameter_places(text: &str) -> Option<Vec<ParameterPlace>> {
    let items = items(text);
    let first = repeated(&items, text).into_iter();
    let indexes = items.iter().filter(|item| item.place.is_some()).map(|item| parameter_index(item.token, text));
    indexes.zip(first).map(|(index, repeats)| Some(ParameterPlace { index: index?, repeats })).collect()
}

fn repeated(items: &[Item], text: &str) -> Vec<usize> {
    let places = items.iter().enumerate().filter(|(_, item)| item.place.is_some());
    let places: Vec<usize> = places.map(|(at, _)| at).collect();
    let mut first: Vec<usize> = (0..places.len()).collect();
    if places.len() > MOST_PLACES || items.len() > MOST_WORDS {
        return first;
    }
    for expression in expressions(items, text) {
        let Some(listed) = items.get(expression.clone()) else { continue };
        let Some(offset) = listed.iter().position(|item| item.place.is_some()) else { continue };
        for place in &places {
            let start = place.checked_sub(offset).filter(|start| *start != expression.start);
            let Some(other) = start.and_then(|start| items.get(start..start + listed.len())) else { continue };
            if !listed.iter().zip(other).all(|(one, other)| is_same(one, other, text)) {
                continue;
            }
            for (one, other) in listed.iter().zip(other).filter_map(|(one, other)| one.place.zip(other.place)) {
                join(&mut first, one, other);
            }
        }
    }
    first
}

/// Joins the groups of two occurrences under the first of them.
fn join(first: &mut [usize], one: usize, other: usize) {
    let (Some(&one), Some(&other)) = (first.get(one), first.get(other)) else { return };
    let (least, greatest) = (one.min(other), one.max(other));
    for shared in first.iter_mut().filter(|shared| **shared == greatest) {
        *shared = least;
    }
}

/// In one query a name means the same column whether it is qualified or not.
fn is_same(one: &Item, other: &Item, text: &str) -> bool {
    let is_word = one.token.kind == Kind::Word && other.token.kind == Kind::Word;
    let are_same = |one: &str, other: &str| one == other || (is_word && one.eq_ignore_ascii_case(other));
    let qualifier = |item: &Item| text.get(item.start..item.token.start).unwrap_or_default();
    let [first, second] = [qualifier(one), qualifier(other)];
    one.query == other.query
        && are_same(one.token.text(text), other.token.text(text))
        && (first.is_empty() || second.is_empty() || first.eq_ignore_ascii_case(second))
}

fn items(text: &str) -> Vec<Item> {
    let words = words(&tokens_at_source(text, Dialect::POSTGRESQL));
    let (mut items, mut places, mut queries) = (Vec::with_capacity(words.len()), 0, 0);
    let mut around = vec![0];
    let (mut start, mut at) = (None, 0);
    while let Some(token) = words.get(at) {
        at += 1;
        let behind = words.get(at);
        let begins = |token: &Token| token.is_any(text, &["SELECT", "WITH", "VALUES", "TABLE"]);
        if token.is_any(text, &["UNION", "INTERSECT", "EXCEPT"])
            || (token.kind == Kind::Open && behind.is_some_and(begins))
        {
            queries += 1;
        }
        let query = around.last().copied().unwrap_or_default();
        match token.kind {
            Kind::Open => around.push(if behind.is_some_and(begins) { queries } else { query }),
            Kind::Close if around.len() > 1 => {
                around.pop();
            }
            Kind::Word if token.is_any(text, &["UNION", "INTERSECT", "EXCEPT"]) => {
                if let Some(around) = around.last_mut() {
                    *around = queries;
                }
            }
            Kind::Word | Kind::Name if behind.is_some_and(|behind| behind.kind == Kind::Dot) => {
                start.get_or_insert(token.start);
                at += 1;
                continue;
            }
            _ => {}
        }
        let place = (token.kind == Kind::Parameter).then_some(places);
        places += usize::from(place.is_some());
        let query = around.last().copied().unwrap_or_default();
        items.push(Item { token: *token, start: start.take().unwrap_or(token.start), query, place });
    }
    items
}

/// Returns the expressions of all lists, also of lists in parentheses. Some are not expressions of a list: the text
/// in parentheses may be one expression.
fn expressions(items: &[Item], text: &str) -> Vec<Range<usize>> {
    let is = |at: usize, words: &[&str]| items.get(at).is_some_and(|item| item.is_any(text, words));
    let of = |at: usize, kind: Kind| items.get(at).is_some_and(|item| item.token.kind == kind);
    let mut found = Vec::new();
    for head in 0..items.len() {
        let begins = match () {
            () if is(head, &["GROUP", "ORDER"]) && is(head + 1, &["BY"]) => head + 2,
            () if is(head, &["DISTINCT"]) && is(head + 1, &["ON"]) && of(head + 2, Kind::Open) => head + 3,
            () => continue,
        };
        // For each open parenthesis: where its expression begins, and whether the parenthesis contains a list.
        let mut open = vec![(begins, true)];
        let mut at = begins;
        while let (Some(item), Some((start, is_list))) = (items.get(at), open.last_mut()) {
            let expression = *start..at;
            match item.token.kind {
                Kind::Open => {
                    let in_front = items.get(expression).unwrap_or_default();
                    let is_list = *is_list
                        && in_front
                            .iter()
                            .all(|item| item.is_any(text, &["ROLLUP", "CUBE", "GROUPING", "SETS", "ALL", "DISTINCT"]));
                    open.push((at + 1, is_list));
                }
                Kind::Close => {
                    if *is_list {
                        found.push(expression);
                    }
                    open.pop();
                }
                Kind::Comma if *is_list => {
                    found.push(expression);
                    *start = at + 1;
                }
                Kind::Word if *is_list && item.is_any(text, &ORDERS) => {
                    found.push(expression);
                    *start = at + 1;
                }
                Kind::Semicolon => break,
                Kind::Word if open.len() == 1 && item.is_any(text, &ENDS) => break,
                _ => {}
            }
            at += 1;
        }
        // The last one has no end.
        if let [(start, true)] = open.as_slice() {
            found.push(*start..at);
        }
    }
    found.retain(|expression| !expression.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated_parameters(text: &str) -> Vec<usize> {
        parameter_places(text).unwrap().iter().map(|place| place.repeats).collect()
    }

    #[test]
    fn places_of_an_expression_that_is_listed_are_found() {
        for (text, expected) in [
            ("SELECT lower(t.n) || $1, $1 || x FROM t WHERE d > $1 GROUP BY LOWER(n)||$1, x", &[0, 1, 2, 0][..]),
            (
                "SELECT DISTINCT ON (a || $1, (b > $2)) c || $1 FROM t WHERE a > $2 ORDER BY a||$1 DESC, b > $2",
                &[0, 1, 2, 3, 0, 1],
            ),
            ("SELECT $1::text, $1 FROM t WHERE $1 = n GROUP BY ROLLUP ($1::text, g)", &[0, 1, 2, 0]),
            ("SELECT upper($1), g FROM t GROUP BY GROUPING SETS ((upper($1), g), (g), ())", &[0, 0]),
            ("SELECT a > $1, (SELECT a > $1 FROM u) FROM t GROUP BY a > $1 HAVING count(*) > $2", &[0, 1, 0, 3]),
            ("SELECT a > $1 FROM t UNION SELECT a > $1 FROM u GROUP BY a > $1", &[0, 1, 1]),
            ("SELECT t.a > $1, u.a > $1 FROM t, u GROUP BY t.a > $1, u.a > $1", &[0, 1, 0, 1]),
            ("SELECT f(a, $1) FROM t GROUP BY f(b, $1), g(a, $1)", &[0, 1, 2]),
            ("SELECT $1, $2", &[0, 1]),
        ] {
            assert_eq!(repeated_parameters(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_close_is_read_to_its_end() {
        for text in
            ["GROUP BY", "GROUP BY (((((($1", "ORDER BY $1, )", "DISTINCT ON ($1)), $1", "GROUP BY $1 GROUP BY $1, "]
        {
            repeated_parameters(text);
        }
        let deep = format!("SELECT $1 GROUP BY {}$1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(repeated_parameters(&deep).len(), 2);
    }
}
