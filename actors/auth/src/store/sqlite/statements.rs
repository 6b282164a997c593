//! Statements of the store in a SQLite file.

use rusqlite::{CachedStatement, Connection};

use crate::store::sql::failure::broken;
use crate::store::sql::params::Params;
use crate::store::sql::row::Row;
use portico_core::error::Result;

/// Runs one statement; how many rows it concerned.
pub(crate) fn execute(connection: &Connection, sql: &str, params: &Params<'_>) -> Result<usize> {
    bound(connection, sql, params).and_then(|mut statement| statement.raw_execute()).map_err(broken)
}

/// Every row of one statement.
pub(crate) fn query<T>(
    connection: &Connection,
    sql: &str,
    params: &Params<'_>,
    mut read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = bound(connection, sql, params).map_err(broken)?;
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        all.push(read(&Row::File(row))?);
    }
    Ok(all)
}

fn bound<'c>(connection: &'c Connection, sql: &str, params: &Params<'_>) -> rusqlite::Result<CachedStatement<'c>> {
    let mut statement = connection.prepare_cached(sql)?;
    for (place, (name, value)) in params.iter().enumerate() {
        let place = match name {
            None => place + 1,
            Some(name) => {
                let unknown = || rusqlite::Error::InvalidParameterName((*name).to_owned());
                statement.parameter_index(name)?.ok_or_else(unknown)?
            }
        };
        statement.raw_bind_parameter(place, value)?;
    }
    Ok(statement)
}

/// A number that changes whenever another connection has written.
pub(crate) fn data_version(connection: &Connection) -> Result<i64> {
    let statement = connection.prepare_cached("PRAGMA data_version");
    statement.and_then(|mut statement| statement.query_row([], |row| row.get(0))).map_err(broken)
}

/// Moves the log into the file and empties it. False where a reader still needs it.
pub(crate) fn empty_log(connection: &Connection) -> Result<bool> {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.map(|busy| busy == 0).map_err(broken)
}
