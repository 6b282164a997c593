//! The tokens of a SQL text, and the bytes that words and operators are made of.

use std::borrow::Cow;
use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// White space and comments.
    Blank,
    /// A keyword or an unquoted identifier.
    Word,
    /// A quoted identifier: `"x"`, `[x]` or `` `x` ``.
    Name,
    /// A string, bit string or dollar-quoted literal.
    Text,
    /// A number.
    Number,
    /// A parameter that the source itself understands: `$1`, and in SQLite `?`, `?1`, `:x`, `$x`, `$x(…)`.
    Parameter,
    /// `@name`, one of our placeholders.
    Placeholder,
    /// `(`, or a `[` that does not quote a name.
    Open,
    /// `)`, or a `]` that does not quote a name.
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// A run of operator characters.
    Operator,
    /// Any other single character.
    Other,
}

/// One token: its kind and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last one.
    pub end: usize,
    /// Whether the clause around it lists relations, as FROM does.
    pub in_relations: bool,
}

impl Token {
    /// Its bytes in the whole text.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Its own part of the whole text.
    pub fn text(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// Whether it is this keyword, given in capitals.
    pub fn is_word(self, text: &str, word: &str) -> bool {
        self.kind == Kind::Word && self.text(text).eq_ignore_ascii_case(word)
    }

    /// Whether it is one of these keywords, given in capitals.
    pub fn is_any(self, text: &str, words: &[&str]) -> bool {
        if self.kind != Kind::Word {
            return false;
        }
        let own = self.text(text);
        words.iter().any(|word| word.len() == own.len() && own.eq_ignore_ascii_case(word))
    }

    /// Whether it is a comment.
    pub fn is_comment(self, text: &str) -> bool {
        self.kind == Kind::Blank && self.text(text).starts_with(['-', '/'])
    }

    /// Whether it is an identifier or a keyword.
    pub fn is_name(self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
    }

    /// Returns the name that the token can stand for; in some dialects a literal can, too.
    pub fn name(self, text: &str) -> Option<Cow<'_, str>> {
        let own = self.text(text);
        match self.kind {
            Kind::Word => Some(Cow::Borrowed(own)),
            Kind::Name => Some(unquoted(own).unwrap_or(Cow::Borrowed(own))),
            Kind::Text if own.len() > 1 && own.starts_with('\'') && own.ends_with('\'') => {
                Some(undouble(own, "''", "'"))
            }
            _ => None,
        }
    }
}

/// `tokens` without blanks.
pub(crate) fn words(tokens: &[Token]) -> Vec<Token> {
    let mut words = Vec::with_capacity(tokens.len());
    words.extend(tokens.iter().copied().filter(|token| token.kind != Kind::Blank));
    words
}

/// Returns the identifier for a name: without quotes, and in lower case if it was not quoted.
pub(crate) fn identifier(name: &str) -> Cow<'_, str> {
    match name.as_bytes() {
        [b'u' | b'U', b'&', b'"', ..] => Cow::Borrowed(name),
        _ => unquoted(name).unwrap_or_else(|| lowercase(Cow::Borrowed(name))),
    }
}

/// `name` in small letters. Most have no others.
pub(crate) fn lowercase(name: Cow<'_, str>) -> Cow<'_, str> {
    let is_plain = |octet: u8| octet.is_ascii() && !octet.is_ascii_uppercase();
    if name.bytes().all(is_plain) { name } else { Cow::Owned(name.to_lowercase()) }
}

/// Returns the text between a name's quotes.
fn unquoted(name: &str) -> Option<Cow<'_, str>> {
    match name.as_bytes() {
        [b'"', .., b'"'] => Some(undouble(name, "\"\"", "\"")),
        [b'`', .., b'`'] => Some(undouble(name, "``", "`")),
        [b'[', .., b']'] => Some(undouble(name, "]]", "]")),
        _ => None,
    }
}

fn undouble<'a>(name: &'a str, doubled: &str, single: &str) -> Cow<'a, str> {
    let inner = name.get(1..name.len() - 1).unwrap_or_default();
    if inner.contains(doubled) { Cow::Owned(inner.replace(doubled, single)) } else { Cow::Borrowed(inner) }
}

/// Whether an identifier may begin with this byte; every byte of a non-ASCII character counts.
pub(crate) const fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// Whether an identifier may go on with this byte.
pub(crate) const fn continues_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// Returns the end of the literal that starts with the quote at `start`; a doubled quote is content. Returns `None`
/// if it is not closed, or if a backslash or a NUL makes it ambiguous.
pub fn closing_quote(text: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'\\' | b'\0' => return None,
            byte if *byte == quote => {
                if text.get(at + 1) == Some(&quote) {
                    at += 2;
                } else {
                    return Some(at + 1);
                }
            }
            _ => at += 1,
        }
    }
}

/// Whether an operator may have this character.
pub(crate) const fn is_operator(byte: u8) -> bool {
    matches!(
        byte,
        b'+' | b'-' | b'*' | b'/' | b'<' | b'>' | b'=' | b'~' | b'!' | b'@' | b'#' | b'%' | b'^' | b'&' | b'|' | b'?'
    )
}
