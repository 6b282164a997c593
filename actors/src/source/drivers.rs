//! The only place that knows which drivers there are.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::source::address::Address;
use crate::source::{Finding, Locator, Script, Settings, Source, Wanted, postgres, sqlite};

/// Opens the driver for `settings`. Nothing is connected yet: [`Source::ping`] does that.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) when the locator cannot be understood.
pub fn open(settings: Settings) -> Result<Arc<dyn Source>> {
    match settings.locator.clone() {
        Locator::Postgres(address) => Ok(Arc::new(postgres::Postgres::open(settings, &address)?)),
        Locator::Sqlite(path) => Ok(Arc::new(sqlite::Sqlite::open(settings, path)?)),
    }
}

/// The statements that give a role of the source the rights that `settings` expose, as `wanted` asks for. Nothing
/// is changed.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) where the source knows no grants, or not for that role.
pub async fn grants(settings: &Settings, wanted: &Wanted) -> Result<Script> {
    match &settings.locator {
        Locator::Postgres(address) => postgres::grants(settings, address, wanted).await,
        Locator::Sqlite(_) => Err(without_grants(settings)),
    }
}

/// Runs them as `administrator`, in one transaction, after `show` was handed them. Tells what the role can do
/// beyond what is exposed all the same.
///
/// # Errors
/// As [`grants()`], and what the source said of a statement: then nothing was changed.
pub async fn apply_grants(
    settings: &Settings,
    administrator: &Address,
    wanted: &Wanted,
    show: &mut (dyn FnMut(&Script) + Send),
) -> Result<Vec<Finding>> {
    match &settings.locator {
        Locator::Postgres(address) => postgres::apply_grants(settings, address, administrator, wanted, show).await,
        Locator::Sqlite(_) => Err(without_grants(settings)),
    }
}

fn without_grants(settings: &Settings) -> Error {
    Error::invalid(format!("connection {} is a SQLite file, which has no users and no grants", settings.name))
        .hint("nothing has to be done: the engine's own authorizer refuses what the configuration hides")
}
