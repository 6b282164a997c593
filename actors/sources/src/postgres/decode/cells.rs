//! One value's octets as a [`Cell`].

use std::error::Error as StdError;

use tokio_postgres::types::{FromSql, Type};

use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::decode::malformed::Malformed;
use crate::postgres::decode::{array, temporal};
use portico_core::reply::Cell;

/// One value that is not NULL.
pub(crate) fn decode<'a>(form: &ColumnDecoder, raw: &'a [u8]) -> Result<Cell<'a>, Malformed> {
    match form {
        ColumnDecoder::Plain(reader) => reader(raw),
        ColumnDecoder::Interval => Ok(Cell::Text(temporal::interval(raw)?.into())),
        ColumnDecoder::Array(element) => Ok(Cell::Json(array::json(raw, |octets| decode(element, octets))?.into())),
        ColumnDecoder::Opaque => Ok(Cell::Text(hexadecimal(raw).into())),
    }
}

/// The form in which the source prints octets.
pub(crate) fn hexadecimal(raw: &[u8]) -> String {
    raw.iter().fold(String::from("\\x"), |text, octet| text + &format!("{octet:02x}"))
}

/// A value's octets, whatever its type; `None` is NULL.
pub(crate) struct Raw<'a>(pub(crate) Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
