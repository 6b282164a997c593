//! The transaction around a statement: how it begins, where names are looked up in it, and how it ends.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join3, join4, maybe_done};
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

use super::identity;
use super::options::{TransactionMode, TransactionPosition};
use crate::postgres::execute::answer::running::{EndOutcome, TransactionEnd};
use crate::postgres::execute::execution::Execution;
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::session::setup::settings;

/// Returns the text before a statement that is not the first of its transaction. A failure to prepare it can be
/// undone without what was done before. An earlier statement may have called `set_config`: callers must not change
/// where a literal ends, since statements are also parsed here.
pub(crate) fn continuing(context: &CallContext) -> String {
    format!(
        "SET LOCAL statement_timeout = {}; SET LOCAL standard_conforming_strings = on; SAVEPOINT portico_preparing",
        context.milliseconds()
    )
}

/// Sent with a statement that was prepared after [`continuing`].
pub(crate) const PREPARED: &str = "RELEASE SAVEPOINT portico_preparing";
const NOT_PREPARED: &str = "ROLLBACK TO SAVEPOINT portico_preparing; RELEASE SAVEPOINT portico_preparing";

/// Keeps what a transaction has done.
const COMMIT: &str = "COMMIT";

/// The settings of a fresh session for the form of values and texts (`session/setup.rs`), for one transaction:
/// behind a pooler there is no session to set up.
const SETTINGS: &str = concat!("; ", settings!("SET LOCAL"));

/// Returns the text before the first statement of a transaction; `pooled` if its session is a pooler's.
pub(crate) fn beginning(mode: TransactionMode, context: &CallContext, pooled: bool) -> String {
    let milliseconds = context.milliseconds();
    let settings = if pooled { SETTINGS } else { "" };
    match mode {
        TransactionMode::ReadOnly => format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}{settings}"),
        TransactionMode::ReadWrite | TransactionMode::DryRun => {
            format!("BEGIN READ WRITE; SET LOCAL statement_timeout = {milliseconds}{settings}")
        }
        TransactionMode::Unattended => {
            format!("SET statement_timeout = {milliseconds}; SET default_transaction_read_only = off")
        }
    }
}

/// The end of a statement; `holds_rows` when it may answer with rows.
pub(crate) fn ending(
    session: &Arc<Session>,
    mode: TransactionMode,
    holds_rows: bool,
    position: TransactionPosition,
) -> TransactionEnd {
    match mode {
        _ if !position.ends => held(session, mode, position),
        // Types are looked up, and statements closed, while the server session is still the same.
        _ if session.pooled => held(session, mode, position),
        TransactionMode::ReadWrite if holds_rows => held(session, mode, position),
        _ => TransactionEnd::Sent(maybe_done(closing(session, mode))),
    }
}

/// The end of a statement that is only sent when all of it was read.
pub(crate) fn held(session: &Arc<Session>, mode: TransactionMode, position: TransactionPosition) -> TransactionEnd {
    let goes_on = async { EndOutcome { outcome: Ok(()), clean: true } };
    let keep = if position.ends { closing(session, mode) } else { goes_on.boxed() };
    TransactionEnd::Held { keep, undo: undoing(session, mode) }
}

/// Ends a transaction whose statements have all succeeded.
pub(crate) fn closing(session: &Arc<Session>, mode: TransactionMode) -> BoxFuture<'static, EndOutcome> {
    match mode {
        TransactionMode::ReadOnly => close(session, None),
        TransactionMode::ReadWrite => close(session, Some(COMMIT)),
        TransactionMode::Unattended => close(session, Some("")),
        TransactionMode::DryRun => {
            let session = Arc::clone(session);
            async move {
                // What a commit would refuse must be refused here as well.
                let checked = session.batch_execute("SET CONSTRAINTS ALL IMMEDIATE");
                if session.pooled {
                    // Behind ROLLBACK it would be another session of the server.
                    let (outcome, clean) = join(checked, session.after_reading()).await;
                    return EndOutcome { outcome, clean };
                }
                let (checked, undone, clean) =
                    join3(checked, session.batch_execute("ROLLBACK"), session.after_writing()).await;
                EndOutcome { outcome: checked.and(undone), clean }
            }
            .boxed()
        }
    }
}

/// Ends a reader, or a writer with `word`.
fn close(session: &Arc<Session>, word: Option<&'static str>) -> BoxFuture<'static, EndOutcome> {
    let session = Arc::clone(session);
    async move {
        match word {
            None => EndOutcome { outcome: Ok(()), clean: session.after_reading().await },
            Some(COMMIT) => commit(&session).await,
            Some(_) if session.pooled => EndOutcome { outcome: Ok(()), clean: session.after_reading().await },
            Some(word) => {
                let (outcome, clean) = join(session.batch_execute(word), session.after_writing()).await;
                EndOutcome { outcome, clean }
            }
        }
    }
    .boxed()
}

/// Commits, and notes before that what may stand now.
async fn commit(session: &Session) -> EndOutcome {
    // On a session that is lost already nothing is sent.
    if !session.is_closed() {
        session.effects().commits();
    }
    if session.pooled {
        // A refusal may be of what is reset behind COMMIT.
        let (outcome, clean) = session.commit_pooled().await;
        return EndOutcome { outcome, clean };
    }
    // In two messages: if COMMIT fails, the rest of its message is not run.
    let (outcome, clean) = join(session.batch_execute(COMMIT), session.after_writing()).await;
    if outcome.as_ref().is_err_and(failure::is_undone) {
        session.effects().undone();
    }
    EndOutcome { outcome, clean }
}

/// Rolls a transaction back.
pub(crate) fn undoing(session: &Arc<Session>, mode: TransactionMode) -> BoxFuture<'static, EndOutcome> {
    close(session, Some("ROLLBACK").filter(|_| mode != TransactionMode::ReadOnly))
}

/// Undoes an attempt to prepare a statement, so that it can be prepared in another way.
pub(crate) async fn step_back(session: &Session, mode: TransactionMode, position: TransactionPosition) {
    if position.begins {
        undo(session, mode).await;
    } else {
        // If it fails, the next statement fails too.
        let _ = session.batch_execute(NOT_PREPARED).await;
    }
}

/// Ends a transaction because a statement of it cannot be run; whether the session is as good as new.
pub(crate) async fn give_up(session: &Arc<Session>, mode: TransactionMode, position: TransactionPosition) -> bool {
    if position.begins { undo(session, mode).await } else { undoing(session, mode).await.clean }
}

/// Ends a transaction in which nothing was run yet. Returns true if the session is clean.
pub(crate) async fn undo(session: &Session, mode: TransactionMode) -> bool {
    match mode {
        TransactionMode::ReadOnly | TransactionMode::ReadWrite | TransactionMode::DryRun => {
            session.after_reading().await
        }
        TransactionMode::Unattended => session.after_writing().await,
    }
}

/// Puts a schema in front of the search path; fails if it does not exist.
pub(crate) async fn search_path(
    session: &Session,
    schema: Option<&str>,
    mode: TransactionMode,
) -> Result<(), tokio_postgres::Error> {
    const FOR_TRANSACTION: &str = "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', \
        pg_catalog.quote_ident($1)::regnamespace::text, nullif(pg_catalog.current_setting('search_path'), '')), true)";
    const FOR_SESSION: &str = "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', \
        pg_catalog.quote_ident($1)::regnamespace::text, nullif(pg_catalog.current_setting('search_path'), '')), false)";
    let Some(schema) = schema else { return Ok(()) };
    let text = if mode == TransactionMode::Unattended { FOR_SESSION } else { FOR_TRANSACTION };
    session.query_typed(text, &[(&schema, Type::TEXT)]).await.map(drop)
}

/// Begins or continues the transaction, and prepares `text` in it, the statement of `execution`.
pub(crate) async fn begun(
    session: &Session,
    execution: &Execution,
    context: &CallContext,
    text: &str,
    types: &[Type],
) -> Result<Statement, tokio_postgres::Error> {
    let begins = execution.position.begins;
    let begin = if begins { beginning(execution.mode(), context, session.pooled) } else { continuing(context) };
    let path = search_path(session, execution.default_schema.as_deref().filter(|_| begins), execution.mode());
    let by = if begins { &execution.identity } else { &None };
    let role = identity::assume(session, by, execution.mode());
    let (opened, role, path, ready) =
        join4(session.batch_execute(&begin), role, path, session.prepare_typed(text, types)).await;
    opened.and(role).and(path).and(ready)
}
