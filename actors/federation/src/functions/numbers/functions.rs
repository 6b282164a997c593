//! Operators as functions: sums, differences and products of exact numbers that fail on overflow, and quotients.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType as ArrowType};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::common::{DataFusionError, Result as EngineResult, exec_err, not_impl_err};
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::functions::udf_macros::own_signature;

/// The fractional digits of a quotient, of 38 digits in all: PostgreSQL returns at least 16 significant ones.
pub(crate) const SCALE: i8 = 20;
/// Digits of an exact number that is only compared.
const MOST_DIGITS: u8 = 76;
/// Digits of an exact number.
pub(crate) const DIGITS: u8 = 38;

/// An operator on exact numbers that refuses to overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Checked {
    Plus,
    Minus,
    Times,
}

impl Checked {
    /// Returns the operator with this function name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Plus, Self::Minus, Self::Times].into_iter().find(|operator| operator.name() == name)
    }

    /// As SQL writes it.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plus => "checked_plus",
            Self::Minus => "checked_minus",
            Self::Times => "checked_times",
        }
    }
}

static PLUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(Exact::function(Checked::Plus)));
static MINUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(Exact::function(Checked::Minus)));
static TIMES: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(Exact::function(Checked::Times)));
static QUOTIENT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(Quotient { signature: Signature::user_defined(Volatility::Immutable) }))
});

/// The function of an operator on exact numbers.
pub(crate) fn checked(operator: Operator) -> Option<Arc<ScalarUDF>> {
    Some(Arc::clone(match operator {
        Operator::Plus => &PLUS,
        Operator::Minus => &MINUS,
        Operator::Multiply => &TIMES,
        _ => return None,
    }))
}

/// Returns a name of a call whose length does not depend on its operands.
pub(super) fn hashed_name(function: &str, args: &[Expr]) -> String {
    let mut hasher = DefaultHasher::new();
    args.hash(&mut hasher);
    format!("{function}({:016x})", hasher.finish())
}

/// The function that divides exact numbers.
pub(crate) fn quotient() -> Arc<ScalarUDF> {
    Arc::clone(&QUOTIENT)
}

/// Whether values of this type are exact numbers.
pub(crate) fn is_exact(type_: &ArrowType) -> bool {
    type_.is_integer() || type_.is_decimal()
}

/// The exact number that a value of this type is.
pub(crate) fn as_exact(type_: &ArrowType) -> ArrowType {
    match type_ {
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::UInt8 => ArrowType::Decimal128(5, 0),
        ArrowType::Int32 | ArrowType::UInt16 => ArrowType::Decimal128(10, 0),
        ArrowType::Int64 | ArrowType::UInt32 => ArrowType::Decimal128(19, 0),
        ArrowType::UInt64 => ArrowType::Decimal128(20, 0),
        ArrowType::Decimal256(_, scale) => ArrowType::Decimal128(DIGITS, *scale),
        other => other.clone(),
    }
}

/// Returns the common type of exact numbers of several types; `None` if they have one type, or some are not exact.
pub(crate) fn common<'a>(types: impl Iterator<Item = &'a ArrowType> + Clone) -> Option<ArrowType> {
    let known = || types.clone().filter(|of| !of.is_null());
    let first = known().next()?;
    let are_mixed = known().all(is_exact) && known().any(|of| of != first);
    are_mixed.then(|| known().try_fold(first.clone(), |common, of| type_union_coercion(&common, of)))?
}

/// Returns the type in which exact numbers of these types are compared if 38 digits are not enough.
pub(crate) fn wider<'a>(types: impl Iterator<Item = &'a ArrowType>) -> Option<ArrowType> {
    let (mut whole, mut scale) = (0, 0);
    for type_ in types {
        let (ArrowType::Decimal128(digits, behind) | ArrowType::Decimal256(digits, behind)) = (match type_ {
            ArrowType::Decimal256(..) => type_.clone(),
            other => as_exact(other),
        }) else {
            return None;
        };
        (whole, scale) = (whole.max(i16::from(digits) - i16::from(behind)), scale.max(behind));
    }
    let digits = u8::try_from(whole + i16::from(scale)).ok()?;
    (digits > DIGITS).then_some(ArrowType::Decimal256(digits.min(MOST_DIGITS), scale))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    operator: Checked,
    signature: Signature,
}

impl Exact {
    fn function(operator: Checked) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self { operator, signature: Signature::user_defined(Volatility::Immutable) })
    }
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        self.operator.name()
    }

    /// In a chain of them each call asks for its name to determine its type: names that contain all operands would
    /// take cubic time. Columns keep the names that they were planned with.
    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        Ok(hashed_name(self.name(), args))
    }

    own_signature!();

    /// The wider type, for both; beside a decimal number the other becomes decimal too.
    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        if types.iter().any(ArrowType::is_decimal) {
            return Ok(types.iter().map(as_exact).collect());
        }
        let wider = types.iter().max_by_key(|of| of.primitive_width());
        wider.map_or_else(
            || exec_err!("bug: {} has no argument", self.name()),
            |wider| Ok(vec![wider.clone(); types.len()]),
        )
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        match types {
            [ArrowType::Decimal128(of_left, left), ArrowType::Decimal128(of_right, right)] => {
                let (digits, scale) = match self.operator {
                    Checked::Times => {
                        (i16::from(*of_left) + i16::from(*of_right) + 1, i16::from(*left) + i16::from(*right))
                    }
                    Checked::Plus | Checked::Minus => {
                        let whole = |digits: u8, scale: i8| i16::from(digits) - i16::from(scale);
                        let scale = i16::from(*left.max(right));
                        (whole(*of_left, *left).max(whole(*of_right, *right)) + scale + 1, scale)
                    }
                };
                match (u8::try_from(digits.min(DIGITS.into())), i8::try_from(scale)) {
                    (Ok(digits), Ok(scale)) if scale <= DIGITS.cast_signed() => {
                        Ok(ArrowType::Decimal128(digits, scale))
                    }
                    _ => not_impl_err!("a product with more than {DIGITS} digits behind the point"),
                }
            }
            [one, other] if one == other => Ok(one.clone()),
            _ => exec_err!("bug: {} got values of two types", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let kernel = match self.operator {
            Checked::Plus => numeric::add,
            Checked::Minus => numeric::sub,
            Checked::Times => numeric::mul,
        };
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else { return exec_err!("{} takes two values", self.name()) };
        let result = kernel(left, right).map_err(|error| out_of_range(error, args.return_type()))?;
        let ArrowType::Decimal128(digits, scale) = *args.return_type() else { return Ok(ColumnarValue::Array(result)) };
        let result = result.as_primitive::<Decimal128Type>();
        // The kernels look at the room of 128 bits alone.
        if digits == DIGITS && result.iter().flatten().any(|value| value.unsigned_abs() >= 10_u128.pow(DIGITS.into())) {
            return Err(ArrowError::ArithmeticOverflow("numeric out of range".to_owned()).into());
        }
        Ok(ColumnarValue::Array(Arc::new(result.clone().with_precision_and_scale(digits, scale)?)))
    }
}

fn out_of_range(error: ArrowError, type_: &ArrowType) -> DataFusionError {
    let name = match type_ {
        ArrowType::Int16 => "smallint",
        ArrowType::Int32 => "integer",
        ArrowType::Int64 => "bigint",
        _ => "numeric",
    };
    match error {
        ArrowError::ArithmeticOverflow(_) => ArrowError::ArithmeticOverflow(format!("{name} out of range")).into(),
        other => other.into(),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quotient {
    signature: Signature,
}

impl ScalarUDFImpl for Quotient {
    fn name(&self) -> &'static str {
        "quotient"
    }

    /// As of the other operators.
    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        Ok(hashed_name(self.name(), args))
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        let exact = |of: &ArrowType| if of.is_integer() { ArrowType::Decimal128(DIGITS, 0) } else { of.clone() };
        Ok(types.iter().map(exact).collect())
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(ArrowType::Decimal128(DIGITS, SCALE))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else { return exec_err!("bug: a quotient takes two values") };
        let ((left, of_left), (right, of_right)) = (digits(left)?, digits(right)?);
        let mut quotients = Vec::with_capacity(left.len());
        for pair in left.iter().zip(&right) {
            quotients.push(match pair {
                (Some(left), Some(right)) => Some(divide(*left, *right, of_left, of_right)?),
                _ => None,
            });
        }
        let quotients = Decimal128Array::from(quotients).with_precision_and_scale(DIGITS, SCALE)?;
        Ok(ColumnarValue::Array(Arc::new(quotients)))
    }
}

/// The digits of exact numbers, and how many of them are behind the point.
fn digits(array: &ArrayRef) -> EngineResult<(Vec<Option<i256>>, i8)> {
    Ok(match array.data_type() {
        ArrowType::Decimal128(_, scale) => {
            (array.as_primitive::<Decimal128Type>().iter().map(|value| value.map(i256::from_i128)).collect(), *scale)
        }
        ArrowType::Decimal256(_, scale) => (array.as_primitive::<Decimal256Type>().iter().collect(), *scale),
        other => return exec_err!("bug: a quotient got values of type {other}"),
    })
}

/// Rounded half away from zero.
fn divide(left: i256, right: i256, of_left: i8, of_right: i8) -> EngineResult<i128> {
    if right == i256::ZERO {
        return Err(ArrowError::DivideByZero.into());
    }
    let overflow = || DataFusionError::from(ArrowError::ArithmeticOverflow("numeric out of range".to_owned()));
    // left / 10^a ÷ (right / 10^b) × 10^s = left × 10^(s + b − a) ÷ right
    let shift = i32::from(SCALE) + i32::from(of_right) - i32::from(of_left);
    let power = i256::from_i128(10).checked_pow(shift.unsigned_abs()).ok_or_else(overflow)?;
    let (left, right) = if shift >= 0 {
        (left.checked_mul(power).ok_or_else(overflow)?, right)
    } else {
        (left, right.checked_mul(power).ok_or_else(overflow)?)
    };
    rounded(left, right).ok_or_else(overflow)
}

/// Returns `left` ÷ `right`, rounded half away from zero; `None` on overflow.
pub(crate) fn rounded(left: i256, right: i256) -> Option<i128> {
    let (quotient, rest) = (left.checked_div(right)?, left.checked_rem(right)?);
    let (twice, divisor) = (rest.checked_abs()?.checked_mul(i256::from_i128(2))?, right.checked_abs()?);
    let away = i128::from(twice >= divisor);
    let sign = if (left < i256::ZERO) == (right < i256::ZERO) { 1 } else { -1 };
    let rounded = quotient.to_i128()?.checked_add(away * sign)?;
    (rounded.unsigned_abs() < 10_u128.pow(DIGITS.into())).then_some(rounded)
}

/// A value as the type that a result has.
pub(super) fn as_decimal(array: &ArrayRef, scale: i8) -> EngineResult<ArrayRef> {
    Ok(cast(array, &ArrowType::Decimal128(DIGITS, scale))?)
}
