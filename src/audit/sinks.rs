//! Where records go: a file, the store, or both. Each keeps what it could not write yet.

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
    /// What the store is to keep of `records`.
    pub fn for_store(&self, records: &[Record]) -> StoreRecords {
        let kept = if self.store { records } else { &[] };
        StoreRecords { records: kept.iter().map(Record::for_store).collect(), most: self.store_records }
    }
}

/// The file, which the writer and whoever makes a change append to in turns.
#[derive(Clone)]
pub struct File(Arc<Mutex<LogFile>>);

impl File {
    /// That of `settings`, if there is one. Nothing is opened yet.
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
    /// The file, and the store as `settings` have it, which is at `store`. Nothing is opened yet.
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

    /// The same for a service, which starts while its database is away: what it could not write then is
    /// written later.
    ///
    /// # Errors
    /// When the file cannot be opened, or the place of the store holds something else.
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

    /// Adds a record to what is to be written.
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

    /// Writes what is to be written.
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

    /// Lets go of what could not be written, and tells how many records that were.
    pub fn give_up(&mut self) -> u64 {
        let lines = self.lines.iter().filter(|byte| **byte == b'\n').count();
        let lost = lines.max(self.records.len());
        self.lines.clear();
        self.records.clear();
        lost as u64
    }
}
