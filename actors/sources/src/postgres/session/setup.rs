//! What every fresh session is told.

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

/// How a fresh session is set up. The second lock on every session: also where the first (`BEGIN READ
/// ONLY`) did not come about, what runs cannot write. Writers say `READ WRITE`.
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

/// Has the server compile no query: for ours about the catalogue. By its estimates they are large enough, and it would take
/// a second for what takes milliseconds. `$local` is whether it holds for the transaction alone. Servers without it do without.
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
/// How long a fresh session may take to hear what every one is told.
pub(crate) const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request to cancel may take. Where the source cannot be reached, what runs there is
/// ended by its own time limit.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// What every fresh session is told, the housekeeping's too; its process at the source. Behind a pooler
/// that would be told to a session of somebody else's, and there is no process.
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
