//! SQLite behind [`Source`]: connections on threads of their own, since SQLite only blocks. Statements are parsed
//! by [`portico_sql`]; who may call at all is decided before.
//!
//! Reading and writing are separated by four locks, each sufficient alone: readers open the file read-only, with
//! `query_only`; an authorizer checks every step of the compilation; and a compiled statement is asked whether it
//! writes before its first step. The single writer runs each statement as a transaction of its own.
//!
//! What is hidden from callers does not exist for them: their statements are first compiled against the exposed
//! part of the schema (`visible_schema`), and an authorizer checks the real compilation.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::catalog::assembled;
use crate::sqlite::catalog::{listing, metadata};
use crate::sqlite::connect::open;
use crate::sqlite::connect::open::SessionKind;
use crate::sqlite::execute::statement::{Execution, RunMode};
use crate::sqlite::execute::step::Step;
use crate::sqlite::execute::{check, procedure, statement};
use crate::sqlite::failure;
use crate::sqlite::schema::SCHEMA;
use crate::sqlite::session::cancel_flag::CancelFlag;
use crate::sqlite::session::channel;
use crate::sqlite::session::temporary_files;
use crate::sqlite::session::worker_pool::{Work, WorkerPool};
use crate::{Access, DeclaredProcedure, Invocation, Plan, Prepared, Procedure, Profile, Settings, Source, Table, Task};
use portico_core::budget::Budget;
use portico_core::call::{Limits, MetadataFilter, MetadataKind};
use portico_core::error::{Error, Kind, Result};
use portico_core::finding::Finding;
use portico_core::mutex::lock;
use portico_core::pattern::matches;
use portico_core::reply::{Part, Results};
use portico_sql::{Class, Dialect, Naming, Statement};

/// A SQLite file.
pub(crate) struct Sqlite {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    name: Arc<str>,
    declared: Arc<[DeclaredProcedure]>,
    pub(crate) readers: Arc<WorkerPool>,
    /// Present only where the connection may write.
    writer: Option<Arc<WorkerPool>>,
    /// As last read: a ping that finds all sessions busy reads none.
    tables: Mutex<Arc<[Table]>>,
    connect_limits: Limits,
    budget: Budget,
}

impl Sqlite {
    /// A source for the file at `path`, which is not opened yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`] when `path` is empty.
    pub(crate) fn open(settings: Settings, path: PathBuf) -> Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("`url` names no SQLite file"));
        }
        let exposure = settings.exposure;
        let readers = WorkerPool::new(path.clone(), SessionKind::Reader, Arc::clone(&exposure), settings.pool);
        let writer =
            (settings.access == Access::ReadWrite).then(|| WorkerPool::new(path, SessionKind::Writer, exposure, 1));
        let connect_limits = Limits { timeout: settings.connect_timeout, rows: None };
        let (name, declared, budget) = (settings.name, settings.declared, settings.budget);
        let tables = Mutex::default();
        Ok(Self { inner: Arc::new(Inner { name, declared, readers, writer, tables, connect_limits, budget }) })
    }
}

impl Source for Sqlite {
    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        Box::pin(async { Ok(temporary_files::unbounded().into_iter().collect()) })
    }

    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let abandoned = CancellationToken::new();
            let seen = Arc::clone(&inner);
            let read = move |opened: &mut open::OpenDatabase, _: &CancelFlag, sender: &channel::Sender| {
                // A fresh look into the file, which may have been replaced or damaged.
                let tables =
                    opened.authorizer.trusting(|| metadata::definitions(&opened.connection)).map_err(|error| {
                        Error::new(Kind::Unavailable, "the database file cannot be read").because(error)
                    })?;
                *lock(&seen.tables) = tables.into();
                sender.send(Part::Done { affected: -1 })
            };
            match start(&inner.readers, inner.connect_limits, abandoned, Box::new(read), 1).await {
                // Every session is at work: the file is there.
                Err(error) if error.kind == Kind::Busy => {}
                Err(error) if error.kind == Kind::TimedOut => {
                    return Err(
                        Error::new(Kind::Unavailable, "the database file did not answer in time").because(error)
                    );
                }
                answered => drop(answered?),
            }
            let mut procedures: Vec<Procedure> =
                inner.declared.iter().map(|declared| declared.procedure.clone()).collect();
            procedures.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
            Ok(Profile {
                product: format!("SQLite {}", rusqlite::version()),
                default_schema: Some(SCHEMA.to_owned()),
                path: [SCHEMA.to_owned()].into(),
                procedures: procedures.into(),
                tables: Arc::clone(&lock(&inner.tables)),
            })
        })
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.run(plan).await })
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            inner.readers.close().await;
            if let Some(writer) = &inner.writer {
                writer.close().await;
            }
        })
    }
}

impl Drop for Inner {
    /// Threads keep their pool alive, so that they have to be told to end; answers that are still being read
    /// continue to their end.
    fn drop(&mut self) {
        self.readers.retire();
        if let Some(writer) = &self.writer {
            writer.retire();
        }
    }
}

impl Inner {
    async fn run(&self, plan: Plan) -> Result<Results> {
        // The engine sends no notices, keeps no comments, and has no users.
        let Plan { task, access, limits, abandoned, dry_run, exposure, effects, .. } = plan;
        let each = |prepared: Vec<Prepared>| prepared.into_iter().map(Step::new).collect::<Result<Vec<_>>>();
        let (steps, runs) = match task {
            Task::Describe(metadata, narrow) => return self.describe(metadata, narrow, limits, abandoned).await,
            Task::Statement(prepared) => (vec![Step::new(prepared)?], RunMode::Once),
            Task::Statements(prepared) => (each(prepared)?, RunMode::Together),
            Task::Columns(prepared) => (each(prepared)?, RunMode::Never),
            Task::Batch(repeated) => (vec![Step::repeated(repeated)?], RunMode::Together),
            Task::Procedure(invocation) => (vec![Step::new(self.procedure(&invocation)?)?], RunMode::Once),
        };
        // A query needs no writer, and many of them can run while one statement writes.
        // EXPLAIN of a writer is compiled like one, which a reader's authorizer refuses.
        let explains = steps.iter().all(|step| check::explains(&step.statement));
        let queries = |step: &Step| step.statement.class == Class::Select && !check::explains(&step.statement);
        let wants_writer = access == Access::ReadWrite && !steps.iter().all(queries);
        let (workers, writes) = match &self.writer {
            Some(writer) if wants_writer => (writer, !explains && runs != RunMode::Never),
            None if wants_writer && !explains && runs != RunMode::Never => return Err(failure::read_only()),
            _ => (&self.readers, false),
        };
        let (rows, catalog, budget) = (limits.rows, Arc::clone(&self.name), self.budget.clone());
        let execution = Execution { steps, runs, access, rows, catalog, dry_run, budget, exposure, effects };
        let results = execution.results();
        let work: Work = Box::new(move |opened, cancel, sender| statement::run(opened, cancel, sender, &execution));
        let (first, receiver) = start(workers, limits, abandoned, work, results).await?;
        Ok(Results::new(writes, receiver.into_stream(first)))
    }

    async fn describe(
        &self,
        metadata: MetadataKind,
        narrow: MetadataFilter,
        limits: Limits,
        abandoned: CancellationToken,
    ) -> Result<Results> {
        let here = matches(narrow.catalog.as_deref(), &self.name)
            && (metadata == MetadataKind::Catalogs || matches(narrow.schema.as_deref(), SCHEMA));
        let name = || metadata::text(&self.name);
        let rows = match metadata {
            _ if !here => Vec::new(),
            MetadataKind::Catalogs => vec![vec![name()]],
            MetadataKind::Schemas => vec![vec![name(), metadata::text(SCHEMA)]],
            MetadataKind::Procedures | MetadataKind::ProcedureParameters => {
                procedure::list(&self.declared, metadata, &narrow, &self.name)
            }
            _ => {
                let name = Arc::clone(&self.name);
                let work: Work = Box::new(move |opened, cancel, sender| {
                    listing::list(opened, cancel, sender, metadata, &narrow, &name)
                });
                let (first, receiver) = start(&self.readers, limits, abandoned, work, 1).await?;
                return Ok(Results::new(false, receiver.into_stream(first)));
            }
        };
        Ok(assembled(metadata, rows))
    }

    fn procedure(&self, invocation: &Invocation) -> Result<Prepared> {
        let declared = procedure::find(&self.declared, invocation)?;
        let statement = self.only_statement(declared)?;
        let values = procedure::arguments(&declared.procedure, &invocation.arguments, &statement.placeholders)?;
        let default_schema = invocation.default_schema.clone();
        Ok(Prepared { statement, values, default_schema, by_administrator: true })
    }

    fn only_statement(&self, declared: &DeclaredProcedure) -> Result<Statement> {
        let naming = Naming { connection: &self.name, others: &[] };
        let wrong = |cause: &str| {
            Error::internal(format!("the declared procedure {} is not valid: {cause}", declared.procedure.name))
        };
        let mut statements =
            portico_sql::statements(&declared.sql, Dialect::SQLITE, naming).map_err(|error| wrong(&error.message))?;
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            _ => Err(wrong("it must be one statement")),
        }
    }
}

/// Starts `work`, which has so many `results`, on a session of `workers`; answers with its first part
/// and where the others come from.
async fn start(
    workers: &Arc<WorkerPool>,
    limits: Limits,
    abandoned: CancellationToken,
    work: Work,
    results: usize,
) -> Result<(Part, channel::Receiver)> {
    let now = Instant::now();
    // A timeout that the clock cannot represent means none; so does a month.
    let deadline = now.checked_add(limits.timeout).unwrap_or(now + Duration::from_hours(30 * 24));
    let cancel = CancelFlag::new(deadline, abandoned.clone());
    let watch = AbortOnDropHandle::new(tokio::spawn(watch(Arc::clone(&cancel), abandoned)));
    let (sender, mut receiver) = channel::channel(&cancel, watch, results);
    workers.submit(&cancel, sender, work).await?;
    match receiver.next().await {
        Some(part) => Ok((part?, receiver)),
        None => Err(Error::internal("a session gave no answer")),
    }
}

/// Cancels from outside: at the deadline, or when the caller no longer waits.
async fn watch(cancel: Arc<CancelFlag>, abandoned: CancellationToken) {
    tokio::select! {
        () = abandoned.cancelled() => cancel.stop(Kind::Abandoned),
        () = tokio::time::sleep_until(cancel.deadline().into()) => cancel.stop(Kind::TimedOut),
    }
}
