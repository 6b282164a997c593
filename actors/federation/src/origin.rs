//! Where a column of a result comes from. The engine carries a mark of it with each field that is passed on as it is.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::Field;

use portico_core::reply::Column;

/// The key of the mark among a field's metadata.
const KEY: &str = "portico.origin";

/// A column of a source.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// As its source describes it.
    pub(crate) column: Column,
    /// Whether it is an exact number without a bound, whose digits are text.
    pub(crate) unbounded: bool,
    /// Whether its text is filled up with blanks.
    pub(crate) padded: bool,
}

/// The columns of all tables of one statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(Arc<Mutex<Vec<Origin>>>);

impl Origins {
    /// Takes one up; its mark.
    pub(crate) fn add(&self, origin: Origin) -> usize {
        let mut origins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        origins.push(origin);
        origins.len() - 1
    }

    /// The one that `field` is marked with.
    pub(crate) fn of(&self, field: &Field) -> Option<Origin> {
        let mark: usize = field.metadata().get(KEY)?.parse().ok()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(mark).cloned()
    }
}

/// `field` with its mark.
pub(crate) fn mark(field: Field, mark: usize) -> Field {
    field.with_metadata([(KEY.to_owned(), mark.to_string())].into())
}
