//! Regular expressions as PostgreSQL has them: whether a text matches one, and what is written in the place of its matches.

mod pattern;
mod replaced;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, StringArray};
use arrow_schema::DataType as ArrowType;
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::ColumnarValue;

use self::pattern::Pattern;
use self::replaced::Replacement;
use super::own::{Own, not_there, refused};

/// The function behind `~`, as PostgreSQL calls it.
pub(crate) const MATCHES: &str = "textregexeq";
/// The function behind `~*`.
pub(crate) const MATCHES_ANY_CASE: &str = "texticregexeq";

/// The functions behind the operators.
pub(super) const OPERATORS: &[Own] = &[
    Own {
        name: MATCHES,
        types: |types| of_texts(types, 2..=2, ArrowType::Boolean),
        compute: |args, rows| matched(args, rows, false),
        hint: AS_TEXT,
    },
    Own {
        name: MATCHES_ANY_CASE,
        types: |types| of_texts(types, 2..=2, ArrowType::Boolean),
        compute: |args, rows| matched(args, rows, true),
        hint: AS_TEXT,
    },
];

/// The functions.
pub(super) const FUNCTIONS: &[Own] = &[
    Own {
        name: "regexp_like",
        types: |types| of_texts(types, 2..=3, ArrowType::Boolean),
        compute: |args, rows| {
            let flags = Flags::of(args.get(2), "regexp_like")?;
            if flags.is_global {
                return Err(refused("22023", "regexp_like() does not support the \"global\" option".to_owned()));
            }
            matched(args, rows, flags.ignores_case)
        },
        hint: AS_TEXT,
    },
    Own {
        name: "regexp_replace",
        types: |types| of_texts(types, 3..=4, ArrowType::Utf8),
        compute: |args, rows| replace(args, rows),
        hint: AS_TEXT,
    },
];

const AS_TEXT: &str = "cast what is matched to text";

/// Whether the source's regular expressions mean the same by the pattern, whatever its locale.
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

/// What is said of a pattern by letters behind it.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    is_global: bool,
}

impl Flags {
    fn of(argument: Option<&ColumnarValue>, function: &str) -> EngineResult<Self> {
        let mut flags = Self::default();
        let Some(argument) = argument else { return Ok(flags) };
        for flag in literal(argument, function)?.unwrap_or_default().chars() {
            match flag {
                'i' => flags.ignores_case = true,
                'c' => flags.ignores_case = false,
                'g' => flags.is_global = true,
                's' => {}
                other => {
                    let message = format!("the flag {other:?} of {function} is not there over several connections");
                    return Err(not_there(message, "use i and g"));
                }
            }
        }
        Ok(flags)
    }
}

/// The text of a literal; `None` for NULL.
fn literal<'a>(argument: &'a ColumnarValue, function: &str) -> EngineResult<Option<&'a str>> {
    match argument {
        ColumnarValue::Scalar(text) => Ok(text.try_as_str().flatten()),
        ColumnarValue::Array(_) => {
            let what = if function == MATCHES || function == MATCHES_ANY_CASE { "a match" } else { function };
            let message =
                format!("{what} with a pattern, text or flag that is no literal is not there over several connections");
            Err(not_there(message, "write the pattern in quotes, or match on the table's own connection"))
        }
    }
}

fn matched(args: &[ColumnarValue], rows: usize, ignores_case: bool) -> EngineResult<ArrayRef> {
    let [texts, pattern, ..] = args else { return exec_err!("a match takes a text and a pattern") };
    let Some(pattern) = literal(pattern, MATCHES)? else {
        return Ok(Arc::new(BooleanArray::new_null(rows)));
    };
    let program = Pattern::read(pattern, ignores_case)?.program()?;
    let texts = texts.to_array(rows)?;
    let matched: BooleanArray =
        texts.as_string::<i32>().iter().map(|text| text.map(|text| program.is_match(text))).collect();
    Ok(Arc::new(matched))
}

fn replace(args: &[ColumnarValue], rows: usize) -> EngineResult<ArrayRef> {
    let [texts, pattern, by, flags @ ..] = args else { return exec_err!("regexp_replace takes three texts") };
    let flags_are_null = match flags.first() {
        Some(flags) => literal(flags, "regexp_replace")?.is_none(),
        None => false,
    };
    let (pattern, by) = (literal(pattern, "regexp_replace")?, literal(by, "regexp_replace")?);
    let (Some(pattern), Some(by), false) = (pattern, by, flags_are_null) else {
        return Ok(Arc::new(StringArray::new_null(rows)));
    };
    let flags = Flags::of(flags.first(), "regexp_replace")?;
    let mut replacement = Replacement::new(&Pattern::read(pattern, flags.ignores_case)?, by, flags.is_global)?;
    let texts = texts.to_array(rows)?;
    let replaced = texts.as_string::<i32>().iter().map(|text| text.map(|text| replacement.of(text)).transpose());
    Ok(Arc::new(replaced.collect::<EngineResult<StringArray>>()?))
}
