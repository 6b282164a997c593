//! Sums that refuse to overflow, and averages, of exact numbers.

use std::sync::{Arc, LazyLock};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_buffer::i256;
use arrow_schema::{ArrowError, DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result as EngineResult, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use super::functions::{DIGITS, SCALE, as_decimal, rounded};

static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Exact::function("sum"));
static AVERAGE: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Exact::function("avg"));

/// What stands for the engine's aggregate of this name over values of this type.
pub(crate) fn exact(name: &str, of: &ArrowType) -> Option<Arc<AggregateUDF>> {
    match name {
        "sum" if of.is_integer() => Some(Arc::clone(&SUM)),
        // The engine's wraps around. As many values of fewer digits as come there have room.
        "sum" if matches!(of, ArrowType::Decimal128(digits, _) if *digits > SUMMED) => Some(Arc::clone(&SUM)),
        "avg" if of.is_integer() || matches!(of, ArrowType::Decimal128(..)) => Some(Arc::clone(&AVERAGE)),
        _ => None,
    }
}

/// Digits of values whose sum has room for ten more.
const SUMMED: u8 = DIGITS - 10;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    name: &'static str,
    signature: Signature,
}

impl Exact {
    fn function(name: &'static str) -> Arc<AggregateUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(Self { name, signature }))
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

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(match (self.name, types) {
            ("sum", [of @ (ArrowType::Int64 | ArrowType::Decimal128(..))]) => {
                ArrowType::Decimal128(DIGITS, scale_of(of))
            }
            ("sum", _) => ArrowType::Int64,
            (_, [of]) => ArrowType::Decimal128(DIGITS, scale_of(of).max(SCALE)),
            _ => return exec_err!("{} takes one value", self.name),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let Some(of) = args.expr_fields.first() else { return exec_err!("{} takes one value", self.name) };
        let scale = scale_of(of.data_type());
        let seen = args.is_distinct.then(std::collections::HashSet::new);
        let returns = args.return_field.data_type().clone();
        Ok(Box::new(Sum { total: i256::ZERO, count: 0, divides: self.name == "avg", scale, returns, seen }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let field = |name: &str, type_| Arc::new(Field::new(format_state_name(args.name, name), type_, true));
        if args.is_distinct {
            let of = ArrowType::Decimal128(DIGITS, args.input_fields.first().map_or(0, |of| scale_of(of.data_type())));
            let item = Arc::new(Field::new_list_field(of, true));
            return Ok(vec![field("distinct", ArrowType::List(item))]);
        }
        Ok(vec![field("total", ArrowType::Decimal256(76, 0)), field("count", ArrowType::Int64)])
    }
}

/// A total and a number of values.
#[derive(Debug)]
struct Sum {
    total: i256,
    count: i64,
    /// Whether the average is asked for.
    divides: bool,
    scale: i8,
    returns: ArrowType,
    /// The values so far, where each counts once.
    seen: Option<std::collections::HashSet<i128>>,
}

fn overflow(type_: &ArrowType) -> DataFusionError {
    let name = if type_.is_integer() { "bigint" } else { "numeric" };
    ArrowError::ArithmeticOverflow(format!("{name} out of range")).into()
}

impl Sum {
    fn add(&mut self, value: i128) -> EngineResult<()> {
        if let Some(seen) = &mut self.seen
            && !seen.insert(value)
        {
            return Ok(());
        }
        let total = self.total.checked_add(i256::from_i128(value));
        self.total = total.ok_or_else(|| overflow(&self.returns))?;
        self.count += 1;
        Ok(())
    }
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("one value at a time") };
        let values = as_decimal(values, self.scale)?;
        values.as_primitive::<Decimal128Type>().iter().flatten().try_for_each(|value| self.add(value))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("one value at a time") };
        let values = as_decimal(values, self.scale)?;
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            let total = self.total.checked_sub(i256::from_i128(value));
            self.total = total.ok_or_else(|| overflow(&self.returns))?;
            self.count -= 1;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        self.seen.is_none()
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        if self.count == 0 {
            return ScalarValue::try_from(&self.returns);
        }
        let out = || overflow(&self.returns);
        if let ArrowType::Decimal128(_, scale) = self.returns {
            let shift = u32::from(scale.saturating_sub(self.scale).unsigned_abs());
            let power = i256::from_i128(10).checked_pow(shift).ok_or_else(out)?;
            let total = self.total.checked_mul(power).ok_or_else(out)?;
            let divisor = if self.divides { self.count } else { 1 };
            let result = rounded(total, i256::from_i128(divisor.into())).ok_or_else(out)?;
            return Ok(ScalarValue::Decimal128(Some(result), DIGITS, scale));
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
        Ok(vec![ScalarValue::Decimal256(Some(self.total), 76, 0), ScalarValue::Int64(Some(self.count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        if self.seen.is_some() {
            let [lists] = states else { return exec_err!("another state") };
            for list in lists.as_list::<i32>().iter().flatten() {
                list.as_primitive::<Decimal128Type>().iter().flatten().try_for_each(|value| self.add(value))?;
            }
            return Ok(());
        }
        let [totals, counts] = states else { return exec_err!("another state") };
        let totals = totals.as_primitive::<arrow_array::types::Decimal256Type>();
        for (total, count) in totals.iter().zip(counts.as_primitive::<Int64Type>()) {
            let total = self.total.checked_add(total.unwrap_or(i256::ZERO));
            self.total = total.ok_or_else(|| overflow(&self.returns))?;
            self.count += count.unwrap_or(0);
        }
        Ok(())
    }
}
