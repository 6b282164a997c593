//! One statement from its text to its first rows: in one round trip where nothing must be known
//! beforehand, else prepared first. How its rows are read on is in `rows.rs`.

use crate::source::postgres::decode::columns::seen;
use crate::source::postgres::execute::answer::Answer;
use crate::source::postgres::execute::answer::Progress;
use crate::source::postgres::execute::job::Job;
use crate::source::postgres::execute::job::Values;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join4;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::error::{Kind, Result};
use crate::source::Access;
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::decode::form::Form;
use crate::source::postgres::execute::identity;
use crate::source::postgres::execute::mode::Place;
use crate::source::postgres::execute::prepared::{described, prepared};
use crate::source::postgres::execute::running;
use crate::source::postgres::execute::running::Running;
use crate::source::postgres::execute::shared::Shared;
use crate::source::postgres::execute::transaction::{beginning, ending, give_up, search_path};
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;

/// How long a silent statement goes on before we look whether it is the wire that is stuck.
const SILENCE: Duration = Duration::from_secs(1);
/// A last look before a statement is held to be stuck.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// Runs `job` up to its first rows. A reader that meets a dead session tries once more.
pub(crate) async fn execute(shared: &Shared, job: &Job, clock: &Clock) -> Result<Answer> {
    let sessions = &shared.sessions;
    let session = clock.bound(sessions.take(clock)).await??;
    let may_repeat = job.terms.access == Access::ReadOnly && session.is_reused();
    let answer = match attempt(session, shared, job, clock).await {
        Err(error) if may_repeat && error.kind == Kind::Unavailable => {
            sessions.forget_idle();
            let session = clock.bound(sessions.take(clock)).await??;
            attempt(session, shared, job, clock).await
        }
        answer => answer,
    };
    answer.map_err(|error| clock.judge(error))
}

/// Judges the statement of `job` on the session that it will run on; behind a refusal its transaction is
/// ended.
pub(crate) async fn admit(knowledge: &Knowledge, session: &Arc<Session>, job: &Job, clock: &Clock) -> Result<()> {
    if job.guarded.is_none() {
        return Ok(());
    }
    let judged = clock.bound(knowledge.walls().check(session, job, clock)).await?;
    if judged.is_err() && clock.bound(give_up(session, job.frame(), job.place)).await? {
        session.settle();
    }
    judged
}

async fn attempt(session: Arc<Session>, shared: &Shared, job: &Job, clock: &Clock) -> Result<Answer> {
    let (sessions, knowledge) = (&shared.sessions, &*shared.knowledge);
    admit(knowledge, &session, job, clock).await?;
    // Of a role's own session nobody else is told whether it is stuck (`knowledge.rs`).
    if !job.goes_direct() || (session.is_login() && matches!(job.values, Values::Inferred(_))) {
        return prepared(session, knowledge, job, clock).await;
    }
    let again = match direct(session, knowledge, job, clock).await? {
        Direct::Answered(answer) => return Ok(answer),
        Direct::NeedsText(running) => clock.bound(running.stop()).await?,
        Direct::Stuck => None,
    };
    let session = match again {
        Some(session) => session,
        None => clock.bound(sessions.take(clock)).await??,
    };
    prepared(session, knowledge, job, clock).await
}

enum Direct {
    Answered(Answer),
    /// A column's type can only be told by the source itself.
    NeedsText(Running),
    /// The wire library waits for a type behind an answer that nobody reads (`custom_types.rs`).
    Stuck,
}

async fn direct(session: Arc<Session>, knowledge: &Knowledge, job: &Job, clock: &Clock) -> Result<Direct> {
    let frame = job.frame();
    // Our own queries hold nothing that would need it.
    let may_repeat = job.terms.access == Access::ReadOnly && matches!(job.values, Values::Inferred(_));
    let shape = job.shape();
    let asked = shape.and_then(|shape| knowledge.foresee(&shape));
    let opening = {
        let begin = beginning(frame, clock, session.pooled);
        let (session, text) = (Arc::clone(&session), job.text.clone());
        let (schema, by) = (job.default_schema.clone(), job.identity.clone());
        let values: Vec<(Option<String>, Type)> = match &job.values {
            Values::Facet(_, texts) => texts.iter().map(|text| (text.clone(), Type::TEXT)).collect(),
            Values::Inferred(_) => Vec::new(),
        };
        async move {
            let path = search_path(&session, schema.as_deref(), frame);
            let rows = session.query_typed_raw(&text, values);
            let role = identity::assume(&session, &by, frame);
            let (opened, role, path, rows) = join4(session.batch_execute(&begin), role, path, rows).await;
            opened.and(role).and(path).and(rows).map(running::rows)
        }
        .boxed()
    };
    let mut running = Running::new(Arc::clone(&session), opening, ending(&session, frame, false, Place::ALONE));
    let first = loop {
        match clock.bound(timeout(SILENCE, running.batch())).await? {
            Ok(first) => break first,
            Err(_) if may_repeat && knowledge.is_stuck(session.process()).await => {
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
        Err(error) if may_repeat && error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => {
            // Also said of a type without a binary form; preparing shows whether it is that.
            return Ok(Direct::NeedsText(running));
        }
        first => first.map_err(|error| job.failure(&error, 0))?,
    };
    let mut columns = first.as_ref().and_then(|rows| rows.first()).map(|row| seen(row.columns())).unwrap_or_default();
    let progress = if first.is_some() {
        Progress::Running(running)
    } else {
        let (affected, session) = clock.bound(running.end()).await?.map_err(|error| job.failure(&error, 0))?;
        match (&job.values, session) {
            // No row told the columns' names and types.
            (Values::Inferred(_), Some(session)) if job.returns_rows => {
                let described = clock.bound(described(&session, job, clock)).await?;
                columns = described.map_err(|error| job.failure(&error, 0))?;
            }
            (_, Some(session)) => session.settle(),
            (_, None) => {}
        }
        Progress::Over(affected, None)
    };
    let natively: Option<Vec<Form>> = columns.iter().map(|column| Form::of(&column.type_)).collect();
    Ok(match (natively, progress) {
        (Some(forms), progress) => Direct::Answered(Answer { columns, forms, first, progress, shift: 0, asked, shape }),
        (None, Progress::Running(running)) if may_repeat => Direct::NeedsText(running),
        (None, progress) => {
            let forms = columns.iter().map(|column| Form::of(&column.type_).unwrap_or(Form::Opaque)).collect();
            Direct::Answered(Answer { columns, forms, first, progress, shift: 0, asked, shape })
        }
    })
}
