//! Runs several statements in one transaction on one session. Each is prepared after those before it have ended,
//! since it may need what they created. How one of them runs is in `prepared.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::join;
use futures_util::stream;

use crate::postgres::bind::inference::inferred;
use crate::postgres::catalog::relations;
use crate::postgres::decode::columns::descriptions;
use crate::postgres::execute::answer::rows;
use crate::postgres::execute::answer::rows::ResultReader;
use crate::postgres::execute::envelope::options::{ExecOptions, TransactionPosition};
use crate::postgres::execute::envelope::transaction::{closing, give_up};
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::prepared::prepared;
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::execute::shared::{CallOptions, Shared};
use crate::postgres::execute::statement::admit;
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::walls::policy::StatementUse;
use crate::{Access, Prepared};
use portico_core::error::{Error, Kind, Result};
use portico_core::reply::{Part, Results};
use portico_sql::Class;

/// Runs `statements` in order, a result for each.
pub(crate) async fn results(
    shared: &Shared,
    statements: Vec<Prepared>,
    asked: CallOptions<'_>,
    context: CallContext,
) -> Result<Results> {
    // If all are queries, none changes the meaning of names in the next one. Whether they are is asked of the
    // server, for each of them.
    let queries =
        |prepared: &Prepared| matches!(prepared.statement.class, Class::Select | Class::Insert | Class::Update);
    let extent = if statements.iter().all(queries) { StatementUse::AmongQueries } else { StatementUse::Among };
    run(shared, executions(shared, statements, asked, extent)?, asked.options, context).await
}

/// Runs `executions` in order, and then reads the cursors that they opened for their caller.
pub(crate) async fn run(
    shared: &Shared,
    executions: VecDeque<Execution>,
    options: ExecOptions,
    context: CallContext,
) -> Result<Results> {
    let mut executions = executions;
    for execution in &mut executions {
        execution.position.pooled = shared.pooled;
    }
    let session = context.bound(shared.sessions.take(&context)).await??;
    let may_repeat = session.is_reused();
    let mut script = Script::new(shared, executions, options, context);
    match script.begin(session).await {
        // The session turned out to be closed while it was idle, and nothing was done on it.
        Err(error) if may_repeat && options.access == Access::ReadOnly && error.kind == Kind::Unavailable => {
            shared.sessions.forget_idle();
            let session = script.context.bound(shared.sessions.take(&script.context)).await??;
            script.begin(session).await?;
        }
        started => started?,
    }
    Ok(Results::new(
        options.access == Access::ReadWrite,
        stream::unfold(script, |mut script| async move { script.next().await.map(|part| (part, script)) }),
    ))
}

/// Describes the columns of `statements`, and runs none of them.
pub(crate) async fn columns(
    shared: &Shared,
    statements: Vec<Prepared>,
    asked: CallOptions<'_>,
    context: CallContext,
) -> Result<Results> {
    let options = ExecOptions { access: Access::ReadOnly, dry_run: false, describes: true, estimates: false };
    let executions = executions(shared, statements, CallOptions { options, ..asked }, StatementUse::Described)?;
    let mut executions = executions;
    let session = context.bound(shared.sessions.take(&context)).await??;
    admit_all(&mut executions, &shared.cache, &session, &context).await?;
    let mut described = Vec::with_capacity(executions.len());
    for execution in &executions {
        let ready = match context.bound(inferred(&session, execution, &context)).await? {
            Ok(ready) => ready,
            Err(error) => {
                if context.bound(give_up(&session, execution.mode(), execution.position)).await? {
                    session.settle();
                }
                return Err(context.judge(error));
            }
        };
        described.push((descriptions(ready.statement.columns()), &execution.text));
    }
    let tables = described.iter().flat_map(|(seen, _)| relations::tables(seen)).collect();
    let relations = if shared.pooled {
        let (relations, clean) =
            context.bound(join(relations::seen_by(&session, tables), session.after_reading())).await?;
        if clean {
            session.settle();
        }
        relations.map_err(|error| context.judge(failure::statement(&error, None, &SentText::SAME)))?
    } else {
        // The session locks the tables until they are described: on another session, where that query is prepared.
        let relations = context.bound(shared.cache.ask_of(tables).answer()).await?;
        session.runtime().clone().spawn(async move {
            if session.after_reading().await {
                session.settle();
            }
        });
        relations
    };
    let parts: Vec<_> = described
        .iter()
        .map(|(seen, text)| Part::Columns(rows::columns(seen, text, &shared.name, &relations)))
        .flat_map(|columns| [Ok(columns), Ok(Part::Done { affected: -1 })])
        .collect();
    Ok(Results::new(false, stream::iter(parts)))
}

fn executions(
    shared: &Shared,
    statements: Vec<Prepared>,
    asked: CallOptions<'_>,
    extent: StatementUse,
) -> Result<VecDeque<Execution>> {
    let last = statements.len().saturating_sub(1);
    let placed = |(number, prepared)| {
        let position = TransactionPosition { begins: number == 0, ends: number == last, pooled: false };
        Ok(Execution { position, ..shared.execution(prepared, asked, extent)? })
    };
    statements.into_iter().enumerate().map(placed).collect()
}

/// Judges each of `executions` before a transaction begins.
async fn admit_all(
    executions: &mut VecDeque<Execution>,
    cache: &crate::postgres::catalog::cache::CatalogCache,
    session: &Arc<Session>,
    context: &CallContext,
) -> Result<()> {
    for execution in executions {
        let position = execution.position;
        execution.position.begins = true;
        let judged = admit(cache, session, execution, context).await;
        execution.position = position;
        judged.map_err(|error| context.judge(error))?;
        execution.guarded = None;
    }
    Ok(())
}

struct Script {
    name: Arc<str>,
    cache: Arc<crate::postgres::catalog::cache::CatalogCache>,
    context: CallContext,
    options: ExecOptions,
    executions: VecDeque<Execution>,
    current: Option<ResultReader>,
}

impl Script {
    fn new(shared: &Shared, executions: VecDeque<Execution>, options: ExecOptions, context: CallContext) -> Self {
        let (name, cache) = (Arc::clone(&shared.name), Arc::clone(&shared.cache));
        Self { name, cache, context, options, executions, current: None }
    }

    /// Begins the first statement. All statements are checked beforehand if none can create what the next one
    /// names: the server cannot be asked within a read-only transaction.
    async fn begin(&mut self, session: Arc<Session>) -> Result<()> {
        let beforehand =
            self.options.access == Access::ReadOnly || self.executions.iter().all(Execution::is_judged_beforehand);
        if beforehand {
            admit_all(&mut self.executions, &self.cache, &session, &self.context).await?;
        }
        self.start(session).await
    }

    /// Begins the next statement; where that fails everything before it is undone.
    async fn start(&mut self, session: Arc<Session>) -> Result<()> {
        let Some(execution) = self.executions.front() else { return Ok(()) };
        admit(&self.cache, &session, execution, &self.context).await.map_err(|error| self.context.judge(error))?;
        let answer = prepared(session, &self.cache, execution, &self.context)
            .await
            .map_err(|error| self.context.judge(error))?;
        let Some(execution) = self.executions.pop_front() else { return Ok(()) };
        let cache = Arc::clone(&self.cache);
        self.current = Some(ResultReader::begin(answer, execution, self.context.clone(), &self.name, cache).await);
        Ok(())
    }

    /// Ends a transaction whose last statement was not known to be the last.
    async fn close(&mut self, session: Arc<Session>) -> Result<()> {
        let ended = self.context.bound(closing(&session, self.options.mode())).await?;
        if ended.clean {
            session.settle();
        }
        ended.outcome.map_err(|error| self.context.judge(failure::statement(&error, None, &SentText::SAME)))
    }

    async fn next(&mut self) -> Option<Result<Part>> {
        loop {
            let current = self.current.as_mut()?;
            match current.next().await {
                Some(Ok(_)) if current.only_names_cursors() => continue,
                Some(Err(error)) => {
                    self.executions.clear();
                    return Some(Err(error));
                }
                Some(part) => return Some(part),
                None => {}
            }
            let (session, cursors) = self.current.take().map(ResultReader::into_rest).unwrap_or_default();
            self.executions.extend(cursors.iter().map(|cursor| Execution::fetching(cursor, self.options)));
            if self.executions.is_empty() {
                return self.close(session?).await.err().map(Err);
            }
            let started = match session {
                Some(session) => self.start(session).await,
                None => Err(Error::internal("a transaction lost its session between two statements")),
            };
            if let Err(error) = started {
                self.executions.clear();
                return Some(Err(error));
            }
        }
    }
}
