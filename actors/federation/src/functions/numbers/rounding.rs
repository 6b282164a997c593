//! Rounding as PostgreSQL has it: of exact numbers half away from zero and with as many digits behind the point as are
//! asked for, of floats half to even.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef};
use datafusion::arrow::compute::cast;
use datafusion::common::{Result as EngineResult, ScalarValue, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::external_error::external;
use crate::functions::numbers::functions::{DIGITS, rounded};
use crate::functions::types::categories::no_function;
use crate::functions::udf_macros::own_signature;
use portico_core::error::Error;

/// In which direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Mode {
    Nearest,
    TowardsZero,
    Up,
    Down,
}

/// The names of the functions that round.
pub(crate) const NAMES: [&str; 4] = ["ceil", "floor", "round", "trunc"];

/// The functions that round.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    vec![
        function(Mode::Nearest, &["round"]),
        towards_zero(),
        function(Mode::Up, &["ceil", "ceiling"]),
        function(Mode::Down, &["floor"]),
    ]
}

/// The function that leaves digits out.
pub(crate) fn towards_zero() -> Arc<ScalarUDF> {
    function(Mode::TowardsZero, &["trunc"])
}

fn function(mode: Mode, names: &[&str]) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Arc::new(ScalarUDF::new_from_impl(Rounding { mode, names, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Rounding {
    mode: Mode,
    names: Vec<String>,
    signature: Signature,
}

impl Rounding {
    /// Returns the number of fractional digits, or a negative one for digits before the point, from a literal.
    fn digits(&self, digits: Option<&ScalarValue>) -> EngineResult<i8> {
        let digits = match digits {
            Some(ScalarValue::Int32(Some(digits))) => i8::try_from(*digits).ok(),
            Some(ScalarValue::Int64(Some(digits))) => i8::try_from(*digits).ok(),
            _ => None,
        };
        digits.filter(|digits| (-DIGITS.cast_signed()..=DIGITS.cast_signed()).contains(digits)).ok_or_else(|| {
            let name = self.name();
            external(
                Error::invalid(format!(
                    "query: {name}(…, digits) over several connections takes a literal number from -38 to 38"
                ))
                .hint("write the number of digits"),
            )
        })
    }

    fn round(&self, values: &ArrayRef, to: i8) -> EngineResult<ArrayRef> {
        let ArrowType::Decimal128(_, from) = *values.data_type() else {
            let floats = values.as_primitive::<Float64Type>();
            return Ok(Arc::new(floats.unary::<_, Float64Type>(match self.mode {
                Mode::Nearest => f64::round_ties_even,
                Mode::TowardsZero => f64::trunc,
                Mode::Up => f64::ceil,
                Mode::Down => f64::floor,
            })));
        };
        let out = || ArrowError::ArithmeticOverflow("numeric out of range".to_owned());
        let power = |digits: i8| i256::from_i128(10).checked_pow(u32::from(digits.unsigned_abs())).ok_or_else(out);
        let (more, less) = (power((to - from).max(0))?, power((from - to).max(0))?);
        let zeros = 10_i128.checked_pow(u32::from((-to).max(0).unsigned_abs())).ok_or_else(out)?;
        let is_within = |whole: &i128| whole.unsigned_abs() < 10_u128.pow(DIGITS.into());
        let one = |value: i128| {
            let value = i256::from_i128(value).checked_mul(more)?;
            if self.mode == Mode::Nearest {
                return rounded(value, less)?.checked_mul(zeros).filter(is_within);
            }
            let (whole, rest) = (value.checked_div(less)?.to_i128()?, value.checked_rem(less)?);
            let step = match self.mode {
                Mode::Up => i128::from(rest > i256::ZERO),
                Mode::Down => -i128::from(rest < i256::ZERO),
                _ => 0,
            };
            (whole + step).checked_mul(zeros).filter(is_within)
        };
        let values = values.as_primitive::<Decimal128Type>();
        let rounded: Decimal128Array = values.try_unary(|value| one(value).ok_or_else(out))?;
        Ok(Arc::new(rounded.with_precision_and_scale(DIGITS, to.max(0))?))
    }
}

impl ScalarUDFImpl for Rounding {
    fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    fn aliases(&self) -> &[String] {
        self.names.get(1..).unwrap_or_default()
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        let takes_digits = matches!(self.mode, Mode::Nearest | Mode::TowardsZero);
        match types {
            [of @ ArrowType::Decimal128(..)] => Ok(vec![of.clone()]),
            // Whole numbers become floats there too.
            [of] if of.is_integer() || of.is_floating() || of.is_null() => Ok(vec![ArrowType::Float64]),
            [of @ ArrowType::Decimal128(..), digits] if takes_digits && digits.is_integer() => {
                Ok(vec![of.clone(), digits.clone()])
            }
            [of, digits] if takes_digits && of.is_integer() && digits.is_integer() => {
                Ok(vec![ArrowType::Decimal128(DIGITS, 0), digits.clone()])
            }
            // It is refused with its type.
            other => Ok(other.to_vec()),
        }
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        internal_err!("bug: the type of a rounded number is asked for without the digits")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> EngineResult<FieldRef> {
        let type_ = match args.arg_fields {
            [of] if matches!(of.data_type(), ArrowType::Decimal128(..)) => ArrowType::Decimal128(DIGITS, 0),
            [of] if *of.data_type() == ArrowType::Float64 => ArrowType::Float64,
            // An average of whole numbers is a float until it is ours.
            [of, digits]
                if (matches!(of.data_type(), ArrowType::Decimal128(..)) || of.data_type().is_floating())
                    && digits.data_type().is_integer() =>
            {
                let digits = self.digits(args.scalar_arguments.get(1).copied().flatten())?;
                ArrowType::Decimal128(DIGITS, digits.max(0))
            }
            given @ [_, ..] => {
                let hint = "cast its argument to numeric, of at most 38 digits, or leave the digits out";
                let types: Vec<ArrowType> = given.iter().map(|field| field.data_type().clone()).collect();
                return Err(no_function(self.name(), &types, hint));
            }
            [] => return plan_err!("function {} takes a value", self.name()),
        };
        Ok(Arc::new(Field::new(self.name(), type_, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let digits = match args.args.get(1) {
            Some(ColumnarValue::Scalar(digits)) => self.digits(Some(digits))?,
            _ => 0,
        };
        match args.args.first() {
            Some(value) => {
                let values = value.to_array(args.number_rows)?;
                let values = if values.data_type().is_decimal() { values } else { cast(&values, &ArrowType::Float64)? };
                Ok(ColumnarValue::Array(self.round(&values, digits)?))
            }
            None => exec_err!("{} takes a value", self.name()),
        }
    }
}
