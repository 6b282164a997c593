//! Values for the placeholders of a statement: SQLite's five, of which the driver of the other kind knows how to
//! make its own.

use rusqlite::types::{ToSql, ToSqlOutput, Value};

/// Values for the placeholders of one statement, each with its name where it has one.
pub(crate) type Given<'a> = Vec<(Option<&'a str>, Value)>;

/// What can stand for placeholders: `()`, `[…]`, a pair, `params!` and `named_params!`.
pub(crate) trait Values {
    /// Their values, in order.
    fn given(&self) -> rusqlite::Result<Given<'_>>;
}

fn value(from: &dyn ToSql) -> rusqlite::Result<Value> {
    Ok(match from.to_sql()? {
        ToSqlOutput::Owned(value) => value,
        ToSqlOutput::Borrowed(value) => value.try_into().map_err(|_| rusqlite::Error::InvalidQuery)?,
        _ => return Err(rusqlite::Error::InvalidQuery),
    })
}

impl Values for () {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        Ok(Vec::new())
    }
}

impl<T: ToSql, const N: usize> Values for [T; N] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|each| Ok((None, value(each)?))).collect()
    }
}

impl<A: ToSql, B: ToSql> Values for (A, B) {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        Ok(vec![(None, value(&self.0)?), (None, value(&self.1)?)])
    }
}

impl Values for &[&dyn ToSql] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|each| Ok((None, value(*each)?))).collect()
    }
}

impl Values for &[(&str, &dyn ToSql)] {
    fn given(&self) -> rusqlite::Result<Given<'_>> {
        self.iter().map(|(name, each)| Ok((Some(*name), value(*each)?))).collect()
    }
}
