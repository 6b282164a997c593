//! Recursive queries with one type for each column: the engine requires the first rows and the later ones to have
//! the same marks too, which identify the source columns that they come from.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, RecursiveQuery, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::external_error::external;
use crate::functions::types::casts::plain_text;
use crate::functions::types::padded::is_padding;
use crate::functions::udf_macros::own_signature;
use crate::plan::comparison::Comparison;
use portico_core::error::{Error, Kind};

/// Removes the marks from a recursive query's columns, except how they are compared.
///
/// # Errors
/// `42804` if later rows are compared differently from the first.
pub(super) fn of_one_type(query: RecursiveQuery) -> Result<LogicalPlan> {
    let (first, later) = (Arc::clone(query.static_term.schema()), Arc::clone(query.recursive_term.schema()));
    let types = |schema: &DFSchema| -> Vec<Comparison> {
        let columns = schema.columns().into_iter().map(Expr::Column);
        columns.map(|column| Comparison::handed_on(&column, schema)).collect()
    };
    let (of_first, of_later) = (types(&first), types(&later));
    for (place, (first, later)) in of_first.iter().zip(&of_later).enumerate() {
        // A padded text beside another one loses its blanks.
        if first != later && !(*first == Comparison::Plain && is_padding(*later)) {
            let message = format!(
                "recursive query \"{}\" column {} is of one type in its first rows, and of another one in others",
                query.name,
                place + 1
            );
            return Err(external(
                Error::new(Kind::Rejected, message).sqlstate("42804").hint("write CAST(… AS text) around both"),
            ));
        }
    }
    let unmarked = |plan: &Arc<LogicalPlan>, of: &[Comparison]| {
        let columns = plan.schema().columns().into_iter().zip(of.iter().zip(&of_first));
        let columns = columns.map(|(column, (of, first))| {
            let (relation, name) = (column.relation.clone(), column.name.clone());
            let value = Expr::Column(column);
            let value = if of == first { UNMARKED.call(vec![value]) } else { plain_text(value) };
            value.alias_qualified(relation, name)
        });
        LogicalPlanBuilder::from(Arc::clone(plan)).project(columns.collect::<Vec<_>>())?.build().map(Arc::new)
    };
    let terms = (unmarked(&query.static_term, &of_first)?, unmarked(&query.recursive_term, &of_later)?);
    RecursiveQuery::try_new(query.name, terms.0, terms.1, query.is_distinct).map(LogicalPlan::RecursiveQuery)
}

/// A value without the mark of its column.
static UNMARKED: LazyLock<ScalarUDF> =
    LazyLock::new(|| ScalarUDF::new_from_impl(Unmarked { signature: Signature::any(1, Volatility::Immutable) }));

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unmarked {
    signature: Signature,
}

impl ScalarUDFImpl for Unmarked {
    fn name(&self) -> &'static str {
        "unmarked"
    }

    own_signature!();

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        internal_err!("bug: the type is asked for without its field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [of] = args.arg_fields else { return plan_err!("bug: unmarked takes one value") };
        let mut marks = HashMap::new();
        Comparison::marked(of.metadata()).mark(&mut marks);
        Ok(Arc::new(Field::new(self.name(), of.data_type().clone(), true).with_metadata(marks)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.pop().map_or_else(|| internal_err!("bug: unmarked takes one value"), Ok)
    }
}
