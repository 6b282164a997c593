//! Statements of the store in a SQLite file.

use rusqlite::{Connection, Statement};

use crate::store::sql::failure::StatementResult;
use crate::store::sql::params::Params;
use crate::store::sql::row::Row;

/// Runs one statement; how many rows it concerned.
pub(crate) fn execute(connection: &Connection, sql: &str, params: &Params<'_>) -> StatementResult<usize> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    Ok(statement.raw_execute()?)
}

/// Every row of one statement.
pub(crate) fn query<T>(
    connection: &Connection,
    sql: &str,
    params: &Params<'_>,
    mut read: impl FnMut(&Row<'_>) -> StatementResult<T>,
) -> StatementResult<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(&Row::File(row))?);
    }
    Ok(all)
}

fn bind(statement: &mut Statement<'_>, params: &Params<'_>) -> StatementResult<()> {
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
    Ok(())
}

/// A number that changes whenever another connection has written.
pub(crate) fn data_version(connection: &Connection) -> StatementResult<i64> {
    let mut statement = connection.prepare_cached("PRAGMA data_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

/// Moves the log into the file and empties it. False where a reader still needs it.
pub(crate) fn empty_log(connection: &Connection) -> StatementResult<bool> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(busy == 0)
}
