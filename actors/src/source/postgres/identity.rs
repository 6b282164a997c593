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
use crate::sql::{Class, Statement};

/// Functions that run a text as SQL, or change a setting: behind them a statement could be
/// somebody else. `crosstab` and its kin are of the extension tablefunc.
const OPAQUE_FUNCTIONS: [&str; 14] = [
    "set_config",
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "ts_stat",
    "ts_rewrite",
    "crosstab",
    "crosstab2",
    "crosstab3",
    "crosstab4",
    "connectby",
    "xpath_table",
    "set_user",
    "reset_user",
];
/// What may be made and changed; everything else defines code, or roles.
const PLAIN_OBJECTS: [&str; 10] =
    ["TABLE", "INDEX", "VIEW", "SEQUENCE", "SCHEMA", "TYPE", "DOMAIN", "COLLATION", "STATISTICS", "POLICY"];
/// Words that stand between CREATE or ALTER and the kind of object.
const ADJECTIVES: [&str; 9] =
    ["OR", "REPLACE", "TEMP", "TEMPORARY", "UNLOGGED", "UNIQUE", "MATERIALIZED", "RECURSIVE", "LOCAL"];

/// Takes on the caller's role and claims, on a transaction that has just begun.
pub(super) async fn assume(session: &Session, identity: &Assumed, frame: Frame) -> Result<(), tokio_postgres::Error> {
    let Some(identity) = identity else { return Ok(()) };
    let values = identity.settings().iter().chain([&identity.role]);
    let values: Vec<(&(dyn ToSql + Sync), Type)> =
        values.map(|value| (value as &(dyn ToSql + Sync), Type::TEXT)).collect();
    let taken = session.query_typed(&statement(frame), &values).await;
    taken.map(drop).inspect_err(|error| {
        // There is no such role, or it is not the connection's to take on. Anything else, such as the
        // end of the session, is told as what it is.
        if error.code().is_some_and(|code| matches!(code.code(), "22023" | "42501" | "42704")) {
            identity.refuse();
        }
    })
}

/// One statement for all settings; the role comes last.
fn statement(frame: Frame) -> String {
    let local = frame != Frame::Unattended;
    let names = SETTINGS.iter().chain(&["role"]).zip(1..);
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
        if let Some(opaque) = name.parts.iter().find(|part| OPAQUE_FUNCTIONS.contains(&part.to_lowercase().as_str())) {
            return Err(kept(&format!("{opaque} is not available")));
        }
    }
    let mut words = Words(&statement.text);
    let first = words.next().unwrap_or_default().to_ascii_uppercase();
    match (statement.class, first.as_str()) {
        (Class::Call, "DO") => Err(kept("DO is not available")),
        (Class::Ddl, "CREATE" | "ALTER") => {
            let kind = words.map(str::to_ascii_uppercase).find(|word| !ADJECTIVES.contains(&word.as_str()));
            match kind {
                Some(kind) if PLAIN_OBJECTS.contains(&kind.as_str()) => Ok(()),
                kind => Err(kept(&format!("{first} {} is not available", kind.unwrap_or_default()))),
            }
        }
        (Class::Ddl, "IMPORT" | "REASSIGN" | "SECURITY") => Err(kept(&format!("{first} is not available"))),
        _ => Ok(()),
    }
}

fn kept(what: &str) -> Error {
    Error::forbidden(format!("{what} on this connection: statements run under the caller's own role and keep it"))
        .sqlstate("42501")
        .hint("an administrator can offer it as a procedure of the database")
}

/// The words at the start of a statement, with white space and comments passed over.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == ';');
            if let Some(comment) = self.0.strip_prefix("--") {
                self.0 = comment.split_once(['\n', '\r']).map_or("", |(_, rest)| rest);
            } else if self.0.starts_with("/*") {
                self.0 = behind_comment(self.0);
            } else {
                let end = self.0.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.0.len());
                let (word, rest) = self.0.split_at(end);
                self.0 = rest;
                return (!word.is_empty()).then_some(word);
            }
        }
    }
}

/// What follows a comment that others may nest in.
fn behind_comment(text: &str) -> &str {
    let (mut depth, mut rest) = (0_usize, text);
    loop {
        rest = if let Some(inside) = rest.strip_prefix("/*") {
            depth += 1;
            inside
        } else if let Some(outside) = rest.strip_prefix("*/") {
            depth -= 1;
            outside
        } else {
            let mut letters = rest.chars();
            if letters.next().is_none() {
                return "";
            }
            letters.as_str()
        };
        if depth == 0 {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Dialect, Naming, statements};

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
        let local = statement(Frame::ReadOnly);
        assert!(local.contains("set_config('role', $6, true)") && !local.contains("false"), "{local}");
        assert!(statement(Frame::Unattended).contains("set_config('role', $6, false)"));
    }
}
