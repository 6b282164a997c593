//! Replaces hidden names by random ones. The source's error for a statement with these is its error for names that
//! do not exist: so hidden and missing objects are reported in the same words.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use crate::postgres::walls::names::hidden::{HiddenNames, begin, in_word, words_at};
use portico_core::error::Error;
use portico_sql::Edit;

/// The length in bytes of a name in the source's errors.
const NAME: usize = 63;
/// A random name that cannot be guessed, so that no object can be created under it. Upper case keeps it a single
/// word; where the source folds it, it appears in lower case.
static UNHEARD: LazyLock<String> = LazyLock::new(|| format!("Q{:016X}N", RandomState::new().hash_one(0)));

/// Which names to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSet {
    /// Hidden names that nothing visible has.
    Hidden,
    /// All hidden names, including those that something visible has too.
    Denied,
}

/// The positions of hidden names in a text, and their replacements.
#[derive(Debug)]
pub(crate) struct NameMask {
    /// Each with the name as it is written in the text.
    found: Vec<(Edit, String)>,
}

impl NameMask {
    /// Makes the mask of `text`; `None` if it contains no such name.
    pub(crate) fn new(text: &str, names: &HiddenNames, which: NameSet) -> Option<Self> {
        // Only as much of a longer word as the source reads: the end of a dollar quote may follow.
        let mut found: Vec<(usize, String)> = words_at(text)
            .filter(|(_, word)| names.is_one(word, which == NameSet::Hidden))
            .map(|(at, word)| (at, begin(word, NAME).to_owned()))
            .collect();
        for name in names.odd(which == NameSet::Hidden) {
            let spelt = name.replace('"', "\"\"");
            found.extend(text.match_indices(&spelt).map(|(at, spelt)| (at, spelt.to_owned())));
        }
        found.sort_by_key(|(at, written)| (*at, std::cmp::Reverse(written.len())));
        let mut mask = Self { found: Vec::new() };
        let mut free = 0;
        for (at, written) in found.into_iter().filter(|(_, written)| !written.is_empty()) {
            if at >= free {
                free = at + written.len();
                let goes_on = text[free..].starts_with(in_word);
                let replacement = mask.unheard(&written, text[..at].ends_with('"'), goes_on);
                mask.found.push((Edit { range: at..free, replacement }, written));
            }
        }
        (!mask.is_empty()).then_some(mask)
    }

    /// Returns a name that does not exist, for a name as written: the same wherever the source reads the same name.
    fn unheard(&self, written: &str, is_quoted: bool, goes_on: bool) -> String {
        // Capitals count in quotes.
        let is_folded = !is_quoted || written.chars().all(|each| !each.is_uppercase());
        let is_same = |other: &str| other == written || (is_folded && other.to_lowercase() == written.to_lowercase());
        let number = self.found.iter().position(|(_, other)| is_same(other)).unwrap_or(self.found.len());
        let name = unheard(number, goes_on);
        // Without quotes the source folds capitals, and in a literal it leaves them.
        if is_quoted && is_folded { name.to_ascii_lowercase() } else { name }
    }

    /// Returns the replacements.
    pub(crate) fn edits(&self) -> Vec<Edit> {
        self.found.iter().map(|(edit, _)| edit.clone()).collect()
    }

    /// Whether no name is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Leaves the first name at or behind this place as it is, if it is one of a shown column.
    pub(crate) fn spare(&mut self, byte: usize, names: &HiddenNames) -> bool {
        let Some(found) = self.found.iter().position(|(edit, _)| edit.range.start >= byte) else { return false };
        let spared = names.is_shown_part(&self.found[found].1);
        if spared {
            self.found.remove(found);
        }
        spared
    }

    /// The name that was found first.
    pub(crate) fn first(&self) -> &str {
        self.found.first().map_or("", |(_, written)| written.as_str())
    }

    /// The failure in the words of the text before it was masked.
    pub(crate) fn lift(&self, mut error: Error) -> Error {
        error.message = self.lifted(&error.message);
        let detail = error.get_detail().map(|detail| self.lifted(detail));
        let missing = error.get_missing().map(|missing| missing.renamed(|name| self.lifted(name)));
        let hint = error.get_hint().map(|hint| self.lifted(hint));
        error.with(detail, Error::detail).with(missing, Error::missing).with(hint, Error::hint)
    }

    fn lifted(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for (edit, written) in &self.found {
            let name = begin(written, NAME).replace("\"\"", "\"");
            let folded = edit.replacement.to_ascii_lowercase();
            words = words.replace(&edit.replacement, &name).replace(&folded, &name.to_ascii_lowercase());
        }
        words
    }
}

/// Returns a name that does not exist. If its word continues, it is so long that the source cuts off the rest.
fn unheard(number: usize, goes_on: bool) -> String {
    let name = format!("{}{number}Z", UNHEARD.as_str());
    if goes_on { format!("{name:Z<NAME$}") } else { name }
}
