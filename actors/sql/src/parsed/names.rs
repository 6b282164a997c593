//! Names in a statement: finds those that start with a connection, and removes that part. The names are located by
//! the tree or, without a tree, by a scan.

use std::collections::HashSet;
use std::ops::Range;

use super::functions;
use crate::dialect::Dialect;
use crate::lexing::token::{Kind, Token, begins_word, continues_word, identifier, is_operator};
use crate::quoted;
use crate::rewrite::Edit;

/// How names in statements are understood.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// The connection that the statement runs on; `connection.schema.table` loses this part.
    pub connection: &'a str,
    /// All other names that address a connection, to distinguish a wrong connection from a wrong table.
    pub others: &'a [&'a str],
}

/// A name in a statement: its parts without the connection, unquoted, and in small letters where
/// they were not quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// `[table]` or `[schema, table]`; more where a column may be behind them.
    pub parts: Vec<String>,
    /// Whether arguments follow: then it is a routine.
    pub called: bool,
    /// Its position in the caller's whole text, without its connection: in characters counted from 1.
    pub position: usize,
}

use portico_core::error::{Error, Result};

/// The kind of object that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A relation, a routine, a sequence: anything that lives in a schema.
    Object,
    /// A function that is called.
    Call,
    /// A type; `schema.table.column%TYPE` is one too.
    Type,
    /// A column or a field: its first part may be a schema or a table.
    Column,
    /// The schema of an operator, in front of its dot.
    Operator,
}

/// One name as a whole, by its place among the words of its statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameReference {
    pub(crate) role: NameKind,
    pub(crate) words: Range<usize>,
}

/// A name in its parts.
struct Parts<'a> {
    names: Vec<Token>,
    dot: Option<Token>,
    star: bool,
    next: Option<&'a Token>,
}

/// The part of the words that a reference covers.
fn parts<'a>(reference: &NameReference, words: &'a [Token]) -> Parts<'a> {
    let inside = words.get(reference.words.clone()).unwrap_or_default();
    Parts {
        names: inside.iter().copied().filter(|token| token.is_name()).collect(),
        dot: inside.get(1).copied().filter(|token| token.kind == Kind::Dot),
        star: inside.last().is_some_and(|token| token.kind == Kind::Operator),
        next: words.get(reference.words.end),
    }
}

/// Whether a name of this role and length names its connection, if it can.
fn may_name_connection(role: NameKind, parts: &Parts<'_>, text: &str) -> bool {
    let length = parts.names.len() + usize::from(parts.star);
    match role {
        // schema.table.column%TYPE has three parts without a connection.
        NameKind::Type if parts.next.is_some_and(|next| next.text(text) == "%") => length >= 4,
        NameKind::Object | NameKind::Call | NameKind::Type => length >= 3,
        NameKind::Operator => length >= 2,
        // schema.table.column and schema.table.* are legal; a fourth part can only be a catalogue.
        NameKind::Column => length >= 4,
    }
}

/// Removes the connection from every name. `sure` says that the roles come from the tree; a scan may take a column
/// for a relation. Returns true if a name had enough parts to include a connection.
///
/// # Errors
/// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if a relation or a routine names another connection.
pub(crate) fn strip(
    text: &str,
    words: &[Token],
    references: &[NameReference],
    sure: bool,
    naming: Naming<'_>,
    edits: &mut Vec<Edit>,
) -> Result<bool> {
    let mut looked = false;
    for reference in references {
        let parts = parts(reference, words);
        let (Some(first), Some(dot)) = (parts.names.first(), parts.dot) else { continue };
        if !may_name_connection(reference.role, &parts, text) {
            continue;
        }
        looked = true;
        if addresses(first.text(text), naming) {
            edits.push(Edit { range: first.range(), replacement: glue(text, *first, dot).to_owned() });
            edits.push(Edit { range: dot.range(), replacement: String::new() });
        } else if matches!(reference.role, NameKind::Object | NameKind::Call)
            && (sure || is_other(first.text(text), naming))
        {
            return Err(elsewhere(text, *first, naming));
        }
    }
    Ok(looked)
}

/// Connections are few: if no other connection has the exact spelling, capitals are ignored.
fn addresses(part: &str, naming: Naming<'_>) -> bool {
    let name = identifier(part);
    name == naming.connection || (same(&name, naming.connection) && !naming.others.iter().any(|other| name == *other))
}

fn is_other(part: &str, naming: Naming<'_>) -> bool {
    let name = identifier(part);
    naming.others.iter().any(|other| same(&name, other))
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn elsewhere(text: &str, first: Token, naming: Naming<'_>) -> Error {
    let name = identifier(first.text(text));
    let here = naming.connection;
    let position = text.get(..first.start).unwrap_or_default().chars().count() + 1;
    let error = if is_other(first.text(text), naming) {
        Error::not_found(format!(
            "{name} is another connection; one statement addresses one connection, and this call addresses {here}"
        ))
    } else {
        Error::not_found(format!("{name} is not one of your connections; this call addresses {here}"))
    };
    error.hint(format!("write {}.schema.table, or schema.table", quoted(here))).position(position)
}

/// Returns the filler for a part removed at `start` in front of a name, so that no two words join.
pub(crate) fn glue_before(text: &str, start: usize) -> &'static str {
    let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before)).copied();
    if before.is_some_and(|before| continues_word(before) || matches!(before, b'"' | b'&')) { " " } else { "" }
}

/// Returns the filler for a removed part, so that `JOIN"sales".public.t` does not become one word, `-sales--` not
/// one comment, and `u&sales."t"` not one name.
fn glue(text: &str, first: Token, dot: Token) -> &'static str {
    let bytes = text.as_bytes();
    let before = first.start.checked_sub(1).and_then(|before| bytes.get(before)).copied();
    let after = bytes.get(if dot.start > first.end { first.end } else { dot.end }).copied();
    let (Some(before), Some(after)) = (before, after) else { return "" };
    let joins = match after {
        b'"' | b'[' => continues_word(before) || matches!(before, b'"' | b'&'),
        b'-' | b'/' => is_operator(before),
        after => begins_word(after) && (continues_word(before) || before == b'"'),
    };
    if joins { " " } else { "" }
}

/// The first parts of all names that can only begin with a connection, and that were not `seen` before.
pub(crate) fn catalogs(
    text: &str,
    words: &[Token],
    references: &[NameReference],
    seen: &mut HashSet<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for reference in references.iter().filter(|reference| matches!(reference.role, NameKind::Object | NameKind::Call)) {
        let parts = parts(reference, words);
        let Some(first) = parts.names.first() else { continue };
        if may_name_connection(reference.role, &parts, text) {
            let name = identifier(first.text(text)).into_owned();
            if seen.insert(name.clone()) {
                found.push(name);
            }
        }
    }
    found
}

/// The places of objects among the words, and of how many parts their names are.
pub(crate) fn objects<'a>(
    words: &'a [Token],
    references: &'a [NameReference],
) -> impl Iterator<Item = (&'a Range<usize>, usize)> {
    let objects = references.iter().filter(|reference| reference.role == NameKind::Object);
    objects.filter_map(|reference| {
        let parts = parts(reference, words);
        (!parts.star).then_some((&reference.words, parts.names.len()))
    })
}

/// Counts characters up to places that mostly come in order.
struct Positions<'a> {
    text: &'a str,
    bytes: usize,
    characters: usize,
}

impl Positions<'_> {
    /// The position of the character at this byte, counted from 1.
    fn at(&mut self, byte: usize) -> usize {
        if byte < self.bytes {
            (self.bytes, self.characters) = (0, 0);
        }
        self.characters += self.text.get(self.bytes..byte).unwrap_or_default().chars().count();
        self.bytes = byte;
        self.characters + 1
    }
}

/// Returns the names in a statement that may be a relation or a routine, each once, without the connection. If it
/// was not parsed (`sure` is false), columns are included: they cannot be told from relations.
pub(crate) fn named(
    text: &str,
    words: &[Token],
    references: &[NameReference],
    sure: bool,
    dialect: Dialect,
    connection: &str,
) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    let mut seen: HashSet<(Vec<String>, bool)> = HashSet::new();
    let mut positions = Positions { text, bytes: 0, characters: 0 };
    let mut add = |names: &[Token], called: bool| {
        let mut parts: Vec<String> = names.iter().map(|name| part(name.text(text))).collect();
        let mut first = names.first();
        if parts.len() > 2 && same(&parts[0], connection) {
            parts.remove(0);
            first = names.get(1);
        }
        if seen.insert((parts.clone(), called)) {
            found.push(Named { parts, called, position: positions.at(first.map_or(0, |first| first.start)) });
        }
    };
    for reference in references.iter().filter(|reference| reference.role != NameKind::Operator) {
        let called = reference.role == NameKind::Call;
        if sure && !called && reference.role != NameKind::Object {
            continue;
        }
        let parts = parts(reference, words);
        let after = parts.next.is_some_and(|next| next.text(text) == "(");
        add(&parts.names, called || (!sure && after));
        // `INTO orders (id, total)` is not a call.
        let before = reference.words.start.checked_sub(1).and_then(|before| words.get(before));
        if !sure && after && before.is_some_and(|before| before.is_any(text, LIST_FOLLOWS)) {
            add(&parts.names, false);
        }
    }
    if dialect.mixes_quotes && !sure {
        // SQLite takes a string for a name where only a name can stand (its page "keywords").
        for pair in words.windows(2) {
            let [before, word] = pair else { continue };
            let placed = word.in_relations
                || before.kind == Kind::Dot
                || before.is_any(text, RELATION_FOLLOWS)
                || before.is_any(text, STRING_FOLLOWS);
            if placed && word.kind == Kind::Text {
                add(std::slice::from_ref(word), false);
            }
        }
    }
    found
}

/// A part of a name; in SQLite it may stand in a string's quotes.
fn part(name: &str) -> String {
    if name.starts_with('\'') {
        return name.trim_matches('\'').replace("''", "'");
    }
    identifier(name).into_owned()
}

/// Whether a function is called that is not known to be harmless.
pub(crate) fn calls(text: &str, words: &[Token], references: &[NameReference]) -> bool {
    references.iter().filter(|reference| reference.role == NameKind::Call).any(|reference| {
        let parts = parts(reference, words);
        let names: Vec<_> = parts.names.iter().map(|token| identifier(token.text(text))).collect();
        match names.as_slice() {
            [function] => !functions::is_harmless(function),
            [schema, function] => schema != "pg_catalog" || !functions::is_harmless(function),
            _ => true,
        }
    })
}

/// The schemas of the operators that are written as `OPERATOR(schema.+)`, or named by a definition.
pub(crate) fn operators(text: &str, words: &[Token]) -> Vec<NameReference> {
    let starts = words.iter().enumerate().filter(|(_, word)| word.is_word(text, "OPERATOR"));
    let reference = |(at, _): (usize, &Token)| {
        let opened = words.get(at + 1).is_some_and(|next| next.kind == Kind::Open);
        let first = at + 1 + usize::from(opened);
        let mut end = first;
        while words.get(end)?.is_name() && words.get(end + 1)?.kind == Kind::Dot {
            end += 2;
        }
        let named = end > first && words.get(end)?.kind == Kind::Operator;
        Some(NameReference { role: NameKind::Operator, words: first..end - 1 }).filter(|_| named)
    };
    starts.filter_map(reference).collect()
}

/// Words behind which the body of a routine may stand.
const BODIES: &[&str] = &["AS", "BEGIN", "RETURN", "SELECT"];

/// Finds the names of a statement that was not parsed: chains of names and dots, distinguished by the word in front
/// and the clause around them.
pub(crate) fn scan(text: &str, words: &[Token]) -> Vec<NameReference> {
    let mut references = Vec::new();
    let mut at = 0;
    // The part in front of a routine's body contains names of types, not of columns.
    let mut head = words.first().is_some_and(|first| first.is_word(text, "CREATE"))
        && words.iter().take(4).any(|word| word.is_any(text, &["FUNCTION", "PROCEDURE"]));
    while let Some(first) = words.get(at) {
        head &= !first.is_any(text, BODIES);
        let mut end = at + 1;
        if first.is_name() {
            while let (Some(dot), Some(part)) = (words.get(end), words.get(end + 1)) {
                if dot.kind != Kind::Dot || !(part.is_name() || part.text(text) == "*") {
                    break;
                }
                end += 2;
            }
            let before = at.checked_sub(1).and_then(|before| words.get(before));
            let called = words.get(end).is_some_and(|next| next.text(text) == "(");
            // A list of relations continues after a keyword or a comma; after anything else a name is an alias or
            // part of an expression.
            let listed = first.in_relations
                && before.is_some_and(|before| match before.kind {
                    Kind::Comma | Kind::Open => true,
                    Kind::Word => before.is_any(text, RELATION_FOLLOWS),
                    _ => false,
                });
            let starts = before.is_some_and(|before| before.is_any(text, RELATION_FOLLOWS));
            let role = match () {
                () if listed || (starts && end - at >= 5) => NameKind::Object,
                () if called && end - at >= 3 => NameKind::Call,
                () if head => NameKind::Type,
                () => NameKind::Column,
            };
            references.push(NameReference { role, words: at..end });
        }
        at = end;
    }
    references
}

const RELATION_FOLLOWS: &[&str] = &[
    "ANALYZE",
    "CALL",
    "EXISTS",
    "FROM",
    "IN",
    "INTO",
    "JOIN",
    "LATERAL",
    "ONLY",
    "REFERENCES",
    "REINDEX",
    "TABLE",
    "TRIGGER",
    "TRUNCATE",
    "UPDATE",
    "VIEW",
];
/// Another word after which SQLite accepts a string as a relation's name. A plain string may also follow this word.
const STRING_FOLLOWS: &[&str] = &["ON"];
/// Words in front of a relation that a list in parentheses may follow.
const LIST_FOLLOWS: &[&str] = &[
    "ANALYSE",
    "ANALYZE",
    "EXISTS",
    "INTO",
    "OF",
    "ON",
    "ONLY",
    "REFERENCES",
    "TABLE",
    "UPDATE",
    "USING",
    "VERBOSE",
    "VIEW",
];
