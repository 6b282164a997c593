//! What stands around a statement: how its transaction begins, where names are looked for in it,
//! and how it ends.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join, join3, join4, maybe_done};
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

use crate::source::postgres::execute::identity;
use crate::source::postgres::execute::job::Job;
use crate::source::postgres::execute::mode::{Frame, Place};
use crate::source::postgres::execute::running::{End, Ended};
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::session::setup::settings;

/// What goes in front of a statement that is not the first of its transaction. What fails while it
/// is prepared can be taken back without what was done before. A statement before it may have called
/// `set_config`: where a text ends is not for callers to change, since we read the statement too.
pub(crate) fn continuing(clock: &Clock) -> String {
    format!(
        "SET LOCAL statement_timeout = {}; SET LOCAL standard_conforming_strings = on; SAVEPOINT portico_preparing",
        clock.milliseconds()
    )
}

/// Goes with the run of a statement that was prepared behind [`continuing`].
pub(crate) const PREPARED: &str = "RELEASE SAVEPOINT portico_preparing";
const NOT_PREPARED: &str = "ROLLBACK TO SAVEPOINT portico_preparing; RELEASE SAVEPOINT portico_preparing";

/// What a fresh session is told of how values are written and texts are read (`session.rs`), for one
/// transaction: behind a pooler there is no session to tell.
const SETTINGS: &str = concat!("; ", settings!("SET LOCAL"));

/// What goes in front of the first statement of a transaction; `pooled` where its session is a pooler's.
pub(crate) fn beginning(frame: Frame, clock: &Clock, pooled: bool) -> String {
    let milliseconds = clock.milliseconds();
    let settings = if pooled { SETTINGS } else { "" };
    match frame {
        Frame::ReadOnly => format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}{settings}"),
        Frame::ReadWrite | Frame::DryRun => {
            format!("BEGIN READ WRITE; SET LOCAL statement_timeout = {milliseconds}{settings}")
        }
        Frame::Unattended => {
            format!("SET statement_timeout = {milliseconds}; SET default_transaction_read_only = off")
        }
    }
}

/// The end of a statement; `holds_rows` when it may answer with rows.
pub(crate) fn ending(session: &Arc<Session>, frame: Frame, holds_rows: bool, place: Place) -> End {
    match frame {
        _ if !place.ends => held(session, frame, place),
        // Types are looked up, and statements closed, while the server's session is still the one.
        _ if session.pooled => held(session, frame, place),
        Frame::ReadWrite if holds_rows => held(session, frame, place),
        _ => End::Sent(maybe_done(closing(session, frame))),
    }
}

/// The end of a statement that is only sent when all of it was read.
pub(crate) fn held(session: &Arc<Session>, frame: Frame, place: Place) -> End {
    let goes_on = async { Ended { outcome: Ok(()), clean: true } };
    let keep = if place.ends { closing(session, frame) } else { goes_on.boxed() };
    End::Held { keep, undo: undoing(session, frame) }
}

/// Ends a transaction whose statements have all succeeded.
pub(crate) fn closing(session: &Arc<Session>, frame: Frame) -> BoxFuture<'static, Ended> {
    match frame {
        Frame::ReadOnly => close(session, None),
        Frame::ReadWrite => close(session, Some("COMMIT")),
        Frame::Unattended => close(session, Some("")),
        Frame::DryRun => {
            let session = Arc::clone(session);
            async move {
                // What a commit would have refused is refused here.
                let checked = session.batch_execute("SET CONSTRAINTS ALL IMMEDIATE");
                if session.pooled {
                    // Behind ROLLBACK it would be another session of the server.
                    let (outcome, clean) = join(checked, session.after_reading()).await;
                    return Ended { outcome, clean };
                }
                let (checked, undone, clean) =
                    join3(checked, session.batch_execute("ROLLBACK"), session.after_writing()).await;
                Ended { outcome: checked.and(undone), clean }
            }
            .boxed()
        }
    }
}

/// Ends a reader, or a writer with `word`.
fn close(session: &Arc<Session>, word: Option<&'static str>) -> BoxFuture<'static, Ended> {
    let session = Arc::clone(session);
    async move {
        match word {
            None => Ended { outcome: Ok(()), clean: session.after_reading().await },
            Some("COMMIT") if session.pooled => {
                let (outcome, clean) = session.commit_pooled().await;
                Ended { outcome, clean }
            }
            Some(_) if session.pooled => Ended { outcome: Ok(()), clean: session.after_reading().await },
            Some(word) => {
                // In two messages: where COMMIT fails, what follows it in one message is not run.
                let (outcome, clean) = join(session.batch_execute(word), session.after_writing()).await;
                Ended { outcome, clean }
            }
        }
    }
    .boxed()
}

/// Ends a transaction of which nothing stays.
pub(crate) fn undoing(session: &Arc<Session>, frame: Frame) -> BoxFuture<'static, Ended> {
    close(session, Some("ROLLBACK").filter(|_| frame != Frame::ReadOnly))
}

/// Takes back what was done to prepare a statement, so that it can be prepared in another way.
pub(crate) async fn step_back(session: &Session, frame: Frame, place: Place) {
    if place.begins {
        undo(session, frame).await;
    } else {
        // Should it fail, so does what comes next.
        let _ = session.batch_execute(NOT_PREPARED).await;
    }
}

/// Ends a transaction because a statement of it cannot be run; whether the session is as good as new.
pub(crate) async fn give_up(session: &Arc<Session>, frame: Frame, place: Place) -> bool {
    if place.begins { undo(session, frame).await } else { undoing(session, frame).await.clean }
}

/// Ends a transaction in which nothing was run yet; whether the session is as good as new.
pub(crate) async fn undo(session: &Session, frame: Frame) -> bool {
    match frame {
        Frame::ReadOnly | Frame::ReadWrite | Frame::DryRun => session.after_reading().await,
        Frame::Unattended => session.after_writing().await,
    }
}

/// Puts a schema in front of the search path, or fails where there is none of that name.
pub(crate) async fn search_path(
    session: &Session,
    schema: Option<&str>,
    frame: Frame,
) -> Result<(), tokio_postgres::Error> {
    const FOR_TRANSACTION: &str = "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', \
        pg_catalog.quote_ident($1)::regnamespace::text, nullif(pg_catalog.current_setting('search_path'), '')), true)";
    const FOR_SESSION: &str = "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', \
        pg_catalog.quote_ident($1)::regnamespace::text, nullif(pg_catalog.current_setting('search_path'), '')), false)";
    let Some(schema) = schema else { return Ok(()) };
    let text = if frame == Frame::Unattended { FOR_SESSION } else { FOR_TRANSACTION };
    session.query_typed(text, &[(&schema, Type::TEXT)]).await.map(drop)
}

/// Begins the transaction, or goes on with it, and prepares `text` in it, the statement of `job`.
pub(crate) async fn begun(
    session: &Session,
    job: &Job,
    clock: &Clock,
    text: &str,
    types: &[Type],
) -> Result<Statement, tokio_postgres::Error> {
    let begins = job.place.begins;
    let begin = if begins { beginning(job.frame(), clock, session.pooled) } else { continuing(clock) };
    let path = search_path(session, job.default_schema.as_deref().filter(|_| begins), job.frame());
    let by = if begins { &job.identity } else { &None };
    let role = identity::assume(session, by, job.frame());
    let (opened, role, path, ready) =
        join4(session.batch_execute(&begin), role, path, session.prepare_typed(text, types)).await;
    opened.and(role).and(path).and(ready)
}
