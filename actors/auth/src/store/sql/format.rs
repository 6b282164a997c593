//! The store's format, whose versions both kinds of database count alike.

use portico_core::error::{Error, Result};

/// The version that this program reads and writes.
pub(crate) const CURRENT: i64 = 8;

/// The version that was found, unless it is a newer program's.
pub(crate) fn known(version: i64) -> Result<i64> {
    if version > CURRENT {
        return Err(Error::invalid(format!(
            "the store was written by a newer portico: it has format {version}, and this program knows {CURRENT}"
        ))
        .hint("use that newer program, or another store"));
    }
    Ok(version)
}

/// Refuses every version but the one that this program reads and writes.
pub(crate) fn check(version: i64) -> Result<()> {
    if version == CURRENT {
        return Ok(());
    }
    Err(Error::internal(format!("the store has format {version}, not {CURRENT}")))
}

/// A name as SQL writes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
