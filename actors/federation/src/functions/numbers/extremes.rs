//! Minimum and maximum of floats: NaN is greater than any other value. The engine's own ignore NaN in grouped rows.

use std::sync::{Arc, LazyLock};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_schema::{DataType as ArrowType, FieldRef};
use datafusion::arrow::compute::cast;
use datafusion::common::{Result as EngineResult, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::functions::udf_macros::own_signature;

/// The function.
pub(crate) fn of_floats(is_greatest: bool) -> Arc<AggregateUDF> {
    static BOTH: LazyLock<[Arc<AggregateUDF>; 2]> = LazyLock::new(|| {
        [false, true].map(|is_greatest| {
            let signature = Signature::any(1, Volatility::Immutable);
            Arc::new(AggregateUDF::new_from_impl(Extreme { is_greatest, signature }))
        })
    });
    let [least, greatest] = &*BOTH;
    Arc::clone(if is_greatest { greatest } else { least })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    is_greatest: bool,
    signature: Signature,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &'static str {
        if self.is_greatest { "max" } else { "min" }
    }

    own_signature!();

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        match types {
            [of] => Ok(of.clone()),
            _ => exec_err!("{} takes one value", self.name()),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let type_ = args.return_field.data_type().clone();
        Ok(Box::new(Found { is_greatest: self.is_greatest, value: None, type_ }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        Ok(vec![Arc::clone(&args.return_field)])
    }
}

/// The current extreme.
#[derive(Debug)]
struct Found {
    is_greatest: bool,
    value: Option<f64>,
    type_: ArrowType,
}

impl Accumulator for Found {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("bug: the least or greatest has no argument") };
        let values = cast(values, &ArrowType::Float64)?;
        for value in values.as_primitive::<Float64Type>().iter().flatten() {
            let is_more = |one: f64, other: f64| !other.is_nan() && (one.is_nan() || one > other);
            let is_further = |found: f64| if self.is_greatest { is_more(value, found) } else { is_more(found, value) };
            if self.value.is_none_or(is_further) {
                self.value = Some(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        // One with a sign would be less than any other value to the engine.
        let found = self.value.map(|found| if found.is_nan() { f64::NAN } else { found });
        ScalarValue::Float64(found).cast_to(&self.type_)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        self.update_batch(states)
    }
}
