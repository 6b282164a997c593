//! The SQL functions of a session. Which of the engine's functions a statement may call is in `list`; those that
//! could run for minutes without checking for a stop are replaced here by functions of the same name and with the
//! same results, which end with their statement.

use std::sync::{Arc, Mutex};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, Result, ffi};

use crate::sqlite::functions::pattern::PatternSyntax;
use crate::sqlite::functions::stop::StopSwitch;
use crate::sqlite::functions::text::Ends;
use portico_core::mutex::lock;

pub(crate) mod list;
mod pattern;
pub(crate) mod stop;
#[cfg(test)]
mod tests;
mod text;

fn code(code: std::ffi::c_int) -> Error {
    Error::SqliteFailure(ffi::Error::new(code), None)
}

fn failure(words: &str) -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_ERROR), Some(words.to_owned()))
}

/// A result.
enum Value {
    Null,
    Integer(i64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl ToSql for Value {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Text(octets) => ValueRef::Text(octets),
            Self::Blob(octets) => ValueRef::Blob(octets),
        }))
    }
}

/// Octets in a value at most: that of `connect/limits.rs`.
const MOST: usize = crate::sqlite::connect::limits::LONGEST;
/// Octets in a pattern at most.
const LONGEST_PATTERN: usize = 1000;
/// The number of bytes that JSON functions with several paths may read in all, and the square root of the
/// comparisons that `json_patch` may make: about a second.
const JSON_WORK: usize = 256 << 20;

/// An engine of its own that computes single values as the session's engine would.
#[derive(Clone)]
struct Aside(Arc<Mutex<Connection>>);

impl Aside {
    /// `value` as a text, as the engine makes one of it.
    fn text(&self, value: ValueRef<'_>) -> Result<Option<Vec<u8>>> {
        let number = match value {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(octets) | ValueRef::Blob(octets) => return Ok(Some(octets.to_vec())),
            ValueRef::Integer(number) => return Ok(Some(number.to_string().into_bytes())),
            ValueRef::Real(number) => number,
        };
        let aside = lock(&self.0);
        let mut statement = aside.prepare_cached("SELECT CAST(?1 AS TEXT)")?;
        statement.query_row([number], |row| row.get::<_, String>(0)).map(|text| Some(text.into_bytes()))
    }

    /// The engine's own `name` of the arguments.
    fn call(&self, name: &str, context: &Context<'_>) -> Result<(Value, Option<std::ffi::c_uint>)> {
        let mut arguments = Vec::with_capacity(context.len());
        for at in 0..context.len() {
            // A value that is already JSON must stay JSON.
            let is_json = context.get_subtype(at) == JSON;
            arguments.push(if is_json { format!("json(?{})", at + 1) } else { format!("?{}", at + 1) });
        }
        let aside = lock(&self.0);
        let mut statement = aside.prepare_cached(&format!("SELECT {name}({})", arguments.join(", ")))?;
        for at in 0..context.len() {
            statement.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(context.get_raw(at)))?;
        }
        let mut rows = statement.raw_query();
        let value = match rows.next()? {
            None => Value::Null,
            Some(row) => match row.get_ref(0)? {
                ValueRef::Null | ValueRef::Real(_) => Value::Null,
                ValueRef::Integer(value) => Value::Integer(value),
                ValueRef::Text(octets) => Value::Text(octets.to_vec()),
                ValueRef::Blob(octets) => Value::Blob(octets.to_vec()),
            },
        };
        let subtype = matches!(value, Value::Text(_)).then_some(JSON);
        Ok((value, subtype))
    }
}

/// The subtype that the engine gives to texts that are JSON.
const JSON: std::ffi::c_uint = 'J' as std::ffi::c_uint;

/// A text, borrowed where the argument is one.
fn octets<'c>(aside: &Aside, value: ValueRef<'c>) -> Result<Option<std::borrow::Cow<'c, [u8]>>> {
    Ok(match value {
        ValueRef::Text(octets) | ValueRef::Blob(octets) => Some(octets.into()),
        other => aside.text(other)?.map(Into::into),
    })
}

fn flags() -> FunctionFlags {
    FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS
}

/// Replaces the engine's functions by those of this folder.
///
/// # Errors
/// SQLite's error.
pub(crate) fn replace(connection: &Connection, switch: &StopSwitch) -> Result<Replaced> {
    let own = Connection::open_in_memory()?;
    own.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(MOST).unwrap_or(i32::MAX))?;
    let aside = Aside(Arc::new(Mutex::new(own)));
    let scalar = |name: &str, arguments: i32, call: fn(&Aside, &dyn Fn() -> bool, &Context<'_>) -> Result<Value>| {
        let (aside, switch) = (aside.clone(), switch.clone());
        connection.create_scalar_function(name, arguments, flags(), move |context| {
            call(&aside, &|| switch.reached(), context)
        })
    };
    scalar("instr", 2, |aside, _, context| {
        let (hay, needle) = (context.get_raw(0), context.get_raw(1));
        let is_text = !matches!((hay, needle), (ValueRef::Blob(_), ValueRef::Blob(_)));
        let (Some(hay), Some(needle)) = (octets(aside, hay)?, octets(aside, needle)?) else { return Ok(Value::Null) };
        Ok(Value::Integer(text::instr(&hay, &needle, is_text)))
    })?;
    scalar("replace", 3, |aside, _, context| {
        let [text, pattern, by] = [0, 1, 2].map(|at| octets(aside, context.get_raw(at)));
        let (Some(text), Some(pattern)) = (text?, pattern?) else { return Ok(Value::Null) };
        if pattern.first().is_none_or(|first| *first == 0) {
            return Ok(Value::Text(text.into_owned()));
        }
        let Some(by) = by? else { return Ok(Value::Null) };
        text::replace(&text, &pattern, &by, MOST).map(Value::Text).ok_or_else(|| code(ffi::SQLITE_TOOBIG))
    })?;
    for arguments in [1, 2] {
        scalar("trim", arguments, |aside, stop, context| trimmed(aside, stop, context, Ends::Both))?;
        scalar("ltrim", arguments, |aside, stop, context| trimmed(aside, stop, context, Ends::Left))?;
        scalar("rtrim", arguments, |aside, stop, context| trimmed(aside, stop, context, Ends::Right))?;
    }
    scalar("unhex", 2, |aside, _, context| {
        let (hex, passed) = (octets(aside, context.get_raw(0))?, octets(aside, context.get_raw(1))?);
        let (Some(hex), Some(passed)) = (hex, passed) else { return Ok(Value::Null) };
        Ok(text::unhex(&hex, &passed).map_or(Value::Null, Value::Blob))
    })?;
    scalar("glob", 2, |aside, stop, context| matched(aside, stop, context, PatternSyntax::GLOB))?;
    json(connection, &aside)?;
    let replaced = Replaced { aside, switch: switch.clone() };
    replaced.like(connection)?;
    Ok(replaced)
}

/// The functions that were put in the place of the engine's.
pub(crate) struct Replaced {
    aside: Aside,
    switch: StopSwitch,
}

impl Replaced {
    /// Replaces the engine's `like` by ours, which cannot use an index.
    ///
    /// # Errors
    /// SQLite's error.
    pub(crate) fn like(&self, connection: &Connection) -> Result<()> {
        connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)?;
        like(connection, &self.switch, &self.aside)
    }

    /// Replaces our `like` by the engine's. It cannot be stopped, so that patterns have to be short.
    ///
    /// # Errors
    /// SQLite's error.
    pub(crate) fn engines_like(&self, connection: &Connection) -> Result<()> {
        connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100)?;
        connection.execute_batch("PRAGMA case_sensitive_like = OFF")
    }
}

fn trimmed(aside: &Aside, stop: &dyn Fn() -> bool, context: &Context<'_>, ends: Ends) -> Result<Value> {
    let Some(text) = octets(aside, context.get_raw(0))? else { return Ok(Value::Null) };
    let characters = if context.len() > 1 { octets(aside, context.get_raw(1))? } else { Some(b" ".as_slice().into()) };
    let Some(characters) = characters else { return Ok(Value::Null) };
    Ok(Value::Text(text::trim(&text, &characters, ends, stop)?.to_vec()))
}

fn matched(aside: &Aside, stop: &dyn Fn() -> bool, context: &Context<'_>, form: PatternSyntax) -> Result<Value> {
    let (pattern, text) = (octets(aside, context.get_raw(0))?, octets(aside, context.get_raw(1))?);
    if pattern.as_ref().is_some_and(|pattern| pattern.len() > LONGEST_PATTERN) {
        return Err(failure("LIKE or GLOB pattern too complex"));
    }
    let (Some(pattern), Some(text)) = (pattern, text) else { return Ok(Value::Null) };
    Ok(Value::Integer(i64::from(pattern::matches(&pattern, &text, form, stop)?)))
}

fn like(connection: &Connection, switch: &StopSwitch, aside: &Aside) -> Result<()> {
    for arguments in [2, 3] {
        let (aside, switch) = (aside.clone(), switch.clone());
        connection.create_scalar_function("like", arguments, flags(), move |context| {
            let stop = || switch.reached();
            if context.len() < 3 {
                return matched(&aside, &stop, context, PatternSyntax::LIKE);
            }
            let Some(escape) = octets(&aside, context.get_raw(2))? else { return Ok(Value::Null) };
            // The engine reads it up to its first zero.
            let escape = escape.split(|octet| *octet == 0).next().unwrap_or_default();
            let (point, next) = text::read(escape, 0);
            if escape.is_empty() || next < escape.len() {
                return Err(failure("ESCAPE expression must be a single character"));
            }
            matched(&aside, &stop, context, PatternSyntax::escaped(point))
        })?;
    }
    Ok(())
}

/// Functions of JSON that walk a document once for each path, with how many arguments belong to a path.
const PATHS: &[(&str, usize)] = &[
    ("json_extract", 1),
    ("json_remove", 1),
    ("json_set", 2),
    ("json_insert", 2),
    ("json_replace", 2),
    ("json_array_insert", 2),
    ("jsonb_extract", 1),
    ("jsonb_remove", 1),
    ("jsonb_set", 2),
    ("jsonb_insert", 2),
    ("jsonb_replace", 2),
    ("jsonb_array_insert", 2),
];
/// The number of paths with which a document of the maximal length takes less than a second; calls with fewer use
/// the engine's own function.
const FEW_PATHS: usize = 4;
/// Arguments of a function at most: that of `connect/limits.rs`.
const ARGUMENTS: usize = crate::sqlite::connect::limits::ARGUMENTS;

/// Limits the work of the engine's JSON functions within one call, which cannot be stopped.
fn json(connection: &Connection, aside: &Aside) -> Result<()> {
    let flags = flags() | FunctionFlags::SQLITE_SUBTYPE | FunctionFlags::SQLITE_RESULT_SUBTYPE;
    let length = |context: &Context<'_>, at: usize| match context.get_raw(at) {
        ValueRef::Text(octets) | ValueRef::Blob(octets) => octets.len(),
        _ => 0,
    };
    for name in ["json_patch", "jsonb_patch"] {
        let aside = aside.clone();
        connection.create_scalar_function(name, 2, flags, move |context| {
            // Each member of one is searched among those of the other, in order.
            let work = length(context, 1).saturating_mul(length(context, 0).max(length(context, 1)));
            if work > JSON_WORK * 64 {
                return Err(code(ffi::SQLITE_TOOBIG));
            }
            aside.call(name, context)
        })?;
    }
    for (name, each) in PATHS {
        let first = 1 + FEW_PATHS * each + each;
        for arguments in (first..=ARGUMENTS).step_by(*each) {
            let aside = aside.clone();
            let arguments = i32::try_from(arguments).unwrap_or(i32::MAX);
            connection.create_scalar_function(*name, arguments, flags, move |context| {
                if length(context, 0).saturating_mul(context.len() / each) > JSON_WORK {
                    return Err(code(ffi::SQLITE_TOOBIG));
                }
                aside.call(name, context)
            })?;
        }
    }
    Ok(())
}
