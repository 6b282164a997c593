//! The audit trail: one record for each call, each token and each change of who may call.
//!
//! **Why is this no observer of events?** An observer is told afterwards, and must return at once:
//! when the disk is slow it could only lose records, or hold up the thread that told it. Here a
//! request takes a [`AuditPermit`] in a bounded queue *before* it is worked on. Where there is none it
//! waits, and that is the back-pressure; once it has one, its end is recorded without waiting,
//! however it ends, also by being dropped. The last byte of an answer is sent when its record is
//! [`PendingWrite`]. One thread of its own writes the queue to its file and its store (`writer`): all that
//! is in it at once, so that many who wait for their records wait for one write.

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
