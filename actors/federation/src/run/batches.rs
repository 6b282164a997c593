//! Rows of a source as the engine's arrays.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use futures_util::{Stream, StreamExt, stream};

use portico_arrow::Values;
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::{Batch, Part, Results};

/// Octets of one batch, give or take a row.
const BATCH_OCTETS: usize = 256 * 1024;

/// A value such as an infinite date. A cast is no remedy: the engine would cast what it has already.
fn no_form(error: Error) -> Error {
    error.hint("a statement of that connection alone reads it; here a view of that connection can make text of it")
}

/// The rows as batches of the columns of `schema`, of `most` rows each. The statement calls the columns by `names`.
pub(super) fn batches(
    results: Results,
    schema: SchemaRef,
    names: &[String],
    most: usize,
) -> impl Stream<Item = Result<RecordBatch>> + Send + use<> {
    let values = schema.fields().iter().zip(names);
    let values = values.map(|(field, name)| Values::new(field.data_type(), name, None)).collect();
    let gathering = Gathering { results, schema, values, most, rows: 0, octets: 0, pending: None, ended: false };
    stream::try_unfold(gathering, async |mut gathering| Ok(gathering.next().await?.map(|batch| (batch, gathering))))
}

/// Rows that become a batch.
struct Gathering {
    results: Results,
    schema: SchemaRef,
    values: Vec<Values>,
    most: usize,
    rows: usize,
    octets: usize,
    /// A part with remaining rows.
    pending: Option<(Box<dyn Batch>, usize)>,
    ended: bool,
}

impl Gathering {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some((rows, from)) = self.pending.take() {
                let taken = self.take(rows.as_ref(), from)?;
                if taken < rows.rows() {
                    self.pending = Some((rows, taken));
                }
            }
            if self.is_full() || (self.ended && self.rows > 0) {
                return self.finish().map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            match self.results.next().await {
                Some(Ok(Part::Rows(rows))) => self.pending = Some((rows, 0)),
                Some(Ok(Part::Columns(columns))) if columns.len() != self.schema.fields().len().max(1) => {
                    return Err(Error::internal("a source answered with other columns than it was asked for"));
                }
                Some(Ok(Part::Columns(_))) => {}
                Some(Ok(Part::Done { .. })) | None => self.ended = true,
                Some(Err(error)) => return Err(error),
            }
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= self.most || self.octets >= BATCH_OCTETS
    }

    /// Takes rows until the batch is full; the place of the first one that is left.
    fn take(&mut self, rows: &dyn Batch, from: usize) -> Result<usize> {
        for row in from..rows.rows() {
            if self.is_full() {
                return Ok(row);
            }
            for (column, values) in self.values.iter_mut().enumerate() {
                self.octets += values.push(&rows.cell(row, column)?).map_err(no_form)?;
            }
            self.rows += 1;
        }
        Ok(rows.rows())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let columns = self.values.iter_mut().map(Values::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        (self.rows, self.octets) = (0, 0);
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(|error| {
            Error::new(Kind::Rejected, "a source sent a value that its column cannot hold").because(error)
        })
    }
}
