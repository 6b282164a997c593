//! How what a server says of a text that was sent is told of the statement.

use std::sync::Arc;

use crate::postgres::bind::split_parameters::SplitParameters;

/// How positions and parameters of the text that was sent lead back to the statement.
#[derive(Clone)]
pub(crate) enum SentText {
    /// The statement's own text stands in it, behind so many characters.
    Behind(usize),
    /// It has parameters of its own: no position leads back.
    Split(Arc<SplitParameters>),
    /// No position leads back.
    Framed,
}

impl SentText {
    /// The statement's own text.
    pub(crate) const SAME: Self = Self::Behind(0);

    /// The statement as it was prepared, with a parameter for each place where it is split.
    pub(crate) fn of(split: Option<&Arc<SplitParameters>>) -> Self {
        split.map_or(Self::SAME, |split| Self::Split(Arc::clone(split)))
    }

    /// Set where places of a value are parameters of their own.
    pub(crate) fn split(&self) -> Option<&SplitParameters> {
        match self {
            Self::Split(split) => Some(split),
            Self::Behind(_) | Self::Framed => None,
        }
    }
}
