//! Functions and operators of floats that fail for undefined results, as in PostgreSQL: the engine returns infinity
//! or NaN.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::common::{DFSchema, DataFusionError, Result as EngineResult, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use crate::functions::numbers::functions::{DIGITS, SCALE, hashed_name};
use crate::functions::numbers::root;
use crate::functions::types::categories::{AS_DOUBLE, no_function};
use crate::functions::udf_macros::{of_inner, own_signature};
use crate::functions::user_defined::refused;

/// Functions that compute with floats of double precision alone, as the engine calls them, with how many arguments.
const FUNCTIONS: &[(&str, usize)] = &[
    ("acos", 1),
    ("acosh", 1),
    ("asin", 1),
    ("asinh", 1),
    ("atan", 1),
    ("atan2", 2),
    ("atanh", 1),
    ("cbrt", 1),
    ("cos", 1),
    ("cosh", 1),
    ("cot", 1),
    ("degrees", 1),
    ("exp", 1),
    ("ln", 1),
    ("log10", 1),
    ("power", 2),
    ("radians", 1),
    ("sin", 1),
    ("sinh", 1),
    ("sqrt", 1),
    ("tan", 1),
    ("tanh", 1),
];

/// The functions that PostgreSQL has for exact numbers too.
const EXACT: &[&str] = &["exp", "ln", "log10", "power", "sqrt"];
/// The functions that have no value for some numbers, and codes of their own for that.
const PARTIAL: &[&str] = &["ln", "log10", "power", "sqrt"];
/// The functions for which PostgreSQL refuses to answer infinity.
const FINITE: &[&str] = &["degrees", "exp", "ln", "log10", "power"];

/// The names of the functions.
pub(crate) fn names() -> Vec<&'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name).collect()
}

/// Whether a function is one of them.
pub(crate) fn is_one(name: &str) -> bool {
    FUNCTIONS.iter().any(|(one, _)| *one == name)
}

/// The function, with its results looked at.
pub(crate) fn checked(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Checked { inner, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

fn out_of_range(what: &str) -> DataFusionError {
    ArrowError::ArithmeticOverflow(format!("value out of range: {what}")).into()
}

impl ScalarUDFImpl for Checked {
    of_inner! { name aliases }

    own_signature!();

    /// Other types are left as they are, and refused under their name.
    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        // PostgreSQL's of exact numbers have as many digits as it takes.
        let is_exact = EXACT.contains(&self.name())
            && types.iter().any(ArrowType::is_decimal)
            && !types.iter().any(ArrowType::is_floating);
        let taken = |of: &ArrowType| match of {
            of if of.is_decimal() && is_exact => of.clone(),
            of if of.is_numeric() || of.is_null() => ArrowType::Float64,
            of => of.clone(),
        };
        Ok(types.iter().map(taken).collect())
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> EngineResult<FieldRef> {
        let count = FUNCTIONS.iter().find(|(name, _)| *name == self.name()).map_or(0, |(_, count)| *count);
        let types: Vec<ArrowType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        if let [of] = types.as_slice()
            && self.is_exact_root(of)
        {
            return Ok(Arc::new(Field::new(self.name(), ArrowType::Decimal128(DIGITS, SCALE), true)));
        }
        match types.iter().find(|of| **of != ArrowType::Float64) {
            Some(of) => Err(no_function(self.name(), std::slice::from_ref(of), AS_DOUBLE)),
            None if types.len() == count => Ok(Arc::new(Field::new(self.name(), ArrowType::Float64, true))),
            None => plan_err!("function {} takes {count} values", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let given = ColumnarValue::values_to_arrays(&args.args)?;
        if let [numbers] = given.as_slice()
            && self.is_exact_root(numbers.data_type())
        {
            return Ok(ColumnarValue::Array(root::roots(numbers)?));
        }
        let given = given.iter().map(|array| cast(array, &ArrowType::Float64)).collect::<Result<Vec<_>, _>>()?;
        self.look_at_domain(&given)?;
        let result = self.inner.invoke_with_args(args)?;
        self.check(&result.to_array(1)?, &given)?;
        Ok(result)
    }
}

impl Checked {
    /// Whether it is the square root of an exact number.
    fn is_exact_root(&self, of: &ArrowType) -> bool {
        self.name() == "sqrt" && matches!(of, ArrowType::Decimal128(..))
    }

    /// Returns PostgreSQL's error for a value outside of the function's domain.
    fn outside(&self, first: f64, second: Option<f64>) -> Option<DataFusionError> {
        let (sqlstate, message) = match (self.name(), second) {
            ("ln" | "log10", _) if first == 0.0 => ("2201E", "cannot take logarithm of zero"),
            ("ln" | "log10", _) if first < 0.0 => ("2201E", "cannot take logarithm of a negative number"),
            ("sqrt", _) if first < 0.0 => ("2201F", "cannot take square root of a negative number"),
            ("power", Some(by)) if first == 0.0 && by < 0.0 => {
                ("2201F", "zero raised to a negative power is undefined")
            }
            ("power", Some(by)) if first < 0.0 && by.is_finite() && by.fract() != 0.0 => {
                ("2201F", "a negative number raised to a non-integer power yields a complex result")
            }
            _ => return None,
        };
        Some(refused(sqlstate, message.to_owned()))
    }

    /// Checks the arguments, in rows without NULL.
    fn look_at_domain(&self, given: &[ArrayRef]) -> EngineResult<()> {
        if !PARTIAL.contains(&self.name()) {
            return Ok(());
        }
        let rows = given.iter().map(Array::len).max().unwrap_or_default();
        for row in 0..rows {
            let of = |place: usize| value_at(given.get(place)?, row);
            if let Some(first) = of(0)
                && let Some(error) = self.outside(first, of(1))
            {
                return Err(error);
            }
        }
        Ok(())
    }

    fn check(&self, results: &ArrayRef, given: &[ArrayRef]) -> EngineResult<()> {
        let results = results.as_primitive::<Float64Type>();
        for (row, result) in results.iter().enumerate() {
            let Some(result) = result else { continue };
            let of = |place: usize| value_at(given.get(place)?, row);
            let is_given = |is: fn(f64) -> bool| (0..given.len()).filter_map(of).any(is);
            if result.is_nan() && !is_given(f64::is_nan) {
                return Err(out_of_range("input is out of range"));
            }
            if result.is_infinite() && FINITE.contains(&self.name()) && !is_given(f64::is_infinite) {
                return Err(out_of_range("overflow"));
            }
            let vanishes = || match self.name() {
                "exp" => !is_given(f64::is_infinite),
                "power" => !is_given(f64::is_infinite) && of(0) != Some(0.0),
                _ => false,
            };
            if result == 0.0 && vanishes() {
                return Err(out_of_range("underflow"));
            }
        }
        Ok(())
    }
}

/// Returns the value of a row, unless it is NULL; a single value holds for all rows.
fn value_at(values: &ArrayRef, row: usize) -> Option<f64> {
    let values = values.as_primitive::<Float64Type>();
    let row = if values.len() == 1 { 0 } else { row };
    values.is_valid(row).then(|| values.value(row))
}

macro_rules! operator {
    ($name:ident, $operator:expr, $text:literal) => {
        static $name: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(Arithmetic { operator: $operator, name: $text, signature }))
        });
    };
}

operator!(PLUS, Operator::Plus, "float_plus");
operator!(MINUS, Operator::Minus, "float_minus");
operator!(TIMES, Operator::Multiply, "float_times");
operator!(DIVIDED, Operator::Divide, "float_divided");

/// The function of an operator on floats.
pub(crate) fn operator(operator: Operator) -> Option<Arc<ScalarUDF>> {
    Some(Arc::clone(match operator {
        Operator::Plus => &PLUS,
        Operator::Minus => &MINUS,
        Operator::Multiply => &TIMES,
        Operator::Divide => &DIVIDED,
        _ => return None,
    }))
}

/// The value, and 0 where it is a float that is −0: to the engine these are two by their bits.
pub(crate) fn with_one_zero(value: Expr, schema: &DFSchema) -> EngineResult<Expr> {
    let type_ = value.get_type(schema)?;
    if !type_.is_floating() {
        return Ok(value);
    }
    let zero = Expr::Literal(ScalarValue::new_zero(&type_)?, None);
    Ok(PLUS.call(vec![value, zero]))
}

/// An operator on floats of one width.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operator: Operator,
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &'static str {
        self.name
    }

    own_signature!();

    /// As of operators on exact numbers.
    fn schema_name(&self, args: &[Expr]) -> EngineResult<String> {
        Ok(hashed_name(self.name, args))
    }

    /// Of single precision where both are, else of double.
    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        Ok(vec![self.return_type(types)?; types.len()])
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        let is_single = types.iter().all(|of| *of == ArrowType::Float32);
        Ok(if is_single { ArrowType::Float32 } else { ArrowType::Float64 })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else { return exec_err!("{} takes two values", self.name) };
        let kernel = match self.operator {
            Operator::Plus => numeric::add,
            Operator::Minus => numeric::sub,
            Operator::Multiply => numeric::mul,
            _ => numeric::div,
        };
        let result = kernel(left, right)?;
        let wide = [left, right, &result].map(|array| cast(array, &ArrowType::Float64));
        let [left, right, results] = wide;
        let (left, right, results) = (left?, right?, results?);
        let floats = [&left, &right, &results].map(|array| array.as_primitive::<Float64Type>().iter());
        let [left, right, results] = floats;
        for ((left, right), result) in left.zip(right).zip(results) {
            if let (Some(left), Some(right), Some(result)) = (left, right, result) {
                self.check(left, right, result)?;
            }
        }
        // The engine's NaN has a sign, by which it is compared.
        Ok(ColumnarValue::Array(match args.return_type() {
            ArrowType::Float32 => {
                let floats = result.as_primitive::<Float32Type>();
                Arc::new(floats.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }))
            }
            _ => {
                let floats = result.as_primitive::<Float64Type>();
                Arc::new(floats.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }))
            }
        }))
    }
}

impl Arithmetic {
    fn check(&self, left: f64, right: f64, result: f64) -> EngineResult<()> {
        if self.operator == Operator::Divide && right == 0.0 && !left.is_nan() {
            return Err(ArrowError::DivideByZero.into());
        }
        if result.is_infinite() && !left.is_infinite() && !right.is_infinite() {
            return Err(out_of_range("overflow"));
        }
        let vanishes = match self.operator {
            Operator::Multiply => left != 0.0 && right != 0.0,
            Operator::Divide => left != 0.0 && !right.is_infinite(),
            _ => false,
        };
        if result == 0.0 && vanishes {
            return Err(out_of_range("underflow"));
        }
        Ok(())
    }
}
