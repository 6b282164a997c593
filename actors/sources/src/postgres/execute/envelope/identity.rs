//! The caller's identity at the source: the role and the claims that a transaction assumes in its first round trip.
//! Statements that could undo this are refused in `walls`. Which caller has which role is decided in
//! `core/caller/identity.rs`.
//!
//! The role is set for the transaction (`set_config('role', …, true)` is `SET LOCAL ROLE` with its value bound), so
//! that it ends with the transaction, however that ends. If the transaction cannot be started, the statements after
//! it fail, and the session's default of `READ ONLY` prevents writes. Only a CALL without a transaction, whose
//! procedure may commit, sets the role for the session, which resets it before the next caller.

use tokio_postgres::types::{ToSql, Type};

use super::options::TransactionMode;
use crate::postgres::session::handle::Session;
use portico_core::error::{Error, Kind, Result};
use portico_core::identity::{AssumedIdentity, Identity, SETTINGS};

/// Takes on the caller's role and claims, on a transaction that has just begun.
pub(crate) async fn assume(
    session: &Session,
    identity: &AssumedIdentity,
    mode: TransactionMode,
) -> Result<(), tokio_postgres::Error> {
    let Some(identity) = identity else { return Ok(()) };
    let values = identity.settings().iter().chain([&identity.role]);
    let values: Vec<(&(dyn ToSql + Sync), Type)> =
        values.map(|value| (value as &(dyn ToSql + Sync), Type::TEXT)).collect();
    // A session that logged in as the role only needs the claims.
    let values = if session.is_login() { &values[..SETTINGS.len()] } else { &values[..] };
    let taken = session.query_typed(&statement(mode, session.is_login()), values).await;
    taken.map(drop).inspect_err(|error| {
        // The role does not exist, or the connection may not assume it. Any other error, such as the end of the
        // session, is reported as it is.
        if error.code().is_some_and(|code| matches!(code.code(), "22023" | "42501" | "42704")) {
            identity.refuse();
        }
    })
}

/// Returns one statement for all settings; the role comes last, unless the session has it already.
fn statement(mode: TransactionMode, login: bool) -> String {
    let local = mode != TransactionMode::Unattended;
    let names = SETTINGS.iter().chain(["role"].iter().filter(|_| !login)).zip(1..);
    let set: Vec<String> =
        names.map(|(name, number)| format!("pg_catalog.set_config('{name}', ${number}, {local})")).collect();
    format!("SELECT {}", set.join(", "))
}

/// Returns the error for a caller whose role could not be assumed.
pub(crate) fn refused(identity: &Identity, error: &tokio_postgres::Error) -> Error {
    let said = error.as_db_error().map_or_else(String::new, |error| error.message().to_owned());
    Error::new(Kind::Forbidden, format!("this caller's role {:?} cannot be taken on in the database", identity.role))
        .hint("an administrator has to create the role and grant it to the connection's own user")
        .sqlstate("42501")
        .because(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn every_setting_and_the_role_are_bound() {
        let local = statement(TransactionMode::ReadOnly, false);
        assert!(local.contains("set_config('role', $6, true)") && !local.contains("false"), "{local}");
        assert!(statement(TransactionMode::Unattended, false).contains("set_config('role', $6, false)"));
        let own = statement(TransactionMode::ReadOnly, true);
        assert!(own.contains("$5, true)") && !own.contains("'role'"), "{own}");
    }
}
