//! The set-up of every fresh session.

use std::time::Duration;

use futures_util::future::join3;

use crate::postgres::connect::protocol::driven_client::DrivenClient;

/// The settings that change how values are written and texts are read, which the database or the role
/// may have set otherwise: for a session (`SET`), or for a transaction behind a pooler (`SET LOCAL`).
macro_rules! settings {
    ($set:literal) => {
        concat!(
            $set,
            " DateStyle = 'ISO'; ",
            $set,
            " IntervalStyle = 'postgres'; ",
            $set,
            " bytea_output = 'hex'; ",
            $set,
            " extra_float_digits = 1; ",
            $set,
            " array_nulls = on; ",
            $set,
            " standard_conforming_strings = on; ",
            $set,
            " client_encoding = 'UTF8'"
        )
    };
}
pub(crate) use settings;

/// The set-up of a fresh session. A second protection against writes: even if the first (`BEGIN READ ONLY`) fails,
/// the statement cannot write. Writing transactions say `READ WRITE`.
macro_rules! setup {
    () => {
        concat!("SET default_transaction_read_only = on; ", settings!("SET"))
    };
}

const SETUP: &str = setup!();
/// Lets the source notice, PostgreSQL 14 and later, that our process has gone. Platforms without
/// the means refuse it, and do without.
pub(crate) const NOTICE_OUR_END: &str = "SELECT set_config('client_connection_check_interval', '2s', false) \
    WHERE current_setting('client_connection_check_interval', true) IS NOT NULL";

/// Turns off JIT compilation for our own catalogue queries: by their estimates they are large enough for it, and it
/// would take a second for what takes milliseconds. `$local` is whether it holds for the transaction alone. Servers
/// without JIT ignore it.
macro_rules! without_jit {
    ($local:literal) => {
        concat!(
            "SELECT pg_catalog.set_config('jit', 'off', ",
            $local,
            ") WHERE pg_catalog.current_setting('jit', true) IS NOT NULL"
        )
    };
}
pub(crate) use without_jit;

/// After a writer. `DISCARD ALL` would also drop the statements that the wire library keeps.
pub(crate) const AFTER_WRITING: &str = concat!(
    "RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; ",
    setup!(),
    "; CLOSE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES; SELECT pg_advisory_unlock_all(); \
     SELECT 1 FROM pg_catalog.pg_prepared_statements WHERE from_sql"
);
/// How long the set-up of a fresh session may take.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a cancel request may take. If the source cannot be reached, the statement there ends by its own time
/// limit.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Sets up a fresh session, also the housekeeping's. Returns its process id at the source. Behind a pooler the
/// set-up would affect a session of somebody else, and there is no process id.
pub(crate) async fn set_up_session(wire: &DrivenClient) -> Result<i32, tokio_postgres::Error> {
    let mut process = 0;
    if !wire.pooled {
        let asked = wire.query_typed_one("SELECT pg_catalog.pg_backend_pid()", &[]);
        let (told, _, asked) = join3(wire.batch_execute(SETUP), wire.batch_execute(NOTICE_OUR_END), asked).await;
        told?;
        process = asked?.try_get(0)?;
    }
    wire.pin();
    Ok(process)
}
