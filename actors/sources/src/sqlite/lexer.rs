//! Cuts SQLite's SQL into tokens, comments included; takes any text and never fails. It knows
//! no grammar: what the tokens mean is for `comments` and `statement`.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword, a bare name or a number.
    Word,
    /// A name in `"…"`, `` `…` `` or `[…]`.
    Quoted,
    /// A string in `'…'`.
    Text,
    /// `-- …` up to the end of its line.
    LineComment,
    /// `/* … */`.
    BlockComment,
    /// Any other single character.
    Symbol,
}

/// One token with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its text, quotes and comment marks included.
    pub(crate) text: &'a str,
    /// The line it begins on, counted from 0.
    pub(crate) line: usize,
    /// The line it ends on.
    pub(crate) end_line: usize,
    /// How many characters stand before it on its line.
    pub(crate) column: usize,
}

impl Token<'_> {
    /// Whether this is a comment.
    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    /// Whether this is the keyword `word`.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether this is the character `symbol`.
    pub(crate) fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol && self.text.starts_with(symbol)
    }

    /// The name this token stands for, where it can stand for one; SQLite takes strings too.
    pub(crate) fn name(&self) -> Option<String> {
        let inner = |close: char| {
            let body = &self.text[1..];
            body.strip_suffix(close).unwrap_or(body).to_owned()
        };
        match self.kind {
            Kind::Word => Some(self.text.to_owned()),
            Kind::Text => Some(inner('\'').replace("''", "'")),
            Kind::Quoted if self.text.starts_with('[') => Some(inner(']')),
            Kind::Quoted if self.text.starts_with('`') => Some(inner('`').replace("``", "`")),
            Kind::Quoted => Some(inner('"').replace("\"\"", "\"")),
            _ => None,
        }
    }
}

/// The tokens of `text`, in order.
pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { rest: text, line: 0, column: 0 }
}

/// See [`tokens`].
pub(crate) struct Tokens<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Tokens<'a> {
    fn advance(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        for character in taken.chars() {
            if character == '\n' {
                self.line += 1;
                self.column = 0;
            } else {
                self.column += 1;
            }
        }
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.advance(blank);
        let first = self.rest.chars().next()?;
        let rest = self.rest;
        let (kind, length) = if rest.starts_with("--") {
            (Kind::LineComment, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(body) = rest.strip_prefix("/*") {
            (Kind::BlockComment, body.find("*/").map_or(rest.len(), |at| at + 4))
        } else {
            match first {
                '\'' => (Kind::Text, quoted(rest, '\'', true)),
                '"' | '`' => (Kind::Quoted, quoted(rest, first, true)),
                '[' => (Kind::Quoted, quoted(rest, ']', false)),
                _ if in_word(first) => (Kind::Word, rest.find(|c| !in_word(c)).unwrap_or(rest.len())),
                _ => (Kind::Symbol, first.len_utf8()),
            }
        };
        let (line, column) = (self.line, self.column);
        let text = self.advance(length);
        Some(Token { kind, text, line, end_line: self.line, column })
    }
}

/// The length of a quoted piece that begins with its one-octet opening quote.
fn quoted(text: &str, close: char, doubled: bool) -> usize {
    let mut at = 1;
    while let Some(found) = text[at..].find(close) {
        at += found + 1;
        if !(doubled && text[at..].starts_with(close)) {
            return at;
        }
        at += 1;
    }
    text.len()
}

fn in_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '$' || !character.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        tokens(text).map(|token| token.text).collect()
    }

    #[test]
    fn strings_names_and_comments_stay_whole() {
        assert_eq!(
            cut("SELECT 'it''s -- no', \"a\"\"b\", [x;y], `q` -- end; here\n/* ; */ FROM łąka;"),
            [
                "SELECT",
                "'it''s -- no'",
                ",",
                "\"a\"\"b\"",
                ",",
                "[x;y]",
                ",",
                "`q`",
                "-- end; here",
                "/* ; */",
                "FROM",
                "łąka",
                ";"
            ]
        );
    }

    #[test]
    fn unfinished_pieces_reach_to_the_end() {
        for text in ["'open", "\"open", "[open", "`open", "/* open", "/*", "'", "[", "-", "--", "''", "'''"] {
            assert_eq!(cut(text).concat(), text);
            for token in tokens(text) {
                let _ = token.name();
            }
        }
    }

    #[test]
    fn names_lose_their_quotes() {
        let names: Vec<_> = tokens("a \"b\"\"c\" [d] `e` 'f'").filter_map(|token| token.name()).collect();
        assert_eq!(names, ["a", "b\"c", "d", "e", "f"]);
    }
}
