//! Tracks the position in the grammar, as far as it decides the meaning of `[` and where relations are listed. It
//! is derived from the surrounding words; nothing is parsed.

use std::sync::LazyLock;

use super::token::{Kind, Token};
use crate::dialect::Dialect;

/// The state of what was read so far.
pub(crate) struct Context {
    pub(crate) dialect: Dialect,
    open: Vec<Frame>,
    here: Frame,
    previous: Previous,
    /// Whether the statement calls the routine that it names: its parentheses then contain expressions.
    calls: bool,
    /// Whether it is an UPDATE: behind SET a column is named.
    updates: bool,
    /// The last token, and the one before it.
    last: [Option<Token>; 2],
}

/// One open bracket, or the statement itself.
#[derive(Clone, Copy)]
struct Frame {
    kind: Opened,
    clause: Clause,
    /// The clause at its start, which is restored after a comma.
    base: Clause,
    /// Whether a comma continues a list of relations, also after an ON.
    lists: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    Statement,
    Parenthesis,
    /// The parenthesis of a call, or of an operator such as IN: a subscript cannot follow it.
    Call,
    /// The numbers of a type: `(10, 2)`, `[]`, `[3]`.
    Modifier,
    /// DISTINCT ON (…): an expression follows it.
    Leading,
    /// ARRAY[…], and the arrays in it.
    Array,
    Subscript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// A command: its words are keywords, not columns.
    Command,
    /// The list behind SELECT or RETURNING: a label may follow an expression.
    Targets,
    /// Relations are being listed: no subscript can follow one, but an alias.
    Relations,
    Expression,
}

/// What precedes the current token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Previous {
    /// Nothing, an operator, a comma, an opening parenthesis or a keyword: a name may start here.
    Start,
    /// A keyword that callers may also use as a name, where it is a keyword.
    Keyword,
    Dot,
    /// ARRAY
    Array,
    /// `::` or COLLATE: a name follows that takes no subscript.
    TypeStart,
    /// A type, or a collation: bounds may follow it, or a label.
    Type,
    Name,
    BracketedName,
    /// Another expression that can have a subscript: one in parentheses, a subscript, a parameter.
    Subscripted,
    /// An expression without subscripts: a literal, a call, an array, a constant such as NULL.
    Value,
}

/// Reserved words after which a name or an expression begins.
static BEFORE_NAME: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "ALL AND ANY AS ASC BOTH CASE CAST CHECK COLUMN CONSTRAINT CROSS DEFAULT DESC DISTINCT DO ELSE EXCEPT \
         FETCH FOR FOREIGN FROM FULL GRANT GROUP HAVING ILIKE IN INNER INTERSECT INTO IS JOIN LATERAL LEADING LEFT \
         LIKE LIMIT NATURAL NOT OFFSET ON ONLY OR ORDER OUTER OVERLAPS PRIMARY REFERENCES RETURNING RIGHT \
         SELECT SIMILAR SOME SYMMETRIC TABLE THEN TO TRAILING UNION UNIQUE USING VARIADIC WHEN WHERE WINDOW WITH",
    )
});
/// Words that are keywords only in their place; a name follows them there.
static SOFT: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "ADD ALTER BETWEEN BY CALL COPY DELETE DROP ESCAPE EXEC EXECUTE EXISTS FUNCTION INDEX LOCK MERGE OF \
         OVER PROCEDURE RECURSIVE RENAME REPLACE RETURN ROUTINE SCHEMA SEQUENCE SET TRIGGER TRUNCATE UPDATE VALUES \
         VIEW",
    )
});
/// Words that take no subscript but may take a label.
static CONSTANTS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER \
         END FALSE ISNULL LOCALTIME LOCALTIMESTAMP NOTNULL NULL SESSION_USER TRUE USER",
    )
});
/// Words behind a literal that belong to it: INTERVAL '1' DAY.
const FIELDS: &[&str] = &["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"];
/// Words that a type may go on with.
const TYPES: &[&str] = &["PRECISION", "VARYING", "WITH", "WITHOUT", "TIME", "ZONE"];
/// Words after which a parenthesis takes no subscript, although they are not names.
static CALLS: LazyLock<Words> =
    LazyLock::new(|| Words::new("ANY CAST EXISTS GROUP IN LEFT OVER REPLACE RIGHT SOME VALUES"));
/// Words after which relations are listed.
const RELATIONS: &[&str] = &["JOIN", "LATERAL", "ONLY", "REFERENCES", "TABLE"];
/// The same where a statement begins: elsewhere they may be columns.
const COMMANDS: &[&str] = &["CALL", "TRUNCATE", "UPDATE", "VIEW"];
/// Words that end a list of relations.
static EXPRESSIONS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "CHECK EXCEPT FETCH FOR GROUP HAVING INTERSECT LIMIT OFFSET ORDER RETURN SET TABLESAMPLE UNION VALUES WHERE \
         WINDOW",
    )
});

/// Words by their length: every word of every statement is looked for here.
struct Words(Vec<Vec<&'static str>>);

impl Words {
    fn new(text: &'static str) -> Self {
        let mut by_length = Vec::new();
        for word in text.split(' ') {
            by_length.resize_with(by_length.len().max(word.len() + 1), Vec::new);
            by_length[word.len()].push(word);
        }
        Self(by_length)
    }

    /// Whether one of them is `word`.
    fn has(&self, word: &str) -> bool {
        self.0.get(word.len()).is_some_and(|same| same.iter().any(|other| other.eq_ignore_ascii_case(word)))
    }
}

/// Whether one of these words is `word`.
pub(crate) fn among(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.len() == word.len() && other.eq_ignore_ascii_case(word))
}

impl Context {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let (clause, kind) = (Clause::Command, Opened::Statement);
        let here = Frame { kind, clause, base: clause, lists: false };
        Self {
            dialect,
            open: Vec::new(),
            here,
            previous: Previous::Start,
            calls: false,
            updates: false,
            last: [None; 2],
        }
    }

    /// Returns what precedes the current token.
    pub(crate) fn previous(&self) -> Previous {
        self.previous
    }

    pub(crate) fn clause(&self) -> Clause {
        self.here.clause
    }

    /// The innermost bracket that is open.
    pub(crate) fn opened_by(&self) -> Opened {
        self.here.kind
    }

    /// Where the last token ended.
    pub(crate) fn end(&self) -> usize {
        self.last[0].map_or(0, |last| last.end)
    }

    /// Whether a relation may be named here.
    pub(crate) fn in_relations(&self) -> bool {
        self.here.clause == Clause::Relations
    }

    /// Whether a dot would belong to a name, not to a number.
    pub(crate) fn after_name(&self) -> bool {
        matches!(self.previous, Previous::Name | Previous::BracketedName | Previous::Keyword | Previous::Type)
    }

    /// Updates the state by one token.
    pub(crate) fn pass(&mut self, token: Token, text: &str) {
        self.previous = match (token.kind, self.previous) {
            (Kind::Blank, _) => return,
            (Kind::Other, _) if token.text(text) == ":" && self.last[0].is_some_and(|last| last.text(text) == ":") => {
                Previous::TypeStart
            }
            (Kind::Operator | Kind::Other, _) => Previous::Start,
            (Kind::Comma, _) => {
                match (self.here.lists, self.here.kind) {
                    (true, _) => self.here.clause = Clause::Relations,
                    // The next column behind one with a CHECK, or that REFERENCES a table.
                    (false, Opened::Call) => self.here.clause = self.here.base,
                    _ => {}
                }
                Previous::Start
            }
            (Kind::Semicolon, _) => {
                if self.open.is_empty() {
                    (self.here.clause, self.here.lists) = (Clause::Command, false);
                    (self.calls, self.updates) = (false, false);
                }
                Previous::Start
            }
            (Kind::Dot, Previous::Type) => Previous::TypeStart,
            (Kind::Dot, _) => Previous::Dot,
            (Kind::Text | Kind::Number, _) => Previous::Value,
            (Kind::Parameter | Kind::Placeholder, _) => Previous::Subscripted,
            (Kind::Word | Kind::Name, Previous::TypeStart) => Previous::Type,
            (Kind::Word, Previous::Dot) => Previous::Name,
            (Kind::Word, _) => self.word(token.text(text), text),
            (Kind::Name, _) if self.last_is(0, text, &["OVER"]) => Previous::Value,
            (Kind::Name, _) if token.text(text).starts_with('[') => Previous::BracketedName,
            (Kind::Name, _) => Previous::Name,
            (Kind::Open, _) => self.opened(token.text(text), text),
            (Kind::Close, _) => self.closed(),
        };
        self.last = [Some(token), self.last[0]];
    }

    fn last_word<'t>(&self, back: usize, text: &'t str) -> Option<&'t str> {
        self.last[back].filter(|last| last.kind == Kind::Word).map(|last| last.text(text))
    }

    fn last_is(&self, back: usize, text: &str, words: &[&str]) -> bool {
        self.last_word(back, text).is_some_and(|last| among(words, last))
    }

    fn word(&mut self, word: &str, text: &str) -> Previous {
        if self.previous == Previous::Type && among(TYPES, word) {
            return Previous::Type;
        }
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        let begins = (is("BY") && self.last_is(0, text, &["GROUP", "ORDER", "PARTITION"]))
            || (self.previous != Previous::Start && (is("BETWEEN") || is("ESCAPE")))
            || (is("SET") && ((self.updates && self.in_relations()) || self.last_is(0, text, &["UPDATE"])));
        // If an expression is expected, a word that can be a column is one.
        let due = self.previous == Previous::Start && matches!(self.here.clause, Clause::Targets | Clause::Expression);
        if due && !begins && SOFT.has(word) {
            return Previous::Name;
        }
        self.turn(word, text);
        if begins {
            Previous::Start
        } else if is("ARRAY") {
            Previous::Array
        } else if is("COLLATE") {
            Previous::TypeStart
        } else if BEFORE_NAME.has(word) {
            Previous::Start
        } else if SOFT.has(word) {
            Previous::Keyword
        } else if CONSTANTS.has(word)
            || (self.previous == Previous::Value && among(FIELDS, word))
            || self.last_is(0, text, &["OVER"])
        {
            Previous::Value
        } else {
            Previous::Name
        }
    }

    /// Updates the state by a word that starts a clause.
    fn turn(&mut self, word: &str, text: &str) {
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        self.calls |= self.here.clause == Clause::Command && among(&["CALL", "EXEC", "EXECUTE"], word);
        self.updates |= self.here.clause == Clause::Command && is("UPDATE");
        let clause = if is("FROM") {
            // IS DISTINCT FROM, and the FROM between the arguments of a call.
            let argument = self.here.kind == Opened::Call && self.here.clause != Clause::Targets;
            if self.last_is(0, text, &["DISTINCT"]) || (argument && !self.last_is(0, text, &["DELETE"])) {
                return;
            }
            self.here.lists = true;
            Clause::Relations
        } else if is("USING") {
            match (self.here.clause, self.here.lists) {
                (Clause::Relations, true) => Clause::Relations,
                // ALTER TABLE … TYPE … USING
                (Clause::Relations, false) => Clause::Expression,
                _ => return,
            }
        } else if is("ON") {
            // Not DISTINCT ON, nor COMMENT ON.
            if self.here.clause != Clause::Relations {
                return;
            }
            Clause::Expression
        } else if is("INTO") {
            self.here.lists = true;
            Clause::Relations
        } else if is("EXISTS") {
            // IF EXISTS, IF NOT EXISTS
            let not = self.last_is(0, text, &["NOT"]);
            if !self.last_is(usize::from(not), text, &["IF"]) {
                return;
            }
            Clause::Relations
        } else if is("SELECT") || is("RETURNING") {
            self.here.lists = false;
            Clause::Targets
        } else if among(RELATIONS, word) || (among(COMMANDS, word) && self.here.clause == Clause::Command) {
            Clause::Relations
        } else if EXPRESSIONS.has(word) && !self.last_is(0, text, &["WITHIN"]) {
            self.here.lists = false;
            Clause::Expression
        } else {
            return;
        };
        self.here.clause = clause;
    }

    fn opened(&mut self, bracket: &str, text: &str) -> Previous {
        let kind = match (bracket, self.previous, self.here.kind) {
            ("(", Previous::Type, _) => Opened::Modifier,
            ("(", ..) if self.last_is(0, text, &["MATERIALIZED"]) => Opened::Parenthesis,
            ("(", ..) if self.last_is(0, text, &["ON"]) && self.last_is(1, text, &["DISTINCT"]) => Opened::Leading,
            ("(", Previous::Name | Previous::BracketedName | Previous::Array, _) => Opened::Call,
            ("(", ..) if self.last_word(0, text).is_some_and(|word| CALLS.has(word)) => Opened::Call,
            ("(", ..) => Opened::Parenthesis,
            (_, Previous::Type, _) => Opened::Modifier,
            (_, Previous::Array, _) | (_, Previous::Start, Opened::Array) => Opened::Array,
            _ => Opened::Subscript,
        };
        let clause = match (kind, self.here.clause) {
            (Opened::Parenthesis, _) if self.last_is(0, text, &["USING"]) => Clause::Expression,
            // ALTER TABLE … GENERATED ALWAYS AS (…)
            (Opened::Parenthesis, Clause::Relations) if !self.here.lists && self.last_is(0, text, &["AS"]) => {
                Clause::Expression
            }
            (Opened::Parenthesis, Clause::Relations) => Clause::Relations,
            // WITH … AS (…)
            (Opened::Parenthesis, Clause::Command) if self.here.kind != Opened::Call => {
                if self.last_is(0, text, &["AS", "MATERIALIZED"]) { Clause::Command } else { Clause::Expression }
            }
            // The parenthesis belongs to a definition, not to a call.
            (Opened::Call, Clause::Command) if self.here.kind != Opened::Call && !self.calls => Clause::Command,
            (Opened::Call, Clause::Relations) if !self.here.lists && !self.calls => Clause::Command,
            (Opened::Call, Clause::Relations) if self.last_is(1, text, &["AS"]) => Clause::Command,
            _ => Clause::Expression,
        };
        let inner = Frame { kind, clause, base: clause, lists: clause == Clause::Relations && self.here.lists };
        self.open.push(std::mem::replace(&mut self.here, inner));
        Previous::Start
    }

    fn closed(&mut self) -> Previous {
        let kind = self.here.kind;
        if let Some(outer) = self.open.pop() {
            self.here = outer;
        }
        match kind {
            Opened::Statement | Opened::Parenthesis | Opened::Subscript => Previous::Subscripted,
            Opened::Call | Opened::Array => Previous::Value,
            Opened::Modifier => Previous::Type,
            Opened::Leading => Previous::Start,
        }
    }
}
