//! Which types are read natively, and one value's octets as a [`Cell`]. Types without a form here
//! are asked for as the source's own text (`statement.rs`).

use std::borrow::Cow;
use std::error::Error as StdError;

use tokio_postgres::types::{FromSql, Kind, Type};
use uuid::Uuid;

use crate::reply::Cell;
use crate::source::postgres::decode::temporal::Zone;
use crate::source::postgres::decode::{array, network, numeric, temporal};

/// How a column's octets are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Boolean,
    Octets,
    Text,
    Character,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Numeric,
    Json,
    Jsonb,
    Uuid,
    Date,
    Time,
    TimeWithZone,
    Timestamp(Zone),
    Interval,
    /// Of a server before 17, where both ends are ordinary values.
    FiniteInterval,
    Address,
    HardwareAddress,
    Array(Box<Form>),
    /// Octets nobody here understands, of a value that could not be asked for as text.
    Opaque,
}

impl Form {
    /// The form of `type_`, or `None` where only the source itself can print it.
    pub(crate) fn of(type_: &Type) -> Option<Self> {
        let form = match *type_ {
            Type::BOOL => Self::Boolean,
            Type::BYTEA => Self::Octets,
            Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::XML
            | Type::UNKNOWN
            | Type::CSTRING
            | Type::REFCURSOR
            | Type::VOID => Self::Text,
            Type::CHAR => Self::Character,
            Type::INT2 => Self::Int2,
            Type::INT4 => Self::Int4,
            Type::INT8 => Self::Int8,
            Type::OID => Self::Oid,
            Type::FLOAT4 => Self::Float4,
            Type::FLOAT8 => Self::Float8,
            Type::NUMERIC => Self::Numeric,
            Type::JSON => Self::Json,
            Type::JSONB => Self::Jsonb,
            Type::UUID => Self::Uuid,
            Type::DATE => Self::Date,
            Type::TIME => Self::Time,
            Type::TIMETZ => Self::TimeWithZone,
            Type::TIMESTAMP => Self::Timestamp(Zone::None),
            Type::TIMESTAMPTZ => Self::Timestamp(Zone::Utc),
            Type::INTERVAL => Self::Interval,
            Type::INET | Type::CIDR => Self::Address,
            Type::MACADDR | Type::MACADDR8 => Self::HardwareAddress,
            _ => match type_.kind() {
                Kind::Enum(_) => Self::Text,
                Kind::Domain(base) => Self::of(base)?,
                Kind::Array(element) if is_true_array(type_) => Self::Array(Box::new(Self::of(element)?)),
                // The commonest extension type; its binary form is its text.
                Kind::Simple if type_.name() == "citext" => Self::Text,
                _ => return None,
            },
        };
        Some(form)
    }

    /// The form at a server that knows no infinite intervals.
    pub(crate) fn finite(self) -> Self {
        match self {
            Self::Interval => Self::FiniteInterval,
            Self::Array(element) => Self::Array(Box::new(element.finite())),
            form => form,
        }
    }
}

/// The type of a true array's elements. Types such as `int2vector` and `point` also have elements, but are
/// no arrays in SQL. True array types carry the name of their element with `_` in front. A domain over one
/// is one.
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

/// How a column without a native form is asked for: an expression around its name, and the form of what comes.
pub(crate) fn printed(name: &str, type_: &Type) -> (String, Form) {
    match element(type_) {
        None => (format!("{name}::text"), Form::Text),
        // No array of the source's has arrays as elements, but for those of a domain.
        Some(element) if is_true_array(element) => (format!("pg_catalog.to_json({name})"), Form::Json),
        Some(_) => (format!("{name}::text[]"), Form::Array(Box::new(Form::Text))),
    }
}

/// Octets that are not what their type promises.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) &'static str);

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
        Form::Array(element) => Cell::Json(array::json(raw, element)?.into()),
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

fn whole<const N: usize>(raw: &[u8], what: &'static str) -> Result<[u8; N], Malformed> {
    raw.try_into().map_err(|_| Malformed(what))
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
