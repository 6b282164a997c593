//! The values and errors that all floors behind the mailbox share. Nothing here reads a file, a socket or a statement.

pub mod backoff;
pub mod beat;
pub mod budget;
pub mod calendar;
pub mod call;
pub mod error;
pub mod event;
pub mod finding;
pub mod identity;
pub mod keyed;
pub mod name;
pub mod near;
pub mod pattern;
pub mod principal;
pub mod reach;
pub mod reply;
mod request;
pub mod shares;
pub mod trace;
pub mod worker;
pub mod workspace;
