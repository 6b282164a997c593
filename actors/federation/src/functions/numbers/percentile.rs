//! `percentile_cont`: PostgreSQL's own interpolation. The engine's weighs with six digits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Schema};
use datafusion::common::{DFSchema, Result as EngineResult, ScalarValue, exec_err, not_impl_err};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, ExprSchemable, Signature, Volatility,
};

use crate::external_error::external;
use crate::functions::types::categories::no_function;
use crate::functions::udf_macros::own_signature;
use portico_core::error::{Error, Kind};

/// The function's name.
pub(crate) const NAME: &str = "percentile_cont";

/// The function.
pub(crate) fn function() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Percentile { signature: Signature::user_defined(Volatility::Immutable) }))
}

/// Whether it takes values of this type.
fn is_number(of: &ArrowType) -> bool {
    of.is_numeric() || of.is_null()
}

/// Refuses values that are not numbers, and a call without an order.
///
/// # Errors
/// `42883` and `0A000`, with what to write.
pub(crate) fn admit(params: &AggregateFunctionParams, schema: &DFSchema) -> EngineResult<()> {
    if params.order_by.is_empty() || params.args.len() != 2 {
        return not_impl_err!("{NAME} of other than one place, WITHIN GROUP (ORDER BY …)");
    }
    match params.args.first().map(|of| of.get_type(schema)).transpose()? {
        Some(of) if !is_number(&of) => {
            Err(no_function(NAME, &[of], "take it of numbers, such as extract(epoch FROM …)"))
        }
        _ => Ok(()),
    }
}

/// Returns the fraction in a call's second argument, from 0 to 1.
///
/// # Errors
/// `22003` for a place that is none, `0A000` for one that is not a literal.
pub(crate) fn place(name: &str, args: &AccumulatorArgs) -> EngineResult<Option<f64>> {
    let no_row = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let at = args.exprs.get(1).map(|at| at.evaluate(&no_row));
    let Some(Ok(ColumnarValue::Scalar(ScalarValue::Float64(at)))) = at else {
        return not_impl_err!("{name} at anything but a literal");
    };
    if let Some(at) = at.filter(|at| !(0.0..=1.0).contains(at)) {
        let message = format!("percentile value {at} is not between 0 and 1");
        return Err(external(Error::new(Kind::Rejected, message).sqlstate("22003")));
    }
    Ok(at)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentile {
    signature: Signature,
}

impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &'static str {
        NAME
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        // Other types are refused under their name.
        Ok(types.iter().map(|of| if is_number(of) { ArrowType::Float64 } else { of.clone() }).collect())
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(ArrowType::Float64)
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    /// The aggregate puts the values in order itself.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        if args.is_distinct {
            return not_impl_err!("{NAME} of distinct values");
        }
        let at = place(NAME, &args)?;
        let descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        Ok(Box::new(Gathered { values: Vec::new(), at, descending }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let type_ = ArrowType::List(Arc::new(item()));
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "values"), type_, true))])
    }
}

fn item() -> Field {
    Field::new_list_field(ArrowType::Float64, true)
}

/// The values of a group, and the requested percentile.
#[derive(Debug)]
struct Gathered {
    values: Vec<f64>,
    at: Option<f64>,
    descending: bool,
}

impl Gathered {
    fn add(&mut self, values: &ArrayRef) {
        self.values.extend(values.as_primitive::<Float64Type>().iter().flatten());
    }
}

impl Accumulator for Gathered {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let Some(values) = values.first() else { return exec_err!("bug: {NAME} has no argument") };
        self.add(values);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        // NaN, whatever its sign, is greater than any other value.
        self.values.sort_unstable_by(|one, other| match (one.is_nan(), other.is_nan()) {
            (false, false) => one.total_cmp(other),
            (one, other) => one.cmp(&other),
        });
        if self.descending {
            self.values.reverse();
        }
        let value = self.at.and_then(|at| {
            let place = at * (self.values.len().checked_sub(1)? as f64);
            let value = |place: f64| self.values.get(place as usize).copied();
            let (low, high) = (value(place.floor())?, value(place.ceil())?);
            let is_exact = place.floor().total_cmp(&place.ceil()).is_eq();
            Some(if is_exact { low } else { low + (place - place.floor()) * (high - low) })
        });
        // One with a sign would be less than any other value to the engine.
        Ok(ScalarValue::Float64(value.map(|value| if value.is_nan() { f64::NAN } else { value })))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        let values = Float64Array::from(std::mem::take(&mut self.values));
        let (item, offsets) = (Arc::new(item()), OffsetBuffer::from_lengths([values.len()]));
        Ok(vec![ScalarValue::List(Arc::new(ListArray::try_new(item, offsets, Arc::new(values), None)?))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        let [lists] = states else { return exec_err!("bug: the state has another shape") };
        lists.as_list::<i32>().iter().flatten().for_each(|list| self.add(&list));
        Ok(())
    }
}
