//! Where a store is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portico_sources::postgres::Address;

/// Where users, tokens, service accounts and keys are stored. Displayed without secrets.
#[derive(Clone)]
pub enum StoreLocation {
    /// A SQLite file, for one process and the command line beside it.
    File(PathBuf),
    /// A PostgreSQL database, for any number of processes.
    Postgres(Arc<Address>),
}

impl StoreLocation {
    /// The file, where the store is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(_) => f.write_str("the PostgreSQL database of store.url"),
        }
    }
}

impl fmt::Debug for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<PathBuf> for StoreLocation {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(path: &PathBuf) -> Self {
        Self::File(path.clone())
    }
}

impl From<&Path> for StoreLocation {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl From<Address> for StoreLocation {
    fn from(address: Address) -> Self {
        Self::Postgres(Arc::new(address))
    }
}

impl From<&Self> for StoreLocation {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}
