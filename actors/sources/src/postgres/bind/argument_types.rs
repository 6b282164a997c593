//! The type that a caller's value has by itself, which is that of the same literal, and which types take it.

use serde_json::value::RawValue;
use tokio_postgres::types::{Kind, Type};

use crate::postgres::bind::argument::{MOST_DIMENSIONS, integral};
use crate::statements::bindings;
use portico_core::call::Argument;

/// The type that the value has by itself, as a literal would; unknown is that of its place.
pub(crate) fn own(argument: &Argument) -> Type {
    of_json(argument.value.get().trim())
}

fn of_json(json: &str) -> Type {
    match json.as_bytes().first() {
        Some(b't' | b'f') => Type::BOOL,
        Some(b'-' | b'0'..=b'9') => of_number(json),
        _ => Type::UNKNOWN,
    }
}

/// Returns the type of a JSON array as that of the same elements in `ARRAY[…]`; `None` if they have no common type,
/// or none has a type.
pub(crate) fn own_array(argument: &Argument) -> Option<Type> {
    Some(match common(argument.value.get(), 0)? {
        Type::BOOL => Type::BOOL_ARRAY,
        Type::INT4 => Type::INT4_ARRAY,
        Type::INT8 => Type::INT8_ARRAY,
        Type::NUMERIC => Type::NUMERIC_ARRAY,
        Type::JSONB => Type::JSONB_ARRAY,
        Type::TEXT => Type::TEXT_ARRAY,
        _ => return None,
    })
}

/// The type that the caller names, where a JSON array is an array.
pub(crate) fn named_array(argument: &Argument) -> Type {
    if bindings::is_array(argument) { own_array(argument).unwrap_or(Type::UNKNOWN) } else { named(argument) }
}

/// The type that the caller names, where a JSON array is JSON.
pub(crate) fn named_json(argument: &Argument) -> Type {
    if bindings::is_array(argument) { Type::JSONB } else { named(argument) }
}

/// Returns the type of a value whose type nothing else determines; a JSON array is an array.
pub(crate) fn array_at_last(argument: &Argument) -> Type {
    if bindings::is_array(argument) { own_array(argument).unwrap_or(Type::TEXT_ARRAY) } else { at_last(argument) }
}

/// Returns the common type of an array's elements, including nested arrays; unknown if none of them has a type.
fn common(json: &str, depth: usize) -> Option<Type> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok().filter(|_| depth < MOST_DIMENSIONS)?;
    elements.into_iter().try_fold(Type::UNKNOWN, |known, element| {
        let json = element.get().trim();
        let type_ = match json.as_bytes().first() {
            Some(b'[') => common(json, depth + 1)?,
            Some(b'{') => Type::JSONB,
            Some(b'"') => Type::TEXT,
            _ => of_json(json),
        };
        let rank = |type_: &Type| [Type::INT4, Type::INT8, Type::NUMERIC].iter().position(|number| number == type_);
        match (rank(&known), rank(&type_)) {
            (Some(one), Some(other)) => Some(if one < other { type_ } else { known }),
            _ if type_ == Type::UNKNOWN || known == type_ => Some(known),
            _ => (known == Type::UNKNOWN).then_some(type_),
        }
    })
}

fn of_number(digits: &str) -> Type {
    if digits.parse::<i32>().is_ok() {
        Type::INT4
    } else if digits.parse::<i64>().is_ok() {
        Type::INT8
    } else {
        Type::NUMERIC
    }
}

/// Returns the value's own type, or else the type that the caller names. For numbers the value decides, since
/// clients name the same type for every number.
pub(crate) fn named(argument: &Argument) -> Type {
    let own = own(argument);
    if own != Type::UNKNOWN {
        return own;
    }
    let json = argument.value.get().trim();
    match argument.data_type {
        Some(1) => Type::BYTEA,
        Some(5) => Type::TEXT,
        Some(6 | 7) => Type::INT2,
        Some(8) => match serde_json::from_str::<String>(json) {
            Ok(text) if serde_json::from_str::<serde_json::Number>(&text).is_ok() => of_number(&text),
            _ => Type::INT4,
        },
        Some(9) => Type::INT8,
        Some(10) => Type::FLOAT4,
        Some(11) => Type::FLOAT8,
        Some(12 | 13) => Type::NUMERIC,
        Some(14) => Type::BOOL,
        Some(15) => Type::DATE,
        Some(16) => Type::TIME,
        Some(17) => Type::TIMESTAMP,
        Some(18) => Type::UUID,
        _ if json.starts_with('{') => Type::JSONB,
        _ => Type::UNKNOWN,
    }
}

/// Returns the named type, except text: clients name text for every string, and it is also the default for a
/// string.
pub(crate) fn named_but_text(argument: &Argument) -> Type {
    match named(argument) {
        Type::TEXT => Type::UNKNOWN,
        named => named,
    }
}

/// Returns the type of a value whose type nothing else determines.
pub(crate) fn at_last(argument: &Argument) -> Type {
    match named(argument) {
        Type::UNKNOWN if bindings::is_array(argument) => Type::JSONB,
        Type::UNKNOWN => Type::TEXT,
        named => named,
    }
}

/// Returns the type of a string as [`at_last`] does, and the named type of any other value.
pub(crate) fn text_at_last(argument: &Argument) -> Type {
    if argument.value.get().trim().starts_with('"') { at_last(argument) } else { named(argument) }
}

/// Returns what distinguishes values for the parameter types: everything that preparing depends on.
pub(crate) fn kind(argument: &Argument) -> [u32; 3] {
    let json = argument.value.get().trim();
    let form = match json.as_bytes().first() {
        // Which types take it.
        Some(b'-' | b'0'..=b'9') => u32::from(is_whole(json)) + u32::from(matches!(json, "0" | "1")),
        other => other.copied().map_or(0, u32::from),
    };
    [own(argument).oid(), text_at_last(argument).oid(), form]
}

/// Returns true if the value can be used in a statement that was prepared for `type_`.
pub(crate) fn fits(argument: &Argument, type_: &Type) -> bool {
    own(argument) == *type_ || takes(argument, type_)
}

/// Whether the source's own inferred type takes a number or a truth value that it would not take as a
/// literal.
pub(crate) fn takes(argument: &Argument, type_: &Type) -> bool {
    if let Kind::Domain(base) = type_.kind() {
        return takes(argument, base);
    }
    let json = argument.value.get().trim();
    let is_number = own(argument) != Type::BOOL;
    match *type_ {
        Type::JSON | Type::JSONB => true,
        Type::BOOL => !is_number || matches!(json, "0" | "1"),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => is_number && is_whole(json),
        Type::FLOAT4 | Type::FLOAT8 | Type::NUMERIC | Type::MONEY => is_number,
        _ => false,
    }
}

/// Whether a number is whole, however it is written.
fn is_whole(json: &str) -> bool {
    integral(json).bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}
