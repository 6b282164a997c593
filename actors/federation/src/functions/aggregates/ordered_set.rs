//! `percentile_disc` and `mode`: PostgreSQL's ordered-set aggregates that answer one of the values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, SortOptions};
use datafusion::arrow::compute::{filter, is_not_null};
use datafusion::arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion::common::{Result as EngineResult, ScalarValue, exec_err, not_impl_err};
use datafusion::logical_expr::expr::AggregateFunctionParams;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::functions::numbers::percentile;
use crate::functions::udf_macros::own_signature;

/// The names of the functions.
pub(crate) const NAMES: [&str; 2] = [MODE, PERCENTILE];
const MODE: &str = "mode";
const PERCENTILE: &str = "percentile_disc";

/// The functions.
pub(crate) fn functions() -> impl Iterator<Item = Arc<AggregateUDF>> {
    NAMES.into_iter().map(|name| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::new_from_impl(OrderedSet { name, signature }))
    })
}

/// Refuses a call of one of them without an order, or with other arguments.
///
/// # Errors
/// `0A000`, with what to write.
pub(in crate::functions) fn admit(name: &str, params: &AggregateFunctionParams) -> EngineResult<()> {
    let (count, given) = if name == MODE { (1, "()") } else { (2, "(0.5)") };
    if params.order_by.len() != 1 || params.args.len() != count || params.distinct {
        return not_impl_err!("{name} in another form than {name}{given} WITHIN GROUP (ORDER BY …)");
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    name: &'static str,
    signature: Signature,
}

impl AggregateUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        self.name
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        // The place among the values.
        let given = |(place, of): (usize, &ArrowType)| if place == 1 { ArrowType::Float64 } else { of.clone() };
        Ok(types.iter().enumerate().map(given).collect())
    }

    fn return_type(&self, types: &[ArrowType]) -> EngineResult<ArrowType> {
        match types.first() {
            Some(of) => Ok(of.clone()),
            None => exec_err!("bug: {} has no argument", self.name),
        }
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    /// The aggregate puts the values in order itself.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, args: AccumulatorArgs) -> EngineResult<Box<dyn Accumulator>> {
        let asked = if self.name == MODE {
            Asked::MostFrequent
        } else {
            // For NULL PostgreSQL finds no function of one type.
            let Some(at) = percentile::place(self.name, &args)? else {
                return not_impl_err!("{} at NULL", self.name);
            };
            Asked::At(at)
        };
        let type_ = args.return_field.data_type().clone();
        let descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        let options = SortOptions { descending, nulls_first: false };
        let converter = RowConverter::new(vec![SortField::new_with_options(type_.clone(), options)])?;
        let rows = converter.empty_rows(0, 0);
        Ok(Box::new(Gathered { converter, rows, type_, asked }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> EngineResult<Vec<FieldRef>> {
        let type_ = ArrowType::List(item(args.return_type()));
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "values"), type_, true))])
    }
}

fn item(type_: &ArrowType) -> FieldRef {
    Arc::new(Field::new_list_field(type_.clone(), true))
}

/// What is computed of the values of a group.
#[derive(Clone, Copy, Debug)]
enum Asked {
    MostFrequent,
    /// The first value that has this part of all at or before it.
    At(f64),
}

/// The values of a group, in the engine's form of keys, which are in order by their octets.
#[derive(Debug)]
struct Gathered {
    converter: RowConverter,
    rows: Rows,
    type_: ArrowType,
    asked: Asked,
}

impl Gathered {
    fn add(&mut self, values: &ArrayRef) -> EngineResult<()> {
        let values = filter(values, &is_not_null(values)?)?;
        Ok(self.converter.append(&mut self.rows, &[values])?)
    }
}

/// The value that most of these in order are; the first one of several.
fn most_frequent<'a>(sorted: &[Row<'a>]) -> Option<Row<'a>> {
    let mut best: Option<&[Row<'a>]> = None;
    for run in sorted.chunk_by(|one, other| one == other) {
        if best.is_none_or(|best| run.len() > best.len()) {
            best = Some(run);
        }
    }
    best.and_then(|run| run.first()).copied()
}

/// As `percentile_disc_final` of PostgreSQL counts.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place")]
fn at<'a>(sorted: &[Row<'a>], part: f64) -> Option<Row<'a>> {
    let count = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(count.saturating_sub(1)).copied()
}

impl Accumulator for Gathered {
    fn update_batch(&mut self, values: &[ArrayRef]) -> EngineResult<()> {
        match values.first() {
            Some(values) => self.add(values),
            None => exec_err!("bug: an aggregate has no argument"),
        }
    }

    fn evaluate(&mut self) -> EngineResult<ScalarValue> {
        let mut sorted: Vec<Row<'_>> = self.rows.iter().collect();
        sorted.sort_unstable();
        let found = match self.asked {
            Asked::MostFrequent => most_frequent(&sorted),
            Asked::At(part) => at(&sorted, part),
        };
        let Some(row) = found else { return ScalarValue::try_from(&self.type_) };
        match self.converter.convert_rows([row])?.first() {
            Some(value) => ScalarValue::try_from_array(value, 0),
            None => exec_err!("bug: a row has no values"),
        }
    }

    fn size(&self) -> usize {
        // The rows are put in order beside themselves.
        size_of::<Self>() + self.rows.size() + self.rows.num_rows() * size_of::<Row<'_>>()
    }

    fn state(&mut self) -> EngineResult<Vec<ScalarValue>> {
        let values = self.converter.convert_rows(&self.rows)?.swap_remove(0);
        let offsets = OffsetBuffer::from_lengths([values.len()]);
        let list = ListArray::try_new(item(&self.type_), offsets, values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> EngineResult<()> {
        let [lists] = states else { return exec_err!("bug: the state has another shape") };
        lists.as_list::<i32>().iter().flatten().try_for_each(|list| self.add(&list))
    }
}
