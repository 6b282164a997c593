//! Walks the tree of a statement, to compare what was sent with what was written.

use squawk_syntax::{SourceFile, SyntaxKind, SyntaxNode};

use super::tree::read;
use crate::lexing::token::{Token, words};

/// One step of a walk over a tree.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A node begins.
    Node(SyntaxKind),
    /// A word or sign.
    Token(SyntaxKind),
    /// The last node that began ends.
    End,
}

/// Returns the tree of a masked statement as a walk over it, without the tokens for whose first byte `removed` is
/// true. A chain of names counts as one node, however long it is. Returns `None` in the cases of [`read`].
pub(crate) fn shape(masked: &str, tokens: &[Token], removed: impl Fn(usize) -> bool) -> Option<Vec<Step>> {
    read(masked, &words(tokens), tokens.first()?.start)?;
    let parsed = SourceFile::parse(masked);
    let mut steps = Vec::new();
    walk(&parsed.syntax_node(), &removed, &mut steps);
    Some(steps)
}

fn walk(node: &SyntaxNode, removed: &impl Fn(usize) -> bool, steps: &mut Vec<Step>) {
    let chains = matches!(node.kind(), SyntaxKind::PATH | SyntaxKind::PATH_REF | SyntaxKind::FIELD_EXPR);
    let inner = chains && node.parent().is_some_and(|parent| parent.kind() == node.kind());
    let begin = steps.len();
    let mut without = false;
    if !inner {
        steps.push(Step::Node(node.kind()));
    }
    let kept = steps.len();
    for child in node.children_with_tokens().filter(|child| !child.kind().is_trivia()) {
        match child.as_node() {
            Some(child) => walk(child, removed, steps),
            None if removed(usize::from(child.text_range().start())) => without = true,
            None => steps.push(Step::Token(child.kind())),
        }
    }
    if without && steps.len() == kept {
        steps.truncate(begin);
    } else if !inner {
        steps.push(Step::End);
    }
}

/// Whether a masked statement, where it is understood, holds a node that writes or locks.
pub(crate) fn writes(masked: &str, tokens: &[Token]) -> bool {
    let Some(_) = read(masked, &words(tokens), 0) else { return false };
    SourceFile::parse(masked).syntax_node().descendants().any(|node| {
        matches!(
            node.kind(),
            SyntaxKind::INSERT
                | SyntaxKind::UPDATE
                | SyntaxKind::DELETE
                | SyntaxKind::MERGE
                | SyntaxKind::INTO_CLAUSE
                | SyntaxKind::LOCKING_CLAUSE
                | SyntaxKind::TRUNCATE
                | SyntaxKind::COPY
                | SyntaxKind::CALL
                | SyntaxKind::CREATE_TABLE
                | SyntaxKind::CREATE_TABLE_AS
        )
    })
}
