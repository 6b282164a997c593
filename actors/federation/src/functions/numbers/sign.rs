//! `sign`: -1, 0 or 1.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::DataType as ArrowType;
use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::logical_expr::ScalarFunctionArgs;

use crate::functions::numbers::DIGITS;
use crate::functions::user_defined::UserDefinedFunction;

/// The function.
pub(in crate::functions) const FUNCTIONS: &[UserDefinedFunction] = &[UserDefinedFunction {
    name: "sign",
    types: |types| match types {
        [of @ ArrowType::Decimal128(..)] => Some((vec![of.clone()], ArrowType::Decimal128(DIGITS, 0))),
        // Whole numbers become floats there too.
        [of] if of.is_integer() || of.is_floating() || of.is_null() => {
            Some((vec![ArrowType::Float64], ArrowType::Float64))
        }
        _ => None,
    },
    compute: sign,
    hint: "give it one number",
}];

fn sign(args: &ScalarFunctionArgs) -> EngineResult<ArrayRef> {
    let [numbers] = args.args.as_slice() else { return exec_err!("sign takes a number") };
    let numbers = numbers.to_array(args.number_rows)?;
    Ok(match numbers.as_primitive_opt::<Decimal128Type>() {
        Some(numbers) => {
            let signs: Decimal128Array = numbers.unary(i128::signum);
            Arc::new(signs.with_precision_and_scale(DIGITS, 0)?)
        }
        None => Arc::new(
            numbers
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|number| f64::from(i8::from(number > 0.0) - i8::from(number < 0.0))),
        ),
    })
}
