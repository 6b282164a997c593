//! The differences behind a pooler in transaction mode, such as `PgBouncer`: each transaction may run on another
//! server session, and what is left in one affects another client.
//!
//! So nothing is set for a session; the wire library's named statements live no longer than their transaction; and
//! every transaction ends with a check of what it may have left. A server session is only certain to be the same
//! until COMMIT or ROLLBACK, and within one message.

/// Session-level locks, and the wire library's own statements, `s1`, `s2` …. One row for the lock,
/// and one for each statement that the library may believe to be there the next time: its session
/// is not used again. A caller's function may have prepared others.
macro_rules! look {
    () => {
        "SELECT pg_catalog.pg_advisory_unlock_all(); \
         SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE name ~ '^s[0-9]+$'; \
         DO $portico$ DECLARE statement text; BEGIN \
         FOR statement IN SELECT name FROM pg_catalog.pg_prepared_statements \
         WHERE from_sql OR name ~ '^s[0-9]+$' LOOP \
         EXECUTE pg_catalog.format('DEALLOCATE %I', statement); END LOOP; END $portico$"
    };
}

/// Ends a transaction that is not to be kept.
pub(crate) const AFTER_ROLLBACK: &str = concat!("ROLLBACK; ", look!());
/// The check, while the server session is still the same.
pub(crate) const BEFORE_COMMIT: &str = look!();
/// Commits, and undoes what a function may have set besides. `RESET` restores the database's own encoding; the
/// pooler and this driver rely on UTF-8.
pub(crate) const COMMIT: &str = "COMMIT; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; SET client_encoding = 'UTF8'; \
    CLOSE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES";
