//! `char(n)` beside other texts of which one is answered. PostgreSQL takes the first that is no bare literal for the type of
//! all, and to `char(n)` alone blanks at the end of a text are nothing.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{Column, DFSchema, NullEquality, Result};
use datafusion::functions::string::rtrim;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Union, lit};

use super::casts::plain_text;
use crate::plan::comparison::Comparison;

/// A text among others: how it compares, and whether it is a bare literal.
type Text = (Comparison, bool);

/// The values as texts of one type, in the order in which PostgreSQL looks at them.
pub(super) fn of_one_type(exprs: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>> {
    let texts: Vec<Text> = exprs.iter().map(|expr| (Comparison::handed_on(expr, schema), is_literal(expr))).collect();
    let Some(is_padded) = is_padded(&texts) else { return Ok(exprs) };
    let one = |(expr, (how, _)): (Expr, Text)| as_text(expr, how, is_padded, schema);
    exprs.into_iter().zip(texts).map(one).collect()
}

/// The set operation, whose columns are of one type each.
pub(super) fn in_set_operation(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(mut union) => {
            for place in 0..union.schema.fields().len() {
                union = with_one_type(union, place)?;
            }
            Ok(LogicalPlan::Union(union))
        }
        // INTERSECT and EXCEPT: nothing else has NULL equal NULL.
        LogicalPlan::Join(mut join) if join.null_equality == NullEquality::NullEqualsNull => {
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

/// Whether all of them are padded: the first one is that is no bare literal; `None` where none is.
fn is_padded(texts: &[Text]) -> Option<bool> {
    texts.iter().any(|(how, _)| is_padding(*how)).then_some(())?;
    Some(texts.iter().find(|(_, is_literal)| !is_literal).is_some_and(|(how, _)| is_padding(*how)))
}

fn is_padding(how: Comparison) -> bool {
    matches!(how, Comparison::Padded(_))
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Alias(alias) => is_literal(&alias.expr),
        _ => false,
    }
}

/// The text without blanks at its end where all `are_padded`; else as a text to which they are something.
fn as_text(expr: Expr, how: Comparison, are_padded: bool, schema: &DFSchema) -> Result<Expr> {
    Ok(match (is_padding(how), are_padded) {
        (true, false) => plain_text(expr),
        (false, true) if expr.get_type(schema)?.is_string() => rtrim().call(vec![expr, lit(" ")]),
        _ => expr,
    })
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
