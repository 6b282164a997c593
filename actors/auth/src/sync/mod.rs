//! Keeps memory up to date with the store: notices changes by other processes, and notifies them of changes made
//! here.

pub(crate) mod announce;
mod file;
pub(crate) mod lookup;
pub(crate) mod peers;
mod replica;
mod watch;

#[cfg(test)]
pub(crate) use self::file::FileWatch;
pub(crate) use self::watch::StoreWatcher;
