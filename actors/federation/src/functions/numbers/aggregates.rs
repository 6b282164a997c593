//! Sums that refuse to overflow, averages, variances and standard deviations of exact numbers.

use std::sync::{Arc, LazyLock};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Int64Type};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result as EngineResult, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use num_bigint::BigInt;

use crate::functions::numbers::functions::{DIGITS, SCALE, as_decimal, rounded};
use crate::functions::numbers::root;
use crate::functions::udf_macros::own_signature;

static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Exact::function("sum", Asked::Sum));
static AVERAGE: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Exact::function("avg", Asked::Average));
static SPREADS: LazyLock<Vec<Arc<AggregateUDF>>> = LazyLock::new(|| {
    let spread = |(name, is_root, is_sample)| Exact::function(name, Asked::Spread { is_root, is_sample });
    [("stddev", true, true), ("stddev_pop", true, false), ("var", false, true), ("var_pop", false, false)]
        .map(spread)
        .to_vec()
});

/// Returns the replacement of the engine's aggregate of this name for values of this type.
pub(crate) fn exact(name: &str, of: &ArrowType) -> Option<Arc<AggregateUDF>> {
    match name {
        "sum" if of.is_integer() => Some(Arc::clone(&SUM)),
        // The engine's wraps around. As many values of fewer digits as come there have room.
        "sum" if matches!(of, ArrowType::Decimal128(digits, _) if *digits > SUMMED) => Some(Arc::clone(&SUM)),
        _ if !(of.is_integer() || matches!(of, ArrowType::Decimal128(..))) => None,
        "avg" => Some(Arc::clone(&AVERAGE)),
        _ => SPREADS.iter().find(|spread| spread.name() == name).map(Arc::clone),
    }
}

/// The maximal digits of values whose sum has room for ten more.
const SUMMED: u8 = DIGITS - 10;

/// What is computed of the values of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Asked {
    Sum,
    Average,
    /// The variance, of a sample or of all, or its root.
    Spread {
        is_root: bool,
        is_sample: bool,
    },
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    name: &'static str,
    asked: Asked,
    signature: Signature,
}

impl Exact {
    fn function(name: &'static str, asked: Asked) -> Arc<AggregateUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Self { name, asked, signature }))
    }
}

/// Digits behind the point of values of a type.
fn scale_of(type_: &ArrowType) -> i8 {
    match type_ {
        ArrowType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

impl AggregateUDFImpl for Exact {
    fn name(&self) -> &str {
        self.name
    }

    own_signature!();

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(match (self.asked, types) {
            (Asked::Sum, [of @ (ArrowType::Int64 | ArrowType::Decimal128(..))]) => {
                ArrowType::Decimal128(DIGITS, scale_of(of))
            }
            (Asked::Sum, _) => ArrowType::Int64,
            (Asked::Average, [of]) => ArrowType::Decimal128(DIGITS, scale_of(of).max(SCALE)),
            (Asked::Spread { .. }, [_]) => ArrowType::Decimal128(DIGITS, SCALE),
            _ => return exec_err!("{} takes one value", self.name),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let Some(of) = args.expr_fields.first() else { return exec_err!("{} takes one value", self.name) };
        let scale = scale_of(of.data_type());
        let seen = args.is_distinct.then(std::collections::HashSet::new);
        let returns = args.return_field.data_type().clone();
        let (total, squares) = (i256::ZERO, i256::ZERO);
        Ok(Box::new(Totals { total, squares, count: 0, asked: self.asked, scale, returns, seen }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let field = |name: &str, type_| Arc::new(Field::new(format_state_name(args.name, name), type_, true));
        if args.is_distinct {
            let of = ArrowType::Decimal128(DIGITS, args.input_fields.first().map_or(0, |of| scale_of(of.data_type())));
            let item = Arc::new(Field::new_list_field(of, true));
            return Ok(vec![field("distinct", ArrowType::List(item))]);
        }
        let total = |name| field(name, ArrowType::Decimal256(76, 0));
        Ok(vec![total("total"), total("squares"), field("count", ArrowType::Int64)])
    }
}

/// Totals of values, and how many they are.
#[derive(Debug)]
struct Totals {
    total: i256,
    /// The total of their squares, where it is needed.
    squares: i256,
    count: i64,
    asked: Asked,
    scale: i8,
    returns: ArrowType,
    /// The values so far, where each counts once.
    seen: Option<std::collections::HashSet<i128>>,
}

fn overflow(type_: &ArrowType) -> DataFusionError {
    let name = if type_.is_integer() { "bigint" } else { "numeric" };
    ArrowError::ArithmeticOverflow(format!("{name} out of range")).into()
}

impl Totals {
    fn add(&mut self, value: i128) -> EngineResult<()> {
        if let Some(seen) = &mut self.seen
            && !seen.insert(value)
        {
            return Ok(());
        }
        let (value, square) = self.powers(value)?;
        self.add_up(value, square, 1)
    }

    /// The value, and its square where that is needed.
    fn powers(&self, value: i128) -> EngineResult<(i256, i256)> {
        let value = i256::from_i128(value);
        let square = match self.asked {
            Asked::Spread { .. } => value.checked_mul(value),
            _ => Some(i256::ZERO),
        };
        Ok((value, square.ok_or_else(|| overflow(&self.returns))?))
    }

    fn add_up(&mut self, total: i256, squares: i256, count: i64) -> EngineResult<()> {
        let totals = self.total.checked_add(total).zip(self.squares.checked_add(squares));
        (self.total, self.squares) = totals.ok_or_else(|| overflow(&self.returns))?;
        self.count += count;
        Ok(())
    }

    /// The total, or the average of the values.
    fn quotient(&self, divisor: i64, scale: i8) -> Option<i128> {
        let shift = u32::from(scale.saturating_sub(self.scale).unsigned_abs());
        let power = i256::from_i128(10).checked_pow(shift)?;
        rounded(self.total.checked_mul(power)?, i256::from_i128(divisor.into()))
    }

    /// The variance or its root, as `numeric_stddev_internal` of PostgreSQL has it: from the squares of the values less
    /// the square of their total.
    fn spread(&self, is_root: bool, is_sample: bool) -> Option<i128> {
        let number = |value: i256| BigInt::from_signed_bytes_le(&value.to_le_bytes());
        let (total, squares, count) = (number(self.total), number(self.squares), BigInt::from(self.count));
        let deviation = &count * squares - &total * &total;
        let divisor = if is_sample { &count * (&count - 1) } else { &count * &count };
        root::quotient(deviation, &divisor, 2 * i32::from(self.scale), is_root)
    }
}

impl Accumulator for Totals {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("bug: the aggregate takes one value at a time") };
        let values = as_decimal(values, self.scale)?;
        values.as_primitive::<Decimal128Type>().iter().flatten().try_for_each(|value| self.add(value))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("bug: the aggregate takes one value at a time") };
        let values = as_decimal(values, self.scale)?;
        values.as_primitive::<Decimal128Type>().iter().flatten().try_for_each(|value| {
            let (value, square) = self.powers(value)?;
            self.add_up(-value, -square, -1)
        })
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        let is_one_of_a_sample = self.count == 1 && matches!(self.asked, Asked::Spread { is_sample: true, .. });
        if self.count == 0 || is_one_of_a_sample {
            return ScalarValue::try_from(&self.returns);
        }
        let out = || overflow(&self.returns);
        if let ArrowType::Decimal128(_, scale) = self.returns {
            let result = match self.asked {
                Asked::Sum => self.quotient(1, scale),
                Asked::Average => self.quotient(self.count, scale),
                Asked::Spread { is_root, is_sample } => self.spread(is_root, is_sample),
            };
            return Ok(ScalarValue::Decimal128(Some(result.ok_or_else(out)?), DIGITS, scale));
        }
        let total = self.total.to_i128().and_then(|total| i64::try_from(total).ok());
        Ok(ScalarValue::Int64(Some(total.ok_or_else(out)?)))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.seen.as_ref().map_or(0, |seen| seen.capacity() * 2 * size_of::<i128>())
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        if let Some(seen) = &self.seen {
            let values: Vec<ScalarValue> =
                seen.iter().map(|value| ScalarValue::Decimal128(Some(*value), DIGITS, self.scale)).collect();
            let of = ArrowType::Decimal128(DIGITS, self.scale);
            return Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &of))]);
        }
        let total = |total| ScalarValue::Decimal256(Some(total), 76, 0);
        Ok(vec![total(self.total), total(self.squares), ScalarValue::Int64(Some(self.count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        if self.seen.is_some() {
            let [lists] = states else { return exec_err!("bug: the state has another shape") };
            for list in lists.as_list::<i32>().iter().flatten() {
                list.as_primitive::<Decimal128Type>().iter().flatten().try_for_each(|value| self.add(value))?;
            }
            return Ok(());
        }
        let [totals, squares, counts] = states else { return exec_err!("bug: the state has another shape") };
        let [totals, squares] = [totals, squares].map(AsArray::as_primitive::<Decimal256Type>);
        for ((total, square), count) in totals.iter().zip(squares).zip(counts.as_primitive::<Int64Type>()) {
            self.add_up(total.unwrap_or(i256::ZERO), square.unwrap_or(i256::ZERO), count.unwrap_or(0))?;
        }
        Ok(())
    }
}
