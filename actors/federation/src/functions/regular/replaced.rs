//! `regexp_replace`: replaces the longest match at the first position, where the other engine finds another match
//! first.

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use regex::{Captures, Regex};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use crate::external_error::external;
use crate::functions::regular::pattern::Pattern;
use crate::functions::user_defined::{not_there, refused};
use portico_core::error::{Error, Kind};

/// The maximal number of bytes of the texts that one call makes for a batch of rows.
const MOST_OCTETS: usize = 64 << 20;

/// Matches that are looked for before the time is looked at again.
const MATCHES_AT_ONCE: usize = 16;

/// A part of the replacement.
enum Piece {
    Text(String),
    /// The match, or the group of this number.
    Group(usize),
}

/// How the matches of a pattern are replaced.
pub(super) struct Replacement {
    program: Regex,
    /// Finds where the longest match ends.
    longest: DFA,
    cache: Cache,
    pieces: Vec<Piece>,
    /// Whether a group is written.
    has_groups: bool,
    is_global: bool,
    /// Octets that were made.
    made: usize,
}

impl Replacement {
    /// # Errors
    /// `0A000` for a pattern whose matches or groups may differ here.
    pub(super) fn new(pattern: &Pattern, by: &str, is_global: bool) -> Result<Self> {
        let pieces = pieces(by);
        let has_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
        let what = if pattern.ways.is_lazy {
            Some("a quantifier that takes the least, such as *?,")
        } else if pattern.ways.has_words {
            Some("a bound of a word, such as \\y,")
        } else if pattern.ways.has_loose_groups && has_groups {
            Some("\\1 and a branch or a group that is repeated")
        } else {
            None
        };
        if let Some(what) = what {
            let message = format!("regexp_replace with {what} is not supported over several connections");
            return Err(not_there(
                message,
                "write a class of characters, such as [^/]*, or replace on the table's own connection",
            ));
        }
        let program = pattern.program()?;
        let longest = DFA::builder()
            .configure(DFA::config().match_kind(MatchKind::All))
            .syntax(syntax::Config::new().dot_matches_new_line(true))
            .build(&pattern.translated)
            .map_err(|_| {
                refused("2201B", "invalid regular expression: regular expression is too complex".to_owned())
            })?;
        let cache = longest.create_cache();
        Ok(Self { program, longest, cache, pieces, has_groups, is_global, made: 0 })
    }

    /// Replaces the first match in the text, or all of them (`replace_text_regexp`).
    ///
    /// # Errors
    /// `54000` for a text that becomes too long, and the error of `is_in_time`: each match may scan all of the
    /// text.
    pub(super) fn replace(&mut self, text: &str, is_in_time: impl Fn() -> Result<()>) -> Result<String> {
        let mut out = String::with_capacity(text.len());
        let (mut written, mut at, mut matches) = (0, 0, 0_usize);
        while at <= text.len() {
            matches += 1;
            if matches.is_multiple_of(MATCHES_AT_ONCE) {
                is_in_time()?;
            }
            let Some(found) = self.program.find_at(text, at) else { break };
            let (from, to) = (found.start(), self.end(text, found.start())?);
            out.push_str(text.get(written..from).unwrap_or_default());
            self.write(text, from..to, &mut out)?;
            if self.made.saturating_add(out.len()) > MOST_OCTETS {
                return Err(too_large());
            }
            written = to;
            if !self.is_global {
                break;
            }
            // After an empty match there would be another one at the same position.
            let step = if from == to {
                text.get(to..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            } else {
                0
            };
            at = to + step;
        }
        out.push_str(text.get(written..).unwrap_or_default());
        self.made = self.made.saturating_add(out.len());
        Ok(out)
    }

    /// Where the longest match ends that begins at this place.
    fn end(&mut self, text: &str, from: usize) -> Result<usize> {
        let input = Input::new(text).range(from..).anchored(Anchored::Yes);
        let found = self.longest.try_search_fwd(&mut self.cache, &input);
        let found = found.map_err(|error| exec_datafusion_err!("regexp_replace: {error}"))?;
        found
            .map(|found| found.offset())
            .ok_or_else(|| exec_datafusion_err!("regexp_replace: two readers of a pattern"))
    }

    fn write(&self, text: &str, of: std::ops::Range<usize>, out: &mut String) -> Result<()> {
        let groups = if self.has_groups { self.groups(text, &of)? } else { None };
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => out.push_str(piece),
                Piece::Group(0) => out.push_str(text.get(of.clone()).unwrap_or_default()),
                Piece::Group(number) => {
                    let group = groups.as_ref().and_then(|groups| groups.get(*number));
                    out.push_str(group.map_or("", |group| group.as_str()));
                }
            }
        }
        Ok(())
    }

    fn groups<'t>(&self, text: &'t str, of: &std::ops::Range<usize>) -> Result<Option<Captures<'t>>> {
        let groups = self.program.captures_at(text, of.start);
        match &groups {
            Some(groups) if groups.get(0).is_none_or(|all| all.range() != *of) => Err(ambiguous()),
            _ => Ok(groups),
        }
    }
}

fn too_large() -> DataFusionError {
    let message = "regexp_replace: the texts of some rows come to more than 64 MiB";
    external(Error::new(Kind::TooLarge, message).sqlstate("54000").hint("make shorter ones"))
}

fn ambiguous() -> DataFusionError {
    let message =
        "regexp_replace with \\1 and a pattern that matches in several ways is not supported over several connections";
    not_there(
        message.to_owned(),
        "write the pattern so that each part ends where the next one begins, such as ([^-]*)-(.*)",
    )
}

fn pieces(by: &str) -> Vec<Piece> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = by.chars().peekable();
    while let Some(next) = rest.next() {
        let group = match rest.peek() {
            Some('&') if next == '\\' => Some(0),
            Some(digit @ '1'..='9') if next == '\\' => digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()),
            _ => None,
        };
        match group {
            Some(group) => {
                rest.next();
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Group(group));
            }
            None => {
                text.push(next);
                // Two are one; before anything else it is itself.
                if next == '\\' {
                    rest.next_if_eq(&'\\');
                }
            }
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}
