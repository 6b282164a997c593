//! The value of a group's single row: the result of a subquery by a table's key.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{Result as EngineResult, ScalarValue, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::external_error::external;
use crate::failure::several_rows;
use crate::functions::udf_macros::own_signature;

/// The function's name, which no statement can call.
pub(crate) const NAME: &str = "\u{1}single";

/// The function.
pub(in crate::functions) fn function() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(Single { signature: Signature::any(1, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Single {
    signature: Signature,
}

impl AggregateUDFImpl for Single {
    fn name(&self) -> &'static str {
        NAME
    }

    own_signature!();

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        match types {
            [of] => Ok(of.clone()),
            _ => exec_err!("bug: an aggregate of one value got several"),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let value = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Found { value, rows: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let value = Field::new(format_state_name(args.name, "value"), args.return_type().clone(), true);
        let rows = Field::new(format_state_name(args.name, "rows"), ArrowType::Int64, false);
        Ok(vec![Arc::new(value), Arc::new(rows)])
    }
}

#[derive(Debug)]
struct Found {
    value: ScalarValue,
    rows: i64,
}

impl Found {
    fn add(&mut self, value: &ArrayRef, row: usize, rows: i64) -> EngineResult<()> {
        self.rows += rows;
        if self.rows > 1 {
            return Err(external(several_rows()));
        }
        if rows == 1 {
            self.value = ScalarValue::try_from_array(value, row)?;
            self.value.compact();
        }
        Ok(())
    }
}

impl Accumulator for Found {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        let [values] = values else { return exec_err!("bug: an aggregate of one value got several") };
        (0..values.len().min(2)).try_for_each(|row| self.add(values, row, 1))
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.value.size() - size_of::<ScalarValue>()
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::Int64(Some(self.rows))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        let [values, rows] = states else { return exec_err!("bug: the state has another shape") };
        let rows = rows.as_primitive::<Int64Type>();
        (0..values.len()).try_for_each(|row| self.add(values, row, rows.value(row)))
    }
}
