//! What a driver is opened with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::budget::Budget;
use crate::source::address::Address;
use crate::source::exposure::Exposure;
use crate::source::plan::Access;
use crate::source::profile::Declared;

/// What a driver is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection's name: the catalogue of everything in it.
    pub name: Arc<str>,
    /// Where the database is.
    pub locator: Locator,
    /// Whether the connection may write at all.
    pub access: Access,
    /// Sessions at most.
    pub pool: usize,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// Procedures that the administrator declared, for sources that have none of their own.
    pub declared: Arc<[Declared]>,
    /// Whether callers have roles of their own at the source: what any of them may see is then
    /// known of, whatever the connection's own user may see.
    pub has_roles: bool,
    /// What exists for callers. The driver refuses every use of what does not.
    pub exposure: Arc<Exposure>,
    /// What large rows share, with those of other connections.
    pub budget: Budget,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub enum Locator {
    /// A PostgreSQL database.
    Postgres(Address),
    /// A SQLite file.
    Sqlite(PathBuf),
}

impl Locator {
    /// One word for listings: the driver's name.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Sqlite(_) => "sqlite",
        }
    }
}
