//! What a driver makes of a statement of PostgreSQL that is ready for the source: the same statement with
//! more parameters, or in a frame of the driver's own.

use super::token::{Kind, tokens_at_source};
use super::{Dialect, Edit, rewrite};

/// The statement `text` with a parameter for each place of those of its `count` parameters for which
/// `is_open` holds, and for each of the new ones which of the old, from 0, it stands for; `None` where none
/// of them stands twice.
pub(crate) fn parameters_apart(
    text: &str,
    count: usize,
    is_open: impl Fn(usize) -> bool,
) -> Option<(String, Vec<usize>)> {
    let (mut edits, mut places) = (Vec::new(), Vec::new());
    let mut numbers: Vec<Option<usize>> = vec![None; count];
    let mut differ = false;
    let tokens = tokens_at_source(text, Dialect::PostgreSql);
    for token in tokens.into_iter().filter(|token| token.kind == Kind::Parameter) {
        let index = token.text(text).get(1..)?.parse::<usize>().ok()?.checked_sub(1)?;
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
}
