//! The destinations of records: a file, the store, or both. Each keeps what it could not write yet.

use std::io;
use std::sync::{Arc, Mutex};

use portico_actors::auth::clock::Clock;
use portico_actors::auth::recording::StoreRecords;
use portico_actors::auth::store::{NewRecord, ReconnectingStore, StoreLocation};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::mutex::lock;

use super::file::LogFile;
use super::record::Record;
use crate::config::AuditSettings;

impl AuditSettings {
    /// Returns what the store keeps of `records`.
    pub fn for_store(&self, records: &[Record]) -> StoreRecords {
        let kept = if self.store { records } else { &[] };
        StoreRecords { records: kept.iter().map(Record::for_store).collect(), most: self.store_records }
    }
}

/// The file, to which the writer and those who make a change append in turn.
#[derive(Clone)]
pub struct File(Arc<Mutex<LogFile>>);

impl File {
    /// Returns the file of `settings`, if there is one, without opening it.
    pub fn from_settings(settings: &AuditSettings) -> Option<Self> {
        let file = LogFile::new(settings.file.clone()?, settings.max_size, settings.keep);
        Some(Self(Arc::new(Mutex::new(file))))
    }

    /// Works with it; where that fails it is opened anew the next time.
    fn with<T>(&self, work: impl FnOnce(&mut LogFile) -> io::Result<T>) -> Result<T> {
        let mut file = lock(&self.0);
        work(&mut file).map_err(|error| {
            file.close();
            Error::new(Kind::Unavailable, "the file of the audit trail cannot be written")
                .because(format!("{}: {error}", file.path().display()))
        })
    }

    /// Appends `records`, and has them on the disk when this returns.
    ///
    /// # Errors
    /// When they cannot be written; a part may be.
    pub fn write_now(&self, records: &[Record]) -> Result<()> {
        let mut lines = Vec::new();
        for record in records {
            lines.extend_from_slice(record.line().as_bytes());
            lines.push(b'\n');
        }
        self.with(|file| file.append(&mut lines).and_then(|()| file.sync()))
    }
}

/// File and store, with what is still to be written to each.
pub struct Sinks {
    file: Option<File>,
    lines: Vec<u8>,
    store: Option<StoreSink>,
    records: Vec<NewRecord>,
}

struct StoreSink {
    store: ReconnectingStore,
    is_file: bool,
    most: u64,
}

impl Sinks {
    /// Makes the sinks of `settings` with the store at `store`. Does not open anything yet.
    pub fn new(settings: &AuditSettings, file: Option<File>, store: &StoreLocation) -> Self {
        let kept = settings.store.then(|| StoreSink {
            store: ReconnectingStore::new(store.clone(), Clock::system()),
            is_file: store.file().is_some(),
            most: settings.store_records,
        });
        Self { file, lines: Vec::new(), store: kept, records: Vec::new() }
    }

    /// Opens both, to find out whether they can be.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(&mut self) -> Result<()> {
        if let Some(file) = &self.file {
            file.with(|file| LogFile::new(file.path().to_owned(), u64::MAX, 1).open())?;
        }
        self.store.as_mut().map_or(Ok(()), |kept| kept.store.with(|_| Ok(())))
    }

    /// Opens the sinks of a service, which may start while its database is unavailable: its records are then
    /// written later.
    ///
    /// # Errors
    /// If the file cannot be opened, or the place of the store contains something else.
    pub fn open_what_is_there(&mut self) -> Result<()> {
        let is_database = self.store.as_ref().is_some_and(|kept| !kept.is_file);
        match self.open() {
            Err(error) if is_database && error.kind == Kind::Unavailable && error.get_retry_after().is_some() => Ok(()),
            opened => opened,
        }
    }

    /// Has the file opened anew before the next line.
    pub fn reopen(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.with(|file| {
                file.close();
                Ok(())
            });
        }
    }

    /// Adds a record to be written.
    pub fn add(&mut self, record: &Record) {
        let line = record.line();
        if self.file.is_some() {
            self.lines.extend_from_slice(line.as_bytes());
            self.lines.push(b'\n');
        }
        if self.store.is_some() {
            self.records.push(NewRecord { time: record.time.clone(), record: line });
        }
    }

    /// Writes the added records.
    ///
    /// # Errors
    /// What could not be written is tried again next time; the inner cause says why.
    pub fn flush(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        if let Some(file) = &self.file {
            outcome = file.with(|file| file.append(&mut self.lines));
        }
        if let Some(kept) = self.store.as_mut().filter(|_| !self.records.is_empty()) {
            let (records, most) = (&self.records, kept.most);
            match kept.store.with(|store| store.append_audit(records, most)) {
                Ok(()) => self.records.clear(),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }

    /// Drops what could not be written. Returns the number of these records.
    pub fn give_up(&mut self) -> u64 {
        let lines = self.lines.iter().filter(|byte| **byte == b'\n').count();
        let lost = lines.max(self.records.len());
        self.lines.clear();
        self.records.clear();
        lost as u64
    }
}
