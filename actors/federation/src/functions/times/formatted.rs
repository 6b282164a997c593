//! `to_char` of dates and times, for the parts of its patterns that are the same in every locale.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{ArrowError, DataType as ArrowType, TimeUnit};
use chrono::{Datelike, NaiveDateTime, Timelike};
use datafusion::arrow::compute::cast;
use datafusion::arrow::temporal_conversions::{date32_to_datetime, timestamp_us_to_datetime};
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::external_error::external;
use crate::functions::types::categories::no_function;
use crate::functions::udf_macros::own_signature;
use portico_core::error::{Error, Kind};

/// Its name.
pub(crate) const NAME: &str = "to_char";
/// Characters of a pattern at most: each row has as many.
const MOST_CHARACTERS: usize = 256;
/// Names of months and days are filled up with blanks to so many characters.
const WIDTH: usize = 9;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// What a part of a pattern writes.
#[derive(Clone, Copy, Debug)]
enum PatternPart {
    /// A number, filled up to so many digits.
    Number(fn(NaiveDateTime) -> u32, usize),
    /// Parts of a second, of so many nanoseconds each. They are always filled up.
    Fraction(u32, usize),
    /// A name, filled up to so many characters.
    Name(fn(NaiveDateTime) -> &'static str, usize),
    /// Which half of the day it is.
    Half,
}

/// The parts by their names in upper case. If one is a prefix of another, the longer one comes first.
const PARTS: &[(&str, PatternPart)] = &[
    ("YYYY", PatternPart::Number(|at| era(at.year()), 4)),
    ("YY", PatternPart::Number(|at| era(at.year()) % 100, 2)),
    ("IYYY", PatternPart::Number(|at| era(at.iso_week().year()), 4)),
    ("IW", PatternPart::Number(|at| at.iso_week().week(), 2)),
    ("IDDD", PatternPart::Number(|at| at.iso_week().week0() * 7 + at.weekday().number_from_monday(), 3)),
    ("ID", PatternPart::Number(|at| at.weekday().number_from_monday(), 1)),
    ("Q", PatternPart::Number(|at| at.month0() / 3 + 1, 1)),
    ("MONTH", PatternPart::Name(month, WIDTH)),
    ("MON", PatternPart::Name(|at| short(month(at)), 0)),
    ("MM", PatternPart::Number(|at| at.month(), 2)),
    ("MI", PatternPart::Number(|at| at.minute(), 2)),
    ("MS", PatternPart::Fraction(1_000_000, 3)),
    ("WW", PatternPart::Number(|at| at.ordinal0() / 7 + 1, 2)),
    ("DAY", PatternPart::Name(day, WIDTH)),
    ("DY", PatternPart::Name(|at| short(day(at)), 0)),
    ("DDD", PatternPart::Number(|at| at.ordinal(), 3)),
    ("DD", PatternPart::Number(|at| at.day(), 2)),
    ("D", PatternPart::Number(|at| at.weekday().number_from_sunday(), 1)),
    ("HH24", PatternPart::Number(|at| at.hour(), 2)),
    ("HH12", PatternPart::Number(|at| at.hour12().1, 2)),
    ("HH", PatternPart::Number(|at| at.hour12().1, 2)),
    ("SS", PatternPart::Number(|at| at.second(), 2)),
    ("US", PatternPart::Fraction(1_000, 6)),
    ("AM", PatternPart::Half),
    ("PM", PatternPart::Half),
];

/// In which letters a name is written.
#[derive(Clone, Copy, Debug)]
enum Letters {
    Capital,
    Small,
    Name,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// A part, in its letters, and whether it is not filled up.
    PatternPart(PatternPart, Letters, bool),
}

/// The function.
pub(crate) fn to_char() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(ToChar { signature: Signature::user_defined(Volatility::Immutable) }))
}

/// Splits `pattern` into its pieces; `None` if it has an unsupported one.
fn pieces(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            let (quoted, behind) = rest.get(1..)?.split_once('"')?;
            pieces.push(Piece::Text(quoted.to_owned()));
            rest = behind;
            continue;
        }
        if first == '\\' {
            return None;
        }
        if !first.is_ascii_alphabetic() {
            pieces.push(Piece::Text(first.to_string()));
            rest = rest.get(first.len_utf8()..)?;
            continue;
        }
        let bare = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm"));
        let at = bare.unwrap_or(rest);
        let (word, part, letters) = PARTS.iter().find_map(|(word, part)| {
            let written = at.get(..word.len())?;
            let small = word.to_lowercase();
            let is_name = matches!(part, PatternPart::Name(..));
            let letters = if written == *word {
                Letters::Capital
            } else if written == small {
                Letters::Small
            } else if is_name && written.get(..1)? == word.get(..1)? && written.get(1..)? == small.get(1..)? {
                Letters::Name
            } else {
                return None;
            };
            Some((*word, *part, letters))
        })?;
        pieces.push(Piece::PatternPart(part, letters, bare.is_some()));
        rest = at.get(word.len()..)?;
        // `SSSS` and `YYY` are other parts, `DDth` has a suffix.
        let goes_on = rest.starts_with(|next: char| word.ends_with(next.to_ascii_uppercase()));
        if goes_on && matches!(word, "SS" | "YY" | "YYYY") {
            return None;
        }
    }
    Some(pieces)
}

impl Piece {
    fn write(&self, at: NaiveDateTime, out: &mut String) {
        let (part, letters, is_bare) = match self {
            Self::Text(text) => return out.push_str(text),
            Self::PatternPart(part, letters, is_bare) => (*part, *letters, *is_bare),
        };
        // Writing to a String cannot fail.
        let _ = match part {
            PatternPart::Number(of, digits) => number(out, of(at), digits, is_bare),
            PatternPart::Fraction(nanoseconds, digits) => number(out, at.nanosecond() / nanoseconds, digits, false),
            PatternPart::Name(of, width) => name(out, of(at), letters, if is_bare { 0 } else { width }),
            PatternPart::Half => name(out, if at.hour12().0 { "PM" } else { "AM" }, letters, 0),
        };
    }
}

/// A year without its era: the year before the first is the first of the other one.
fn era(year: i32) -> u32 {
    if year > 0 { year.unsigned_abs() } else { year.unsigned_abs() + 1 }
}

fn month(at: NaiveDateTime) -> &'static str {
    usize::try_from(at.month0()).ok().and_then(|place| MONTHS.get(place)).copied().unwrap_or_default()
}

fn day(at: NaiveDateTime) -> &'static str {
    let place = usize::try_from(at.weekday().num_days_from_sunday()).ok();
    place.and_then(|place| DAYS.get(place)).copied().unwrap_or_default()
}

fn short(name: &'static str) -> &'static str {
    name.get(..3).unwrap_or_default()
}

fn number(out: &mut String, number: u32, digits: usize, is_bare: bool) -> std::fmt::Result {
    if is_bare { write!(out, "{number}") } else { write!(out, "{number:0digits$}") }
}

fn name(out: &mut String, name: &str, letters: Letters, width: usize) -> std::fmt::Result {
    match letters {
        Letters::Capital => write!(out, "{:width$}", name.to_uppercase()),
        Letters::Small => write!(out, "{:width$}", name.to_lowercase()),
        Letters::Name => write!(out, "{name:width$}"),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToChar {
    signature: Signature,
}

/// The type that is written: numbers have patterns of their own, which are not there.
fn written(type_: &ArrowType) -> EngineResult<ArrowType> {
    match type_ {
        ArrowType::Date32 => Ok(ArrowType::Date32),
        ArrowType::Timestamp(_, zone) => Ok(ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone())),
        other => {
            Err(no_function(NAME, std::slice::from_ref(other), "write dates and timestamps with it, and round numbers"))
        }
    }
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &'static str {
        NAME
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        match types {
            // Other types are left as they are, and refused under their name.
            [of, _] => Ok(vec![written(of).unwrap_or_else(|_| of.clone()), ArrowType::Utf8]),
            _ => exec_err!("to_char takes a value and a pattern"),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        types.first().map(written).transpose()?;
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let [value, ColumnarValue::Scalar(pattern)] = args.args.as_slice() else {
            return Err(no_pattern("is not a literal"));
        };
        let array = value.to_array(args.number_rows)?;
        // An empty pattern results in NULL.
        let Some(pattern) = pattern.try_as_str().flatten().filter(|pattern| !pattern.is_empty()) else {
            return Ok(ColumnarValue::Array(Arc::new(StringArray::new_null(array.len()))));
        };
        if pattern.chars().count() > MOST_CHARACTERS {
            return Err(no_pattern("has more than 256 characters"));
        }
        let pieces =
            pieces(pattern).ok_or_else(|| no_pattern("has a part that is not supported over several connections"))?;
        let array = cast(&array, &written(array.data_type())?)?;
        Ok(ColumnarValue::Array(texts(&array, &pieces)?))
    }
}

fn texts(array: &ArrayRef, pieces: &[Piece]) -> EngineResult<ArrayRef> {
    let text = |at: Option<NaiveDateTime>| {
        let at = at.ok_or_else(|| ArrowError::ComputeError("a date out of range".to_owned()))?;
        let mut out = String::new();
        for piece in pieces {
            piece.write(at, &mut out);
        }
        Ok::<_, ArrowError>(out)
    };
    let texts = if *array.data_type() == ArrowType::Date32 {
        let days = array.as_primitive::<Date32Type>();
        days.iter().map(|days| days.map(|days| text(date32_to_datetime(days))).transpose()).collect()
    } else {
        let times = array.as_primitive::<TimestampMicrosecondType>();
        times.iter().map(|time| time.map(|time| text(timestamp_us_to_datetime(time))).transpose()).collect()
    };
    let texts: Result<StringArray, ArrowError> = texts;
    Ok(Arc::new(texts?))
}

fn no_pattern(what: &str) -> datafusion::error::DataFusionError {
    let hint = "use YYYY, YY, IYYY, Q, MM, Month, Mon, IW, WW, DD, DDD, D, ID, Day, Dy, HH24, HH12, MI, SS, MS, US and AM, \
                with FM in front where nothing is to be filled up, and other letters in double quotes";
    let message = format!("to_char: the pattern {what}");
    external(Error::new(Kind::Rejected, message).sqlstate("0A000").hint(hint))
}
