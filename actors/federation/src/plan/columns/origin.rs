//! The origin of a result's column. Each field of a table has a mark of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_schema::Field;
use datafusion::common::JoinType;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};

use crate::plan::comparison::Comparison;
use portico_core::mutex::lock;
use portico_core::reply::Column;

/// The key of the mark among a field's metadata.
const KEY: &str = "portico.origin";

/// A column of a source.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// As its source describes it.
    pub(crate) column: Column,
    /// Whether it is an unbounded exact number, whose digits are kept as text.
    pub(crate) unbounded: bool,
    /// Whether its text is filled up with blanks.
    pub(crate) padded: bool,
}

/// The columns of all tables of one statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(Arc<Mutex<Vec<Origin>>>);

impl Origins {
    /// Takes one up; its mark.
    pub(crate) fn add(&self, origin: Origin) -> usize {
        let mut origins = lock(&self.0);
        origins.push(origin);
        origins.len() - 1
    }

    /// Returns the origin that `field` is marked with.
    pub(crate) fn get(&self, field: &Field) -> Option<Origin> {
        let mark: usize = field.metadata().get(KEY)?.parse().ok()?;
        lock(&self.0).get(mark).cloned()
    }
}

/// `field` with its mark, and how its values compare.
pub(crate) fn mark(field: Field, mark: usize, comparison: Comparison) -> Field {
    let mut metadata = HashMap::from([(KEY.to_owned(), mark.to_string())]);
    comparison.mark(&mut metadata);
    field.with_metadata(metadata)
}

/// Returns the marks of the column at `place` of the result of `plan`, if a table passes it on unchanged. The
/// engine's own schema keeps them for casts, and those of one side for unions.
pub(crate) fn marks(plan: &LogicalPlan, place: usize) -> HashMap<String, String> {
    let handed_on = |expr: Option<&Expr>, input: &LogicalPlan| match expr.map(|expr| expr.clone().unalias_nested().data)
    {
        Some(Expr::Column(column)) => {
            input.schema().maybe_index_of_column(&column).map(|place| marks(input, place)).unwrap_or_default()
        }
        _ => HashMap::new(),
    };
    match plan {
        LogicalPlan::TableScan(of) => of.projected_schema.field(place).metadata().clone(),
        LogicalPlan::Projection(of) => handed_on(of.expr.get(place), &of.input),
        LogicalPlan::Aggregate(of) => handed_on(of.group_expr.get(place), &of.input),
        LogicalPlan::Join(of) => {
            let is_right = matches!(of.join_type, JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark);
            let left = if is_right { 0 } else { of.left.schema().fields().len() };
            match place.checked_sub(left) {
                None => marks(&of.left, place),
                Some(place) if of.join_type != JoinType::LeftMark && place < of.right.schema().fields().len() => {
                    marks(&of.right, place)
                }
                Some(_) => HashMap::new(),
            }
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Distinct(Distinct::All(_))
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Window(_) => match plan.inputs().first() {
            Some(input) if place < input.schema().fields().len() => marks(input, place),
            _ => HashMap::new(),
        },
        _ => HashMap::new(),
    }
}
