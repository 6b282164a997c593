//! A leaf of a plan: one statement on one connection, whose rows become arrays as they arrive. It is sent when the
//! first row is requested, so that the keys that a join has found by then narrow it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as EngineResult, Statistics};
use datafusion::execution::{RecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};

use crate::connections::Connections;
use crate::external_error::external;
use crate::failure::of_connection;
use crate::push::Select;
use crate::run::batches::batches;
use crate::run::fragment::{Bound, Fragment};
use crate::run::joins::keys::{self, Keys};
use crate::run::shared::SharedRows;
use crate::statement::Deadline;
use portico_core::call::{Argument, Mode, Op};
use portico_core::error::{Error, Result};
use portico_core::reply::Results;

/// Numbers the leaves.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);

/// The part of shared rows that a leaf reads.
#[derive(Clone, Debug)]
pub(crate) struct SharedPart {
    /// The query for all of the shared rows.
    pub(crate) whole: Arc<LeafTable>,
    pub(crate) rows: Arc<SharedRows>,
    /// The places there of the leaf's own columns.
    pub(crate) places: Vec<usize>,
}

/// A pushed-down part of a statement, as a table of the engine.
#[derive(Clone, Debug)]
pub(crate) struct LeafTable {
    number: usize,
    select: Select,
    fields: SchemaRef,
    /// The names of the columns in the statement.
    names: Vec<String>,
    connections: Arc<dyn Connections>,
    deadline: Deadline,
    /// How many rows its source expects.
    expected: OnceLock<u64>,
    /// How many rows its source expects without its conditions.
    whole: OnceLock<u64>,
    /// How many different values each column has, where that is known.
    distinct: Vec<OnceLock<u64>>,
    /// The rows that it reads of, where other leaves read them too.
    shared: Option<SharedPart>,
}

impl LeafTable {
    /// Makes the leaf that replaces a node with the columns of `schema`.
    pub(crate) fn new(select: Select, schema: &Schema, connections: Arc<dyn Connections>, deadline: Deadline) -> Self {
        let field = |(place, field): (usize, &Arc<Field>)| {
            Field::new(format!("c{place}"), field.data_type().clone(), field.is_nullable())
                .with_metadata(field.metadata().clone())
        };
        let fields = Arc::new(Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>()));
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let distinct = schema.fields().iter().map(|_| OnceLock::new()).collect();
        let (expected, whole) = (OnceLock::new(), OnceLock::new());
        Self { number, select, fields, names, connections, deadline, expected, whole, distinct, shared: None }
    }

    /// Has the table read these rows, which it shares with others.
    pub(crate) fn reading(self, shared: Option<SharedPart>) -> Self {
        let expected = shared.as_ref().map_or(self.expected, |shared| shared.whole.expected.clone());
        Self { expected, shared, ..self }
    }

    /// Returns the query to its source without keys.
    pub(crate) fn select(&self) -> &Select {
        &self.select
    }

    /// The place of its connection.
    pub(crate) fn connection(&self) -> usize {
        self.select.connection
    }

    /// The statement without keys.
    pub(crate) fn sent(&self) -> String {
        self.select.sent()
    }

    /// Sets the source's row estimate.
    pub(crate) fn expect(&self, rows: u64) {
        let _ = self.expected.set(rows);
    }

    /// The statement without its conditions, where it has some.
    pub(crate) fn unconditional(&self) -> Option<String> {
        self.select.unconditional().map(|select| select.sent())
    }

    /// Sets the source's row estimate without conditions.
    pub(crate) fn expect_whole(&self, rows: u64) {
        let _ = self.whole.set(rows);
    }

    /// How many rows its source expects.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn expected(&self) -> Option<f64> {
        self.expected.get().map(|rows| *rows as f64)
    }

    /// How many rows there are without conditions.
    pub(crate) fn whole(&self) -> Option<u64> {
        let expected = self.expected.get()?;
        Some(self.whole.get().map_or(*expected, |whole| *whole.max(expected)))
    }

    /// Which part of its rows is left by its conditions.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn share(&self) -> f64 {
        match (self.expected(), self.whole()) {
            (Some(expected), Some(whole)) if whole > 0 => expected / whole as f64,
            _ => 1.0,
        }
    }

    /// Returns true if the values of the column at `place` are unique.
    pub(crate) fn is_unique(&self, place: usize) -> bool {
        self.select.is_unique(place)
    }

    /// Sets the number of distinct values of the column at `place`.
    pub(crate) fn tell_distinct_values(&self, place: usize, values: u64) {
        if let Some(known) = self.distinct.get(place) {
            let _ = known.set(values);
        }
    }

    /// Returns the query to its source, with the keys found by now.
    fn fragment(&self, keys: &[Keys]) -> Result<Fragment> {
        let (select, arguments) = keys::narrowed(self.select.clone(), keys);
        let member = self.connections.members().get(self.select.connection);
        Ok(Fragment {
            connection: member.ok_or_else(|| Error::internal("bug: the index of a connection is missing"))?.id,
            statement: select.sent(),
            values: arguments.into_iter().map(|Argument { name, value, .. }| Bound { name, value }).collect(),
            schema: Arc::clone(&self.fields),
        })
    }

    fn name(&self) -> &str {
        self.connections.members().get(self.select.connection).map_or("", |member| &member.name)
    }
}

#[async_trait]
impl TableProvider for LeafTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.fields)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let mut leaf = self.clone();
        if let Some(places) = projection {
            leaf.select = leaf.select.only(places);
            leaf.fields = Arc::new(self.fields.project(places)?);
            leaf.names = places.iter().filter_map(|place| self.names.get(*place).cloned()).collect();
            leaf.distinct = places.iter().filter_map(|place| self.distinct.get(*place).cloned()).collect();
            leaf.shared = self.shared.as_ref().map(|shared| SharedPart {
                places: places.iter().filter_map(|place| shared.places.get(*place).copied()).collect(),
                ..shared.clone()
            });
        }
        Ok(Arc::new(Leaf::new(Arc::new(leaf), Vec::new())))
    }
}

/// A leaf in the plan that runs.
#[derive(Debug)]
pub(crate) struct Leaf {
    table: Arc<LeafTable>,
    /// The keys that joins find while the plan runs.
    keys: Vec<Keys>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl Leaf {
    fn new(table: Arc<LeafTable>, keys: Vec<Keys>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&table.fields)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { table, keys, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// Returns the number that identifies it among the leaves.
    pub(crate) fn number(&self) -> usize {
        self.table.number
    }

    /// Returns the number that identifies the statement that its rows come from.
    pub(crate) fn statement(&self) -> usize {
        self.table.shared.as_ref().map_or(self.table.number, |shared| shared.whole.number)
    }

    /// The name of its connection.
    pub(crate) fn connection(&self) -> &str {
        self.table.name()
    }

    /// Whether other leaves read the same rows.
    pub(crate) fn is_shared(&self) -> bool {
        self.table.shared.is_some()
    }

    /// Returns the leaf as one that asks its source by itself.
    pub(crate) fn alone(&self) -> Self {
        let table = LeafTable { shared: None, ..LeafTable::clone(&self.table) };
        Self::new(Arc::new(table), self.keys.clone())
    }

    /// Returns the leaf with rows of these keys alone.
    pub(crate) fn with_keys(&self, keys: Vec<Keys>) -> Self {
        Self::new(Arc::clone(&self.table), keys)
    }
}

impl DisplayAs for Leaf {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source: connection={}", self.table.name())?;
        let member = self.table.connections.members().get(self.table.select.connection);
        if !member.is_some_and(|member| member.is_reached) {
            return Ok(());
        }
        let shared = self.table.shared.as_ref().map(|shared| &shared.whole);
        write!(f, ", sql={}", shared.unwrap_or(&self.table).sent())?;
        if shared.is_some() {
            f.write_str(", shared")?;
        }
        for keys in &self.keys {
            write!(f, ", keys=c{}", keys.place)?;
        }
        Ok(())
    }
}

impl ExecutionPlan for Leaf {
    fn name(&self) -> &'static str {
        "Source"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> EngineResult<std::pin::Pin<Box<dyn RecordBatchStream + Send>>> {
        let rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let octets = MetricBuilder::new(&self.metrics).counter("output_octets", partition);
        let schema = Arc::clone(&self.table.fields);
        let most = context.session_config().batch_size();
        let own = fetched(Arc::clone(&self.table), self.keys.clone(), most, octets.clone());
        let batches = match &self.table.shared {
            Some(SharedPart { whole, rows, places }) => {
                let whole = fetched(Arc::clone(whole), Vec::new(), most, octets).boxed();
                let part = (places.clone(), Arc::clone(&schema));
                rows.read(whole, context.memory_pool(), part, own.boxed()).left_stream()
            }
            None => own.right_stream(),
        };
        let batches = batches.inspect_ok(move |batch| rows.add(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _: Option<usize>) -> EngineResult<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.table.fields);
        if let Some(rows) = self.table.expected.get().and_then(|rows| usize::try_from(*rows).ok()) {
            // Which side of a join is read first is decided by its keys, and not by the width of its rows.
            statistics.num_rows = Precision::Inexact(rows);
        }
        for (column, values) in statistics.column_statistics.iter_mut().zip(&self.table.distinct) {
            if let Some(values) = values.get().and_then(|values| usize::try_from(*values).ok()) {
                column.distinct_count = Precision::Inexact(values);
            }
        }
        Ok(Arc::new(statistics))
    }
}

/// The rows that the source sends of `table` with the keys that there are by now, in batches of `most` rows.
fn fetched(
    table: Arc<LeafTable>,
    keys: Vec<Keys>,
    most: usize,
    octets: Count,
) -> impl Stream<Item = EngineResult<RecordBatch>> + Send {
    let batches = stream::once(async move {
        let opened = open(&table, &keys).await.map_err(|error| of_connection(table.name(), error));
        let name = table.name().to_owned();
        opened
            .map(|results| {
                let batches = batches(results, Arc::clone(&table.fields), &table.names, most);
                batches.map_err(move |error| external(of_connection(&name, error)))
            })
            .map_err(external)
    });
    batches.try_flatten().inspect_ok(move |batch| octets.add(batch.get_array_memory_size()))
}

/// Sends the statement with the keys that there are by now.
async fn open(table: &LeafTable, keys: &[Keys]) -> Result<Results> {
    let fragment = table.fragment(keys)?;
    table.connections.note(table.select.connection, &fragment.statement);
    let op = Op::Script(Mode::Run, fragment.sql());
    table.connections.ask(table.select.connection, op, table.deadline.limits()?).await
}
