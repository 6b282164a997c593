//! Translates PostgreSQL's regular expressions (its "advanced" ones) for another engine. What that one would match
//! differently is not supported: back references, lookahead and lookbehind, collating elements, classes of
//! printable characters.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

use datafusion::common::{DataFusionError, Result};
use regex::{Regex, RegexBuilder};

use crate::functions::user_defined::{not_there, refused};

/// How often a part may be repeated (`RE_DUP_MAX`).
const MOST_REPEATED: u16 = 255;
/// The maximal number of characters in a range whose upper and lower case are looked up one by one.
const MOST_CASED: u32 = 512;
/// Octets of a program that a pattern becomes.
const MOST_OCTETS: usize = 10 << 20;

/// The characters of words.
const WORD: &str = r"\p{L}\p{Nd}_";
/// White space as in PostgreSQL: without non-breaking spaces.
const SPACE: &str = r"\x09-\x0D\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{2028}\x{2029}\x{205F}\x{3000}";
/// White space without line ends.
const BLANK: &str = r"\x09\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{205F}\x{3000}";

/// A pattern, read.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The pattern in the syntax of the crate `regex`.
    pub(super) translated: String,
    /// Whether it is the same for every locale.
    pub(super) is_plain: bool,
    /// Why it cannot be used for replacing.
    pub(super) ways: Ways,
}

/// In which ways there is more than one match at a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// The pattern has a quantifier that takes the least.
    pub(super) is_lazy: bool,
    /// The groups may match in several ways: the pattern has branches, or a group that is repeated.
    pub(super) has_loose_groups: bool,
    /// The pattern asks where words begin and end.
    pub(super) has_words: bool,
}

impl Pattern {
    /// Parses the pattern; `ignores_case` makes it case-insensitive.
    ///
    /// # Errors
    /// `2201B` for what PostgreSQL does not accept either, `0A000` for what is not supported.
    pub(super) fn read(text: &str, ignores_case: bool) -> Result<Self> {
        let (text, ignores_case) = match text.strip_prefix("(?i)") {
            Some(rest) => (rest, true),
            None => (text.strip_prefix("(?c)").unwrap_or(text), ignores_case && !text.starts_with("(?c)")),
        };
        if text.starts_with("***") {
            return Err(not_known("a pattern that begins with ***"));
        }
        let mut reader = Reader {
            rest: text.chars().peekable(),
            ignores_case,
            depth: 0,
            pattern: Self {
                translated: String::with_capacity(text.len() * 2),
                is_plain: !ignores_case,
                ways: Ways::default(),
            },
        };
        reader.read()?;
        Ok(reader.pattern)
    }

    /// Returns the program that the crate `regex` makes of the pattern.
    ///
    /// # Errors
    /// `2201B` for one that is too large.
    pub(super) fn program(&self) -> Result<Regex> {
        let built = RegexBuilder::new(&self.translated).dot_matches_new_line(true).size_limit(MOST_OCTETS).build();
        built.map_err(|_| refused("2201B", "invalid regular expression: regular expression is too complex".to_owned()))
    }
}

fn invalid(why: &str) -> DataFusionError {
    refused("2201B", format!("invalid regular expression: {why}"))
}

fn not_known(what: &str) -> DataFusionError {
    not_there(
        format!("{what} in a regular expression is not supported over several connections"),
        "use letters, ., [a-z], \\d, \\s, \\w, \\y, ^, $, |, (…), *, +, ? and {m,n}, or match on the table's own connection",
    )
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    ignores_case: bool,
    depth: usize,
    pattern: Pattern,
}

/// What precedes a quantifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Something that cannot be repeated.
    Nothing,
    /// A part that can be repeated.
    Part,
    /// A group, which can be too.
    Group,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<()> {
        let mut before = Before::Nothing;
        while let Some(next) = self.rest.next() {
            before = match next {
                '\\' => self.escape()?,
                '[' => {
                    self.bracket()?;
                    Before::Part
                }
                '.' => {
                    self.pattern.translated.push('.');
                    Before::Part
                }
                '^' | '$' => {
                    self.pattern.translated.push(next);
                    Before::Nothing
                }
                '|' => {
                    self.pattern.ways.has_loose_groups = true;
                    self.pattern.translated.push('|');
                    Before::Nothing
                }
                '(' => {
                    self.group()?;
                    Before::Nothing
                }
                ')' => {
                    self.depth = self.depth.checked_sub(1).ok_or_else(|| invalid("parentheses () not balanced"))?;
                    self.pattern.translated.push(')');
                    Before::Group
                }
                '*' | '+' | '?' => self.quantified(before, next)?,
                '{' if self.rest.peek().is_some_and(char::is_ascii_digit) => self.bound(before)?,
                literal => {
                    self.literal(literal);
                    Before::Part
                }
            };
        }
        if self.depth > 0 {
            return Err(invalid("parentheses () not balanced"));
        }
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        self.depth += 1;
        self.pattern.translated.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        match self.rest.next() {
            Some(':') => self.pattern.translated.push_str("?:"),
            Some('#') => return Err(not_known("(?#")),
            Some(letter) if letter.is_ascii_alphabetic() => return Err(not_known("an option such as (?n)")),
            Some('=' | '!' | '<') => return Err(not_known("looking ahead or behind")),
            _ => return Err(invalid("quantifier operand invalid")),
        }
        Ok(())
    }

    fn quantified(&mut self, before: Before, sign: char) -> Result<Before> {
        if before == Before::Nothing {
            return Err(invalid("quantifier operand invalid"));
        }
        self.pattern.ways.has_loose_groups |= before == Before::Group;
        self.pattern.translated.push(sign);
        self.behind_quantifier();
        Ok(Before::Nothing)
    }

    /// The least match in the place of the longest one.
    fn behind_quantifier(&mut self) {
        if self.rest.next_if_eq(&'?').is_some() {
            self.pattern.ways.is_lazy = true;
            self.pattern.translated.push('?');
        }
    }

    fn bound(&mut self, before: Before) -> Result<Before> {
        if before == Before::Nothing {
            return Err(invalid("quantifier operand invalid"));
        }
        self.pattern.ways.has_loose_groups |= before == Before::Group;
        let least = self.count()?.unwrap_or_default();
        let most = if self.rest.next_if_eq(&',').is_some() { self.count()? } else { Some(least) };
        if self.rest.next() != Some('}') || most.is_some_and(|most| most < least) {
            return Err(invalid("invalid repetition count(s)"));
        }
        // Writing to a String cannot fail.
        let _ = match most {
            Some(most) => write!(self.pattern.translated, "{{{least},{most}}}"),
            None => write!(self.pattern.translated, "{{{least},}}"),
        };
        self.behind_quantifier();
        Ok(Before::Nothing)
    }

    fn count(&mut self) -> Result<Option<u16>> {
        let mut count = None;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit).and_then(|digit| digit.to_digit(10)) {
            let digit = u16::try_from(digit).unwrap_or_default();
            let more = count.unwrap_or(0_u16) * 10 + digit;
            if more > MOST_REPEATED {
                return Err(invalid("invalid repetition count(s)"));
            }
            count = Some(more);
        }
        Ok(count)
    }

    fn escape(&mut self) -> Result<Before> {
        let Some(escaped) = self.rest.next() else { return Err(invalid("invalid escape \\ sequence")) };
        if let Some(class) = class_of(escaped) {
            self.pattern.is_plain = false;
            let not = if escaped.is_uppercase() { "^" } else { "" };
            let _ = write!(self.pattern.translated, "[{not}{class}]");
            return Ok(Before::Part);
        }
        let (constraint, is_of_words) = match escaped {
            'A' => ("\\A", false),
            'Z' => ("\\z", false),
            'm' => ("\\b{start}", true),
            'M' => ("\\b{end}", true),
            'y' => ("\\b", true),
            'Y' => ("\\B", true),
            _ => {
                let literal = self.character(escaped)?;
                self.literal(literal);
                return Ok(Before::Part);
            }
        };
        self.pattern.is_plain &= !is_of_words;
        self.pattern.ways.has_words |= is_of_words;
        self.pattern.translated.push_str(constraint);
        Ok(Before::Nothing)
    }

    /// The character that is written with a backslash.
    fn character(&mut self, escaped: char) -> Result<char> {
        Ok(match escaped {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'c' | 'u' | 'U' | 'x' => return Err(not_known("a character by its code")),
            '0'..='9' => return Err(not_known("a reference back")),
            letter if letter.is_ascii_alphabetic() => return Err(invalid("invalid escape \\ sequence")),
            other => other,
        })
    }

    fn literal(&mut self, literal: char) {
        if self.ignores_case && others(literal).next().is_some() {
            self.pattern.translated.push('[');
            for one in std::iter::once(literal).chain(others(literal)) {
                write_character(&mut self.pattern.translated, one);
            }
            self.pattern.translated.push(']');
        } else {
            write_character(&mut self.pattern.translated, literal);
        }
    }

    fn bracket(&mut self) -> Result<()> {
        self.pattern.translated.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.pattern.translated.push('^');
        }
        let mut is_first = true;
        loop {
            let next = self.rest.next().ok_or_else(|| invalid("brackets [] not balanced"))?;
            if next == ']' && !is_first {
                break;
            }
            is_first = false;
            if next == '[' && matches!(self.rest.peek(), Some(':' | '.' | '=')) {
                self.named_class()?;
                self.not_from()?;
                continue;
            }
            let first = if next == '\\' {
                let escaped = self.rest.next().ok_or_else(|| invalid("invalid escape \\ sequence"))?;
                if let Some(class) = class_of(escaped) {
                    if escaped.is_uppercase() {
                        return Err(not_known("a class in brackets that says what is not in it"));
                    }
                    self.pattern.is_plain = false;
                    self.pattern.translated.push_str(class);
                    self.not_from()?;
                    continue;
                }
                if matches!(escaped, 'A' | 'Z' | 'm' | 'M' | 'y' | 'Y') {
                    return Err(invalid("invalid escape \\ sequence"));
                }
                self.character(escaped)?
            } else {
                next
            };
            self.range_from(first)?;
        }
        self.pattern.translated.push(']');
        Ok(())
    }

    /// No range begins with a class.
    fn not_from(&mut self) -> Result<()> {
        let mut ahead = self.rest.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|behind| behind != ']') {
            return Err(invalid("invalid character range"));
        }
        Ok(())
    }

    /// A character in brackets, or a range from it to another one.
    fn range_from(&mut self, first: char) -> Result<()> {
        let mut ahead = self.rest.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|behind| behind != ']');
        if !is_range {
            self.range(first, first)?;
            return Ok(());
        }
        self.rest.next();
        let last = match self.rest.next() {
            Some('\\') => {
                let escaped = self.rest.next().ok_or_else(|| invalid("invalid escape \\ sequence"))?;
                if class_of(escaped).is_some() {
                    return Err(invalid("invalid character range"));
                }
                self.character(escaped)?
            }
            Some('[') if matches!(self.rest.peek(), Some(':' | '.' | '=')) => {
                return Err(not_known("a range up to a class or collating element"));
            }
            Some(last) => last,
            None => return Err(invalid("brackets [] not balanced")),
        };
        if last < first {
            return Err(invalid("invalid character range"));
        }
        self.range(first, last)?;
        self.not_from()
    }

    fn range(&mut self, first: char, last: char) -> Result<()> {
        write_character(&mut self.pattern.translated, first);
        if first != last {
            self.pattern.translated.push('-');
            write_character(&mut self.pattern.translated, last);
        }
        if self.ignores_case {
            if u32::from(last) - u32::from(first) > MOST_CASED {
                return Err(not_known("a range of more than 512 characters, whose case is ignored,"));
            }
            for other in (first..=last).flat_map(others) {
                write_character(&mut self.pattern.translated, other);
            }
        }
        Ok(())
    }

    /// `[:alpha:]`, behind its first bracket.
    fn named_class(&mut self) -> Result<()> {
        if self.rest.next() != Some(':') {
            return Err(not_known("a collating element"));
        }
        let mut name = String::new();
        while let Some(letter) = self.rest.next_if(char::is_ascii_alphabetic) {
            name.push(letter);
        }
        if self.rest.next() != Some(':') || self.rest.next() != Some(']') {
            return Err(not_known("a class of another form than [:name:]"));
        }
        let class = match name.as_str() {
            "alpha" => r"\p{L}",
            "lower" | "upper" if self.ignores_case => r"\p{L}",
            "lower" => r"\p{Ll}",
            "upper" => r"\p{Lu}",
            "digit" => "0-9",
            "alnum" => r"\p{L}\p{Nd}",
            "word" => WORD,
            "xdigit" => "0-9A-Fa-f",
            "space" => SPACE,
            "blank" => BLANK,
            "cntrl" | "graph" | "print" | "punct" | "ascii" => return Err(not_known(&format!("[:{name}:]"))),
            _ => return Err(invalid("invalid character class")),
        };
        self.pattern.is_plain = false;
        self.pattern.translated.push_str(class);
        Ok(())
    }
}

/// Returns the characters of the class that the letter stands for, or of its complement.
fn class_of(letter: char) -> Option<&'static str> {
    match letter {
        'd' | 'D' => Some("0-9"),
        's' | 'S' => Some(SPACE),
        'w' | 'W' => Some(WORD),
        _ => None,
    }
}

/// The small and the capital letter of a character, where they are others.
fn others(of: char) -> impl Iterator<Item = char> {
    let alone = |mut cased: Box<dyn Iterator<Item = char>>| match (cased.next(), cased.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    };
    let both = [alone(Box::new(of.to_lowercase())), alone(Box::new(of.to_uppercase()))];
    both.into_iter().flatten().filter(move |other| *other != of)
}

/// Writes a character so that it stands for itself.
fn write_character(out: &mut String, character: char) {
    if character.is_ascii_alphanumeric() {
        out.push(character);
    } else {
        let _ = write!(out, "\\x{{{:X}}}", u32::from(character));
    }
}
