//! Splits a SQL text into tokens: names, literals, comments, operators, in either dialect. The grammar is not known
//! here.

use super::blank::{self, is_space};
use super::bracket;
use super::grammar_position::Context;
use super::placeholder::{self, ParameterNames};
use super::token::{Kind, Token, begins_word, continues_word, is_operator};
use crate::dialect::Dialect;

/// Cuts `text` into tokens that cover it without a gap.
pub(crate) fn tokens(text: &str, dialect: Dialect) -> Vec<Token> {
    read(text, dialect, true, &ParameterNames::new())
}

/// The same where values are `given`, which decide of an `@` that could be an operator's.
pub(crate) fn tokens_with(text: &str, dialect: Dialect, given: &ParameterNames) -> Vec<Token> {
    read(text, dialect, true, given)
}

/// The tokens as the source itself reads them: to PostgreSQL `[x]` is never a name.
pub fn tokens_at_source(text: &str, dialect: Dialect) -> Vec<Token> {
    read(text, dialect, dialect.bracket_names, &ParameterNames::new())
}

fn read(text: &str, dialect: Dialect, brackets: bool, given: &ParameterNames) -> Vec<Token> {
    let mut reader = Reader { text, bytes: text.as_bytes(), dialect, brackets, given, at: 0, marks: 0, subscripts: 0 };
    let mut context = Context::new(dialect);
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 3 + 8);
    while reader.at < text.len() {
        let start = reader.at;
        let kind = reader.next(&context);
        // Whatever the rules above do, each step must advance and end on a character boundary.
        let mut end = reader.at.max(start + 1).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        reader.at = end;
        let token = Token { kind, start, end, in_relations: context.in_relations() };
        context.pass(token, text);
        tokens.push(token);
    }
    tokens
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    dialect: Dialect,
    /// Whether `[x]` may be a name.
    brackets: bool,
    given: &'a ParameterNames,
    at: usize,
    /// How many `?` without a number were read.
    marks: usize,
    /// How many `[` are open that quote no name.
    subscripts: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_while(&mut self, fits: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && fits(self.peek(0)) {
            self.at += 1;
        }
    }

    fn one(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    fn next(&mut self, context: &Context) -> Kind {
        if let Some(end) = blank::end(self.bytes, self.at, self.dialect) {
            self.at = end;
            return Kind::Blank;
        }
        match self.peek(0) {
            // Open to the end: it is part of the statement, which the server refuses for it.
            b'/' if self.peek(1) == b'*' && self.dialect.nested_comments => {
                self.at = self.bytes.len();
                Kind::Other
            }
            b'\'' => self.quoted(b'\'', Kind::Text),
            b'"' => self.quoted(b'"', Kind::Name),
            // No operator of PostgreSQL has a backtick, so it may quote there as well as in SQLite.
            b'`' => self.quoted(b'`', Kind::Name),
            b'[' => self.bracket(context),
            b'$' => self.dollar(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() && !context.after_name() => self.number(),
            b'?' if self.dialect.named_parameters => {
                let start = self.at;
                self.at += 1;
                self.skip_while(|byte| byte.is_ascii_digit());
                self.marks += usize::from(self.at == start + 1);
                self.parameter(start)
            }
            b':' if self.dialect.named_parameters && continues_word(self.peek(1)) => self.variable(),
            b':' if self.is_given_behind_colon() => {
                self.at += 1;
                self.skip_while(placeholder::continues);
                Kind::Placeholder
            }
            b'(' => self.one(Kind::Open),
            b')' => self.one(Kind::Close),
            b']' => {
                self.subscripts = self.subscripts.saturating_sub(1);
                self.one(Kind::Close)
            }
            b',' => self.one(Kind::Comma),
            b'.' => self.one(Kind::Dot),
            b';' => self.one(Kind::Semicolon),
            byte if begins_word(byte) => self.word(),
            byte if is_operator(byte) => self.operator(),
            _ => self.one(Kind::Other),
        }
    }

    /// From one quote to the next that is not doubled, or to the end of the text.
    fn quoted(&mut self, quote: u8, kind: Kind) -> Kind {
        self.at += 1;
        while self.at < self.bytes.len() {
            if self.peek(0) != quote {
                self.at += 1;
            } else if self.peek(1) == quote {
                self.at += 2;
            } else {
                self.at += 1;
                break;
            }
        }
        kind
    }

    fn bracket(&mut self, context: &Context) -> Kind {
        match bracket::name_end(context, self.text, self.at).filter(|_| self.brackets) {
            Some(end) => {
                self.at = end;
                Kind::Name
            }
            None => {
                self.subscripts += 1;
                self.one(Kind::Open)
            }
        }
    }

    /// What is read from `start` as the source's own parameter, and is ours if a value is given for it.
    fn parameter(&self, start: usize) -> Kind {
        let name = placeholder::name(self.text.get(start..self.at).unwrap_or_default(), self.marks);
        if self.given.contains(name.as_ref()) { Kind::Placeholder } else { Kind::Parameter }
    }

    /// Whether a value is given for `:name`, which is no cast and no slice of an array.
    fn is_given_behind_colon(&self) -> bool {
        let is_second = self.at.checked_sub(1).and_then(|before| self.bytes.get(before)) == Some(&b':');
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        begins_word(self.peek(1)) && !is_second && self.subscripts == 0 && placeholder::is_given(rest, self.given)
    }

    /// `$1`, `$$…$$`, `$tag$…$tag$`; in SQLite `$name`.
    fn dollar(&mut self) -> Kind {
        let start = self.at;
        self.at += 1;
        if self.dialect.named_parameters {
            self.at = start;
            return self.variable();
        }
        if self.peek(0).is_ascii_digit() {
            self.skip_while(|byte| byte.is_ascii_digit());
            return self.parameter(start);
        }
        if begins_word(self.peek(0)) {
            self.skip_while(|byte| continues_word(byte) && byte != b'$');
        }
        if self.peek(0) != b'$' {
            if self.at > start + 1 && self.parameter(start) == Kind::Placeholder {
                return Kind::Placeholder;
            }
            self.at = start;
            return self.one(Kind::Other);
        }
        self.at += 1;
        let tag = self.text.get(start..self.at).unwrap_or("$$");
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.find(tag).map_or(rest.len(), |found| found + tag.len());
        Kind::Text
    }

    /// `:name` and `$name` of SQLite, with Tcl's `::` in the name and `(…)` behind it.
    fn variable(&mut self) -> Kind {
        let start = self.at;
        self.at += 1;
        let mut named = false;
        loop {
            match (self.peek(0), self.peek(1)) {
                (byte, _) if continues_word(byte) => {
                    named = true;
                    self.at += 1;
                }
                (b':', b':') => self.at += 2,
                (b'(', _) if named => {
                    let open = self.at;
                    self.skip_while(|byte| byte != b')' && !byte.is_ascii_whitespace() && byte != 0x0b);
                    if self.peek(0) == b')' {
                        self.at += 1;
                    } else {
                        // SQLite does not take that as a variable, nor as any other token.
                        self.at = open;
                    }
                    break;
                }
                _ => break,
            }
        }
        if named {
            return self.parameter(start);
        }
        self.at = start;
        self.one(Kind::Other)
    }

    fn number(&mut self) -> Kind {
        // In SQLite any character that may continue a name spoils the number in front of it, also a byte order
        // mark.
        let runs_on = self.dialect.numbers_run_on;
        let digits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (runs_on && continues_word(byte));
        let start = self.at;
        self.skip_while(digits);
        // `1..10` in a loop is not a decimal fraction.
        if self.peek(0) == b'.' && self.peek(1) != b'.' {
            self.at += 1;
            self.skip_while(digits);
        }
        let ends_in_exponent = matches!(self.bytes.get(self.at - 1), Some(b'e' | b'E'))
            && !self.text.get(start..self.at).unwrap_or_default().starts_with("0x");
        if ends_in_exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.skip_while(digits);
        }
        Kind::Number
    }

    fn word(&mut self) -> Kind {
        let first = self.peek(0);
        let second = self.peek(1);
        match (first, second) {
            (b'x' | b'X', b'\'') => {
                self.at += 1;
                return self.quoted(b'\'', Kind::Text);
            }
            (b'e' | b'E', b'\'') if self.dialect.prefixed_literals => return self.escaped(),
            (b'b' | b'B' | b'n' | b'N', b'\'') if self.dialect.prefixed_literals => {
                self.at += 1;
                return self.quoted(b'\'', Kind::Text);
            }
            (b'u' | b'U', b'&') if self.dialect.prefixed_literals && matches!(self.peek(2), b'\'' | b'"') => {
                let quote = self.peek(2);
                self.at += 2;
                return self.quoted(quote, if quote == b'"' { Kind::Name } else { Kind::Text });
            }
            _ => {}
        }
        self.skip_while(continues_word);
        Kind::Word
    }

    /// `E'…'` with backslashes, and its continuation on a further line, which escapes too.
    fn escaped(&mut self) -> Kind {
        self.at += 1;
        loop {
            self.at += 1;
            while self.at < self.bytes.len() {
                match (self.peek(0), self.peek(1)) {
                    (b'\\', _) | (b'\'', b'\'') => self.at += 2,
                    (b'\'', _) => break,
                    _ => self.at += 1,
                }
            }
            self.at = (self.at + 1).min(self.bytes.len());
            let end = self.at;
            let mut broken = false;
            while self.at < self.bytes.len() {
                let byte = self.peek(0);
                if is_space(byte, self.dialect) {
                    broken |= matches!(byte, b'\n' | b'\r');
                    self.at += 1;
                } else if byte == b'-' && self.peek(1) == b'-' {
                    self.at = blank::line_end(self.bytes, self.at, self.dialect);
                } else {
                    break;
                }
            }
            if !broken || self.peek(0) != b'\'' {
                self.at = end;
                return Kind::Text;
            }
        }
    }

    /// Whether a word or a number ends right here: `@` may then be an operator between two names.
    fn is_behind_word(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.bytes.get(before)).copied();
        before.is_some_and(|byte| continues_word(byte) && byte != b'$')
    }

    /// The longest run of operator characters, as PostgreSQL's lexer takes it, unless it ends in
    /// the `@` of a placeholder.
    fn operator(&mut self) -> Kind {
        let start = self.at;
        while self.at < self.bytes.len() {
            let (byte, next) = (self.peek(0), self.peek(1));
            let comment = (byte == b'-' && next == b'-') || (byte == b'/' && next == b'*');
            if comment || !is_operator(byte) || (byte == b'?' && self.dialect.named_parameters) {
                break;
            }
            if byte == b'@' && (begins_word(next) || next.is_ascii_digit()) {
                let run = self.text.get(start..=self.at).unwrap_or_default();
                let rest = self.text.get(self.at + 1..).unwrap_or_default();
                if placeholder::begins(run, rest, self.is_behind_word(start), self.dialect, self.given) {
                    if self.at > start {
                        return Kind::Operator;
                    }
                    self.at += 1;
                    self.skip_while(placeholder::continues);
                    return Kind::Placeholder;
                }
            }
            self.at += 1;
        }
        Kind::Operator
    }
}
