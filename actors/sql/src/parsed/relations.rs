//! The relations of a statement, by position: how each is used, and which common table expressions it may refer to.
//! What a name resolves to is decided elsewhere.

use std::ops::Range;

use squawk_syntax::{SourceFile, SyntaxKind, SyntaxNode};

use crate::dialect::Dialect;
use crate::lexing::token::{Token, identifier};

/// Common table expressions that all relations of a statement may be, together.
const MOST_IN_SIGHT: usize = 200_000;

/// How a statement uses a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// It reads it, in a list of relations.
    Read,
    /// It writes to it.
    Write,
    /// All of it, in a place that no query may stand in: `TABLE orders`.
    Whole,
    /// Used in some other way, by its own name.
    Other,
}

/// One relation that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Its name, among the words of the statement.
    pub(crate) words: Range<usize>,
    pub(crate) usage: Usage,
    /// Whether the statement gives it an alias.
    pub(crate) is_aliased: bool,
    /// The words of the RETURNING clause of the statement that writes to it.
    pub(crate) returning: Option<Range<usize>>,
    /// The names of the common table expressions that are in sight there, each by its word.
    pub(crate) in_sight: Vec<usize>,
}

impl Relation {
    /// The words of its name.
    pub(crate) fn names<'w>(&self, words: &'w [Token]) -> impl Iterator<Item = &'w Token> {
        words.get(self.words.clone()).unwrap_or_default().iter().filter(|word| word.is_name())
    }

    /// Whether it is one of the common table expressions in sight, and no table.
    pub(crate) fn is_common_table(&self, text: &str, words: &[Token], dialect: Dialect) -> bool {
        let mut names = self.names(words).map(|word| identifier(word.text(text)));
        let (Some(name), None, true) = (names.next(), names.next(), self.usage != Usage::Write) else { return false };
        let is_same = |at: &usize| {
            let other = words.get(*at).map(|word| identifier(word.text(text)));
            other.is_some_and(|other| other == name || (dialect.mixes_quotes && other.eq_ignore_ascii_case(&name)))
        };
        self.in_sight.iter().any(is_same)
    }
}

/// Returns the relations of a masked statement that the parser understands. `words` are its tokens without blanks,
/// `start` is its position in the whole text. With `all_recursive` every WITH list is treated as if RECURSIVE were
/// written. Returns `None` if the parser does not understand the statement after all.
pub(crate) fn relations(masked: &str, words: &[Token], start: usize, all_recursive: bool) -> Option<Vec<Relation>> {
    let parsed = std::panic::catch_unwind(|| SourceFile::parse(masked)).ok()?;
    if !parsed.errors().is_empty() {
        return None;
    }
    let word_at = |octet: usize| words.partition_point(|word| word.start < start + octet);
    let (mut found, mut most) = (Vec::new(), MOST_IN_SIGHT);
    for node in parsed.syntax_node().descendants() {
        if !matches!(node.kind(), SyntaxKind::RELATION_NAME_REF | SyntaxKind::TABLE_NAME_REF) {
            continue;
        }
        let range = node.text_range();
        let words = word_at(range.start().into())..word_at(range.end().into());
        let (usage, is_aliased) = usage(&node);
        let returning = (usage == Usage::Write).then(|| returning(&node)).flatten();
        let returning = returning.map(|range| word_at(range.start)..word_at(range.end));
        let ctes = in_sight(&node, all_recursive);
        most = most.checked_sub(ctes.len())?;
        let in_sight = ctes.iter().map(|name| word_at(name.text_range().start().into())).collect();
        found.push(Relation { words, usage, is_aliased, returning, in_sight });
    }
    Some(found)
}

fn usage(node: &SyntaxNode) -> (Usage, bool) {
    let Some(parent) = node.parent() else { return (Usage::Other, false) };
    let has = |node: &SyntaxNode, kind: SyntaxKind| node.children().any(|child| child.kind() == kind);
    match parent.kind() {
        SyntaxKind::RELATION_FROM_ITEM => (Usage::Read, has(&parent, SyntaxKind::FROM_ALIAS)),
        SyntaxKind::INSERT => (Usage::Write, has(&parent, SyntaxKind::REQUIRED_AS_ALIAS)),
        SyntaxKind::RELATION_NAME | SyntaxKind::TABLE_RELATION_NAME => match parent.parent() {
            Some(of) if matches!(of.kind(), SyntaxKind::UPDATE | SyntaxKind::DELETE | SyntaxKind::MERGE) => {
                (Usage::Write, has(&of, SyntaxKind::OPTIONAL_AS_ALIAS))
            }
            Some(of) if of.kind() == SyntaxKind::TABLE => (Usage::Whole, false),
            _ => (Usage::Other, false),
        },
        _ => (Usage::Other, false),
    }
}

/// Returns the range in bytes of the RETURNING clause of the statement that writes to the relation at `node`.
fn returning(node: &SyntaxNode) -> Option<Range<usize>> {
    let writes = |it: &SyntaxNode| {
        matches!(it.kind(), SyntaxKind::INSERT | SyntaxKind::UPDATE | SyntaxKind::DELETE | SyntaxKind::MERGE)
    };
    let statement = node.ancestors().find(writes)?;
    let clause = statement.children().find(|child| child.kind() == SyntaxKind::RETURNING_CLAUSE)?;
    Some(clause.text_range().start().into()..clause.text_range().end().into())
}

/// The names of the common table expressions that a relation at `node` may be.
fn in_sight(node: &SyntaxNode, all_recursive: bool) -> Vec<SyntaxNode> {
    let mut names = Vec::new();
    let is_around = |other: &SyntaxNode| other.text_range().contains_range(node.text_range());
    for ancestor in node.ancestors().skip(1) {
        let Some(list) = list_of(&ancestor) else { continue };
        // Within the list the preceding ones are visible, and all of them if it is recursive.
        let is_recursive =
            all_recursive || list.children_with_tokens().any(|child| child.kind() == SyntaxKind::RECURSIVE_KW);
        let tables = list.children().filter(|child| child.kind() == SyntaxKind::WITH_TABLE);
        let seen = tables.take_while(|table| is_recursive || !is_around(table));
        names.extend(seen.filter_map(|table| table.children().find(|child| child.kind() == SyntaxKind::CTE_NAME)));
    }
    names
}

/// Returns the WITH list of a statement. The list of a compound one is in its first part.
fn list_of(node: &SyntaxNode) -> Option<SyntaxNode> {
    let own = node.children().find(|child| child.kind() == SyntaxKind::WITH_CLAUSE);
    if own.is_some() || node.kind() != SyntaxKind::COMPOUND_SELECT {
        return own;
    }
    list_of(&node.first_child()?)
}
