//! The store's format version, the same for both kinds of database.

use portico_core::error::{Error, Result};

/// The version that this program reads and writes.
pub(crate) const CURRENT: i64 = 8;

/// Each step of the format, under the version that it leads to.
pub(crate) type Migrations = &'static [(i64, &'static str)];

/// The steps for one kind of database.
macro_rules! migrations {
    ($kind:literal) => {
        &[
            (1, include_str!(concat!("../migrations/", $kind, "/0001_identities.sql"))),
            (2, include_str!(concat!("../migrations/", $kind, "/0002_tokens.sql"))),
            (3, include_str!(concat!("../migrations/", $kind, "/0003_people.sql"))),
            (4, include_str!(concat!("../migrations/", $kind, "/0004_audit.sql"))),
            (5, include_str!(concat!("../migrations/", $kind, "/0005_stamps.sql"))),
            (6, include_str!(concat!("../migrations/", $kind, "/0006_parents.sql"))),
            ($crate::store::sql::duplicate_emails::VERSION, "-- `duplicate_emails` gives addresses their keys."),
            (8, include_str!(concat!("../migrations/", $kind, "/0008_secrets.sql"))),
        ]
    };
}
pub(crate) use migrations;

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
