//! How the octets of a column are read, by the column's type.

use tokio_postgres::types::{Kind, Type};

use crate::postgres::decode::temporal::Zone;

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
