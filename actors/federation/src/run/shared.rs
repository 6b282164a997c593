//! Rows that several leaves of a plan read: the source is asked once, and what it answers is kept in memory until the plan
//! ends.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, Stream, StreamExt, TryFutureExt, TryStreamExt, stream};

/// The rows of one statement, for several readers.
#[derive(Default)]
pub(crate) struct SharedRows(Mutex<Option<Fetching>>);

/// Whoever reads drives it, so that it goes on also where one of its readers waits for another.
type Fetching = Shared<BoxFuture<'static, std::result::Result<Arc<Kept>, Arc<DataFusionError>>>>;

struct Kept {
    batches: Vec<RecordBatch>,
    /// What they take of the statement's memory.
    _memory: MemoryReservation,
}

impl SharedRows {
    /// The columns of the rows at `places`, as those of `schema`. What reads first has them `fetched`.
    pub(super) fn read(
        &self,
        fetched: BoxStream<'static, Result<RecordBatch>>,
        memory: &Arc<dyn MemoryPool>,
        places: Vec<usize>,
        schema: SchemaRef,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + use<> {
        let mut fetching = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fetching = fetching.get_or_insert_with(|| {
            let memory = MemoryConsumer::new("rows of several readers").register(memory);
            kept(fetched, memory).map(|kept| kept.map(Arc::new).map_err(Arc::new)).boxed().shared()
        });
        let kept = fetching.clone().map_err(DataFusionError::Shared);
        let batches = kept.map_ok(|kept| stream::iter(kept.batches.clone()).map(Ok)).try_flatten_stream();
        batches.map(move |batch| {
            let batch = batch?;
            let columns = places.iter().filter_map(|place| batch.columns().get(*place).cloned()).collect();
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows)?)
        })
    }
}

async fn kept(mut batches: BoxStream<'static, Result<RecordBatch>>, memory: MemoryReservation) -> Result<Kept> {
    let mut kept = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        memory.try_grow(batch.get_array_memory_size())?;
        kept.push(batch);
    }
    Ok(Kept { batches: kept, _memory: memory })
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRows")
    }
}
