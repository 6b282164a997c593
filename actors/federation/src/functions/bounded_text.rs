//! Functions whose results can be far longer than their arguments: the length is limited before the text is made,
//! since the engine does not count its memory. PostgreSQL limits a value to 1 GiB, in its own memory.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::concat_elements::concat_elements_utf8_many;
use datafusion::arrow::compute::kernels::length::length;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result as EngineResult, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::external_error::external;
use crate::functions::udf_macros::{of_inner, own_signature, same_by};
use portico_core::error::{Error, Kind};

/// The maximal number of bytes of the texts that one call makes for a batch of rows.
const MOST: usize = 64 << 20;
/// The number of rows in a batch: the default, and the minimum.
pub(crate) const BATCH: usize = 8192;
const BATCH_MIN: usize = 64;
/// Octets of a text that is made once for all rows.
const MOST_CONSTANT: usize = MOST / BATCH_MIN;

/// How long a text becomes, at most, from the values of its row.
type Growth = fn(&Values<'_>) -> u64;

const GROWING: &[(&str, Growth)] = &[
    ("concat", all),
    ("concat_ws", |values| all(values).saturating_add(values.length(0).saturating_mul(values.count() as u64))),
    ("lpad", padded),
    ("overlay", all),
    ("repeat", |values| values.length(0).saturating_mul(values.length(1))),
    ("replace", |values| {
        let (text, found) = (values.length(0), values.length(1).max(1));
        (text / found + 1).saturating_mul(values.length(2)).saturating_add(text)
    }),
    ("rpad", padded),
];

fn all(values: &Values<'_>) -> u64 {
    (0..values.count()).map(|place| values.length(place)).fold(0, u64::saturating_add)
}

/// A character has at most four octets.
fn padded(values: &Values<'_>) -> u64 {
    values.length(1).saturating_mul(4)
}

/// Limits the length of the function's results; returns the function itself if they are no longer than its
/// arguments.
pub(crate) fn bounded(inner: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    match GROWING.iter().find(|(name, _)| *name == inner.name()) {
        Some((_, growth)) => Arc::new(ScalarUDF::new_from_impl(Bounded { inner, growth: *growth })),
        None => inner,
    }
}

/// How many rows go through `plan` at once: each of its constant texts may be written out for each of them.
pub(crate) fn batch_size(plan: &LogicalPlan) -> EngineResult<usize> {
    let mut octets = 0;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::Literal(value, _) => octets += value.try_as_str().flatten().map_or(0, str::len),
                    // Each pattern is read by itself, which takes milliseconds for long ones.
                    Expr::Like(like) if !matches!(*like.pattern, Expr::Literal(..)) => octets = MOST,
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok((MOST / octets.max(1)).clamp(BATCH_MIN, BATCH))
}

/// Returns the concatenation of two texts (`||`). A chain is one call: for nested calls the engine writes the name
/// of each one again for each call around it.
pub(crate) fn joined(left: Expr, right: Expr) -> Expr {
    let concatenation = concatenation();
    let texts = |side| match side {
        Expr::ScalarFunction(call) if call.func == concatenation => call.args,
        text => vec![text],
    };
    let mut all = texts(left);
    all.extend(texts(right));
    concatenation.call(all)
}

/// The operator `||`, over any number of texts.
fn concatenation() -> Arc<ScalarUDF> {
    static CONCATENATION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::user_defined(Volatility::Immutable);
        let inner = Arc::new(ScalarUDF::new_from_impl(Concatenation { signature }));
        Arc::new(ScalarUDF::new_from_impl(Bounded { inner, growth: all }))
    });
    Arc::clone(&CONCATENATION)
}

/// Whether values of this type can stand beside a text at `||`.
pub(crate) fn is_joined(type_: &ArrowType) -> bool {
    !type_.is_nested() && !type_.is_binary()
}

/// The values that a function is given, of one row.
struct Values<'a> {
    arguments: &'a [Argument],
    row: usize,
}

/// Numbers, or the lengths of texts in octets; one for all rows, or one for each.
enum Argument {
    One(u64),
    Each(Vec<u64>),
}

impl Values<'_> {
    fn count(&self) -> usize {
        self.arguments.len()
    }

    fn length(&self, place: usize) -> u64 {
        match self.arguments.get(place) {
            Some(Argument::One(value)) => *value,
            Some(Argument::Each(values)) => values.get(self.row).copied().unwrap_or_default(),
            None => 0,
        }
    }
}

fn argument(value: &ColumnarValue) -> EngineResult<Argument> {
    let measured = |array: &ArrayRef| -> EngineResult<Vec<u64>> {
        let measured = match array.data_type() {
            ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => length(array.as_ref())?,
            _ => Arc::clone(array),
        };
        if *measured.data_type() == ArrowType::Null {
            return Ok(vec![0; measured.len()]);
        }
        let numbers = cast(&measured, &ArrowType::Int64)?;
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
        Ok(numbers.as_primitive::<Int64Type>().iter().map(number).collect())
    };
    Ok(match value {
        ColumnarValue::Array(array) => Argument::Each(measured(array)?),
        ColumnarValue::Scalar(scalar) => Argument::One(measured(&scalar.to_array()?)?.first().copied().unwrap_or(0)),
    })
}

/// Treats a negative length as 0: the engine panics when it allocates texts of such lengths.
fn at_least_none(length: &mut ColumnarValue) {
    match length {
        ColumnarValue::Scalar(ScalarValue::Int64(Some(length))) => *length = (*length).max(0),
        ColumnarValue::Array(lengths) => {
            if let Some(numbers) = lengths.as_primitive_opt::<Int64Type>() {
                *lengths = Arc::new(numbers.unary::<_, Int64Type>(|length| length.max(0)));
            }
        }
        ColumnarValue::Scalar(_) => {}
    }
}

/// A function with the length of its results.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

same_by!(Bounded, inner);

impl ScalarUDFImpl for Bounded {
    of_inner! { name aliases return_type return_field_from_args }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        self.inner.coerce_types(types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        if matches!(self.name(), "lpad" | "rpad")
            && let Some(length) = args.args.get_mut(1)
        {
            at_least_none(length);
        }
        let arguments = args.args.iter().map(argument).collect::<EngineResult<Vec<_>>>()?;
        let is_one = arguments.iter().all(|argument| matches!(argument, Argument::One(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let size = (0..rows).map(|row| (self.growth)(&Values { arguments: &arguments, row }));
        let most = if is_one { MOST_CONSTANT } else { MOST };
        if size.fold(0, u64::saturating_add) > most as u64 {
            let name = self.name();
            let message = format!("{name}: the texts of {rows} rows come to more than {} MiB", most >> 20);
            return Err(external(Error::new(Kind::TooLarge, message).sqlstate("54000").hint("make shorter ones")));
        }
        self.inner.invoke_with_args(args)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Concatenation {
    signature: Signature,
}

impl ScalarUDFImpl for Concatenation {
    fn name(&self) -> &'static str {
        "concatenation"
    }

    own_signature!();

    fn coerce_types(&self, types: &[ArrowType]) -> EngineResult<Vec<ArrowType>> {
        Ok(vec![ArrowType::Utf8; types.len()])
    }

    fn return_type(&self, _: &[ArrowType]) -> EngineResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> EngineResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let texts = arrays.iter().map(|array| cast(array, &ArrowType::Utf8)).collect::<Result<Vec<_>, _>>()?;
        let texts: Vec<_> = texts.iter().map(AsArray::as_string::<i32>).collect();
        Ok(ColumnarValue::Array(Arc::new(concat_elements_utf8_many(&texts)?)))
    }
}
