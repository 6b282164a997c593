//! Values for the placeholders of a statement: SQLite's five types, which the PostgreSQL driver converts to its
//! own.

use rusqlite::types::{ToSql, ToSqlOutput, Value};

/// Values for the placeholders of one statement, each with its name where it has one.
pub(crate) type Params<'a> = Vec<(Option<&'a str>, Value)>;

/// Values for placeholders: `()`, `[…]`, `params!` and `named_params!`.
pub(crate) trait ToParams {
    /// Their values, in order.
    fn params(&self) -> rusqlite::Result<Params<'_>>;
}

fn value(from: &dyn ToSql) -> rusqlite::Result<Value> {
    Ok(match from.to_sql()? {
        ToSqlOutput::Owned(value) => value,
        ToSqlOutput::Borrowed(value) => value.try_into().map_err(|_| rusqlite::Error::InvalidQuery)?,
        _ => return Err(rusqlite::Error::InvalidQuery),
    })
}

impl ToParams for () {
    fn params(&self) -> rusqlite::Result<Params<'_>> {
        Ok(Vec::new())
    }
}

impl<T: ToSql, const N: usize> ToParams for [T; N] {
    fn params(&self) -> rusqlite::Result<Params<'_>> {
        self.iter().map(|each| Ok((None, value(each)?))).collect()
    }
}

impl ToParams for &[&dyn ToSql] {
    fn params(&self) -> rusqlite::Result<Params<'_>> {
        self.iter().map(|each| Ok((None, value(*each)?))).collect()
    }
}

impl ToParams for &[(&str, &dyn ToSql)] {
    fn params(&self) -> rusqlite::Result<Params<'_>> {
        self.iter().map(|(name, each)| Ok((Some(*name), value(*each)?))).collect()
    }
}
