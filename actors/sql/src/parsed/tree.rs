//! Parses one statement, and collects facts from its tree in one walk. Their meaning is decided elsewhere; only
//! this file knows the parser.

use squawk_lexer::TokenKind;
use squawk_syntax::{SourceFile, SyntaxKind, SyntaxNode};

use super::effects::{Effects, changing_verb};
use super::names::{NameKind, NameReference};
use crate::lexing::token::Token;

/// The facts that the tree of one statement shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) effects: Effects,
    pub(crate) references: Vec<NameReference>,
}

/// Parses a masked statement. `words` are its tokens without blanks, `start` is its position in the whole text.
/// Returns `None` if the parser does not understand all of it as one statement, or splits it into other words than
/// our lexer.
pub(crate) fn read(masked: &str, words: &[Token], start: usize) -> Option<Facts> {
    if !agrees(masked, words, start) {
        return None;
    }
    // The parser asserts its own invariants; should a text break one, it counts as not understood.
    let parsed = std::panic::catch_unwind(|| {
        let parsed = SourceFile::parse(masked);
        // The parser skips what it does not know with an error, and not always with a node for it.
        parsed.errors().is_empty().then_some(parsed)
    });
    let parsed = parsed.ok()??;
    let file = parsed.syntax_node();
    let mut elements = file.children_with_tokens().filter(|element| !element.kind().is_trivia());
    let statement = elements.next()?.into_node()?;
    if elements.next().is_some() {
        return None;
    }
    let mut facts = Facts::default();
    facts.effects.rows = returns_rows(&statement);
    facts.effects.counts =
        matches!(statement.kind(), SyntaxKind::INSERT | SyntaxKind::UPDATE | SyntaxKind::DELETE | SyntaxKind::MERGE);
    let mut merges = false;
    let mut merge_inserts = false;
    for node in statement.descendants() {
        let effects = &mut facts.effects;
        effects.every_row = effects.every_row.or_else(|| changes_every_row(&node));
        match node.kind() {
            SyntaxKind::ERROR => return None,
            SyntaxKind::INSERT => facts.effects.inserts = true,
            SyntaxKind::UPDATE | SyntaxKind::DELETE | SyntaxKind::MERGE_UPDATE | SyntaxKind::MERGE_DELETE => {
                facts.effects.changes = true;
            }
            SyntaxKind::MERGE => merges = true,
            SyntaxKind::MERGE_INSERT => merge_inserts = true,
            SyntaxKind::LOCKING_CLAUSE => facts.effects.locks = true,
            SyntaxKind::INTO_CLAUSE => facts.effects.creates = true,
            _ => facts.references.extend(reference(&node, words, start)),
        }
    }
    facts.effects.inserts |= merge_inserts;
    facts.effects.changes |= merges && !merge_inserts;
    Some(facts)
}

/// Returns true if the parser's lexer splits the text as ours does: each of its words lies within one of ours, and none
/// of our words is a comment to it.
fn agrees(masked: &str, words: &[Token], start: usize) -> bool {
    let mut own = words.iter().peekable();
    let mut end = start;
    squawk_lexer::tokenize(masked).all(|word| {
        let begin = end;
        end += usize::try_from(word.len).unwrap_or(usize::MAX / 2);
        match word.kind {
            TokenKind::Whitespace => true,
            TokenKind::LineComment | TokenKind::BlockComment { .. } => false,
            _ => {
                while own.next_if(|token| token.end <= begin).is_some() {}
                own.peek().is_some_and(|token| token.start <= begin && end <= token.end)
            }
        }
    })
}

fn returns_rows(statement: &SyntaxNode) -> bool {
    match statement.kind() {
        SyntaxKind::SELECT
        | SyntaxKind::COMPOUND_SELECT
        | SyntaxKind::PAREN_SELECT
        | SyntaxKind::VALUES
        | SyntaxKind::TABLE => true,
        _ => statement.children().any(|child| child.kind() == SyntaxKind::RETURNING_CLAUSE),
    }
}

/// Returns the verb of an UPDATE or DELETE without WHERE.
fn changes_every_row(node: &SyntaxNode) -> Option<&'static str> {
    let verb = changing_verb(node.kind() == SyntaxKind::UPDATE, node.kind() == SyntaxKind::DELETE)?;
    let chooses = |child: SyntaxNode| matches!(child.kind(), SyntaxKind::WHERE_CLAUSE | SyntaxKind::WHERE_CURRENT_OF);
    (!node.children().any(chooses)).then_some(verb)
}

/// Returns the whole name that the node is, if it is one: of an object, a column, a type or a call.
fn reference(node: &SyntaxNode, words: &[Token], start: usize) -> Option<NameReference> {
    let parent = node.parent()?.kind();
    let role = match node.kind() {
        SyntaxKind::PATH | SyntaxKind::PATH_REF => match parent {
            SyntaxKind::PATH
            | SyntaxKind::PATH_REF
            | SyntaxKind::OP
            | SyntaxKind::CONFIG_PARAMETER_REF
            | SyntaxKind::CONSTRAINT_NAME_REF => return None,
            SyntaxKind::QUALIFIED_COLUMN_NAME_REF => NameKind::Column,
            SyntaxKind::PATH_TYPE => NameKind::Type,
            _ => NameKind::Object,
        },
        SyntaxKind::FIELD_EXPR if parent == SyntaxKind::FIELD_EXPR => return None,
        SyntaxKind::FIELD_EXPR if !is_chain(node) => return None,
        SyntaxKind::FIELD_EXPR | SyntaxKind::NAME_REF if parent == SyntaxKind::CALL_EXPR => NameKind::Call,
        SyntaxKind::FIELD_EXPR => NameKind::Column,
        _ => return None,
    };
    let range = node.text_range();
    let word_at = |octet: usize| words.partition_point(|word| word.start < start + octet);
    Some(NameReference { role, words: word_at(range.start().into())..word_at(range.end().into()) })
}

/// Whether it is names and dots alone: `a.b.c`, not `(a).b` or `f(x).b`.
fn is_chain(node: &SyntaxNode) -> bool {
    node.descendants().all(|part| matches!(part.kind(), SyntaxKind::FIELD_EXPR | SyntaxKind::NAME_REF))
}
