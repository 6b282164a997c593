//! One statement from its text to its first rows: in one round trip where nothing must be known
//! beforehand, else prepared first. How its rows are read on is in `rows.rs`.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join4;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Oid, Type};

use crate::call::{Argument, Facet};
use crate::error::{Error, Kind, Result};
use crate::identity::Assumed;
use crate::source::Access;
use crate::source::postgres::bind::inference::Apart;
use crate::source::postgres::bind::shape::Shape;
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::catalog::relations::Question;
use crate::source::postgres::decode::cells::Form;
use crate::source::postgres::execute::identity;
use crate::source::postgres::execute::prepared::{described, prepared};
use crate::source::postgres::execute::running;
use crate::source::postgres::execute::running::{Fetched, Running};
use crate::source::postgres::execute::transaction::{Frame, Place, Terms, beginning, ending, give_up, search_path};
use crate::source::postgres::failure;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::source::Shared;
use crate::source::postgres::walls::check::Guarded;
use crate::source::postgres::walls::names::redaction;
use crate::sql::{Class, Statement};
use crate::trace::TraceParent;

/// How long a silent statement goes on before we look whether it is the wire that is stuck.
const SILENCE: Duration = Duration::from_secs(1);
/// A last look before a statement is held to be stuck.
const LAST_LOOK: Duration = Duration::from_millis(100);

/// In place of a shift: what was sent has other numbers of parameters than the statement, so that no
/// position in it leads back.
pub(crate) const APART: usize = usize::MAX;
/// In place of a shift: no position in what was sent leads back.
pub(crate) const ELSEWHERE: usize = usize::MAX - 1;

/// How the statement begins that reads a cursor to its end.
pub(crate) const FETCH_ALL: &str = "FETCH ALL ";

/// One statement for the source.
pub(crate) struct Job {
    pub(crate) text: String,
    pub(crate) class: Class,
    /// Whether it may return rows.
    pub(crate) returns_rows: bool,
    pub(crate) terms: Terms,
    pub(crate) values: Values,
    /// In front of the search path, for this statement alone.
    pub(crate) default_schema: Option<String>,
    /// The caller's statement, for positions in it.
    pub(crate) origin: Option<Statement>,
    /// Where it stands in its transaction.
    pub(crate) place: Place,
    /// Whether the values of type refcursor that it answers with are results of their own.
    pub(crate) opens_cursors: bool,
    /// Who runs it, where callers have identities at the source.
    pub(crate) identity: Assumed,
    /// What has to be judged before it runs.
    pub(crate) guarded: Option<Guarded>,
}

/// What is bound to a job's parameters.
pub(crate) enum Values {
    /// A query of ours for a facet; its parameters are texts.
    Facet(Facet, Vec<Option<String>>),
    /// A caller's values, for types that the source infers.
    Inferred(Vec<Argument>),
}

/// A column of a result as the wire tells it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) label: String,
    pub(crate) table: Option<Oid>,
    pub(crate) attribute: Option<i16>,
    pub(crate) modifier: i32,
    pub(crate) type_: Type,
}

/// A statement that has begun to answer.
pub(crate) struct Answer {
    pub(crate) columns: Vec<Seen>,
    pub(crate) forms: Vec<Form>,
    /// Some rows, or `None` when the statement has ended without any (more).
    pub(crate) first: Option<Fetched>,
    pub(crate) progress: Progress,
    /// Characters in front of the statement's own text in what was sent.
    pub(crate) shift: usize,
    /// What was asked of its tables meanwhile.
    pub(crate) asked: Option<Question>,
    /// By what its tables can be foreseen the next time.
    pub(crate) shape: Option<Shape>,
}

/// How far a statement is.
pub(crate) enum Progress {
    /// More rows may come.
    Running(Running),
    /// It is complete; so many rows were changed. The session, if its transaction goes on.
    Over(u64, Option<Arc<Session>>),
}

impl Job {
    /// What its transaction is.
    pub(crate) fn frame(&self) -> Frame {
        match self.terms.frame() {
            Frame::ReadWrite if self.class == Class::Call && self.place == Place::ALONE => Frame::Unattended,
            frame => frame,
        }
    }

    /// Whether it can be sent without knowing anything about it: nothing to bind, and either
    /// nothing to decode or nothing done that could not be done again.
    fn goes_direct(&self) -> bool {
        match (&self.values, self.terms.access) {
            _ if self.place != Place::ALONE => false,
            (Values::Facet(..), _) => true,
            (Values::Inferred(values), Access::ReadOnly) => values.is_empty(),
            (Values::Inferred(values), Access::ReadWrite) => {
                let no_rows = !self.returns_rows && matches!(self.class, Class::Insert | Class::Update | Class::Ddl);
                values.is_empty() && no_rows
            }
        }
    }

    /// By what the tables of its columns are foreseen, where somebody is told of them.
    fn shape(&self) -> Option<Shape> {
        let is_told = self.terms.describes && self.returns_rows && matches!(self.values, Values::Inferred(_));
        let role = self.identity.as_ref().map_or("", |identity| identity.role.as_str());
        let text = TraceParent::uncommented(&self.text).unwrap_or(&self.text);
        is_told.then(|| Shape::of(text, &[self.default_schema.as_deref().unwrap_or_default(), role]))
    }

    /// Whether what is told of its tables has to be asked in its own transaction: behind a pooler a session
    /// of our own is another connection, and what ran before it may have changed them.
    pub(crate) fn asks_within(&self) -> bool {
        self.place.pooled || (!self.place.begins && self.terms.access == Access::ReadWrite)
    }

    /// The rows of a cursor that the transaction has open.
    pub(crate) fn fetching(cursor: &str, terms: Terms) -> Self {
        Self {
            text: format!("{FETCH_ALL}FROM {}", quoted(cursor)),
            class: Class::Session,
            returns_rows: true,
            terms,
            values: Values::Inferred(Vec::new()),
            default_schema: None,
            origin: None,
            place: Place::WITHIN,
            opens_cursors: false,
            identity: None,
            guarded: None,
        }
    }

    /// The same statement, which was judged, with other values.
    pub(crate) fn again(&self, values: Vec<Argument>, begins: bool) -> Self {
        Self {
            text: self.text.clone(),
            values: Values::Inferred(values),
            default_schema: self.default_schema.clone(),
            origin: self.origin.clone(),
            place: Place { begins, ..self.place },
            identity: self.identity.clone(),
            guarded: None,
            ..*self
        }
    }

    /// Whether nothing that runs before it in its transaction can change what its names mean.
    pub(crate) fn is_judged_beforehand(&self) -> bool {
        self.guarded.as_ref().is_none_or(Guarded::is_alone)
    }

    /// What is told of the `count` of rows that the source gave at the end: −1 for what returns rows of its
    /// own, which it counts too.
    pub(crate) fn affected(&self, count: u64, has_rows: bool) -> i64 {
        if self.origin.as_ref().is_some_and(|statement| statement.counts) {
            i64::try_from(count).unwrap_or(i64::MAX)
        } else if has_rows || matches!(self.class, Class::Select | Class::Insert | Class::Update) {
            -1
        } else {
            0
        }
    }

    /// The caller's values.
    pub(crate) fn arguments(&self) -> &[Argument] {
        match &self.values {
            Values::Facet(..) => &[],
            Values::Inferred(values) => values,
        }
    }

    /// Whether a value means what the same literal would: in a caller's own statement.
    pub(crate) fn means_literals(&self) -> bool {
        self.origin.is_some()
    }

    /// What is bound to the parameter of this number, from 1.
    fn argument(&self, number: usize, apart: bool) -> Option<&Argument> {
        let index = number.checked_sub(1)?;
        let apart = if apart { Some(Apart::of(&self.text, self.arguments())?) } else { None };
        match apart {
            Some(apart) => apart.arguments(self.arguments()).get(index).copied(),
            None => self.arguments().get(index),
        }
    }

    /// What the source said, in the caller's terms.
    pub(crate) fn failure(&self, error: &tokio_postgres::Error, shift: usize) -> Error {
        if let Some(identity) = self.identity.as_ref().filter(|identity| identity.is_refused()) {
            return identity::refused(identity, error);
        }
        let mut failure = failure::statement(error, self.origin.as_ref(), shift);
        // Behind a pooler it cannot be run in earnest either, and the hint says so.
        let alone = self.terms.dry_run && !self.place.pooled;
        if alone && failure.get_sqlstate() == Some(failure::ENDS_TRANSACTION) {
            failure.message = format!("dryRun: {}; what ends its own transaction cannot be undone", failure.message);
            return failure.hint("nothing was changed; leave dryRun out to run it");
        }
        let refused = failure::refused_parameter(error).and_then(|number| self.argument(number, shift == APART));
        if let Some(argument) = refused.filter(|_| failure.kind == Kind::Rejected) {
            failure.kind = Kind::Invalid;
            failure.message = format!("parameter @{}: {}", argument.name.trim_start_matches('@'), failure.message);
        }
        // Without a context it is not said from within a function or a trigger.
        let own = error.as_db_error().is_some_and(|error| error.where_().is_none());
        if own && self.guarded.as_ref().is_some_and(Guarded::hides) { redaction::uttered(failure) } else { failure }
    }
}

/// A name as it stands in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

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
    let judged = clock.bound(knowledge.walls().check(session, job, clock, knowledge)).await?;
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

/// Waits for the end of a statement that has no more rows: how many rows were changed, and the
/// session where its transaction goes on. Elsewhere it is given back.
pub(crate) async fn finish(
    running: Running,
    clock: &Clock,
    place: Place,
) -> Result<Result<(u64, Option<Arc<Session>>), tokio_postgres::Error>> {
    Ok(clock.bound(running.end()).await?.map(|(affected, session)| match session {
        Some(session) if place.ends => {
            session.settle();
            (affected, None)
        }
        session => (affected, session),
    }))
}

/// The columns of a row description.
pub(crate) fn seen(columns: &[tokio_postgres::Column]) -> Vec<Seen> {
    let seen = |column: &tokio_postgres::Column| Seen {
        label: column.name().to_owned(),
        table: column.table_oid(),
        attribute: column.column_id(),
        modifier: column.type_modifier(),
        type_: column.type_().clone(),
    };
    columns.iter().map(seen).collect()
}
