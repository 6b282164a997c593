//! Set operations, whose columns are of one type each, as PostgreSQL finds it: the engine takes that of the first query.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType as ArrowType;
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, Union, cast,
};

use super::numbers::common;
use super::padded::{Text, as_text, is_literal, is_padded, is_padding};
use crate::plan::comparison::Comparison;

/// The set operation, whose columns are of one type each.
pub(super) fn of_one_type(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => {
            // Its columns are of other types where those of its inputs have become of others.
            let union = Union::try_new_with_loose_types(union.inputs)?;
            with_texts_of_one_type(with_numbers_of_one_type(union)?).map(LogicalPlan::Union)
        }
        // A merged column is that of the first side to the engine.
        LogicalPlan::Join(mut join) if join.join_constraint == JoinConstraint::Using => {
            join.left = with_exact_numbers(&join)?;
            Ok(LogicalPlan::Join(join))
        }
        // INTERSECT and EXCEPT: nothing else has NULL equal NULL.
        LogicalPlan::Join(mut join) if join.null_equality == NullEquality::NullEqualsNull => {
            join.left = with_exact_numbers(&join)?;
            for (left, right) in &mut join.on {
                let texts = [text_of(left, &join.left), text_of(right, &join.right)];
                if is_padded(&texts) == Some(true) {
                    let [(of_left, _), (of_right, _)] = texts;
                    *left = as_text(left.clone(), of_left, true, join.left.schema())?;
                    *right = as_text(right.clone(), of_right, true, join.right.schema())?;
                }
            }
            Ok(LogicalPlan::Join(join))
        }
        other => Ok(other),
    }
}

/// The union, whose exact numbers are of one type at each place.
fn with_numbers_of_one_type(union: Union) -> Result<Union> {
    let types: Vec<Option<ArrowType>> = (0..union.schema.fields().len())
        .map(|place| common(union.inputs.iter().map(|input| input.schema().field(place).data_type())))
        .collect();
    if types.iter().all(Option::is_none) {
        return Ok(union);
    }
    let input = |input: &Arc<LogicalPlan>| {
        let columns = input.schema().columns().into_iter().zip(input.schema().fields()).zip(&types).enumerate();
        let changed = columns.filter_map(|(place, ((column, field), to))| {
            let to = to.as_ref().filter(|to| *to != field.data_type())?;
            Some((place, as_type(column, to)))
        });
        with_columns(input, changed.collect())
    };
    let inputs = union.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
    Union::try_new_with_loose_types(inputs)
}

/// The column as values of this type.
fn as_type(column: Column, to: &ArrowType) -> Expr {
    let (relation, name) = (column.relation.clone(), column.name.clone());
    cast(Expr::Column(column), to.clone()).alias_qualified(relation, name)
}

/// The first side, whose exact numbers are of the type that those of both sides have in common.
fn with_exact_numbers(join: &Join) -> Result<Arc<LogicalPlan>> {
    let schema = join.left.schema();
    let mut changed = HashMap::new();
    for (left, right) in &join.on {
        let (of, other) = (left.get_type(schema)?, right.get_type(join.right.schema())?);
        let place = left.try_as_col().and_then(|column| schema.maybe_index_of_column(column));
        let to = common([&of, &other].into_iter()).filter(|to| *to != of);
        if let (Some(to), Some(place), Expr::Column(column)) = (to, place, left) {
            changed.insert(place, as_type(column.clone(), &to));
        }
    }
    with_columns(&join.left, changed)
}

/// The union, whose texts are of one type at each place.
fn with_texts_of_one_type(union: Union) -> Result<Union> {
    let places = 0..union.schema.fields().len();
    // A literal is seen as one only in the inputs as they are written, so all places are read before one changes.
    let types: Vec<Option<(Comparison, bool)>> = places.map(|place| type_at(&union, place)).collect();
    if types.iter().all(Option::is_none) {
        return Ok(union);
    }
    let input = |input: &Arc<LogicalPlan>| -> Result<Arc<LogicalPlan>> {
        let schema = input.schema();
        let mut changed = HashMap::new();
        for (place, (column, to)) in schema.columns().into_iter().zip(&types).enumerate() {
            let Some((how, is_padded)) = *to else { continue };
            let (of, _) = text_at(input, place);
            if of != how {
                let text = as_text(Expr::Column(column.clone()), of, is_padded, schema)?;
                changed.insert(place, how.named(text, column.relation, column.name));
            }
        }
        with_columns(input, changed)
    };
    let inputs = union.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
    Union::try_new_with_loose_types(inputs)
}

/// The type of the texts at `place`, and whether it is padded. `None` if they are of one type already.
fn type_at(union: &Union, place: usize) -> Option<(Comparison, bool)> {
    let texts: Vec<Text> = union.inputs.iter().map(|input| text_at(input, place)).collect();
    let is_padded = is_padded(&texts)?;
    let first = texts.iter().map(|(how, _)| *how).find(|how| is_padding(*how)).unwrap_or(Comparison::Plain);
    // Of texts of several lengths none has one.
    let how = match first {
        _ if !is_padded => Comparison::Plain,
        first if texts.iter().all(|(how, _)| *how == first) => first,
        _ => Comparison::Padded(0),
    };
    Some((how, is_padded))
}

/// The query, with other columns at the places of `changed`.
fn with_columns(plan: &Arc<LogicalPlan>, mut changed: HashMap<usize, Expr>) -> Result<Arc<LogicalPlan>> {
    if changed.is_empty() {
        return Ok(Arc::clone(plan));
    }
    let columns = plan.schema().columns().into_iter().enumerate();
    let exprs = columns.map(|(place, column)| changed.remove(&place).unwrap_or(Expr::Column(column)));
    LogicalPlanBuilder::from(Arc::clone(plan)).project(exprs.collect::<Vec<_>>())?.build().map(Arc::new)
}

/// The text that `plan` has at `place`.
fn text_at(plan: &LogicalPlan, place: usize) -> Text {
    text_of(&Expr::Column(plan.schema().columns().swap_remove(place)), plan)
}

/// The text that `expr` is of the rows of `plan`.
fn text_of(expr: &Expr, plan: &LogicalPlan) -> Text {
    let written = match expr {
        Expr::Column(column) => plan.schema().maybe_index_of_column(column).and_then(|place| written(plan, place)),
        _ => None,
    };
    (Comparison::handed_on(expr, plan.schema()), is_literal(written.unwrap_or(expr)))
}

/// What the query is written with at `place`.
fn written(plan: &LogicalPlan, place: usize) -> Option<&Expr> {
    match plan {
        LogicalPlan::Projection(projection) => match projection.expr.get(place)? {
            Expr::Column(column) => projection
                .input
                .schema()
                .maybe_index_of_column(column)
                .and_then(|place| written(&projection.input, place)),
            expr => Some(expr),
        },
        LogicalPlan::Distinct(Distinct::All(input)) => written(input, place),
        _ => None,
    }
}
