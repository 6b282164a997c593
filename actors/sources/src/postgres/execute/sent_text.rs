//! Maps what a server says about the text that was sent to the caller's statement.

use std::sync::Arc;

use crate::postgres::bind::split_parameters::SplitParameters;

/// How positions and parameters of the text that was sent lead back to the statement.
#[derive(Clone)]
pub(crate) struct SentText {
    /// The number of characters before the prepared statement; `None` if it is not contained as a whole.
    before: Option<u32>,
    split: Option<Arc<SplitParameters>>,
}

impl SentText {
    /// The statement's own text.
    pub(crate) const SAME: Self = Self { before: Some(0), split: None };

    /// The statement's own text, behind so many characters.
    pub(crate) fn behind(before: usize) -> Self {
        Self::SAME.framed(Some(before))
    }

    /// The statement as it was prepared, with a parameter for each place where it is split.
    pub(crate) fn new(split: Option<&Arc<SplitParameters>>) -> Self {
        Self { before: Some(0), split: split.cloned() }
    }

    /// Maps through an enclosing text with so many characters before the statement, if that is contained as a
    /// whole.
    #[must_use]
    pub(crate) fn framed(self, before: Option<usize>) -> Self {
        Self { before: before.and_then(|before| u32::try_from(before).ok()), ..self }
    }

    /// Set where places of a value are parameters of their own.
    pub(crate) fn split(&self) -> Option<&SplitParameters> {
        self.split.as_deref()
    }

    /// Where in the statement a position of the text lies; both in characters counted from 1.
    pub(crate) fn original_position(&self, position: usize) -> Option<usize> {
        let position = position.checked_sub(usize::try_from(self.before?).ok()?).filter(|position| *position > 0)?;
        Some(self.split().map_or(position, |split| split.original_position(position)))
    }
}
