//! Several statements in one transaction on one session, each prepared when those before it are
//! done, since it may need what they made. How one of them runs is in `prepared.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::join;
use futures_util::stream;

use crate::error::{Error, Kind, Result};
use crate::reply::{Part, Results};
use crate::source::postgres::bind::inference::inferred;
use crate::source::postgres::catalog::relations;
use crate::source::postgres::decode::columns::seen;
use crate::source::postgres::execute::job::Job;
use crate::source::postgres::execute::mode::{Place, Terms};
use crate::source::postgres::execute::prepared::prepared;
use crate::source::postgres::execute::rows;
use crate::source::postgres::execute::rows::Reading;
use crate::source::postgres::execute::shared::{Asked, Shared};
use crate::source::postgres::execute::statement::admit;
use crate::source::postgres::execute::transaction::{closing, give_up};
use crate::source::postgres::failure;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::handle::Session;
use crate::source::postgres::walls::guarded::Extent;
use crate::source::{Access, Prepared};
use crate::sql::Class;

/// Runs `statements` in order, a result for each.
pub(crate) async fn results(
    shared: &Shared,
    statements: Vec<Prepared>,
    asked: Asked<'_>,
    clock: Clock,
) -> Result<Results> {
    // Where all are queries, none changes what the names in the next one mean. Whether they are is asked of
    // the server, for each of them.
    let queries =
        |prepared: &Prepared| matches!(prepared.statement.class, Class::Select | Class::Insert | Class::Update);
    let extent = if statements.iter().all(queries) { Extent::Alone } else { Extent::Among };
    run(shared, jobs(shared, statements, asked, extent)?, asked.terms, clock).await
}

/// Runs `jobs` in order, and then reads the cursors that they opened for their caller.
pub(crate) async fn run(shared: &Shared, jobs: VecDeque<Job>, terms: Terms, clock: Clock) -> Result<Results> {
    let mut jobs = jobs;
    for job in &mut jobs {
        job.place.pooled = shared.pooled;
    }
    let session = clock.bound(shared.sessions.take(&clock)).await??;
    let may_repeat = session.is_reused();
    let mut script = Script::new(shared, jobs, terms, clock);
    match script.begin(session).await {
        // Nothing was done on a session that turned out dead while it was idle.
        Err(error) if may_repeat && terms.access == Access::ReadOnly && error.kind == Kind::Unavailable => {
            shared.sessions.forget_idle();
            let session = script.clock.bound(shared.sessions.take(&script.clock)).await??;
            script.begin(session).await?;
        }
        started => started?,
    }
    Ok(Results::new(
        terms.access == Access::ReadWrite,
        stream::unfold(script, |mut script| async move { script.next().await.map(|part| (part, script)) }),
    ))
}

/// Tells the columns of `statements` and runs none of them.
pub(crate) async fn columns(
    shared: &Shared,
    statements: Vec<Prepared>,
    asked: Asked<'_>,
    clock: Clock,
) -> Result<Results> {
    let terms = Terms { access: Access::ReadOnly, dry_run: false, describes: true };
    let jobs = jobs(shared, statements, Asked { terms, ..asked }, Extent::Described)?;
    let mut jobs = jobs;
    let session = clock.bound(shared.sessions.take(&clock)).await??;
    admit_all(&mut jobs, &shared.knowledge, &session, &clock).await?;
    let mut described = Vec::with_capacity(jobs.len());
    for job in &jobs {
        let ready = match clock.bound(inferred(&session, job, &clock)).await? {
            Ok(ready) => ready,
            Err(error) => {
                if clock.bound(give_up(&session, job.frame(), job.place)).await? {
                    session.settle();
                }
                return Err(clock.judge(error));
            }
        };
        described.push((seen(ready.statement.columns()), &job.text));
    }
    let tables = described.iter().flat_map(|(seen, _)| relations::tables(seen)).collect();
    let (relations, clean) = clock.bound(join(relations::seen_by(&session, tables), session.after_reading())).await?;
    if clean {
        session.settle();
    }
    let relations = relations.map_err(|error| clock.judge(failure::statement(&error, None, 0)))?;
    let parts: Vec<_> = described
        .iter()
        .map(|(seen, text)| Part::Columns(rows::columns(seen, text, &shared.name, &relations)))
        .flat_map(|columns| [Ok(columns), Ok(Part::Done { affected: -1 })])
        .collect();
    Ok(Results::new(false, stream::iter(parts)))
}

fn jobs(shared: &Shared, statements: Vec<Prepared>, asked: Asked<'_>, extent: Extent) -> Result<VecDeque<Job>> {
    let last = statements.len().saturating_sub(1);
    let placed = |(number, prepared)| {
        let place = Place { begins: number == 0, ends: number == last, pooled: false };
        Ok(Job { place, ..shared.job(prepared, asked, extent)? })
    };
    statements.into_iter().enumerate().map(placed).collect()
}

/// Judges each of `jobs` before a transaction begins.
async fn admit_all(
    jobs: &mut VecDeque<Job>,
    knowledge: &crate::source::postgres::catalog::cache::Knowledge,
    session: &Arc<Session>,
    clock: &Clock,
) -> Result<()> {
    for job in jobs {
        let place = job.place;
        job.place.begins = true;
        let judged = admit(knowledge, session, job, clock).await;
        job.place = place;
        judged.map_err(|error| clock.judge(error))?;
        job.guarded = None;
    }
    Ok(())
}

struct Script {
    name: Arc<str>,
    knowledge: Arc<crate::source::postgres::catalog::cache::Knowledge>,
    clock: Clock,
    terms: Terms,
    jobs: VecDeque<Job>,
    current: Option<Reading>,
}

impl Script {
    fn new(shared: &Shared, jobs: VecDeque<Job>, terms: Terms, clock: Clock) -> Self {
        let (name, knowledge) = (Arc::clone(&shared.name), Arc::clone(&shared.knowledge));
        Self { name, knowledge, clock, terms, jobs, current: None }
    }

    /// Begins the first statement. All of them are judged beforehand where none can define what the next
    /// one names; the server cannot be asked within a transaction that reads.
    async fn begin(&mut self, session: Arc<Session>) -> Result<()> {
        let beforehand = self.terms.access == Access::ReadOnly || self.jobs.iter().all(Job::is_judged_beforehand);
        if beforehand {
            admit_all(&mut self.jobs, &self.knowledge, &session, &self.clock).await?;
        }
        self.start(session).await
    }

    /// Begins the next statement; where that fails everything before it is undone.
    async fn start(&mut self, session: Arc<Session>) -> Result<()> {
        let Some(job) = self.jobs.front() else { return Ok(()) };
        admit(&self.knowledge, &session, job, &self.clock).await.map_err(|error| self.clock.judge(error))?;
        let answer =
            prepared(session, &self.knowledge, job, &self.clock).await.map_err(|error| self.clock.judge(error))?;
        let Some(job) = self.jobs.pop_front() else { return Ok(()) };
        let knowledge = Arc::clone(&self.knowledge);
        self.current = Some(Reading::begin(answer, job, self.clock.clone(), &self.name, knowledge).await);
        Ok(())
    }

    /// Ends a transaction whose last statement was not known to be the last.
    async fn close(&mut self, session: Arc<Session>) -> Result<()> {
        let ended = self.clock.bound(closing(&session, self.terms.frame())).await?;
        if ended.clean {
            session.settle();
        }
        ended.outcome.map_err(|error| self.clock.judge(failure::statement(&error, None, 0)))
    }

    async fn next(&mut self) -> Option<Result<Part>> {
        loop {
            let current = self.current.as_mut()?;
            match current.next().await {
                Some(Ok(_)) if current.only_names_cursors() => continue,
                Some(Err(error)) => {
                    self.jobs.clear();
                    return Some(Err(error));
                }
                Some(part) => return Some(part),
                None => {}
            }
            let (session, cursors) = self.current.take().map(Reading::into_rest).unwrap_or_default();
            self.jobs.extend(cursors.iter().map(|cursor| Job::fetching(cursor, self.terms)));
            if self.jobs.is_empty() {
                return self.close(session?).await.err().map(Err);
            }
            let started = match session {
                Some(session) => self.start(session).await,
                None => Err(Error::internal("a transaction lost its session between two statements")),
            };
            if let Err(error) = started {
                self.jobs.clear();
                return Some(Err(error));
            }
        }
    }
}
