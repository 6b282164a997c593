//! The audit trail: one record for each call, each token and each change of rights.
//!
//! **Why is this not an observer of events?** An observer is called afterwards, and must return at once: with a
//! slow disk it could only lose records, or block its caller. Here a request takes a [`AuditPermit`] in a bounded
//! queue *before* it is processed. If there is none it waits, which is the back-pressure; once it has one, its end
//! is recorded without waiting, however it ends, also by being dropped. The last byte of an answer is sent when its
//! record is [`PendingWrite`]. A dedicated thread writes the queue to its file and its store (`writer`): all queued
//! records at once, so that many waiting requests share one write.

pub mod file;
mod queue;
pub mod record;
pub mod sinks;
pub mod statement;
mod trail;
mod writer;

pub use queue::{AuditPermit, PendingWrite};
pub use record::{AuditEvent, Record, reason, shortened};
pub use statement::{Detail, StatementRecord};
pub use trail::Audit;
pub(crate) use trail::cannot_record;
