//! Records changes of rights in the audit trail: before they take effect, within the transaction that makes them.
//! The store reports what changes; the principal and the request are added here. The format of a record is not
//! known here.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::store::{Change, NewRecord};
use portico_core::call::RequestId;
use portico_core::error::Result;

/// The request and the principal of a change.
#[derive(Clone, Debug, Default)]
pub struct AuditContext {
    /// The authenticated principal, if any.
    pub principal: Option<String>,
    /// Where the request came from.
    pub address: Option<IpAddr>,
    /// The client's user agent.
    pub agent: Option<String>,
    /// The request.
    pub request: Option<RequestId>,
    /// Its path.
    pub path: String,
}

/// The part of the trail that is kept in the store: it is written with the changes, or not at all.
#[derive(Clone, Debug, Default)]
pub struct StoreRecords {
    /// The records.
    pub records: Vec<NewRecord>,
    /// How many it keeps at most.
    pub most: u64,
}

/// Records changes.
pub trait AuditRecorder: Send + Sync {
    /// Records changes that are about to be made. Records kept outside of the store are on disk when this returns.
    /// Blocks.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) if they cannot be recorded, and so must not be
    /// made.
    fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords>;

    /// Records that the store has not confirmed changes that were recorded.
    fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext);

    /// Whether changes can be recorded now, as far as that is known.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](portico_core::error::Kind::Unavailable) when they cannot, and are not to be made.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Where changes are recorded, if they are.
#[derive(Clone, Default)]
pub struct Recording(Option<Arc<dyn AuditRecorder>>);

impl Recording {
    /// By `recorder`.
    pub fn by(recorder: Arc<dyn AuditRecorder>) -> Self {
        Self(Some(recorder))
    }

    /// Refuses an operation that could not be recorded, before it starts.
    ///
    /// # Errors
    /// As [`AuditRecorder::check`].
    pub(crate) fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |recorder| recorder.check())
    }

    /// As [`AuditRecorder::record`].
    pub(crate) fn record(&self, changes: &[Change], audit_context: &AuditContext) -> Result<StoreRecords> {
        self.0.as_ref().map_or_else(|| Ok(StoreRecords::default()), |recorder| recorder.record(changes, audit_context))
    }

    /// As [`AuditRecorder::unconfirmed`].
    pub(crate) fn unconfirmed(&self, changes: &[Change], audit_context: &AuditContext) {
        if let Some(recorder) = &self.0 {
            recorder.unconfirmed(changes, audit_context);
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Recording(on)" } else { "Recording(off)" })
    }
}
