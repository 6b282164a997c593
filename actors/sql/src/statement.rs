//! Reads a text as statements, and puts each into the source's own names.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::lexing::placeholder::{self, ParameterNames};
use crate::lexing::token::{Kind, Token, words};
use crate::lexing::{bracket, guard, lexer, split};
use crate::parsed::class::{self, Class};
use crate::parsed::effects::Effects;
use crate::parsed::mask::mask;
use crate::parsed::names::{self, NameReference, Named, Naming};
use crate::parsed::relations::{Relation, relations};
use crate::parsed::{effects, shape_cache, tree};
use crate::rewrite::{self, Edit};
use crate::scans::redact;
use portico_core::error::{Error, Result};

/// One statement, understood and put into the source's own names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, each true or not")]
pub struct Statement {
    /// The text for the source.
    pub text: String,
    /// The word that it begins with, in capitals, or the sign.
    pub verb: String,
    /// Its class.
    pub class: Class,
    /// Whether all of it was parsed; else its class and its names are guessed from its words.
    pub understood: bool,
    /// Whether it is known to return rows: a query, or a writer with RETURNING.
    pub returns_rows: bool,
    /// Whether the source's row count is that of changed rows: the verb is INSERT, UPDATE, DELETE or MERGE, also
    /// after WITH.
    pub counts: bool,
    /// The verb of an UPDATE or DELETE without WHERE, or of one that is not understood.
    pub every_row: Option<&'static str>,
    /// Whether it calls a function that is not known to be harmless, so that even a SELECT may write.
    pub calls_functions: bool,
    /// The names of the placeholders, without `@`: the first is `$1`, and so on. A name that
    /// occurs twice has one number.
    pub placeholders: Vec<String>,
    /// The relations and routines that the statement names, each once. If the statement could not be parsed, all its
    /// names, also those of columns.
    pub names: Vec<Named>,
    /// The edits that turn the caller's text into `text`, in order.
    pub(crate) edits: Vec<Edit>,
    /// Maps positions back to the caller's text.
    pub(crate) anchors: Vec<rewrite::Anchor>,
}

impl Statement {
    /// Makes a statement of a text that was not parsed: nothing is known about it.
    pub fn unread(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            verb: verb(text, &lexer::tokens_at_source(text, Dialect::SQLITE)),
            class: Class::Other,
            understood: false,
            returns_rows: false,
            counts: false,
            every_row: None,
            calls_functions: true,
            placeholders: Vec::new(),
            names: Vec::new(),
            edits: Vec::new(),
            anchors: Vec::new(),
        }
    }

    /// Where in the caller's whole text a position of [`Statement::text`] lies; both in
    /// characters counted from 1.
    pub fn original_position(&self, position: usize) -> usize {
        rewrite::original(&self.anchors, position)
    }

    /// The same statement with `edits` of its text, in order; positions lead back to that text.
    #[must_use]
    pub fn edited(&self, edits: Vec<Edit>) -> Self {
        let (text, anchors) = rewrite::apply(&self.text, 0..self.text.len(), 0, &edits);
        Self { text, edits, anchors, ..self.clone() }
    }
}

/// Splits `text` into its statements and puts each into the source's own words.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) for a text without a statement, with a NUL,
/// that nests too deep or mixes `@name` with the source's own parameters;
/// [`Kind::TooLarge`](portico_core::error::Kind::TooLarge) over a bound on its size;
/// [`Kind::NotFound`](portico_core::error::Kind::NotFound) for a name of another connection.
pub fn statements(text: &str, dialect: Dialect, naming: Naming<'_>) -> Result<Vec<Statement>> {
    read(text, dialect, Some(naming), &ParameterNames::new()).map(|read| read.statements)
}

/// The same with values that are `given`, where each name keeps its connection.
///
/// # Errors
/// As [`statements`], but for names.
pub fn statements_over_connections(text: &str, dialect: Dialect, given: &ParameterNames) -> Result<Vec<Statement>> {
    read(text, dialect, None, given).map(|read| read.statements)
}

/// The statements of a text.
pub(crate) struct Read {
    pub(crate) statements: Vec<Statement>,
    /// The range of the only statement, if the parser understood it and other connections' names did not matter.
    pub(crate) alone: Option<Range<usize>>,
}

/// Reads `text`. `naming` tells the connection that runs it; `given` has the names of the caller's values.
pub(crate) fn read(text: &str, dialect: Dialect, naming: Option<Naming<'_>>, given: &ParameterNames) -> Result<Read> {
    guard::check_text(text)?;
    let tokens = lexer::tokens_with(text, dialect, given);
    guard::admit_tokens(text, &tokens)?;
    let parts = split::split(text, &tokens, dialect);
    guard::admit_statements(parts.len())?;
    if parts.is_empty() {
        return Err(Error::invalid("query holds no statement"));
    }
    let (is_single, mut alone) = (parts.len() == 1, None);
    let mut statements = Vec::with_capacity(parts.len());
    let (mut at, mut characters, mut marks) = (0, 0, 0);
    let mut rest = tokens.iter();
    for tokens in parts {
        let start = tokens.first().map_or(at, |first| first.start);
        characters += text.get(at..start).unwrap_or_default().chars().count();
        at = start;
        let (mut statement, by_naming) = understand(text, tokens, dialect, naming, (characters, &mut marks))?;
        let end = tokens.last().map_or(at, |last| last.end);
        let behind = rest.by_ref().skip_while(|token| token.start < end).take_while(|token| token.kind == Kind::Blank);
        let behind: usize = behind.map(|token| token.text(text).chars().count()).sum();
        if behind > 0 {
            rewrite::end_behind(&mut statement.anchors, statement.text.chars().count(), behind);
        }
        alone = (is_single && statement.understood && !by_naming).then_some(start..end);
        statements.push(statement);
    }
    Ok(Read { statements, alone })
}

/// Returns true if a literal, a quoted name or a comment at the end of `text` is open: nothing may be appended to
/// it.
pub fn is_open(text: &str, dialect: Dialect) -> bool {
    lexer::tokens_at_source(text, dialect).last().is_some_and(|last| !redact::is_closed(*last, text, dialect))
}

/// The statement `text` with an expression for each of its numbered parameters.
pub fn with_values(text: &str, dialect: Dialect, values: &[String]) -> String {
    let mut edits = Vec::new();
    for token in lexer::tokens(text, dialect).into_iter().filter(|token| token.kind == Kind::Parameter) {
        let number = token.text(text).get(1..).and_then(|digits| digits.parse::<usize>().ok());
        if let Some(value) = number.and_then(|number| values.get(number.checked_sub(1)?)) {
            edits.push(Edit { range: token.range(), replacement: value.clone() });
        }
    }
    rewrite::apply(text, 0..text.len(), 0, &edits).0
}

/// The verb that removes every row and takes no WHERE.
pub const TRUNCATE: &str = "TRUNCATE";

/// Reads one statement. Also returns whether names of other connections mattered; `before` and `marks` are the numbers
/// of characters and of placeholders without a name in front of it.
fn understand(
    text: &str,
    tokens: &[Token],
    dialect: Dialect,
    naming: Option<Naming<'_>>,
    (before, marks): (usize, &mut usize),
) -> Result<(Statement, bool)> {
    let words = words(tokens);
    // The planner recurses over it.
    if naming.is_none() && !guard::parses(text, &words)? {
        return Err(guard::too_long());
    }
    let reading = reading(text, tokens, &words, dialect)?;
    let connection = naming.map_or("", |naming| naming.connection);
    let mut edits = Vec::new();
    let by_naming = match naming {
        Some(naming) => names::strip(text, &words, &reading.references, reading.sure, naming, &mut edits)?,
        None => false,
    };
    let placeholders = placeholder::number(text, &words, dialect, marks, &mut edits)?;
    if !dialect.bracket_names {
        bracket::requote(text, &words, &mut edits);
    }
    let statement = assemble(text, tokens, dialect, reading, edits, (before, connection));
    Ok((Statement { placeholders, ..statement }, by_naming))
}

/// The statement of `tokens` with `edits`, which may come in any order; `before` is the number of characters in front of
/// it. Names lose a first part that is `catalog`.
pub(super) fn assemble(
    text: &str,
    tokens: &[Token],
    dialect: Dialect,
    reading: Reading,
    mut edits: Vec<Edit>,
    (before, catalog): (usize, &str),
) -> Statement {
    let words = words(tokens);
    let Reading { effects, references, sure, class, returns_rows } = reading;
    let verb = verb(text, &words);
    let counts = effects.counts && matches!(class, Class::Insert | Class::Update) && verb != "EXPLAIN";
    // A definition may hold a statement that is not run.
    let every_row = effects.every_row.filter(|_| class != Class::Ddl || effects.creates);
    let every_row = if verb == TRUNCATE { Some(TRUNCATE) } else { every_row };
    let calls_functions =
        !sure || matches!(class, Class::Call | Class::Other) || names::calls(text, &words, &references);
    let named = names::named(text, &words, &references, sure, dialect, catalog);
    edits.sort_by_key(|edit| edit.range.start);
    // A part that was removed needs no other quotes.
    edits.dedup_by(|later, earlier| later.range == earlier.range);
    let range = tokens.first().map_or(0, |first| first.start)..tokens.last().map_or(0, |last| last.end);
    let (text, anchors) = rewrite::apply(text, range, before, &edits);
    Statement {
        text,
        verb,
        class,
        understood: sure,
        returns_rows,
        counts,
        every_row,
        calls_functions,
        placeholders: Vec::new(),
        names: named,
        edits,
        anchors,
    }
}

pub(super) fn verb(text: &str, tokens: &[Token]) -> String {
    let first = tokens.iter().find(|token| !matches!(token.kind, Kind::Blank | Kind::Semicolon));
    first.map(|first| first.text(text).to_uppercase()).unwrap_or_default()
}

/// The analysis of one statement, before it is rewritten.
pub(super) struct Reading {
    effects: Effects,
    pub(super) references: Vec<NameReference>,
    /// Whether the parser understood the whole statement and found the names. Otherwise a scan found them.
    pub(super) sure: bool,
    pub(super) class: Class,
    pub(super) returns_rows: bool,
}

/// Reads one statement; `words` are its `tokens` without blanks.
pub(super) fn reading(text: &str, tokens: &[Token], words: &[Token], dialect: Dialect) -> Result<Reading> {
    let facts = facts(text, tokens, words, dialect)?;
    let sure = facts.is_some();
    let (effects, mut references) = match facts {
        Some(facts) => (facts.effects, facts.references.clone()),
        None => (effects::scan(text, words), names::scan(text, words)),
    };
    references.extend(names::operators(text, words));
    let (class, returns_rows) = class::classify(text, words, effects, dialect);
    Ok(Reading { effects, references, sure, class, returns_rows })
}

/// Returns the parser's result, if the statement is given to the parser and understood.
pub(super) fn facts(
    text: &str,
    tokens: &[Token],
    words: &[Token],
    dialect: Dialect,
) -> Result<Option<Arc<tree::Facts>>> {
    Ok(if guard::parses(text, words)? { shape_cache::facts(text, tokens, dialect) } else { None })
}

/// Returns the connections that `text` may address: the distinct first parts of its three-part names of relations
/// and routines, in order, unquoted and folded. For use before the dialect is known.
///
/// # Errors
/// As [`statements`], for what holds in every dialect.
pub fn catalogs(text: &str) -> Result<Vec<String>> {
    addressed(text, None).map(|addressed| addressed.catalogs)
}

/// The connections that a text addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addressed {
    /// As [`catalogs`] returns them.
    pub catalogs: Vec<String>,
    /// Whether another relation names no connection: it belongs to the default one.
    pub by_default: bool,
}

/// Returns the connections that `text` addresses. Relations without a connection are looked for only if `default`
/// is not among those that are named.
///
/// # Errors
/// As [`catalogs`].
pub fn addressed(text: &str, default: Option<&str>) -> Result<Addressed> {
    guard::check_text(text)?;
    let mut found = Addressed::default();
    let mut seen = HashSet::new();
    if text.bytes().filter(|byte| *byte == b'.').nth(1).is_none() {
        return Ok(found);
    }
    let tokens = lexer::tokens(text, Dialect::POSTGRESQL);
    guard::admit_tokens(text, &tokens)?;
    let statements = split::split(text, &tokens, Dialect::POSTGRESQL);
    for tokens in &statements {
        let words = words(tokens);
        if is_chained(&words) {
            let references = match facts(text, tokens, &words, Dialect::POSTGRESQL)? {
                Some(facts) => facts.references.clone(),
                // The scan may take a column for a relation.
                None => names::scan(text, &words),
            };
            found.catalogs.extend(names::catalogs(text, &words, &references, &mut seen));
        }
    }
    let is_other = |default: &str| found.catalogs.iter().any(|named| !named.eq_ignore_ascii_case(default));
    if default.is_some_and(is_other) {
        for tokens in &statements {
            found.by_default |= names_by_default(text, tokens)?;
        }
    }
    Ok(found)
}

/// Whether three names follow each other with dots between them.
fn is_chained(words: &[Token]) -> bool {
    words.windows(5).any(|five| {
        matches!(five, [first, dot, second, other, _] if first.is_name()
            && dot.kind == Kind::Dot
            && second.is_name()
            && other.kind == Kind::Dot)
    })
}

/// Returns true if a statement has a relation without a connection that is not a common table expression.
fn names_by_default(text: &str, tokens: &[Token]) -> Result<bool> {
    let words = words(tokens);
    let Some(facts) = facts(text, tokens, &words, Dialect::POSTGRESQL)? else {
        let guessed = names::scan(text, &words);
        return Ok(names::objects(&words, &guessed).any(|(_, parts)| parts <= 2));
    };
    let start = tokens.first().map_or(0, |first| first.start);
    let Some(found) = relations(&mask(text, tokens, Dialect::POSTGRESQL), &words, start, false) else {
        return Ok(true);
    };
    let is_listed = |at: &Range<usize>| found.iter().any(|relation| relation.words == *at);
    // The name of an object to be created is not in a list of relations.
    let is_made = |at: &Range<usize>| {
        let before = at.start.checked_sub(1).and_then(|before| words.get(before));
        before.is_some_and(|before| before.is_any(text, &["EXISTS", "INTO", "TABLE", "VIEW"]))
    };
    let mut objects = names::objects(&words, &facts.references);
    let is_by_default =
        |(at, parts): (&Range<usize>, usize)| parts == 2 || (parts == 1 && !is_listed(at) && is_made(at));
    let is_bare = |relation: &Relation| {
        relation.names(&words).count() == 1 && !relation.is_common_table(text, &words, Dialect::POSTGRESQL)
    };
    Ok(objects.any(is_by_default) || found.iter().any(is_bare))
}
