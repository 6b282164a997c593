//! The audit trail, as a service and its command line leave it.

mod changes;
mod order;
mod trail;
mod unrecorded;
