//! The result of `EXPLAIN`: the plan line by line, with the statements sent to the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures_util::{Stream, StreamExt};

use crate::plan::columns::labels;
use crate::run::leaf::Leaf;
use portico_core::error::Result;

/// The only column, under PostgreSQL's name.
pub(crate) fn schema() -> Schema {
    Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)])
}

/// The plan as it would run.
pub(crate) fn plan(plan: &dyn ExecutionPlan) -> RecordBatch {
    lines(&displayable(plan).indent(false).to_string(), plan)
}

/// Returns the plan after it has run, with statistics of each part.
///
/// # Errors
/// An error while it runs.
pub(crate) async fn analyzed(
    plan: &Arc<dyn ExecutionPlan>,
    batches: impl Stream<Item = Result<RecordBatch>>,
) -> Result<RecordBatch> {
    let mut batches = std::pin::pin!(batches);
    while let Some(batch) = batches.next().await {
        batch?;
    }
    let text = DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false).to_string();
    Ok(lines(&text, plan.as_ref()))
}

fn lines(text: &str, plan: &dyn ExecutionPlan) -> RecordBatch {
    let mut statements = BTreeMap::new();
    gather(plan, &mut statements);
    let several = statements.into_iter().map(|(connection, statements)| (connection, statements.len()));
    let several = several.filter(|(_, statements)| *statements > 1).map(|(connection, statements)| {
        format!(
            "Snapshots: connection={connection}, statements={statements}, each sees what is committed when it begins"
        )
    });
    let lines: StringArray = labels::without_marks(text).lines().map(str::to_owned).chain(several).map(Some).collect();
    let schema = Arc::new(schema());
    RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(lines)]).unwrap_or_else(|_| RecordBatch::new_empty(schema))
}

/// The statements that each connection is sent, by their numbers.
fn gather(plan: &dyn ExecutionPlan, statements: &mut BTreeMap<String, BTreeSet<usize>>) {
    if let Some(leaf) = plan.downcast_ref::<Leaf>() {
        statements.entry(leaf.connection().to_owned()).or_default().insert(leaf.statement());
    }
    plan.children().into_iter().for_each(|child| gather(child.as_ref(), statements));
}
