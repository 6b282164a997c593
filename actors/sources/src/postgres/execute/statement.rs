//! One statement from its text to its first rows: in one round trip where nothing must be known
//! beforehand, else prepared first. How its rows are read on is in `rows.rs`.

use crate::postgres::decode::columns::descriptions;
use crate::postgres::execute::answer::response::Progress;
use crate::postgres::execute::answer::response::Response;
use crate::postgres::execute::envelope::autocommit;
use crate::postgres::execute::envelope::autocommit::Autocommit;
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::execution::Values;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join4;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::Access;
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::decode::form::Form;
use crate::postgres::execute::answer::running;
use crate::postgres::execute::answer::running::RunningStatement;
use crate::postgres::execute::envelope::identity;
use crate::postgres::execute::envelope::options::TransactionPosition;
use crate::postgres::execute::envelope::transaction::{beginning, ending, give_up, search_path};
use crate::postgres::execute::prepared::{described, prepared};
use crate::postgres::execute::shared::Shared;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::session::setup::without_jit;
use portico_core::error::{Kind, Result};

/// How long a silent statement goes on before we look whether it is the wire that is stuck.
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

/// Judges the statement of `execution` on the session that it will run on; behind a refusal its transaction is
/// ended. What an administrator wrote is refused nothing.
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
    let autocommit = Autocommit::of(&session, execution, context).await?;
    // Of a role's own session nobody else is told whether it is stuck (`catalog/cache.rs`).
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
    /// A column's type can only be told by the source itself.
    NeedsText(RunningStatement),
    /// The wire library waits for a type behind an answer that nobody reads (`session/custom_types.rs`).
    Stuck,
}

async fn direct(
    session: Arc<Session>,
    cache: &CatalogCache,
    execution: &Execution,
    (context, autocommit): (&CallContext, Option<Autocommit>),
) -> Result<Direct> {
    let mode = execution.mode();
    // Our own queries hold nothing that would need it.
    let may_repeat = execution.options.access == Access::ReadOnly && matches!(execution.values, Values::Inferred(_));
    let fingerprint = execution.fingerprint();
    let asked = fingerprint.and_then(|fingerprint| cache.prefetch(&fingerprint));
    let known = autocommit.as_ref().and_then(Autocommit::columns);
    let (is_kept, autocommits) = (known.is_some(), autocommit.is_some());
    let opening = {
        let Autocommit { opening, milliseconds, statement, bound } = autocommit.unwrap_or_else(|| {
            let mut opening = beginning(mode, context, session.pooled);
            if let Values::Facet(..) = execution.values {
                opening.push_str(concat!("; ", without_jit!("true")));
            }
            Autocommit { opening: Some(opening), milliseconds: None, statement: None, bound: Vec::new() }
        });
        let (session, text) = (Arc::clone(&session), execution.text.clone());
        let (schema, by) = (execution.default_schema.clone(), execution.identity.clone());
        let values: Vec<(Option<String>, Type)> = match &execution.values {
            Values::Facet(_, texts) => texts.iter().map(|text| (text.clone(), Type::TEXT)).collect(),
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
    };
    let end = if autocommits {
        autocommit::nothing_to_end()
    } else {
        ending(&session, mode, false, TransactionPosition::ALONE)
    };
    let mut running = RunningStatement::new(Arc::clone(&session), opening, end);
    let first = loop {
        match context.bound(timeout(SILENCE, running.batch())).await? {
            Ok(first) => break first,
            Err(_) if may_repeat && cache.is_stuck(session.process()).await => {
                if let Ok(first) = timeout(LAST_LOOK, running.batch()).await {
                    break first;
                }
                running.discard();
                return Ok(Direct::Stuck);
            }
            Err(_) => {}
        }
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
        first => first.map_err(|error| execution.failure(&error, 0))?,
    };
    let of_row = || first.as_ref().and_then(|rows| rows.first()).map(|row| descriptions(row.columns()));
    let mut columns = known.or_else(of_row).unwrap_or_default();
    let progress = if first.is_some() {
        Progress::RunningStatement(running)
    } else {
        let (affected, session) = context.bound(running.end()).await?.map_err(|error| execution.failure(&error, 0))?;
        match (&execution.values, session) {
            // No row told the columns' names and types.
            (Values::Inferred(_), Some(session)) if execution.returns_rows && !is_kept => {
                let described = if autocommits {
                    let described = context.bound(autocommit::described(&session, execution)).await?;
                    session.settle();
                    described
                } else {
                    context.bound(described(&session, execution, context)).await?
                };
                columns = described.map_err(|error| execution.failure(&error, 0))?;
            }
            (_, Some(session)) => session.settle(),
            (_, None) => {}
        }
        Progress::Over(affected, None)
    };
    let natively: Option<Vec<Form>> = columns.iter().map(|column| Form::of(&column.type_)).collect();
    Ok(match (natively, progress) {
        (Some(forms), progress) => {
            Direct::Answered(Response { columns, forms, first, progress, shift: 0, asked, fingerprint })
        }
        (None, Progress::RunningStatement(running)) if may_repeat => Direct::NeedsText(running),
        (None, progress) => {
            let forms = columns.iter().map(|column| Form::of(&column.type_).unwrap_or(Form::Opaque)).collect();
            Direct::Answered(Response { columns, forms, first, progress, shift: 0, asked, fingerprint })
        }
    })
}
