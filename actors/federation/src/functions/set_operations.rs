//! Set operations with one type for each column, as PostgreSQL determines it: the engine takes that of the first
//! query.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, FieldRef};
use datafusion::common::{Column, NullEquality, Result};
use datafusion::logical_expr::{
    Distinct, Expr, ExprSchemable, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, Union, cast,
};

use crate::functions::numbers::common;
use crate::functions::types::casts::{literal_as, type_of_literal};
use crate::functions::types::common_type::admit_texts;
use crate::functions::types::padded::{Text, as_text, is_literal, is_padded, is_padding};
use crate::plan::comparison::Comparison;

/// Gives each column of the set operation one type.
pub(super) fn of_one_type(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => {
            // Its columns have other types if those of its inputs have changed.
            let union = Union::try_new_with_loose_types(union.inputs)?;
            with_texts_of_one_type(with_numbers_of_one_type(with_literals(union)?)?).map(LogicalPlan::Union)
        }
        // A merged column is that of the first side to the engine.
        LogicalPlan::Join(mut join) if join.join_constraint == JoinConstraint::Using => {
            join.left = with_wider_numbers(&join)?;
            Ok(LogicalPlan::Join(join))
        }
        // INTERSECT and EXCEPT: only these treat NULLs as equal.
        LogicalPlan::Join(mut join) if join.null_equality == NullEquality::NullEqualsNull => {
            join.left = with_wider_numbers(&join)?;
            for (left, right) in &mut join.on {
                let literals = [literal_of(left, &join.left), literal_of(right, &join.right)];
                match literals {
                    [Some(literal), None] => {
                        let value = beside(literal, &[field_of(right, &join.right)?])?;
                        join.left = with_value(&join.left, left, value)?;
                    }
                    [None, Some(literal)] => *right = beside(literal, &[field_of(left, &join.left)?])?,
                    _ => {}
                }
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

/// Gives literals the type of the same column in the other queries.
fn with_literals(union: Union) -> Result<Union> {
    let places = 0..union.schema.fields().len();
    let literals = |place: usize| -> Vec<Option<Expr>> {
        union.inputs.iter().map(|input| literal_of(&column_at(input, place), input)).collect()
    };
    let literals: Vec<Vec<Option<Expr>>> = places.map(literals).collect();
    if literals.iter().flatten().all(Option::is_none) {
        return Ok(union);
    }
    let mut inputs = Vec::new();
    for (at, input) in union.inputs.iter().enumerate() {
        let mut changed = HashMap::new();
        for (place, literals) in literals.iter().enumerate() {
            let Some(Some(literal)) = literals.get(at) else { continue };
            let others = union.inputs.iter().zip(literals).filter(|(_, literal)| literal.is_none());
            let others: Vec<FieldRef> = others.map(|(input, _)| Arc::clone(&input.schema().fields()[place])).collect();
            let value = beside(literal.clone(), &others)?;
            if value != *literal {
                let (relation, field) = input.schema().qualified_field(place);
                changed.insert(place, value.alias_qualified(relation.cloned(), field.name()));
            }
        }
        inputs.push(with_columns(input, changed)?);
    }
    Union::try_new_with_loose_types(inputs)
}

/// Converts the literal to the type of these columns, unless they are texts.
fn beside(literal: Expr, others: &[FieldRef]) -> Result<Expr> {
    let types: Vec<ArrowType> = others.iter().map(|field| field.data_type().clone()).collect();
    if let Some(type_) = type_of_literal(&types) {
        return literal_as(literal, &type_);
    }
    match Comparison::spelled(others.iter().map(|field| Comparison::marked(field.metadata()))) {
        Some(how) => how.literal(literal),
        None => Ok(literal),
    }
}

/// The text that the query is written with there, if it is a literal.
fn literal_of(expr: &Expr, plan: &LogicalPlan) -> Option<Expr> {
    let Expr::Column(column) = expr else { return None };
    let written = plan.schema().maybe_index_of_column(column).and_then(|place| written(plan, place))?;
    let literal = written.clone().unalias();
    matches!(&literal, Expr::Literal(value, _) if value.data_type().is_string() && !value.is_null()).then_some(literal)
}

/// Replaces a column of the query by this value.
fn with_value(plan: &Arc<LogicalPlan>, column: &Expr, value: Expr) -> Result<Arc<LogicalPlan>> {
    let column = column.try_as_col();
    let place = column.and_then(|column| Some((plan.schema().maybe_index_of_column(column)?, column)));
    let Some((place, column)) = place else { return Ok(Arc::clone(plan)) };
    let value = value.alias_qualified(column.relation.clone(), column.name.clone());
    with_columns(plan, HashMap::from([(place, value)]))
}

fn field_of(expr: &Expr, plan: &LogicalPlan) -> Result<FieldRef> {
    expr.to_field(plan.schema()).map(|(_, field)| field)
}

/// Gives exact numbers in the same column one type.
fn with_numbers_of_one_type(union: Union) -> Result<Union> {
    for place in 0..union.schema.fields().len() {
        let types = union.inputs.iter().map(|input| input.schema().field(place).data_type().clone());
        admit_texts(&types.collect::<Vec<_>>())?;
    }
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

/// Gives exact numbers of the first side the common type of both sides.
fn with_wider_numbers(join: &Join) -> Result<Arc<LogicalPlan>> {
    let schema = join.left.schema();
    let mut changed = HashMap::new();
    for (left, right) in &join.on {
        let (of, other) = (left.get_type(schema)?, right.get_type(join.right.schema())?);
        let place = left.try_as_col().and_then(|column| schema.maybe_index_of_column(column));
        let is_half = of == ArrowType::Float32 && other == ArrowType::Float64;
        let to = if is_half { Some(other) } else { common([&of, &other].into_iter()) };
        let to = to.filter(|to| *to != of);
        if let (Some(to), Some(place), Expr::Column(column)) = (to, place, left) {
            changed.insert(place, as_type(column.clone(), &to));
        }
    }
    with_columns(&join.left, changed)
}

/// Gives texts in the same column one type.
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

/// Returns the type of the texts at `place`, and whether it is padded; `None` if they have one type already.
fn type_at(union: &Union, place: usize) -> Option<(Comparison, bool)> {
    let texts: Vec<Text> = union.inputs.iter().map(|input| text_at(input, place)).collect();
    let is_padded = is_padded(&texts)?;
    let first = texts.iter().map(|(how, _)| *how).find(|how| is_padding(*how)).unwrap_or(Comparison::Plain);
    // Texts of several lengths have no common one.
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
    text_of(&column_at(plan, place), plan)
}

fn column_at(plan: &LogicalPlan, place: usize) -> Expr {
    Expr::Column(plan.schema().columns().swap_remove(place))
}

/// The text that `expr` is of the rows of `plan`.
fn text_of(expr: &Expr, plan: &LogicalPlan) -> Text {
    let written = match expr {
        Expr::Column(column) => plan.schema().maybe_index_of_column(column).and_then(|place| written(plan, place)),
        _ => None,
    };
    (Comparison::handed_on(expr, plan.schema()), is_literal(written.unwrap_or(expr)))
}

/// Returns the expression of the query at `place`.
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
