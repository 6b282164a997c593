//! How the octets of a column are read, by the column's type.

use std::borrow::Cow;

use tokio_postgres::types::{Kind, Type};
use uuid::Uuid;

use crate::postgres::decode::malformed::{Malformed, whole};
use crate::postgres::decode::temporal::Zone;
use crate::postgres::decode::{network, numeric, temporal};
use portico_core::reply::Cell;

/// Reads the octets of one value that is not NULL.
type Reader = fn(&[u8]) -> Result<Cell<'_>, Malformed>;

/// How a column's octets are read.
#[derive(Clone, Debug)]
pub(crate) enum ColumnDecoder {
    /// Decoded by a function for the type.
    Plain(Reader),
    Interval,
    Array(Box<ColumnDecoder>),
    /// Bytes of a type without a decoder, of a value that could not be requested as text.
    Opaque,
}

impl ColumnDecoder {
    /// Returns the decoder of `type_`, or `None` if only the source itself can print it.
    pub(crate) fn from_type(type_: &Type) -> Option<Self> {
        let reader: Reader = match *type_ {
            Type::BOOL => |raw| Ok(Cell::Boolean(raw.first().is_some_and(|octet| *octet != 0))),
            Type::BYTEA => |raw| Ok(Cell::Bytes(Cow::Borrowed(raw))),
            Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::XML
            | Type::UNKNOWN
            | Type::CSTRING
            | Type::REFCURSOR
            | Type::VOID => text,
            Type::CHAR => |raw| Ok(Cell::Text(character(raw))),
            Type::INT2 => |raw| Ok(Cell::Integer(i64::from(i16::from_be_bytes(whole(raw, "int2")?)))),
            Type::INT4 => |raw| Ok(Cell::Integer(i64::from(i32::from_be_bytes(whole(raw, "int4")?)))),
            Type::INT8 => |raw| Ok(Cell::Integer(i64::from_be_bytes(whole(raw, "int8")?))),
            Type::OID => |raw| Ok(Cell::Integer(i64::from(u32::from_be_bytes(whole(raw, "oid")?)))),
            Type::FLOAT4 => |raw| Ok(Cell::Float(f32::from_be_bytes(whole(raw, "float4")?))),
            Type::FLOAT8 => |raw| Ok(Cell::Double(f64::from_be_bytes(whole(raw, "float8")?))),
            Type::NUMERIC => |raw| Ok(Cell::Decimal(numeric::digits(raw)?.into())),
            Type::JSON => json,
            // The first octet is the format's version.
            Type::JSONB => |raw| json(raw.split_first().ok_or(Malformed("jsonb"))?.1),
            Type::UUID => |raw| Ok(Cell::Text(Uuid::from_bytes(whole(raw, "uuid")?).to_string().into())),
            Type::DATE => |raw| Ok(Cell::Text(temporal::date(raw)?.into())),
            Type::TIME => |raw| Ok(Cell::Text(temporal::time(raw)?.into())),
            Type::TIMETZ => |raw| Ok(Cell::Text(temporal::time_with_zone(raw)?.into())),
            Type::TIMESTAMP => |raw| Ok(Cell::Text(temporal::timestamp(raw, Zone::None)?.into())),
            Type::TIMESTAMPTZ => |raw| Ok(Cell::Text(temporal::timestamp(raw, Zone::Utc)?.into())),
            Type::INTERVAL => return Some(Self::Interval),
            Type::INET | Type::CIDR => |raw| Ok(Cell::Text(network::address(raw)?.into())),
            Type::MACADDR | Type::MACADDR8 => |raw| Ok(Cell::Text(network::hardware_address(raw).into())),
            _ => match type_.kind() {
                Kind::Enum(_) => text,
                Kind::Domain(base) => return Self::from_type(base),
                Kind::Array(element) if is_true_array(type_) => {
                    return Some(Self::Array(Box::new(Self::from_type(element)?)));
                }
                // The commonest extension type; its binary form is its text.
                Kind::Simple if type_.name() == "citext" => text,
                _ => return None,
            },
        };
        Some(Self::Plain(reader))
    }

    /// The form at a server before 17, where both ends of an interval are ordinary values.
    pub(crate) fn finite(self) -> Self {
        match self {
            Self::Interval => Self::Plain(|raw| Ok(Cell::Text(temporal::finite_interval(raw)?.into()))),
            Self::Array(element) => Self::Array(Box::new(element.finite())),
            form => form,
        }
    }
}

/// A database in `SQL_ASCII` may contain text that is not UTF-8.
#[expect(clippy::unnecessary_wraps, reason = "one of the functions that a form holds")]
fn text(raw: &[u8]) -> Result<Cell<'_>, Malformed> {
    Ok(Cell::Text(String::from_utf8_lossy(raw)))
}

#[expect(clippy::unnecessary_wraps, reason = "one of the functions that a form holds")]
fn json(raw: &[u8]) -> Result<Cell<'_>, Malformed> {
    Ok(Cell::Json(String::from_utf8_lossy(raw)))
}

/// `"char"`: one byte; zero is the empty text, and a non-ASCII byte is written in octal.
fn character(raw: &[u8]) -> Cow<'_, str> {
    match raw.first() {
        None | Some(0) => Cow::Borrowed(""),
        Some(octet) if octet.is_ascii() => Cow::Owned(char::from(*octet).to_string()),
        Some(octet) => Cow::Owned(format!("\\{octet:03o}")),
    }
}

/// Returns the element type of a true array. Types such as `int2vector` and `point` also have elements, but are not
/// arrays in SQL. True array types have the name of their element with `_` in front. A domain over one is one as
/// well.
fn element(type_: &Type) -> Option<&Type> {
    match type_.kind() {
        Kind::Array(element) if type_.name().starts_with('_') => Some(element),
        Kind::Domain(base) => element(base),
        _ => None,
    }
}

/// See [`element`].
pub(crate) fn is_true_array(type_: &Type) -> bool {
    element(type_).is_some()
}

/// Returns how to request a column without a decoder: an expression around its name, and the decoder of its result.
pub(crate) fn printed(name: &str, type_: &Type) -> (String, ColumnDecoder) {
    let texts = || (format!("{name}::text[]"), ColumnDecoder::Array(Box::new(ColumnDecoder::Plain(text))));
    match element(type_) {
        // Rows without a type's name are printed as those of a type are.
        _ if *type_ == Type::RECORD_ARRAY => texts(),
        // Each value tells the type of its elements, which may be the user's own: only the source knows all of them.
        _ if *type_ == Type::ANYARRAY => (format!("pg_catalog.array_to_json({name})"), ColumnDecoder::Plain(json)),
        None => (format!("{name}::text"), ColumnDecoder::Plain(text)),
        // No array in PostgreSQL has arrays as elements, except through a domain.
        Some(element) if is_true_array(element) => (format!("pg_catalog.to_json({name})"), ColumnDecoder::Plain(json)),
        Some(_) => texts(),
    }
}
