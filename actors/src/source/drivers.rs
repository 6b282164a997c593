//! The only place that knows which drivers there are.

use std::sync::Arc;

use super::{Locator, Settings, Source, postgres, sqlite};
use crate::error::Result;

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
