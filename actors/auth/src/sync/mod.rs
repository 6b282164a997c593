//! Keeps what is in memory up to date with the store: notices that somebody else has changed it, and lets the other
//! processes on it know what has changed here.

pub(crate) mod announce;
mod file;
pub(crate) mod lookup;
pub(crate) mod peers;
mod replica;
mod watch;

#[cfg(test)]
pub(crate) use self::file::FileWatch;
pub(crate) use self::watch::StoreWatcher;
