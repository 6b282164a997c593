//! The driver for SQLite, as the seam asks for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::connect_options::{ConnectOptions, Login};
use crate::driver::{Capabilities, Driver, Location, Settings, Source};
use crate::sqlite::explain::EXPLAIN;
use crate::sqlite::pushdown::PUSHDOWN;
use crate::sqlite::source::Sqlite;
use portico_core::error::{Error, Result};
use portico_sql::Dialect;

/// In front of the path.
const SCHEME: &str = "sqlite:";

/// SQLite.
pub static DRIVER: Driver = Driver {
    name: "sqlite",
    product: "SQLite",
    system_name: "sqlite",
    example: "sqlite:path",
    dialect: Dialect::SQLITE,
    keys: &[],
    capabilities: Capabilities { roles: false, procedures: false, statement_comments: false, judges_schemas: false },
    recognizes: |url| url.strip_prefix(SCHEME).is_some_and(|path| !path.is_empty()),
    locate: |ConnectOptions { url, directory, .. }| {
        Arc::new(DatabaseFile(directory.join(url.strip_prefix(SCHEME).unwrap_or_default())))
    },
    is_system_schema: |_| false,
    explain: Some(&EXPLAIN),
    pushdown: Some(&PUSHDOWN),
};

/// The path of a SQLite file.
#[derive(Clone, Debug)]
pub struct DatabaseFile(pub PathBuf);

impl Location for DatabaseFile {
    fn driver(&self) -> &'static Driver {
        &DRIVER
    }

    fn with_login(&self, _: Login) -> Arc<dyn Location> {
        Arc::new(self.clone())
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.0)
    }

    fn open(&self, settings: Settings) -> Result<Arc<dyn Source>> {
        Ok(Arc::new(Sqlite::open(settings, self.0.clone())?))
    }

    fn without_grants(&self, settings: &Settings) -> Error {
        Error::invalid(format!("connection {} is a SQLite file, which has no users and no grants", settings.name))
            .hint("nothing has to be done: the engine's own authorizer refuses what the configuration hides")
    }
}
