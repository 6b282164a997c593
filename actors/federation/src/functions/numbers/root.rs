//! Square roots of exact numbers.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_schema::DataType as ArrowType;
use datafusion::common::{Result as EngineResult, exec_err};
use num_bigint::{BigInt, Sign};

use crate::external_error::external;
use crate::functions::numbers::functions::{DIGITS, SCALE};
use portico_core::error::{Error, Kind};

/// Returns `dividend` / 10^`digits` ÷ `divisor`, or its square root, with [`SCALE`] fractional digits; `None` on
/// overflow. A negative dividend counts as zero.
pub(super) fn quotient(dividend: BigInt, divisor: &BigInt, digits: i32, is_root: bool) -> Option<i128> {
    let power = |digits: i32| BigInt::from(10).pow(digits.unsigned_abs());
    let shift = if is_root { 2 * i32::from(SCALE) } else { SCALE.into() } - digits;
    let (dividend, divisor) =
        if shift >= 0 { (dividend * power(shift), divisor.clone()) } else { (dividend, divisor * power(shift)) };
    if dividend.sign() != Sign::Plus {
        return Some(0);
    }
    let result = if is_root {
        let square = dividend / divisor;
        let root = square.sqrt();
        // From the middle of two on it is the upper one.
        if square > &root * (&root + 1) { root + 1 } else { root }
    } else {
        (dividend * 2 + &divisor) / (divisor * 2)
    };
    i128::try_from(result).ok().filter(|result| result.unsigned_abs() < 10_u128.pow(DIGITS.into()))
}

/// The square roots of these numbers.
///
/// # Errors
/// `2201F` for a number below zero.
pub(super) fn roots(numbers: &ArrayRef) -> EngineResult<ArrayRef> {
    let ArrowType::Decimal128(_, scale) = *numbers.data_type() else {
        return exec_err!("bug: an exact root got values of type {}", numbers.data_type());
    };
    let root = |value: i128| {
        if value < 0 {
            let error = Error::new(Kind::Rejected, "cannot take square root of a negative number");
            return Err(external(error.sqlstate("2201F")));
        }
        quotient(value.into(), &BigInt::from(1), scale.into(), true)
            .map_or_else(|| exec_err!("bug: a root has more digits than its square"), Ok)
    };
    let roots: Decimal128Array = numbers.as_primitive::<Decimal128Type>().try_unary(root)?;
    Ok(Arc::new(roots.with_precision_and_scale(DIGITS, SCALE)?))
}
