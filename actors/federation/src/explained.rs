//! What `EXPLAIN` answers: the plan line by line, with what each source is sent.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use futures_util::{Stream, StreamExt};

use portico_core::error::Result;

/// The one column, as PostgreSQL calls it.
pub(crate) fn schema() -> Schema {
    Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)])
}

/// The plan as it would run.
pub(crate) fn plan(plan: &dyn ExecutionPlan) -> RecordBatch {
    lines(&displayable(plan).indent(false).to_string())
}

/// The plan after it has run, with what each part of it did.
///
/// # Errors
/// What fails while it runs.
pub(crate) async fn analyzed(
    plan: &Arc<dyn ExecutionPlan>,
    batches: impl Stream<Item = Result<RecordBatch>>,
) -> Result<RecordBatch> {
    let mut batches = std::pin::pin!(batches);
    while let Some(batch) = batches.next().await {
        batch?;
    }
    Ok(lines(&DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false).to_string()))
}

fn lines(text: &str) -> RecordBatch {
    let (schema, lines) = (Arc::new(schema()), StringArray::from(text.lines().collect::<Vec<_>>()));
    RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(lines)]).unwrap_or_else(|_| RecordBatch::new_empty(schema))
}
