//! The caller's identity at the source: the role and the claims that a transaction takes on in its
//! first round trip, and which statements could shake them off. Who has which role is decided in
//! `identity.rs` above.
//!
//! The role is taken on for the transaction (`set_config('role', …, true)` is `SET LOCAL ROLE` with
//! its value bound), so that it ends with it, however it ends. Should the transaction itself not
//! come about, what was sent behind it fails its caller all the same, and the session's default of
//! `READ ONLY` keeps it from writing. Only a CALL without a transaction around it, whose procedure
//! may commit, takes the role on for the session, which gives it back before the next caller.

use tokio_postgres::types::{ToSql, Type};

use super::session::Session;
use super::transaction::Frame;
use crate::error::{Error, Kind, Result};
use crate::identity::{Assumed, Identity, SETTINGS};
use crate::sql::{Dialect, Statement, opaque};

/// Takes on the caller's role and claims, on a transaction that has just begun.
pub(super) async fn assume(session: &Session, identity: &Assumed, frame: Frame) -> Result<(), tokio_postgres::Error> {
    let Some(identity) = identity else { return Ok(()) };
    let values = identity.settings().iter().chain([&identity.role]);
    let values: Vec<(&(dyn ToSql + Sync), Type)> =
        values.map(|value| (value as &(dyn ToSql + Sync), Type::TEXT)).collect();
    // Who signed in as the role has it already, and takes on the claims alone.
    let values = if session.is_login() { &values[..SETTINGS.len()] } else { &values[..] };
    let taken = session.query_typed(&statement(frame, session.is_login()), values).await;
    taken.map(drop).inspect_err(|error| {
        // There is no such role, or it is not the connection's to take on. Anything else, such as the
        // end of the session, is told as what it is.
        if error.code().is_some_and(|code| matches!(code.code(), "22023" | "42501" | "42704")) {
            identity.refuse();
        }
    })
}

/// One statement for all settings; the role comes last, unless the session has it.
fn statement(frame: Frame, login: bool) -> String {
    let local = frame != Frame::Unattended;
    let names = SETTINGS.iter().chain(["role"].iter().filter(|_| !login)).zip(1..);
    let set: Vec<String> =
        names.map(|(name, number)| format!("pg_catalog.set_config('{name}', ${number}, {local})")).collect();
    format!("SELECT {}", set.join(", "))
}

/// What callers are told whose role could not be taken on.
pub(super) fn refused(identity: &Identity, error: &tokio_postgres::Error) -> Error {
    let said = error.as_db_error().map_or_else(String::new, |error| error.message().to_owned());
    Error::new(Kind::Forbidden, format!("this caller's role {:?} cannot be taken on in the database", identity.role))
        .hint("an administrator has to create the role and grant it to the connection's own user")
        .sqlstate("42501")
        .because(said)
}

/// Refuses a caller's statement that could leave the caller's role, or claim what is not so.
/// `SET`, `RESET` and everything else that changes the session is refused anyway.
///
/// # Errors
/// [`Kind::Forbidden`] with what the statement holds.
pub(super) fn check(statement: &Statement) -> Result<()> {
    for name in &statement.names {
        if name.parts.iter().any(|part| part.starts_with("u&\"") || part.starts_with("U&\"")) {
            return Err(Error::invalid("query: write names without U& escapes on this connection"));
        }
    }
    match opaque(statement, Dialect::PostgreSql) {
        Some(what) => Err(kept(&format!("{what} is not available"))),
        None => Ok(()),
    }
}

fn kept(what: &str) -> Error {
    Error::forbidden(format!("{what} on this connection: statements run under the caller's own role and keep it"))
        .sqlstate("42501")
        .hint("an administrator can offer it as a procedure of the database")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Naming, statements};

    fn checked(text: &str) -> Result<()> {
        let naming = Naming { connection: "shop", others: &[] };
        statements(text, Dialect::PostgreSql, naming).unwrap().iter().try_for_each(check)
    }

    #[test]
    fn what_could_leave_the_role_is_refused() {
        for text in [
            "SELECT set_config('role', 'none', true)",
            "SELECT pg_catalog.SET_CONFIG('role', 'none', true), 1",
            "SELECT \"set_config\"('request.jwt.claims', '{}', false)",
            "SELECT * FROM set_config('role', 'x', false)",
            "SELECT 1 FROM t WHERE a = (SELECT max(set_config('role', b, true)) FROM u)",
            "WITH x AS MATERIALIZED (SELECT set_config('role', 'none', true)) SELECT * FROM x, secrets",
            "INSERT INTO t SELECT set_config('role', 'none', true)",
            "CREATE VIEW v AS SELECT set_config('role', 'none', false)",
            "CREATE TABLE t (a text DEFAULT set_config('role', 'none', false))",
            "SELECT query_to_xml('SELECT set_config(''role'', ''none'', true)', true, true, '')",
            "SELECT u&\"\\0073et_config\"('role', 'none', true)",
            "DO $$ BEGIN RESET ROLE; END $$",
            "/* a /* b */ */ do language plpgsql $$ BEGIN RESET ROLE; END $$",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE OR REPLACE PROCEDURE p() LANGUAGE plpgsql AS 'BEGIN RESET ROLE; END'",
            "create /* x */ or -- y\n replace function f() returns int language sql as 'select 1'",
            "ALTER FUNCTION f() SET role = 'none'",
            "ALTER ROLE north SET role = 'postgres'",
            "CREATE AGGREGATE evil (text, boolean) (SFUNC = set_config, STYPE = text, INITCOND = 'role')",
            "CREATE TRIGGER x BEFORE INSERT ON t EXECUTE FUNCTION f()",
            "CREATE RULE r AS ON SELECT TO t DO INSTEAD SELECT 1",
        ] {
            assert!(checked(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_keeps_the_role_passes() {
        for text in [
            "SELECT current_user, current_setting('request.jwt.claims')::json ->> 'sub'",
            "SELECT 'set_config' AS name, role FROM members -- RESET ROLE",
            "UPDATE t SET a = 1 WHERE b = 2 RETURNING a",
            "CREATE TEMP TABLE t (a int)",
            "CREATE UNIQUE INDEX i ON t (a)",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "CREATE MATERIALIZED VIEW v AS SELECT 1",
            "ALTER TABLE t ADD COLUMN b int",
            "DROP FUNCTION f()",
            "TRUNCATE t",
            "CALL settle(1)",
        ] {
            assert!(checked(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn every_setting_and_the_role_are_bound() {
        let local = statement(Frame::ReadOnly, false);
        assert!(local.contains("set_config('role', $6, true)") && !local.contains("false"), "{local}");
        assert!(statement(Frame::Unattended, false).contains("set_config('role', $6, false)"));
        let own = statement(Frame::ReadOnly, true);
        assert!(own.contains("$5, true)") && !own.contains("'role'"), "{own}");
    }
}
