//! Declared procedures: found by name, their arguments put in order. Their statements then run
//! like any other.

use serde_json::value::RawValue;

use crate::sqlite::catalog::metadata::{optional, text, type_cells};
use crate::sqlite::decode::types::DeclaredType;
use crate::sqlite::execute::argument::{at, decimal_parts, same};
use crate::sqlite::schema::SCHEMA;
use crate::statements::bindings::name_without_at;
use crate::{DeclaredProcedure, Direction, Invocation, Parameter, Procedure};
use portico_core::calendar;
use portico_core::call::{Argument, MetadataFilter, MetadataKind};
use portico_core::error::{Error, Result};
use portico_core::near;
use portico_core::pattern::matches;
use portico_core::reply::{Cell, DataType};

/// The procedure that `invocation` names.
///
/// # Errors
/// [`Kind::NotFound`](portico_core::error::Kind::NotFound) with near names.
pub(crate) fn find<'a>(declared: &'a [DeclaredProcedure], invocation: &Invocation) -> Result<&'a DeclaredProcedure> {
    let schema_fits = invocation.schema.as_ref().is_none_or(|schema| schema.eq_ignore_ascii_case(SCHEMA));
    let by_name = |declared: &&DeclaredProcedure| declared.procedure.name.eq_ignore_ascii_case(&invocation.name);
    match declared.iter().find(by_name) {
        Some(found) if schema_fits => Ok(found),
        found => {
            let error = match &invocation.schema {
                Some(schema) if !schema_fits => {
                    Error::not_found(format!("there is no procedure {schema}.{}", invocation.name))
                }
                _ => Error::not_found(format!("there is no procedure {}", invocation.name)),
            };
            let names = declared.iter().map(|declared| declared.procedure.name.as_str());
            let hint = match found {
                Some(found) => Some(format!("did you mean {SCHEMA}.{}?", found.procedure.name)),
                None => near::suggestion(&invocation.name, names),
            };
            Err(error.sqlstate("42883").with(hint, Error::hint))
        }
    }
}

/// Returns one argument for each of `placeholders`, which are the names of parameters.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid) naming what is missing, unknown or given twice, with the
/// signature.
pub(crate) fn arguments(procedure: &Procedure, given: &[Argument], placeholders: &[String]) -> Result<Vec<Argument>> {
    let inputs: Vec<&Parameter> = procedure
        .parameters
        .iter()
        .filter(|parameter| matches!(parameter.direction, Direction::In | Direction::InOut))
        .collect();
    let wrong = |message: String| Err(Error::invalid(message).hint(signature(procedure)));
    let mut taken: Vec<Option<&Argument>> = vec![None; inputs.len()];
    for argument in given {
        let by_name = inputs.iter().position(|parameter| same(&parameter.name, &argument.name));
        let place = by_name.or_else(|| name_without_at(&argument.name).parse::<usize>().ok()?.checked_sub(1));
        match place.and_then(|place| taken.get_mut(place)) {
            None => {
                return wrong(format!("procedure {} has no parameter {}", procedure.name, at(&argument.name)));
            }
            Some(Some(_)) => return wrong(format!("parameter {} is given twice", at(&argument.name))),
            Some(free) => *free = Some(argument),
        }
    }
    let missing: Vec<String> = (inputs.iter().zip(&taken))
        .filter(|(parameter, value)| value.is_none() && !parameter.optional)
        .map(|(parameter, _)| at(&parameter.name))
        .collect();
    if !missing.is_empty() {
        return wrong(format!("procedure {} needs {}", procedure.name, missing.join(", ")));
    }
    for (parameter, value) in inputs.iter().zip(&taken) {
        if let Some(form) = value.and_then(|argument| refused(parameter.data_type, &argument.value)) {
            return wrong(format!("parameter {}: {} expects {form}", at(&parameter.name), parameter.type_name));
        }
    }
    placeholders
        .iter()
        .map(|name| {
            let place = inputs.iter().position(|parameter| same(&parameter.name, name)).ok_or_else(|| {
                Error::internal(format!("procedure {} uses @{name}, which it does not declare", procedure.name))
            })?;
            let value = taken.get(place).copied().flatten();
            Ok(Argument {
                name: name.clone(),
                value: value.map_or_else(
                    || default(inputs.get(place).and_then(|parameter| parameter.default.as_deref())),
                    |argument| argument.value.clone(),
                ),
                // Binary values are base64, whatever type the client names.
                data_type: inputs.get(place).map(|parameter| i32::from(parameter.data_type.code())),
            })
        })
        .collect()
}

/// Returns what a declared type accepts, if it does not accept `value`. The engine itself would compare anything
/// with anything.
fn refused(declared: DataType, value: &RawValue) -> Option<&'static str> {
    use DataType as T;
    let json = value.get().trim();
    let first = json.as_bytes().first().copied();
    if first == Some(b'n') {
        return None;
    }
    let text: Option<String> = if first == Some(b'"') { serde_json::from_str(json).ok() } else { None };
    let is_number = matches!(first, Some(b'-' | b'0'..=b'9'));
    // As JSON has it, or as a string of it.
    let number = text.as_deref().map(str::trim).or(is_number.then_some(json));
    let (fits, form) = match declared {
        T::TinyInt | T::SmallInt | T::Integer | T::BigInt => (number.is_some_and(is_whole), "a whole number"),
        T::Float | T::Double | T::Decimal | T::Numeric => {
            (number.is_some_and(|number| decimal_parts(number).is_some()), "a number")
        }
        T::Boolean => (matches!(text.as_deref().unwrap_or(json), "true" | "false" | "0" | "1"), "true or false"),
        T::Uuid => (text.is_some_and(|text| uuid::Uuid::try_parse(&text).is_ok()), "a UUID as a string"),
        T::Date => (text.is_some_and(|text| calendar::is_date(&text)), "a day as YYYY-MM-DD"),
        T::Timestamp => {
            let day = text.as_deref().and_then(|text| text.get(..10));
            (day.is_some_and(calendar::is_date), "a time as YYYY-MM-DDTHH:MM:SS")
        }
        T::Time | T::Binary => (text.is_some(), "a string"),
        // Also JSON, which has no type of its own.
        T::Varchar => (text.is_some() || first != Some(b'"'), "a string"),
    };
    (!fits).then_some(form)
}

/// Whether a number is whole and of 64 bits; `7.0` and `1e3` are.
fn is_whole(number: &str) -> bool {
    let Some((_, digits, power)) = decimal_parts(number) else { return false };
    let whole = i64::try_from(digits.len()).is_ok_and(|length| length <= power.saturating_add(1));
    let plain = number.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    if plain { number.parse::<i64>().is_ok() } else { digits.is_empty() || (whole && power < 18) }
}

/// The declared default, or NULL.
fn default(declared: Option<&str>) -> Box<RawValue> {
    declared.and_then(|json| RawValue::from_string(json.to_owned()).ok()).unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// `name(@first TYPE, [@second TYPE])`.
fn signature(procedure: &Procedure) -> String {
    let parameters = procedure.parameters.iter().map(|parameter| {
        let words = format!("{} {}", at(&parameter.name), parameter.type_name);
        if parameter.optional { format!("[{words}]") } else { words }
    });
    format!("it is {}({})", procedure.name, parameters.collect::<Vec<_>>().join(", "))
}

/// The rows of [`MetadataKind::Procedures`] or [`MetadataKind::ProcedureParameters`].
pub(crate) fn list(
    declared: &[DeclaredProcedure],
    metadata: MetadataKind,
    narrow: &MetadataFilter,
    catalog: &str,
) -> Vec<Vec<Cell<'static>>> {
    let mut wanted: Vec<&Procedure> = declared.iter().map(|declared| &declared.procedure).collect();
    wanted.retain(|procedure| matches(narrow.procedure.as_deref(), &procedure.name));
    wanted.sort_by(|a, b| a.name.cmp(&b.name));
    if metadata == MetadataKind::Procedures {
        return wanted
            .into_iter()
            .map(|procedure| {
                let mut row = named(procedure, catalog);
                // JDBC: 1 is a procedure without a return value.
                row.extend([optional(procedure.remarks.as_deref()), Cell::Integer(1)]);
                row
            })
            .collect();
    }
    let parameters =
        wanted.into_iter().flat_map(|procedure| procedure.parameters.iter().zip(1_i64..).map(move |p| (procedure, p)));
    parameters
        .filter(|(_, (parameter, _))| matches(narrow.param.as_deref(), &parameter.name))
        .map(|(procedure, (parameter, ordinal))| {
            let declared = DeclaredType { data_type: parameter.data_type, ..DeclaredType::read(&parameter.type_name) };
            let mut row = named(procedure, catalog);
            row.extend([text(&parameter.name), Cell::Integer(parameter.direction as i64)]);
            row.extend(type_cells(&declared));
            row.extend([
                optional(parameter.remarks.as_deref()),
                Cell::Boolean(parameter.optional),
                Cell::Integer(ordinal),
            ]);
            row
        })
        .collect()
}

fn named(procedure: &Procedure, catalog: &str) -> Vec<Cell<'static>> {
    vec![text(catalog), text(SCHEMA), text(&procedure.name)]
}
