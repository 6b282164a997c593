//! Runs one statement up to its first rows: in one round trip if nothing must be known beforehand, otherwise it is
//! prepared first. Reading the further rows is in `rows.rs`.

use crate::postgres::decode::columns::{ColumnDescription, descriptions};
use crate::postgres::execute::answer::response::Progress;
use crate::postgres::execute::answer::response::Response;
use crate::postgres::execute::envelope::autocommit;
use crate::postgres::execute::envelope::autocommit::Autocommit;
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::execution::Values;
use crate::postgres::execute::sent_text::SentText;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join4};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::Access;
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::execute::answer::running;
use crate::postgres::execute::answer::running::{RowBatch, Rows, RunningStatement};
use crate::postgres::execute::envelope::identity;
use crate::postgres::execute::envelope::options::TransactionPosition;
use crate::postgres::execute::envelope::transaction::{beginning, ending, give_up, search_path};
use crate::postgres::execute::prepared::{described, prepared};
use crate::postgres::execute::shared::Shared;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::session::setup::without_jit;
use portico_core::error::{Kind, Result};

/// How long a statement may be silent before we check whether the wire is stuck.
const SILENCE: Duration = Duration::from_secs(1);
/// A last look before a statement is held to be stuck.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// Runs `execution` up to its first rows. A reader that meets a dead session tries once more.
pub(crate) async fn execute(shared: &Shared, execution: &Execution, context: &CallContext) -> Result<Response> {
    let sessions = &shared.sessions;
    let session = context.bound(sessions.take_with_kept(context)).await??;
    let may_repeat = execution.options.access == Access::ReadOnly && session.is_reused();
    let answer = match attempt(session, shared, execution, context).await {
        Err(error) if may_repeat && error.kind == Kind::Unavailable => {
            sessions.forget_idle();
            let session = context.bound(sessions.take(context)).await??;
            attempt(session, shared, execution, context).await
        }
        answer => answer,
    };
    answer.map_err(|error| context.judge(error))
}

/// Checks the statement of `execution` on the session that it will run on. After a refusal its transaction is
/// ended. An administrator's statement is never refused.
pub(crate) async fn admit(
    cache: &CatalogCache,
    session: &Arc<Session>,
    execution: &Execution,
    context: &CallContext,
) -> Result<()> {
    let Some(guarded) = &execution.guarded else { return Ok(()) };
    let walls = cache.walls().around(guarded.within.as_deref());
    let judged = context.bound(walls.check(session, execution, context)).await?;
    if judged.is_ok() {
        return judged;
    }
    let is_clean = context.bound(give_up(session, execution.mode(), execution.position)).await?;
    if guarded.advisory && is_clean {
        walls.advised_nothing(guarded);
        return Ok(());
    }
    if is_clean {
        session.settle();
    }
    judged
}

async fn attempt(
    session: Arc<Session>,
    shared: &Shared,
    execution: &Execution,
    context: &CallContext,
) -> Result<Response> {
    let (sessions, cache) = (&shared.sessions, &*shared.cache);
    admit(cache, &session, execution, context).await?;
    let autocommit = Autocommit::plan(&session, execution, context).await?;
    // Whether a role's own session is stuck cannot be seen from other sessions (`catalog/cache.rs`).
    let is_direct = execution.goes_direct() && !(session.is_login() && matches!(execution.values, Values::Inferred(_)));
    if autocommit.is_none() && !is_direct {
        return prepared(session, cache, execution, context).await;
    }
    let again = match direct(session, cache, execution, (context, autocommit)).await? {
        Direct::Answered(answer) => return Ok(answer),
        Direct::NeedsText(running) => context.bound(running.stop()).await?,
        Direct::Stuck => None,
    };
    let session = match again {
        Some(session) => session,
        None => context.bound(sessions.take(context)).await??,
    };
    prepared(session, cache, execution, context).await
}

enum Direct {
    Answered(Response),
    /// Only the source itself knows the type of a column.
    NeedsText(RunningStatement),
    /// The wire library waits for a type behind an answer that is not being read (`session/custom_types.rs`).
    Stuck,
}

type WireResult<T> = Result<T, tokio_postgres::Error>;

/// Sends the statement without preparing it, and reads its first rows.
async fn direct(
    session: Arc<Session>,
    cache: &CatalogCache,
    execution: &Execution,
    (context, autocommit): (&CallContext, Option<Autocommit>),
) -> Result<Direct> {
    // Our own queries do not need it.
    let may_repeat = execution.options.access == Access::ReadOnly && matches!(execution.values, Values::Inferred(_));
    let fingerprint = execution.fingerprint();
    let asked = fingerprint.and_then(|fingerprint| cache.prefetch(&fingerprint));
    let known = autocommit.as_ref().and_then(Autocommit::columns);
    let (is_kept, autocommits) = (known.is_some(), autocommit.is_some());
    let mut running = start(&session, execution, context, autocommit);
    let process = may_repeat.then(|| session.process());
    let Some(first) = first_batch(&mut running, cache, process, context).await? else {
        running.discard();
        return Ok(Direct::Stuck);
    };
    let first = match first {
        Err(error) if is_kept && autocommit::is_outdated(&error) => {
            session.kept().forget(&execution.exact());
            return Ok(Direct::NeedsText(running));
        }
        Err(error) if may_repeat && error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => {
            // Also said of a type without a binary form; preparing shows whether it is that.
            return Ok(Direct::NeedsText(running));
        }
        first => first.map_err(|error| execution.failure(&error, &SentText::SAME))?,
    };
    let of_row = || first.as_ref().and_then(|rows| rows.first()).map(|row| descriptions(row.columns()));
    let mut columns = known.or_else(of_row).unwrap_or_default();
    let progress = if first.is_some() {
        Progress::RunningStatement(running)
    } else {
        let (affected, session) =
            context.bound(running.end()).await?.map_err(|error| execution.failure(&error, &SentText::SAME))?;
        match (&execution.values, session) {
            // There was no row to learn the columns' names and types from.
            (Values::Inferred(_), Some(session)) if execution.returns_rows && !is_kept => {
                columns = columns_without_rows(&session, execution, context, autocommits).await?;
            }
            (_, Some(session)) => session.settle(),
            (_, None) => {}
        }
        Progress::Over(affected, None)
    };
    let natively: Option<Vec<ColumnDecoder>> =
        columns.iter().map(|column| ColumnDecoder::from_type(&column.type_)).collect();
    let progress = match progress {
        Progress::RunningStatement(running) if natively.is_none() && may_repeat => {
            return Ok(Direct::NeedsText(running));
        }
        progress => progress,
    };
    let opaque = || {
        columns.iter().map(|column| ColumnDecoder::from_type(&column.type_).unwrap_or(ColumnDecoder::Opaque)).collect()
    };
    let forms = natively.unwrap_or_else(opaque);
    Ok(Direct::Answered(Response { columns, forms, first, progress, sent: SentText::SAME, asked, fingerprint }))
}

/// Starts the statement, together with what precedes and follows it, in one round trip.
fn start(
    session: &Arc<Session>,
    execution: &Execution,
    context: &CallContext,
    autocommit: Option<Autocommit>,
) -> RunningStatement {
    let end = if autocommit.is_some() {
        autocommit::nothing_to_end()
    } else {
        ending(session, execution.mode(), false, TransactionPosition::ALONE)
    };
    let envelope = autocommit.unwrap_or_else(|| in_transaction(session, execution, context));
    RunningStatement::new(Arc::clone(session), opening(session, execution, envelope), end)
}

/// Returns how the statement runs in a transaction of its own.
fn in_transaction(session: &Session, execution: &Execution, context: &CallContext) -> Autocommit {
    let mut opening = beginning(execution.mode(), context, session.pooled);
    if let Values::Metadata(..) = execution.values {
        opening.push_str(concat!("; ", without_jit!("true")));
    }
    Autocommit { opening: Some(opening), milliseconds: None, statement: None, bound: Vec::new() }
}

/// Sends the statement and everything that precedes it.
fn opening(
    session: &Arc<Session>,
    execution: &Execution,
    envelope: Autocommit,
) -> BoxFuture<'static, WireResult<Rows>> {
    let Autocommit { opening, milliseconds, statement, bound } = envelope;
    let (session, mode, text) = (Arc::clone(session), execution.mode(), execution.text.clone());
    let (schema, by) = (execution.default_schema.clone(), execution.identity.clone());
    let values: Vec<(Option<String>, Type)> = match &execution.values {
        Values::Metadata(_, texts) => texts.iter().map(|text| (text.clone(), Type::TEXT)).collect(),
        Values::Inferred(_) => Vec::new(),
    };
    async move {
        let path = search_path(&session, schema.as_deref(), mode);
        let rows = match &statement {
            Some(statement) => session.query_raw(statement, bound).left_future(),
            None => session.query_typed_raw(&text, values).right_future(),
        };
        let role = identity::assume(&session, &by, mode);
        let opened = autocommit::open(&session, opening.as_deref(), milliseconds);
        let (opened, role, path, rows) = join4(opened, role, path, rows).await;
        opened.and(role).and(path).and(rows).map(running::rows)
    }
    .boxed()
}

/// Waits for the first rows. Returns `None` if the wire is stuck, which is checked if the session's `process` is
/// given.
async fn first_batch(
    running: &mut RunningStatement,
    cache: &CatalogCache,
    process: Option<i32>,
    context: &CallContext,
) -> Result<Option<WireResult<Option<RowBatch>>>> {
    loop {
        if let Ok(first) = context.bound(timeout(SILENCE, running.batch())).await? {
            return Ok(Some(first));
        }
        if let Some(process) = process
            && cache.is_stuck(process).await
        {
            return Ok(timeout(LAST_LOOK, running.batch()).await.ok());
        }
    }
}

/// Asks for the columns of an answer without rows.
async fn columns_without_rows(
    session: &Session,
    execution: &Execution,
    context: &CallContext,
    autocommits: bool,
) -> Result<Vec<ColumnDescription>> {
    let columns = if autocommits {
        let columns = context.bound(autocommit::described(session, execution)).await?;
        session.settle();
        columns
    } else {
        context.bound(described(session, execution, context)).await?
    };
    columns.map_err(|error| execution.failure(&error, &SentText::SAME))
}
