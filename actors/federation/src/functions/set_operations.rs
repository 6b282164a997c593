//! Set operations, whose columns are of one type each, as PostgreSQL finds it: the engine takes that of the first query.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, Join, LogicalPlan, LogicalPlanBuilder, Union, cast};

use super::numbers::as_exact;
use super::padded::{Text, as_text, is_literal, is_padded, is_padding};
use crate::plan::comparison::Comparison;

/// The set operation, whose columns are of one type each.
pub(super) fn of_one_type(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(mut union) => {
            for place in 0..union.schema.fields().len() {
                union = with_one_type(union, place)?;
            }
            Ok(LogicalPlan::Union(union))
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

/// The first side, whose whole numbers are exact ones where those of the second side are.
fn with_exact_numbers(join: &Join) -> Result<Arc<LogicalPlan>> {
    let schema = join.left.schema();
    let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
    let mut is_same = true;
    for (left, right) in &join.on {
        let (of, other) = (left.get_type(schema)?, right.get_type(join.right.schema())?);
        let place = left.try_as_col().and_then(|column| schema.maybe_index_of_column(column));
        if let (true, Some(expr)) =
            (of.is_integer() && other.is_decimal(), place.and_then(|place| exprs.get_mut(place)))
        {
            let (relation, name) = left.qualified_name();
            *expr = cast(expr.clone(), as_exact(&of)).alias_qualified(relation, name);
            is_same = false;
        }
    }
    if is_same {
        return Ok(Arc::clone(&join.left));
    }
    LogicalPlanBuilder::from(Arc::clone(&join.left)).project(exprs)?.build().map(Arc::new)
}

/// The union, whose texts at `place` are of one type.
fn with_one_type(union: Union, place: usize) -> Result<Union> {
    let texts: Vec<Text> = union.inputs.iter().map(|input| text_at(input, place)).collect();
    let Some(is_padded) = is_padded(&texts) else { return Ok(union) };
    let mut lengths = texts.iter().map(|(how, _)| *how).filter(|how| is_padding(*how));
    let first = lengths.next().unwrap_or(Comparison::Plain);
    // Of texts of several lengths none has one.
    let how = match first {
        _ if !is_padded => Comparison::Plain,
        first if lengths.all(|other| other == first) => first,
        _ => Comparison::Padded(0),
    };
    let input = |(input, (of, _)): (&Arc<LogicalPlan>, Text)| -> Result<Arc<LogicalPlan>> {
        let schema = input.schema();
        let mut exprs: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        if let (Some(expr), true) = (exprs.get_mut(place), of != how) {
            let Column { relation, name, .. } = schema.columns().swap_remove(place);
            let mut marks = HashMap::new();
            how.mark(&mut marks);
            let text = as_text(expr.clone(), of, is_padded, schema)?;
            *expr = Expr::Alias(Alias::new(text, relation, name).with_metadata(Some(FieldMetadata::from(marks))));
        }
        LogicalPlanBuilder::from(Arc::clone(input)).project(exprs)?.build().map(Arc::new)
    };
    let inputs = union.inputs.iter().zip(texts).map(input).collect::<Result<Vec<_>>>()?;
    Union::try_new_with_loose_types(inputs)
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
        LogicalPlan::Projection(projection) => projection.expr.get(place),
        LogicalPlan::Distinct(Distinct::All(input)) => written(input, place),
        _ => None,
    }
}
