//! Records changes made on the command line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portico_actors::auth::recording::{AuditContext, AuditRecorder, StoreRecords};
use portico_actors::auth::store::{Change, Store, StoreLocation};
use portico_actors::error::{Error, Kind};

use crate::audit::Record;
use crate::audit::sinks::{File, Sinks};
use crate::config::{AuditSettings, Config, OnFailure};
/// Makes sure that a change can be recorded, before it is made.
pub(in crate::cli) fn ensure(config: &Config) -> Result<(), Error> {
    if config.audit.on_failure == OnFailure::Refuse {
        Sinks::new(&config.audit, File::from_settings(&config.audit), &config.store.place).open()?;
    }
    Ok(())
}

/// Something was changed.
static CHANGED: AtomicBool = AtomicBool::new(false);
/// A change was made that could not be recorded.
static UNRECORDED: AtomicBool = AtomicBool::new(false);

/// Whether the command has changed anything.
pub(in crate::cli) fn has_changed() -> bool {
    CHANGED.load(Ordering::Relaxed)
}

/// Returns true if a change could not be recorded: the command has then failed, whatever else it did.
pub(in crate::cli) fn lacks_a_record() -> bool {
    UNRECORDED.load(Ordering::Relaxed)
}

/// Records the changes that are made on the command line, before they are made.
pub(in crate::cli) struct CliRecorder {
    settings: AuditSettings,
    place: StoreLocation,
    file: Option<File>,
    host: Option<String>,
    audit_context: AuditContext,
}

impl CliRecorder {
    pub(in crate::cli) fn new(config: &Config) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
        let (settings, place) = (config.audit.clone(), config.store.place.clone());
        let user = format!("uid:{}", rustix::process::getuid().as_raw());
        let audit_context = AuditContext { principal: Some(user), ..AuditContext::default() };
        Self { file: File::from_settings(&settings), settings, place, host, audit_context }
    }

    /// Records a change of something else than the store, which is about to take effect.
    ///
    /// # Errors
    /// It could not be recorded, and is not to be made.
    pub(in crate::cli) fn announce(&self, change: &Change) -> Result<(), Error> {
        let kept = self.record(std::slice::from_ref(change), &self.audit_context)?;
        self.append(&kept).or_else(|error| self.without_record(&error))
    }

    /// Records that it did not come to be.
    pub(in crate::cli) fn take_back(&self, change: &Change) {
        self.unconfirmed(std::slice::from_ref(change), &self.audit_context);
        let kept = self.settings.for_store(&[self.record_of(change, &self.audit_context).taken_back()]);
        let _ = self.append(&kept).or_else(|error| self.without_record(&error));
    }

    fn append(&self, kept: &StoreRecords) -> Result<(), Error> {
        if kept.records.is_empty() {
            return Ok(());
        }
        Store::open(&self.place)?.append_audit(&kept.records, kept.most)
    }

    /// Refuses a change that cannot be recorded, unless changes go on without.
    fn without_record(&self, error: &Error) -> Result<(), Error> {
        let cause = error.cause().unwrap_or(&error.message);
        if self.settings.on_failure == OnFailure::Refuse {
            let refusal = Error::new(Kind::Unavailable, "nothing was changed, because it could not be recorded");
            return Err(refusal.because(cause));
        }
        UNRECORDED.store(true, Ordering::Relaxed);
        eprintln!("portico: the change was made, but it could not be recorded; {cause}");
        Ok(())
    }

    fn record_of(&self, change: &Change, audit_context: &AuditContext) -> Record {
        Record { host: self.host.clone(), ..Record::from_change(change, audit_context) }
    }
}

impl AuditRecorder for CliRecorder {
    fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords, Error> {
        CHANGED.store(true, Ordering::Relaxed);
        let records: Vec<Record> = changes.iter().map(|change| self.record_of(change, audit_context)).collect();
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.write_now(&records)) {
            self.without_record(&error)?;
        }
        Ok(self.settings.for_store(&records))
    }

    fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext) {
        let records = changes.iter().map(|change| self.record_of(change, audit_context).taken_back());
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.write_now(&records.collect::<Vec<_>>())) {
            UNRECORDED.store(true, Ordering::Relaxed);
            eprintln!("portico: the trail has a change that was not made; {}", error.cause().unwrap_or_default());
        }
    }
}

/// Has the changes at `store` recorded.
pub(in crate::cli) fn recorded(store: Store, config: &Config) -> Store {
    let recorder = CliRecorder::new(config);
    let audit_context = recorder.audit_context.clone();
    store.recording(Arc::new(recorder), audit_context)
}
