//! Edits a statement by ranges of the caller's text, and maps positions in the result back to the caller's text.
//! Which edits to make is decided elsewhere.

use std::ops::Range;

/// A range of the caller's text that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where it was, in bytes.
    pub range: Range<usize>,
    /// The text that replaces it.
    pub replacement: String,
}

/// Maps a position in the rewritten text to the caller's text; it holds up to the next anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// Characters of the new text before it.
    new: usize,
    /// Characters of the caller's text before it.
    old: usize,
}

/// Applies `edits` to the statement at `range` of `text`; `before` is the number of characters
/// in front of it. Edits must be in order and must not overlap.
pub(super) fn apply(text: &str, range: Range<usize>, before: usize, edits: &[Edit]) -> (String, Vec<Anchor>) {
    let mut result = String::with_capacity(range.len());
    let mut anchors = vec![Anchor { new: 0, old: before }];
    let mut at = range.start;
    let (mut new, mut old) = (0, before);
    for edit in edits {
        let kept = text.get(at..edit.range.start).unwrap_or_default();
        let removed = text.get(edit.range.clone()).unwrap_or_default();
        result.push_str(kept);
        result.push_str(&edit.replacement);
        let kept = kept.chars().count();
        let removed = removed.chars().count();
        anchors.push(Anchor { new: new + kept, old: old + kept });
        new += kept + edit.replacement.chars().count();
        old += kept + removed;
        anchors.push(Anchor { new, old });
        at = edit.range.end;
    }
    result.push_str(text.get(at..range.end).unwrap_or_default());
    (result, anchors)
}

/// Maps the end of the new text behind the `behind` characters that were cut off there, because a source reports
/// some errors at the end of its text.
pub(super) fn end_behind(anchors: &mut Vec<Anchor>, new: usize, behind: usize) {
    let old = original(anchors, new + 1) - 1;
    anchors.extend([Anchor { new, old }, Anchor { new, old: old + behind }]);
}

/// Maps a position, in characters from 1. A position inside of a replacement maps into the replaced range.
pub(super) fn original(anchors: &[Anchor], position: usize) -> usize {
    let position = position.saturating_sub(1);
    let next = anchors.partition_point(|anchor| anchor.new <= position);
    let Some(anchor) = next.checked_sub(1).and_then(|index| anchors.get(index)) else { return position + 1 };
    let old = anchor.old.saturating_add(position - anchor.new);
    // Between an edit's two anchors both texts do not go on side by side.
    let bound = if next % 2 == 0 {
        anchors.get(next).map_or(usize::MAX, |end| end.old.max(anchor.old + 1) - 1)
    } else {
        usize::MAX
    };
    old.min(bound).saturating_add(1)
}
