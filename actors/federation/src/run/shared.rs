//! Rows that several leaves of a plan read: the source is queried once, and the rows are kept in memory until the
//! plan ends.

use std::fmt;
use std::sync::{Arc, Mutex};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use futures_util::future::{BoxFuture, Shared};
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, Stream, StreamExt, TryFutureExt, TryStreamExt, stream};

use crate::failure::is_memory_exhausted;
use portico_core::mutex::lock;

/// The rows of one statement, for several readers.
#[derive(Default)]
pub(crate) struct SharedRows(Mutex<Option<Fetching>>);

/// Driven by any of its readers, so that it continues even if one of them waits for another.
type Fetching = Shared<BoxFuture<'static, std::result::Result<Arc<Kept>, Arc<DataFusionError>>>>;

type Batches = BoxStream<'static, Result<RecordBatch>>;

struct Kept {
    batches: Vec<RecordBatch>,
    /// The statement's memory reserved for them.
    _memory: MemoryReservation,
}

impl SharedRows {
    /// Returns the columns at `places` of the rows, as those of `schema`. The first reader fetches them with
    /// `fetched`. If there is no memory to keep them, each reader queries by itself: `alone`.
    pub(super) fn read(
        &self,
        fetched: Batches,
        memory: &Arc<dyn MemoryPool>,
        (places, schema): (Vec<usize>, SchemaRef),
        alone: Batches,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + use<> {
        let mut fetching = lock(&self.0);
        let fetching = fetching.get_or_insert_with(|| {
            let memory = MemoryConsumer::new("rows of several readers").register(memory);
            kept(fetched, memory).map(|kept| kept.map(Arc::new).map_err(Arc::new)).boxed().shared()
        });
        let part = move |batch: RecordBatch| {
            let columns = places.iter().filter_map(|place| batch.columns().get(*place).cloned()).collect();
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &rows)?)
        };
        let batches = fetching.clone().map(|kept| match kept {
            Ok(kept) => Ok(stream::iter(kept.batches.clone()).map(part).left_stream()),
            Err(error) if is_memory_exhausted(&error) => Ok(alone.right_stream()),
            Err(error) => Err(DataFusionError::Shared(error)),
        });
        batches.try_flatten_stream()
    }
}

async fn kept(mut batches: Batches, memory: MemoryReservation) -> Result<Kept> {
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
