//! `[`: whether it quotes a name, as clients of such services write, or opens a subscript or an
//! array. The words around it decide; nothing is parsed.

use super::token::{Kind, Token, begins_word, continues_word, identifier};
use super::{Dialect, Edit};

/// What has been read so far, as far as it decides what a `[` is.
pub(super) struct Context {
    dialect: Dialect,
    open: Vec<Frame>,
    here: Frame,
    previous: Previous,
    end: usize,
}

/// One open bracket, or the statement itself.
#[derive(Clone, Copy)]
struct Frame {
    kind: Opened,
    /// Whether relations are being listed: no subscript can follow a relation.
    relations: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    Statement,
    Parenthesis,
    /// The parenthesis of a call: no subscript can follow it.
    Call,
    /// ARRAY[…], and the arrays in it.
    Array,
    Subscript,
}

/// What stands in front.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    /// Nothing, an operator, a comma, an opening parenthesis, a keyword: a name may begin.
    Start,
    Dot,
    /// ARRAY
    Array,
    /// A keyword that callers may also use as a name, and that a name follows where it is one.
    SoftKeyword,
    Word,
    QuotedName,
    BracketedName,
    Parameter,
    /// A literal, or a constant such as NULL: takes no subscript, but an alias.
    Literal,
    Close,
    /// The end of a call.
    CallClose,
}

/// Reserved words after which a name or an expression begins.
const BEFORE_NAME: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "COLUMN",
    "CONSTRAINT",
    "CROSS",
    "DEFAULT",
    "DESC",
    "DISTINCT",
    "DO",
    "ELSE",
    "EXCEPT",
    "FETCH",
    "FOR",
    "FOREIGN",
    "FROM",
    "FULL",
    "GRANT",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTO",
    "IS",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "OUTER",
    "OVERLAPS",
    "PRIMARY",
    "REFERENCES",
    "RETURNING",
    "RIGHT",
    "SELECT",
    "SIMILAR",
    "SOME",
    "SYMMETRIC",
    "TABLE",
    "THEN",
    "TO",
    "UNION",
    "UNIQUE",
    "USING",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// Words that are keywords only in their place; a name follows them after a space.
const SOFT: &[&str] = &[
    "ADD",
    "ALTER",
    "BETWEEN",
    "BY",
    "CALL",
    "COPY",
    "DELETE",
    "DROP",
    "ESCAPE",
    "EXEC",
    "EXECUTE",
    "EXISTS",
    "FUNCTION",
    "INDEX",
    "LOCK",
    "MERGE",
    "OF",
    "OVER",
    "PROCEDURE",
    "RECURSIVE",
    "RENAME",
    "REPLACE",
    "ROUTINE",
    "SCHEMA",
    "SEQUENCE",
    "SET",
    "TRIGGER",
    "TRUNCATE",
    "UPDATE",
    "VIEW",
];

/// Words that take no subscript but may take an alias.
const CONSTANTS: &[&str] = &[
    "CURRENT_CATALOG",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_SCHEMA",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "END",
    "FALSE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NULL",
    "SESSION_USER",
    "TRUE",
    "USER",
];

/// Words after which relations are listed.
const RELATIONS: &[&str] =
    &["FROM", "INTO", "JOIN", "LATERAL", "ONLY", "TABLE", "TRUNCATE", "UPDATE", "REFERENCES", "VIEW", "EXISTS", "CALL"];

/// Words that end such a list.
const EXPRESSIONS: &[&str] = &[
    "CASE",
    "CHECK",
    "FETCH",
    "FOR",
    "GROUP",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "ON",
    "ORDER",
    "RETURNING",
    "SELECT",
    "SET",
    "TABLESAMPLE",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
];

impl Context {
    pub(super) fn new(dialect: Dialect) -> Self {
        let here = Frame { kind: Opened::Statement, relations: false };
        Self { dialect, open: Vec::new(), here, previous: Previous::Start, end: 0 }
    }

    /// Whether a relation may be named here.
    pub(super) fn in_relations(&self) -> bool {
        self.here.relations
    }

    /// Whether a dot would belong to a name, not to a number.
    pub(super) fn after_name(&self) -> bool {
        matches!(self.previous, Previous::Word | Previous::QuotedName | Previous::BracketedName | Previous::SoftKeyword)
    }

    /// Takes note of a token.
    pub(super) fn pass(&mut self, token: Token, text: &str) {
        self.previous = match token.kind {
            Kind::Blank => return,
            Kind::Comma | Kind::Operator | Kind::Other => Previous::Start,
            Kind::Semicolon => {
                if self.open.is_empty() {
                    self.here.relations = false;
                }
                Previous::Start
            }
            Kind::Dot => Previous::Dot,
            Kind::Text | Kind::Number => Previous::Literal,
            Kind::Parameter | Kind::Placeholder => Previous::Parameter,
            Kind::Name if token.text(text).starts_with('[') => Previous::BracketedName,
            Kind::Name => Previous::QuotedName,
            Kind::Word if self.previous == Previous::Dot => Previous::Word,
            Kind::Word => self.word(token, text),
            Kind::Open => self.opened(token.text(text)),
            Kind::Close => self.closed(),
        };
        self.end = token.end;
    }

    fn word(&mut self, token: Token, text: &str) -> Previous {
        if token.is_any(text, RELATIONS) {
            self.here.relations = true;
        } else if token.is_any(text, EXPRESSIONS) {
            self.here.relations = false;
        }
        if token.is_word(text, "ARRAY") {
            Previous::Array
        } else if token.is_any(text, BEFORE_NAME) {
            Previous::Start
        } else if token.is_any(text, SOFT) {
            Previous::SoftKeyword
        } else if token.is_any(text, CONSTANTS) {
            Previous::Literal
        } else {
            Previous::Word
        }
    }

    fn opened(&mut self, bracket: &str) -> Previous {
        let kind = match (bracket, self.previous, self.here.kind) {
            ("(", Previous::Word | Previous::QuotedName | Previous::BracketedName, _) => Opened::Call,
            ("(", ..) => Opened::Parenthesis,
            (_, Previous::Array, _) | (_, Previous::Start, Opened::Array) => Opened::Array,
            _ => Opened::Subscript,
        };
        let relations = kind == Opened::Parenthesis && self.here.relations;
        self.open.push(std::mem::replace(&mut self.here, Frame { kind, relations }));
        Previous::Start
    }

    fn closed(&mut self) -> Previous {
        let kind = self.here.kind;
        if let Some(outer) = self.open.pop() {
            self.here = outer;
        }
        if kind == Opened::Call { Previous::CallClose } else { Previous::Close }
    }

    /// Where the quoted name ends that the `[` at `start` begins; `None` if it quotes nothing.
    pub(super) fn name_end(&self, text: &str, start: usize) -> Option<usize> {
        if self.dialect == Dialect::Sqlite {
            // There a bracket is nothing else, and nothing escapes its end.
            return Some(text.get(start..)?.find(']').map_or(text.len(), |found| start + found + 1));
        }
        // In `a[[b]]` the second `]` ends the subscript.
        let doubles = !matches!(self.here.kind, Opened::Array | Opened::Subscript);
        let end = closing(text, start, doubles)?;
        let inner = text.get(start + 1..end - 1)?;
        if inner.is_empty() {
            return None;
        }
        let spaced = self.end < start;
        let named = reads_as_name(inner);
        let quotes = match self.previous {
            Previous::Dot => true,
            Previous::Start => match self.here.kind {
                // Inside an array constructor a bracket right after `[` or `,` is a nested array.
                Opened::Array => !matches!(text.as_bytes().get(self.end.wrapping_sub(1)), Some(b'[' | b',')),
                _ => true,
            },
            Previous::Array | Previous::Parameter => false,
            Previous::SoftKeyword | Previous::BracketedName | Previous::CallClose => spaced && named,
            Previous::Literal => named,
            Previous::Word | Previous::QuotedName | Previous::Close => spaced && named && self.here.relations,
        };
        quotes.then_some(end)
    }
}

/// Puts every `[x]` into the double quotes of the standard.
pub(super) fn requote(text: &str, words: &[Token], edits: &mut Vec<Edit>) {
    for token in words.iter().filter(|token| token.kind == Kind::Name && token.text(text).starts_with('[')) {
        let quoted = identifier(token.text(text)).replace('"', "\"\"");
        // Next to another quote, or to the `&` of U&, it would be read together with that.
        let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).copied();
        let before = if matches!(byte(token.start.checked_sub(1)), Some(b'"' | b'&')) { " " } else { "" };
        let after = if byte(Some(token.end)) == Some(b'"') { " " } else { "" };
        edits.push(Edit { range: token.range(), replacement: format!("{before}\"{quoted}\"{after}") });
    }
}

/// Just behind the `]` that ends a name; with `doubles`, a doubled one belongs to it.
fn closing(text: &str, start: usize, doubles: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at - start < MAX_NAME {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b']', Some(b']')) if doubles => at += 2,
            (b']', _) => return Some(at + 1),
            // A name does not go over the end of a line, so that a stray bracket stays harmless.
            (b'\n' | b'\r', _) => return None,
            _ => at += 1,
        }
    }
    None
}

/// Bytes of a name in brackets at most: PostgreSQL keeps 63. Without a bound, a text of nothing
/// but brackets would be read once for each of them.
const MAX_NAME: usize = 256;

/// Whether it looks like a name rather than a subscript: words with single spaces between them.
fn reads_as_name(inner: &str) -> bool {
    inner.split(' ').all(|word| {
        let bytes = word.as_bytes();
        bytes.first().is_some_and(|first| begins_word(*first)) && bytes.iter().all(|byte| continues_word(*byte))
    })
}
