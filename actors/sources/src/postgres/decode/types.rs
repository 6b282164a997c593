//! PostgreSQL types as the type codes of results (`DataType`), with length, precision and scale out
//! of their modifiers. Values are read in `cells.rs`.

use tokio_postgres::types::{Kind, Oid, Type};

use portico_core::reply::{DataType, TextType};

/// The type's properties in a column's descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) data_type: DataType,
    pub(crate) length: i64,
    pub(crate) precision: i64,
    pub(crate) scale: i64,
}

/// Length and numeric modifiers are stored with the size of a header added (`VARHDRSZ`).
const HEADER: i32 = 4;
/// The default number of fractional digits of a second.
const MICROSECOND_DIGITS: i32 = 6;

/// Returns the properties of a type with its modifier; −1 means none.
pub(crate) fn traits(type_: &Type, modifier: i32) -> Traits {
    let plain = |data_type| Traits { data_type, length: 0, precision: 0, scale: 0 };
    let number = |data_type, precision| Traits { data_type, length: 0, precision, scale: 0 };
    let seconds = |data_type| {
        let digits = i64::from(if modifier < 0 { MICROSECOND_DIGITS } else { modifier });
        Traits { data_type, length: 0, precision: digits, scale: digits }
    };
    let text = |length| Traits { data_type: DataType::Varchar, length, precision: 0, scale: 0 };
    match *type_ {
        Type::BOOL => plain(DataType::Boolean),
        Type::BYTEA => plain(DataType::Binary),
        Type::INT2 => number(DataType::SmallInt, 5),
        Type::INT4 => number(DataType::Integer, 10),
        Type::INT8 => number(DataType::BigInt, 19),
        Type::OID => number(DataType::BigInt, 10),
        Type::FLOAT4 => number(DataType::Float, 8),
        Type::FLOAT8 => number(DataType::Double, 17),
        Type::NUMERIC => {
            let (precision, scale) = numeric_modifier(modifier);
            Traits { data_type: DataType::Numeric, length: 0, precision, scale }
        }
        Type::DATE => plain(DataType::Date),
        Type::TIME | Type::TIMETZ => seconds(DataType::Time),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => seconds(DataType::Timestamp),
        Type::UUID => plain(DataType::Uuid),
        Type::VARCHAR | Type::BPCHAR => text(if modifier > HEADER { i64::from(modifier - HEADER) } else { 0 }),
        Type::BIT | Type::VARBIT => text(i64::from(modifier.max(0))),
        Type::NAME => text(63),
        Type::CHAR => text(1),
        _ => match type_.kind() {
            Kind::Domain(base) => traits(base, modifier),
            _ => text(0),
        },
    }
}

/// Whether a time or a timestamp has a zone.
pub(crate) fn is_zoned(type_: &Type) -> bool {
    match type_.kind() {
        Kind::Domain(base) => is_zoned(base),
        _ => matches!(*type_, Type::TIMETZ | Type::TIMESTAMPTZ),
    }
}

/// How texts of this type compare.
pub(crate) fn text_type(type_: &Type) -> TextType {
    match *type_ {
        Type::TEXT | Type::VARCHAR | Type::NAME => TextType::Plain,
        Type::BPCHAR => TextType::Padded,
        Type::INET | Type::CIDR | Type::MACADDR | Type::MACADDR8 | Type::MONEY => TextType::Canonical,
        Type::BIT | Type::VARBIT | Type::CHAR => TextType::Coded,
        _ => match type_.kind() {
            Kind::Domain(base) => text_type(base),
            Kind::Enum(_) => TextType::Coded,
            _ => TextType::Own,
        },
    }
}

/// The traits of a type by its number; types of the user's own are text on the wire, so domains
/// are to be resolved by the caller.
pub(crate) fn traits_of(oid: Oid, modifier: i32) -> Traits {
    traits(&Type::from_oid(oid).unwrap_or(Type::TEXT), modifier)
}

/// Precision and scale of `numeric(p, s)`; the scale has eleven bits and a sign.
fn numeric_modifier(modifier: i32) -> (i64, i64) {
    if modifier < HEADER {
        return (0, 0);
    }
    let packed = modifier - HEADER;
    let scale = ((packed & 0x7FF) ^ 0x400) - 0x400;
    (i64::from((packed >> 16) & 0xFFFF), i64::from(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_modifiers_hold_precision_and_a_signed_scale() {
        assert_eq!(numeric_modifier(-1), (0, 0));
        assert_eq!(numeric_modifier(((12 << 16) | 2) + 4), (12, 2));
        assert_eq!(numeric_modifier(((5 << 16) | (-3 & 0x7FF)) + 4), (5, -3));
    }
}
