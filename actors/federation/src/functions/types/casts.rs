//! Casts with PostgreSQL's semantics where the engine's differ: which casts exist, the text form of values, and
//! rounding.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType as ArrowType, Field, FieldRef, TimeUnit};
use datafusion::arrow::compute::cast;
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, exec_err, not_impl_err};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    cast as to_type, lit, when,
};

use crate::external_error::external;
use crate::functions::numbers::common;
use crate::functions::times::time_texts::{times, with_zone, without_zone};
use crate::functions::types::categories::{TypeCategory, is_interval, no_cast, type_name};
use crate::functions::udf_macros::{own_signature, same_by};
use crate::values;
use portico_core::error::{Error, Kind};
use portico_core::reply::Cell;

/// Digits that count of a float that becomes an exact number: `DBL_DIG` and `FLT_DIG`.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;

/// Returns PostgreSQL's equivalent of a cast of the engine.
///
/// # Errors
/// `42846` for a cast that PostgreSQL does not have.
pub(crate) fn exact(expr: Expr, field: FieldRef, schema: &DFSchema) -> EngineResult<Expr> {
    let to = microseconds(field.data_type());
    // An expression without a type is refused by the coercion.
    let Ok(from) = expr.get_type(schema) else { return Ok(Expr::Cast(Cast { expr: Box::new(expr), field })) };
    if is_interval(&from) {
        return not_impl_err!("cast an interval to {}", type_name(&to));
    }
    let (Some(source), Some(target)) = (TypeCategory::from_type(&from), TypeCategory::from_type(&to)) else {
        return Ok(to_type(expr, to));
    };
    if !source.becomes(target) {
        return Err(no_cast(source, target));
    }
    Ok(match (source, target) {
        (source, TypeCategory::Text) if source.has_own_text() => to_type(TEXT.call(vec![expr]), to),
        // The engine truncates the fraction.
        (TypeCategory::Decimal, TypeCategory::SmallInt | TypeCategory::Integer | TypeCategory::BigInt) => {
            to_type(kept(expr, ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, 0)), to)
        }
        _ if narrows(&from, &to) => kept(expr, to),
        (
            TypeCategory::Real | TypeCategory::Double,
            TypeCategory::SmallInt | TypeCategory::Integer | TypeCategory::BigInt,
        ) => to_type(NEAREST.call(vec![to_type(expr, ArrowType::Float64)]), to),
        (TypeCategory::Real | TypeCategory::Double, TypeCategory::Decimal) => {
            to_type(DIGITS_OF_FLOATS.call(vec![expr]), to)
        }
        (TypeCategory::Text, TypeCategory::Time) => TIMES.call(vec![to_type(expr, ArrowType::Utf8)]),
        // A date takes no notice of a time behind it.
        (TypeCategory::Text, TypeCategory::Timestamp | TypeCategory::Date)
            if target == TypeCategory::Timestamp || has_time(&expr) =>
        {
            to_type(WITHOUT_ZONE.call(vec![to_type(expr, ArrowType::Utf8)]), to)
        }
        (TypeCategory::Text, TypeCategory::Zoned) => to_type(WITH_ZONE.call(vec![to_type(expr, ArrowType::Utf8)]), to),
        (TypeCategory::Decimal, TypeCategory::Real | TypeCategory::Double) => to_float(expr, &to),
        (TypeCategory::Text, TypeCategory::Bytes) => match &expr {
            Expr::Literal(value, metadata) if !value.is_null() => {
                let octets = octets(value.try_as_str().flatten().unwrap_or_default())?;
                Expr::Literal(ScalarValue::Binary(Some(octets)), metadata.clone())
            }
            _ => return not_impl_err!("cast a text that is not a literal to bytea"),
        },
        (TypeCategory::Double | TypeCategory::Text, TypeCategory::Real) => {
            NARROWED.call(vec![to_type(expr, ArrowType::Float64)])
        }
        _ => to_type(expr, to),
    })
}

/// Whether it is a literal with a time of day in it.
fn has_time(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.try_as_str().flatten().is_some_and(|text| text.contains(':')))
}

/// Whether values are rounded, or may have no place in the other type.
fn narrows(from: &ArrowType, to: &ArrowType) -> bool {
    match (from, to) {
        (ArrowType::Decimal128(digits, scale), ArrowType::Decimal128(most, places)) => {
            places < scale || i16::from(*most) - i16::from(*places) < i16::from(*digits) - i16::from(*scale)
        }
        (from, to) if from.is_signed_integer() && to.is_signed_integer() => {
            to.primitive_width() < from.primitive_width()
        }
        _ => false,
    }
}

/// A cast that the engine must not optimise away: it would compare the operand with a literal of the other type.
fn kept(expr: Expr, to: ArrowType) -> Expr {
    let cast = to_type(expr, to.clone());
    Conversion::function("kept", to, |array| Ok(Arc::clone(array))).call(vec![cast])
}

/// The text of a value with comparison rules of its own, to be compared as plain text.
pub(crate) fn plain_text(expr: Expr) -> Expr {
    TEXT.call(vec![expr])
}

/// The float nearest to an exact number: the engine divides two floats.
pub(crate) fn to_float(exact: Expr, to: &ArrowType) -> Expr {
    let nearest = to_type(to_type(exact, ArrowType::Utf8), ArrowType::Float64);
    if *to == ArrowType::Float32 { NARROWED.call(vec![nearest]) } else { nearest }
}

/// Converts exact numbers to the nearest floats.
pub(in crate::functions) fn to_floats(exprs: Vec<Expr>, schema: &DFSchema) -> EngineResult<Vec<Expr>> {
    let float = |expr: Expr| {
        let is_decimal = expr.get_type(schema)?.is_decimal();
        Ok(if is_decimal { to_float(expr, &ArrowType::Float64) } else { expr })
    };
    exprs.into_iter().map(float).collect()
}

/// A truth value that the engine sees no list in.
pub(crate) fn apart(truth: Expr) -> Expr {
    Conversion::function("apart", ArrowType::Boolean, |array| Ok(Arc::clone(array))).call(vec![truth])
}

/// Converts literals beside values that are not text to their type, as a cast does: the engine treats them as
/// texts, or makes the others texts.
pub(crate) fn literals_beside(exprs: Vec<Expr>, schema: &DFSchema) -> EngineResult<Vec<Expr>> {
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.data_type().is_string());
    if !exprs.iter().any(is_text) {
        return Ok(exprs);
    }
    let others = exprs.iter().filter(|expr| !is_text(expr)).filter_map(|expr| expr.get_type(schema).ok());
    let Some(type_) = type_of_literal(&others.collect::<Vec<_>>()) else { return Ok(exprs) };
    exprs.into_iter().map(|expr| if is_text(&expr) { literal_as(expr, &type_) } else { Ok(expr) }).collect()
}

/// A literal as a value of this type. Beside an exact number it is one with its own digits.
pub(in crate::functions) fn literal_as(literal: Expr, type_: &ArrowType) -> EngineResult<Expr> {
    if let (Expr::Literal(value, metadata), true) = (&literal, type_.is_decimal())
        && let Some(number) = value.try_as_str().flatten().and_then(values::exact_number)
    {
        return Ok(Expr::Literal(number, metadata.clone()));
    }
    // Only numbers without fixed digits, such as those with an exponent.
    let type_ = if type_.is_decimal() { ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, 10) } else { type_.clone() };
    exact(literal, Arc::new(Field::new("literal", type_, true)), &DFSchema::empty())
}

/// Returns the type of a literal beside values of these types, unless it is text.
pub(in crate::functions) fn type_of_literal(others: &[ArrowType]) -> Option<ArrowType> {
    let mut known = others.iter().filter(|of| !of.is_null());
    let first = known.clone().next()?;
    let is_read = |of: &ArrowType| TypeCategory::from_type(of).is_some_and(|class| class != TypeCategory::Text);
    if !known.all(is_read) {
        return None;
    }
    Some(match others.iter().find(|of| of.is_floating()) {
        Some(float) => float.clone(),
        None => common(others.iter()).unwrap_or_else(|| first.clone()),
    })
}

/// The octets of a literal in PostgreSQL's hexadecimal form.
///
/// # Errors
/// `22P02` for another form.
fn octets(text: &str) -> EngineResult<Vec<u8>> {
    let digits = text.strip_prefix("\\x").filter(|digits| digits.len() % 2 == 0 && digits.is_ascii());
    let pairs = digits.map(|digits| (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16)));
    pairs.and_then(|mut pairs| pairs.by_ref().collect::<Result<_, _>>().ok()).ok_or_else(|| {
        let message = format!("invalid input syntax for type bytea: {text:?}");
        external(Error::new(Kind::Rejected, message).sqlstate("22P02").hint("write octets as '\\x0a1b'"))
    })
}

/// PostgreSQL counts in microseconds; 64-bit nanoseconds end in the year 2262.
fn microseconds(type_: &ArrowType) -> ArrowType {
    match type_ {
        ArrowType::Timestamp(TimeUnit::Nanosecond, zone) => ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        ArrowType::Time64(_) => ArrowType::Time64(TimeUnit::Microsecond),
        other => other.clone(),
    }
}

/// Returns the text that a value is cast to.
///
/// # Errors
/// `42846` for a cast that PostgreSQL does not have.
pub(crate) fn as_text(expr: Expr, schema: &DFSchema) -> EngineResult<Expr> {
    if expr.get_type(schema).is_ok_and(|type_| type_ == ArrowType::Utf8) {
        return Ok(expr);
    }
    exact(expr, Arc::new(Field::new("text", ArrowType::Utf8, true)), schema)
}

/// Returns the text of a value as its type's output function writes it, which `concat` uses. For a boolean it
/// differs from the cast.
pub(crate) fn shown(expr: Expr, schema: &DFSchema) -> EngineResult<Expr> {
    match expr.get_type(schema).ok().as_ref().and_then(TypeCategory::from_type) {
        None | Some(TypeCategory::Text) => Ok(expr),
        Some(TypeCategory::Boolean) => when(expr.clone(), lit("t")).when(Expr::IsFalse(Box::new(expr)), lit("f")).end(),
        Some(_) => as_text(expr, schema),
    }
}

/// Returns the texts of all values of `array`, as `type::text` does.
fn texts(array: &ArrayRef) -> EngineResult<ArrayRef> {
    match TypeCategory::from_type(array.data_type()) {
        Some(category) if category.has_own_text() => {
            let texts = (0..array.len()).map(|row| written(array, row)).collect::<EngineResult<StringArray>>()?;
            Ok(Arc::new(texts))
        }
        _ => Ok(cast(array, &ArrowType::Utf8)?),
    }
}

static TEXT: LazyLock<ScalarUDF> = LazyLock::new(|| Conversion::function("text_of", ArrowType::Utf8, texts));
static NARROWED: LazyLock<ScalarUDF> = LazyLock::new(|| Conversion::function("real_of", ArrowType::Float32, narrowed));
static TIMES: LazyLock<ScalarUDF> =
    LazyLock::new(|| Conversion::function("time_of", ArrowType::Time64(TimeUnit::Microsecond), times));
static WITHOUT_ZONE: LazyLock<ScalarUDF> =
    LazyLock::new(|| Conversion::function("without_zone", ArrowType::Utf8, |array| Ok(without_zone(array))));
static WITH_ZONE: LazyLock<ScalarUDF> =
    LazyLock::new(|| Conversion::function("with_zone", ArrowType::Utf8, |array| Ok(with_zone(array))));
static NEAREST: LazyLock<ScalarUDF> =
    LazyLock::new(|| Conversion::function("nearest", ArrowType::Float64, |array| Ok(nearest(array))));
static DIGITS_OF_FLOATS: LazyLock<ScalarUDF> =
    LazyLock::new(|| Conversion::function("digits_of", ArrowType::Utf8, digits));

/// A function of one value.
#[derive(Debug)]
struct Conversion {
    name: &'static str,
    to: ArrowType,
    convert: fn(&ArrayRef) -> EngineResult<ArrayRef>,
    signature: Signature,
}

impl Conversion {
    fn function(name: &'static str, to: ArrowType, convert: fn(&ArrayRef) -> EngineResult<ArrayRef>) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self { name, to, convert, signature: Signature::any(1, Volatility::Immutable) })
    }
}

same_by!(Conversion, name);

impl ScalarUDFImpl for Conversion {
    fn name(&self) -> &'static str {
        self.name
    }

    /// The engine names a cast after its operand: two casts to different types would be confused.
    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        let args: Vec<String> = args.iter().map(|of| of.schema_name().to_string()).collect();
        Ok(format!("{}({})::{}", self.name, args.join(", "), self.to))
    }

    own_signature!();

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        match ColumnarValue::values_to_arrays(&args.args)?.as_slice() {
            [array] => Ok(ColumnarValue::Array((self.convert)(array)?)),
            _ => exec_err!("bug: {} takes one value", self.name),
        }
    }
}

/// The value in `row` as its type's output function writes it.
fn written(array: &ArrayRef, row: usize) -> EngineResult<Option<String>> {
    let cell = values::cell(array, row).map_err(external)?;
    Ok(Some(match cell {
        Cell::Null => return Ok(None),
        Cell::Float(value) => float(f64::from(value), &format!("{value:e}"), REAL_DIGITS),
        Cell::Double(value) => float(value, &format!("{value:e}"), DOUBLE_DIGITS),
        Cell::Bytes(octets) => octets.iter().fold("\\x".to_owned(), |mut text, octet| {
            let _ = write!(text, "{octet:02x}");
            text
        }),
        Cell::Text(text) => moment(&text),
        other => format!("{other:?}"),
    }))
}

/// A date or a time as PostgreSQL writes it, from its form in results (`values.rs`).
fn moment(text: &str) -> String {
    let (text, zone) = match text.strip_suffix('Z') {
        Some(text) => (text, "+00"),
        None => (text, ""),
    };
    let text = text.replace('T', " ");
    match text.split_once('-').map(|(year, rest)| (year.parse::<i64>(), rest)) {
        Some((Ok(0), rest)) => format!("0001-{rest}{zone} BC"),
        // The year of a negative one follows its sign.
        Some((Err(_), rest)) => {
            match rest.split_once('-').and_then(|(year, rest)| Some((year.parse::<i64>().ok()?, rest))) {
                Some((year, rest)) => format!("{:04}-{rest}{zone} BC", year + 1),
                None => format!("{text}{zone}"),
            }
        }
        _ => format!("{text}{zone}"),
    }
}

/// The shortest digits that mean this float (`scientific` has them), with an exponent where PostgreSQL writes one.
fn float(value: f64, scientific: &str, digits_that_count: usize) -> String {
    if !value.is_finite() {
        return match value {
            _ if value.is_nan() => "NaN",
            _ if value > 0.0 => "Infinity",
            _ => "-Infinity",
        }
        .to_owned();
    }
    let (mantissa, exponent) = parts(scientific);
    if exponent < -4 || exponent >= i32::try_from(digits_that_count).unwrap_or(i32::MAX) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    plain(scientific)
}

/// The digits that count of each float; as text, which the engine reads without loss.
fn digits(array: &ArrayRef) -> EngineResult<ArrayRef> {
    let one = |value: Option<f64>, digits_that_count: usize| match value {
        Some(value) if !value.is_finite() => {
            Err(ArrowError::ArithmeticOverflow(format!("numeric out of range: {value}")).into())
        }
        value => Ok(value.map(|value| plain(&format!("{value:.*e}", digits_that_count - 1)))),
    };
    let texts = match array.data_type() {
        ArrowType::Float32 => {
            let values = array.as_primitive::<Float32Type>().iter();
            values.map(|value| one(value.map(f64::from), REAL_DIGITS)).collect::<EngineResult<StringArray>>()?
        }
        _ => {
            let values = array.as_primitive::<Float64Type>().iter();
            values.map(|value| one(value, DOUBLE_DIGITS)).collect::<EngineResult<StringArray>>()?
        }
    };
    Ok(Arc::new(texts))
}

/// `d.ddde±x` without an exponent.
fn plain(scientific: &str) -> String {
    let (mantissa, exponent) = parts(scientific);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |mantissa| ("-", mantissa));
    let digits = mantissa.replace('.', "");
    match usize::try_from(exponent) {
        Err(_) => format!("{sign}0.{}{digits}", "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0))),
        Ok(exponent) if digits.len() <= exponent + 1 => format!("{sign}{digits:0<width$}", width = exponent + 1),
        Ok(exponent) => format!("{sign}{}.{}", &digits[..=exponent], &digits[exponent + 1..]),
    }
}

fn parts(scientific: &str) -> (&str, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

/// Converts to single precision; overflow is refused.
fn narrowed(array: &ArrayRef) -> EngineResult<ArrayRef> {
    let narrow = |value: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "what it loses is looked at")]
        let narrow = value as f32;
        let lost = match () {
            () if value.is_finite() && narrow.is_infinite() => "overflow",
            () if value != 0.0 && narrow == 0.0 => "underflow",
            () => return Ok(narrow),
        };
        Err(ArrowError::ArithmeticOverflow(format!("value out of range: {lost}")))
    };
    Ok(Arc::new(array.as_primitive::<Float64Type>().try_unary::<_, Float32Type, _>(narrow)?))
}

/// The nearest whole numbers, and of two the even one.
fn nearest(array: &ArrayRef) -> ArrayRef {
    Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even))
}
