//! Plans and runs statements over several connections, on threads of its own.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::optimizer::Analyzer;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use futures_util::{StreamExt, stream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::AbortOnDropHandle;

use crate::connections::Connections;
use crate::failure::{engine_error, is_memory_exhausted};
use crate::functions::allowed;
use crate::functions::bounded_text;
use crate::functions::postgresql::AsPostgresql;
use crate::functions::types::outer_types::OuterTypes;
use crate::functions::types::type_names::TypeNames;
use crate::plan::columns::origin::Origins;
use crate::plan::estimates::Estimates;
use crate::plan::explained;
use crate::plan::plan_deadline::PlanDeadline;
use crate::plan::planning::{self, LowMemoryPlan, Planned};
use crate::plan::rules;
use crate::plan::text::parse::Explain;
use crate::run::buffered_aggregates::COUNT_BUFFERED_VALUES;
use crate::run::deferred_start::BEGIN_WHEN_READ;
use crate::run::joins::binding::BindKeys;
use crate::run::joins::yielding::YieldInJoins;
use crate::run::results::{self, Rows};
use crate::run::skipping::SORT_ON_ONE_SIDE;
use crate::run::unordered::FORGET_PROPERTIES;
use crate::run::windows::COUNT_ROWS_OF_WINDOWS;
use crate::statement::{Deadline, Statement, timed_out};
use crate::tables::catalog::{Catalogs, Tables};
use portico_core::error::{Error, Kind, Result};
use portico_core::mutex::lock;
use portico_core::reply::{Part, Results};

/// How much the engine may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Octets of memory of all statements together.
    pub memory: usize,
    /// Octets of memory of one statement.
    pub statement_memory: usize,
    /// The folder for rows that do not fit in memory.
    pub spill_dir: PathBuf,
    /// Octets there at most, of one statement.
    pub spill_limit: u64,
    /// Threads that plans run on.
    pub threads: usize,
    /// Whether parts of a statement are pushed down to the sources; otherwise they return whole tables.
    pub pushdown: bool,
}

/// How long a statement waits for memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// The size in bytes of a thread's stack, and of a segment added to it: plans are trees as deep as their statement
/// is long. Most of the code that walks over them adds a segment when less than half is left; the rest needs no
/// more than that half. Memory is used only as far as it is needed.
const STACK: usize = 64 << 20;
/// The number of bytes that a sort reserves for merging spilled rows.
const FOR_MERGING: usize = 1 << 20;
/// The number of a sort's files that are merged at once: so one sort leaves memory to the statement's other sorts.
const MERGED: usize = 4;
/// Octets that the process may grow by beyond the memory of a statement.
const BEYOND: usize = 32 << 20;
/// Octets of a statement's memory for each row of a batch, which has so many at the least.
const OCTETS_FOR_A_ROW: usize = 16 << 10;
const FEWEST_ROWS: usize = 512;
/// Batches that wait for their reader.
const AHEAD: usize = 2;
/// The prefix of our names in the spill folder.
const SPILLED: &str = "datafusion-";

/// Room for one statement, its principal's and that of all, until it is dropped.
#[derive(Debug)]
struct Room {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// How many statements have memory at once.
fn statements(settings: &Settings) -> usize {
    (settings.memory / settings.statement_memory.max(1)).max(1)
}

/// Returns the memory of a statement that the engine may count. Counted memory is sometimes there twice: a buffer
/// that grows while it is copied, and the rows of a join or a group while they are assembled.
fn counted(statement_memory: usize) -> usize {
    statement_memory.min(statement_memory.midpoint(BEYOND))
}

/// Returns the number of rows in a batch: some batches are in memory beside what is counted.
fn batch_size(statement_memory: usize) -> usize {
    (statement_memory / OCTETS_FOR_A_ROW).clamp(FEWEST_ROWS, bounded_text::BATCH)
}

/// The engine of statements over several connections.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    /// The state that every statement starts from.
    base: SessionState,
    /// Room for so many statements at once.
    room: Arc<Semaphore>,
    /// The semaphore of each principal, by its subject, while it runs statements: others find room beside it.
    own: Mutex<HashMap<String, Weak<Semaphore>>>,
    estimates: Arc<Estimates>,
    /// There until the engine is dropped.
    runtime: Option<Runtime>,
}

impl Engine {
    /// Starts its threads, and removes what a former process left behind.
    ///
    /// # Errors
    /// If the threads cannot be started or the folder cannot be used.
    pub fn start(settings: Settings) -> std::io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&settings.spill_dir)?;
        for entry in fs::read_dir(&settings.spill_dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(SPILLED) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        recursive::set_minimum_stack_size(STACK / 2);
        recursive::set_stack_allocation_size(STACK);
        let runtime = Builder::new_multi_thread()
            .worker_threads(settings.threads.max(1))
            .thread_name("federation")
            .thread_stack_size(STACK)
            .enable_time()
            .build()?;
        let statements = statements(&settings);
        Ok(Self {
            base: base(batch_size(settings.statement_memory)),
            settings,
            room: Arc::new(Semaphore::new(statements)),
            own: Mutex::default(),
            estimates: Arc::default(),
            runtime: Some(runtime),
        })
    }

    /// Runs `statement` for the caller of these `connections`; completes once it is planned. Dropping the future,
    /// or the results, cancels the statements at the sources.
    ///
    /// # Errors
    /// [`Kind::Invalid`] if it is not a single statement that reads, [`Kind::NotFound`] for tables and connections,
    /// [`Kind::Rejected`] for what cannot be planned, [`Kind::Busy`] if there is no room for it, and errors of the
    /// sources.
    pub async fn run(&self, connections: Arc<dyn Connections>, statement: Statement) -> Result<Results> {
        let runtime = self.runtime.as_ref().ok_or_else(|| Error::internal("the engine has ended"))?;
        let deadline = Deadline::after(statement.limits.timeout);
        let room = self.admit(&statement.principal, deadline).await?;
        let origins = Origins::default();
        let tables = Tables::new(Arc::clone(&connections), statement.workspace.clone(), origins.clone(), deadline);
        let state = self.state(&statement, Arc::clone(&tables), deadline);
        let handle = runtime.handle().clone();
        let (settings, estimates) = (self.settings.clone(), Arc::clone(&self.estimates));
        let planned = runtime.spawn(async move {
            let pushdown = settings.pushdown;
            let Planned { plan, schema, explain, context, low_memory } =
                planning::plan(&statement, state, &tables, connections, deadline, pushdown, &estimates).await?;
            let running = Running { handle, settings, deadline, room };
            if let Some(explain) = explain {
                let (columns, forms) = results::columns(&explained::schema(), &origins);
                let told = match explain {
                    _ if statement.describes => None,
                    Explain::Plan => Some(explained::plan(plan.as_ref())),
                    Explain::Analyze => {
                        let batches = running.batches(Arc::clone(&plan), context, None);
                        Some(explained::analyzed(&plan, batches).await?)
                    }
                };
                return Ok((columns, forms, told.map(|told| stream::iter([Ok(told)]).boxed())));
            }
            let (columns, forms) = results::columns(&schema, &origins);
            let batches = (!statement.describes).then(|| running.batches(plan, context, Some(low_memory)).boxed());
            Ok::<_, Error>((columns, forms, batches))
        });
        let planned = tokio::time::timeout_at(deadline.instant().into(), AbortOnDropHandle::new(planned));
        let (columns, forms, batches) = planned.await.map_err(|_| timed_out())?.map_err(Error::internal)??;
        let head = stream::iter([Ok(Part::Columns(columns))]);
        let end = stream::iter([Ok(Part::Done { affected: -1 })]);
        let rows = stream::iter(batches).flatten().filter_map(move |batch| {
            let forms = Arc::clone(&forms);
            std::future::ready(match batch {
                Ok(batch) if batch.num_rows() == 0 => None,
                Ok(batch) => Some(Ok(Part::Rows(Box::new(Rows::new(batch, forms))))),
                Err(error) => Some(Err(error)),
            })
        });
        let mut results = Results::new(false, until_failure(head.chain(rows).chain(end)));
        results.class = Some("select");
        Ok(results)
    }

    /// Waits for room for a statement of this principal.
    async fn admit(&self, principal: &str, deadline: Deadline) -> Result<Room> {
        let until = deadline.instant().min(Instant::now() + PATIENCE);
        let room = async {
            // While it waits for its principal's own room, it takes no shared room.
            let own = self.own(principal).acquire_owned().await?;
            Ok::<_, AcquireError>(Room { _own: own, _all: Arc::clone(&self.room).acquire_owned().await? })
        };
        let room = tokio::time::timeout_at(until.into(), room).await;
        room.map_err(|_| {
            Error::new(Kind::Busy, "there is no memory free for another statement over several connections")
                .retry_after(PATIENCE)
                .hint("try again after the given delay; an administrator can raise federation.memory")
        })?
        .map_err(Error::internal)
    }

    /// The room of one principal: all but one place, and at least one.
    fn own(&self, principal: &str) -> Arc<Semaphore> {
        let mut own = lock(&self.own);
        own.retain(|_, room| room.strong_count() > 0);
        if let Some(room) = own.get(principal).and_then(Weak::upgrade) {
            return room;
        }
        let room = Arc::new(Semaphore::new((statements(&self.settings) - 1).max(1)));
        own.insert(principal.to_owned(), Arc::downgrade(&room));
        room
    }

    /// Returns the state that `statement` is planned with.
    fn state(&self, statement: &Statement, tables: Arc<Tables>, deadline: Deadline) -> SessionState {
        let mut state = self.base.clone();
        let options = state.config_mut().options_mut();
        options.extensions.insert(PlanDeadline(deadline));
        let catalog = &mut options.catalog;
        (catalog.default_catalog, catalog.default_schema) = statement.defaults();
        state.register_catalog_list(Arc::new(Catalogs(tables)));
        // Sets the time that `now()` and similar functions return.
        state.mark_start_execution();
        state
    }
}

/// Makes the runtime environment of a statement: memory and a spill folder of its own.
fn environment(settings: &Settings) -> Result<Arc<RuntimeEnv>> {
    let disk = DiskManagerBuilder::default()
        .with_mode(DiskManagerMode::Directories(vec![settings.spill_dir.clone()]))
        .with_max_temp_directory_size(settings.spill_limit)
        .with_max_spill_merge_fan_in(MERGED);
    let consumers = std::num::NonZeroUsize::MIN;
    let pool = TrackConsumersPool::new(FairSpillPool::new(counted(settings.statement_memory)), consumers);
    let environment = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool)).with_disk_manager_builder(disk);
    environment.build_arc().map_err(engine_error)
}

/// Makes the state that all statements start from: functions, rules and options.
fn base(batch_size: usize) -> SessionState {
    let mut config = SessionConfig::new()
        .with_batch_size(batch_size)
        .with_target_partitions(1)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false);
    let options = config.options_mut();
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.map_string_types_to_utf8view = false;
    // See `plan/sorted`.
    options.sql_parser.enable_subquery_sort_elimination = false;
    options.execution.time_zone = Some("UTC".to_owned());
    options.execution.collect_statistics = false;
    options.execution.sort_spill_reservation_bytes = FOR_MERGING;
    // Fields differ in their marks: see `planning::marked`.
    options.execution.skip_physical_aggregate_schema_check = true;
    options.execution.perfect_hash_join_small_build_threshold = 0;
    // Ours are gathered by `run/joins/collecting`: the engine keeps each key of each row, and keys of several columns as rows.
    options.optimizer.enable_join_dynamic_filter_pushdown = false;
    options.optimizer.enable_topk_dynamic_filter_pushdown = false;
    // It makes room for as many groups as a limit lets through, whatever there are, and counts it nowhere.
    options.optimizer.enable_topk_aggregation = false;
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    let mut analyzer = Analyzer::new().rules;
    analyzer.insert(0, Arc::new(AsPostgresql));
    analyzer.push(Arc::new(OuterTypes));
    let mut before = PhysicalOptimizer::new().rules;
    before.insert(0, Arc::new(FORGET_PROPERTIES));
    before.insert(0, Arc::new(SORT_ON_ONE_SIDE));
    let mut builder = SessionStateBuilder::new().with_default_features();
    allowed::register(&mut builder);
    builder
        .with_type_planner(Arc::new(TypeNames))
        .with_config(config)
        .with_analyzer_rules(analyzer)
        .with_optimizer_rules(rules::all())
        .with_physical_optimizer_rules(before)
        .with_physical_optimizer_rule(Arc::new(BindKeys))
        .with_physical_optimizer_rule(Arc::new(YieldInJoins))
        .with_physical_optimizer_rule(Arc::new(COUNT_ROWS_OF_WINDOWS))
        .with_physical_optimizer_rule(Arc::new(COUNT_BUFFERED_VALUES))
        .with_physical_optimizer_rule(Arc::new(BEGIN_WHEN_READ))
        .build()
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It may be dropped on a thread of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Where a plan runs, and until when.
struct Running {
    handle: tokio::runtime::Handle,
    settings: Settings,
    deadline: Deadline,
    room: Room,
}

impl Running {
    /// Returns the rows of a plan that runs on the engine's threads until the stream is dropped. If it reaches its
    /// memory limit before the first row, it is restarted with the `low_memory` plan.
    fn batches(
        self,
        plan: Arc<dyn ExecutionPlan>,
        context: TaskContext,
        mut low_memory: Option<LowMemoryPlan>,
    ) -> impl futures_util::Stream<Item = Result<RecordBatch>> + Send + use<> {
        let Self { handle, settings, deadline, room } = self;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let work = async move {
            // A long computation may continue after its deadline: until then its room stays taken.
            let _room = room;
            let run = async {
                let environment = environment(&settings)?;
                let begin = |plan, context: TaskContext| {
                    execute_stream(plan, Arc::new(context.with_runtime(Arc::clone(&environment)))).map_err(engine_error)
                };
                let mut stream = begin(plan, context)?;
                while let Some(next) = stream.next().await {
                    let batch = match next {
                        Ok(batch) => batch,
                        Err(error) => match low_memory.take().filter(|_| is_memory_exhausted(&error)) {
                            Some(low_memory) => {
                                // Frees its memory before that is needed again.
                                drop(stream);
                                let (plan, context) = low_memory.plan().await?;
                                stream = begin(plan, context)?;
                                continue;
                            }
                            None => return Err(engine_error(error)),
                        },
                    };
                    low_memory = low_memory.filter(|_| batch.num_rows() == 0);
                    if sender.send(Ok(batch)).await.is_err() {
                        return Ok(());
                    }
                }
                Ok(())
            };
            let ended = tokio::time::timeout_at(deadline.instant().into(), run).await;
            if let Err(error) = ended.unwrap_or_else(|_| Err(timed_out())) {
                let _ = sender.send(Err(error)).await;
            }
        };
        let task = AbortOnDropHandle::new(handle.spawn(work));
        stream::unfold((receiver, Some(task)), move |(mut receiver, mut task)| async move {
            match tokio::time::timeout_at(deadline.instant().into(), receiver.recv()).await {
                Ok(Some(batch)) => Some((batch, (receiver, task))),
                Ok(None) => {
                    // A task that ended without a result has failed.
                    let failure = task.take()?.await.err()?;
                    Some((Err(Error::internal(failure)), (receiver, None)))
                }
                Err(_) => {
                    drop(task.take()?);
                    Some((Err(timed_out()), (receiver, None)))
                }
            }
        })
    }
}

/// The parts up to the first failure, which is the last of them.
fn until_failure(
    parts: impl futures_util::Stream<Item = Result<Part>> + Send + 'static,
) -> impl futures_util::Stream<Item = Result<Part>> + Send + 'static {
    parts.scan(false, |failed, part| {
        let go_on = !*failed;
        *failed = part.is_err();
        std::future::ready(go_on.then_some(part))
    })
}
