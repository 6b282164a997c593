//! One value's octets as a [`Cell`].

use std::borrow::Cow;
use std::error::Error as StdError;

use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::postgres::decode::form::Form;
use crate::postgres::decode::malformed::{Malformed, whole};
use crate::postgres::decode::{array, network, numeric, temporal};
use portico_core::reply::Cell;

/// One value that is not NULL.
pub(crate) fn decode<'a>(form: &Form, raw: &'a [u8]) -> Result<Cell<'a>, Malformed> {
    Ok(match form {
        Form::Boolean => Cell::Boolean(raw.first().is_some_and(|octet| *octet != 0)),
        Form::Octets => Cell::Bytes(Cow::Borrowed(raw)),
        // A database in SQL_ASCII may hold what is not UTF-8.
        Form::Text => Cell::Text(String::from_utf8_lossy(raw)),
        Form::Character => Cell::Text(character(raw)),
        Form::Int2 => Cell::Integer(i64::from(i16::from_be_bytes(whole(raw, "int2")?))),
        Form::Int4 => Cell::Integer(i64::from(i32::from_be_bytes(whole(raw, "int4")?))),
        Form::Int8 => Cell::Integer(i64::from_be_bytes(whole(raw, "int8")?)),
        Form::Oid => Cell::Integer(i64::from(u32::from_be_bytes(whole(raw, "oid")?))),
        Form::Float4 => Cell::Float(f32::from_be_bytes(whole(raw, "float4")?)),
        Form::Float8 => Cell::Double(f64::from_be_bytes(whole(raw, "float8")?)),
        Form::Numeric => Cell::Decimal(numeric::digits(raw)?.into()),
        Form::Json => Cell::Json(String::from_utf8_lossy(raw)),
        // The first octet is the format's version.
        Form::Jsonb => Cell::Json(String::from_utf8_lossy(raw.split_first().ok_or(Malformed("jsonb"))?.1)),
        Form::Uuid => Cell::Text(Uuid::from_bytes(whole(raw, "uuid")?).to_string().into()),
        Form::Date => Cell::Text(temporal::date(raw)?.into()),
        Form::Time => Cell::Text(temporal::time(raw)?.into()),
        Form::TimeWithZone => Cell::Text(temporal::time_with_zone(raw)?.into()),
        Form::Timestamp(zone) => Cell::Text(temporal::timestamp(raw, *zone)?.into()),
        Form::Interval => Cell::Text(temporal::interval(raw)?.into()),
        Form::FiniteInterval => Cell::Text(temporal::finite_interval(raw)?.into()),
        Form::Address => Cell::Text(network::address(raw)?.into()),
        Form::HardwareAddress => Cell::Text(network::hardware_address(raw).into()),
        Form::Array(element) => Cell::Json(array::json(raw, |octets| decode(element, octets))?.into()),
        Form::Opaque => Cell::Text(hexadecimal(raw).into()),
    })
}

/// `"char"`: one octet; zero is the empty text, and what is not ASCII goes out in octal.
fn character(raw: &[u8]) -> Cow<'_, str> {
    match raw.first() {
        None | Some(0) => Cow::Borrowed(""),
        Some(octet) if octet.is_ascii() => Cow::Owned(char::from(*octet).to_string()),
        Some(octet) => Cow::Owned(format!("\\{octet:03o}")),
    }
}

/// The form in which the source prints octets.
fn hexadecimal(raw: &[u8]) -> String {
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
