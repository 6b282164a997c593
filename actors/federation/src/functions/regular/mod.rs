//! PostgreSQL's regular expressions: matching a text, and replacing matches.

mod pattern;
mod replaced;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, StringArray};
use arrow_schema::DataType as ArrowType;
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

use self::pattern::Pattern;
use self::replaced::Replacement;
use crate::functions::user_defined::{UserDefinedFunction, not_there, refused};
use crate::plan::plan_deadline::PlanDeadline;

/// The function behind `~`, as PostgreSQL calls it.
pub(crate) const MATCHES: &str = "textregexeq";
/// The function behind `~*`.
pub(crate) const MATCHES_ANY_CASE: &str = "texticregexeq";

/// The functions behind the operators.
pub(super) const OPERATORS: &[UserDefinedFunction] = &[
    UserDefinedFunction {
        name: MATCHES,
        types: |types| of_texts(types, 2..=2, ArrowType::Boolean),
        compute: |args| matched(args, false),
        hint: AS_TEXT,
    },
    UserDefinedFunction {
        name: MATCHES_ANY_CASE,
        types: |types| of_texts(types, 2..=2, ArrowType::Boolean),
        compute: |args| matched(args, true),
        hint: AS_TEXT,
    },
];

/// The functions.
pub(super) const FUNCTIONS: &[UserDefinedFunction] = &[
    UserDefinedFunction {
        name: "regexp_like",
        types: |types| of_texts(types, 2..=3, ArrowType::Boolean),
        compute: |args| {
            let Some(flags) = Flags::parse(args.args.get(2), "regexp_like")? else {
                return Ok(Arc::new(BooleanArray::new_null(args.number_rows)));
            };
            if flags.is_global {
                return Err(refused("22023", "regexp_like() does not support the \"global\" option".to_owned()));
            }
            matched(args, flags.ignores_case)
        },
        hint: AS_TEXT,
    },
    UserDefinedFunction {
        name: REPLACE,
        types: |types| of_texts(types, 3..=4, ArrowType::Utf8),
        compute: replace,
        hint: "give it a text, a pattern, what to write in its place and flags; cast what is matched to text",
    },
];

const REPLACE: &str = "regexp_replace";
/// Texts that are matched before the time is looked at again.
const ROWS_AT_ONCE: usize = 64;
const AS_TEXT: &str = "cast what is matched to text";

/// Whether a function is one of them, or behind one of the operators.
pub(super) fn is_one(name: &str) -> bool {
    FUNCTIONS.iter().chain(OPERATORS).any(|own| own.name == name)
}

/// Returns true if the source's regular expressions give the pattern the same meaning, whatever its locale.
pub(crate) fn is_plain(pattern: &str) -> bool {
    Pattern::read(pattern, false).is_ok_and(|pattern| pattern.is_plain)
}

fn of_texts(
    types: &[ArrowType],
    count: std::ops::RangeInclusive<usize>,
    answered: ArrowType,
) -> Option<(Vec<ArrowType>, ArrowType)> {
    let is_taken = count.contains(&types.len()) && types.iter().all(|of| of.is_string() || of.is_null());
    is_taken.then(|| (vec![ArrowType::Utf8; types.len()], answered))
}

/// The flags of a pattern.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    is_global: bool,
}

impl Flags {
    /// Returns the default flags without an argument; `None` for NULL.
    fn parse(argument: Option<&ColumnarValue>, function: &str) -> EngineResult<Option<Self>> {
        let mut flags = Self::default();
        let Some(argument) = argument else { return Ok(Some(flags)) };
        let Some(letters) = literal(argument, function)? else { return Ok(None) };
        for flag in letters.chars() {
            match flag {
                'i' => flags.ignores_case = true,
                'c' => flags.ignores_case = false,
                'g' => flags.is_global = true,
                's' => {}
                other => {
                    let message = format!("the flag {other:?} of {function} is not supported over several connections");
                    return Err(not_there(message, "use i and g"));
                }
            }
        }
        Ok(Some(flags))
    }
}

/// Returns the text of a literal; `None` for NULL.
fn literal<'a>(argument: &'a ColumnarValue, function: &str) -> EngineResult<Option<&'a str>> {
    match argument {
        ColumnarValue::Scalar(text) => Ok(text.try_as_str().flatten()),
        ColumnarValue::Array(_) => {
            let what = if function == MATCHES || function == MATCHES_ANY_CASE { "a match" } else { function };
            let message = format!(
                "{what} with a pattern, text or flag that is not a literal is not supported over several \
                 connections"
            );
            Err(not_there(message, "write the pattern in quotes, or match on the table's own connection"))
        }
    }
}

/// Applies `of` to each of the texts, until the statement's timeout.
fn each<T>(
    texts: &ArrayRef,
    args: &ScalarFunctionArgs,
    mut of: impl FnMut(&str) -> EngineResult<T>,
) -> EngineResult<Vec<Option<T>>> {
    let texts = texts.as_string::<i32>().iter().enumerate().map(|(row, text)| {
        if row.is_multiple_of(ROWS_AT_ONCE) {
            PlanDeadline::check(&args.config_options)?;
        }
        text.map(&mut of).transpose()
    });
    texts.collect()
}

fn matched(args: &ScalarFunctionArgs, ignores_case: bool) -> EngineResult<ArrayRef> {
    let [texts, pattern, ..] = args.args.as_slice() else { return exec_err!("a match takes a text and a pattern") };
    let Some(pattern) = literal(pattern, MATCHES)? else {
        return Ok(Arc::new(BooleanArray::new_null(args.number_rows)));
    };
    let program = Pattern::read(pattern, ignores_case)?.program()?;
    let texts = texts.to_array(args.number_rows)?;
    Ok(Arc::new(BooleanArray::from(each(&texts, args, |text| Ok(program.is_match(text)))?)))
}

fn replace(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let [texts, pattern, by, flags @ ..] = args.args.as_slice() else {
        return exec_err!("regexp_replace takes three texts");
    };
    let (pattern, by) = (literal(pattern, REPLACE)?, literal(by, REPLACE)?);
    let (Some(pattern), Some(by), Some(flags)) = (pattern, by, Flags::parse(flags.first(), REPLACE)?) else {
        return Ok(Arc::new(StringArray::new_null(args.number_rows)));
    };
    let mut replacement = Replacement::new(&Pattern::read(pattern, flags.ignores_case)?, by, flags.is_global)?;
    let texts = texts.to_array(args.number_rows)?;
    Ok(Arc::new(StringArray::from(each(&texts, args, |text| {
        replacement.replace(text, || PlanDeadline::check(&args.config_options))
    })?)))
}
