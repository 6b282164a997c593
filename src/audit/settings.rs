//! `[audit]`: what is recorded, and where.

use std::path::PathBuf;

use portico_actors::auth::recording::ForStore;

use super::record::Record;
use super::statement::Detail;

/// What becomes of calls whose records cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused until records can be written again. Nothing is lost.
    #[default]
    Refuse,
    /// They go on; the records are lost, and counted.
    Continue,
}

/// `[audit]`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file of JSON lines.
    pub file: Option<PathBuf>,
    /// Bytes of the file from which on it is put aside.
    pub max_size: u64,
    /// Files put aside that are kept.
    pub keep: u32,
    /// Whether records are kept in the store too.
    pub store: bool,
    /// Records in the store at most.
    pub store_records: u64,
    /// What is kept of statements.
    pub statement: Detail,
    /// Whether values of parameters are recorded.
    pub parameters: bool,
    /// Calls under way and records not yet written, together.
    pub queue: usize,
    /// What becomes of calls whose records cannot be written.
    pub on_failure: OnFailure,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            file: None,
            max_size: 64 * 1024 * 1024,
            keep: 10,
            store: false,
            store_records: 100_000,
            statement: Detail::default(),
            parameters: false,
            queue: 4096,
            on_failure: OnFailure::default(),
        }
    }
}

impl Settings {
    /// Whether anything is recorded at all.
    pub fn is_on(&self) -> bool {
        self.file.is_some() || self.store
    }

    /// What the store is to keep of `records`.
    pub fn for_store(&self, records: &[Record]) -> ForStore {
        let kept = if self.store { records } else { &[] };
        ForStore { records: kept.iter().map(Record::for_store).collect(), most: self.store_records }
    }
}
