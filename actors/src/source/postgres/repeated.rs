//! One statement run once for each set of values: prepared once, its runs sent ahead of their
//! answers, all in one transaction. Single runs are in `statement.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::future::{BoxFuture, MaybeDone, join_all, maybe_done};
use futures_util::{FutureExt, StreamExt, stream};
use tokio_postgres::Statement;

use super::argument::{self, Bound};
use super::clock::Clock;
use super::prepared::{Made, make_ready};
use super::printed::Printing;
use super::rows::{self, Rows};
use super::running::{self, Fetched, Rows as Answer};
use super::session::Session;
use super::statement::{Job, admit};
use super::transaction::{Place, closing, give_up, undoing};
use super::walls::{Extent, Guarded};
use super::{Asked, Shared};
use crate::error::{Error, Result};
use crate::reply::{Column, Part, Results};
use crate::source::{Access, Prepared, Repeated};
use crate::sql::Class;

/// Runs that were sent and not yet read.
const AHEAD: usize = 64;

/// Runs `repeated`, a result for each set.
pub(super) async fn results(shared: &Shared, repeated: Repeated, asked: Asked<'_>, clock: Clock) -> Result<Results> {
    let Repeated { statement, sets, default_schema } = repeated;
    let placeholders = statement.placeholders.clone();
    let mut ordered = Vec::with_capacity(sets.len());
    for (number, set) in sets.into_iter().enumerate() {
        ordered.push(argument::in_order(&placeholders, set).map_err(|error| Repeated::failure(number, error))?);
    }
    let Some(first) = ordered.first().cloned() else {
        return Err(Error::invalid("parameters: give at least one set of values"));
    };
    // The first set stands for all of them where the source cannot infer a type.
    let prepared = Prepared { statement, values: first, default_schema, by_administrator: false };
    let place = Place { begins: true, ends: false, pooled: shared.pooled };
    let job = Job { place, ..shared.job(prepared, asked, Extent::Repeated)? };
    let session = clock.bound(shared.sessions.take(&clock)).await??;
    admit(&shared.knowledge, &session, &job, &clock).await.map_err(|error| {
        // Told as it would be of what does not exist: but for what does not parse, when it runs.
        let runs = job.guarded.as_ref().is_some_and(Guarded::is_definition) && error.get_sqlstate() != Some("42601");
        let error = clock.judge(error);
        if runs { Repeated::failure(0, error) } else { error }
    })?;
    let made = match clock.bound(make_ready(&session, &job, &clock)).await? {
        Ok(made) => made,
        Err(error) => {
            if clock.bound(give_up(&session, job.frame(), job.place)).await? {
                session.settle();
            }
            let of_the_first = error.message.starts_with("parameter @");
            let error = clock.judge(error);
            return Err(if of_the_first { Repeated::failure(0, error) } else { error });
        }
    };
    let Made { ready, columns, forms, shift, printing, .. } = made;
    let bound = ordered.iter().enumerate().map(|(number, set)| {
        let values = set.iter().zip(ready.params()).map(|(value, type_)| argument::bound(value, type_));
        values.collect::<Result<Vec<Bound>>>().map_err(|error| Repeated::failure(number, error))
    });
    let waiting: VecDeque<Vec<Bound>> = match bound.collect() {
        Ok(bound) => bound,
        Err(error) => {
            if clock.bound(give_up(&session, job.frame(), job.place)).await? {
                session.settle();
            }
            return Err(error);
        }
    };
    let columns = rows::columns(&columns, &job.text, &shared.name, &shared.knowledge).await;
    let runs = Runs {
        session,
        ready,
        printing,
        waiting,
        sent: VecDeque::new(),
        reading: None,
        complete: false,
        number: 0,
        columns,
        forms: shared.knowledge.forms(forms),
        shift,
        job,
        clock,
        knowledge: Arc::clone(&shared.knowledge),
        over: false,
    };
    let parts = stream::unfold(runs, |mut runs| async move { runs.next().await.map(|part| (part, runs)) });
    Ok(Results::new(asked.terms.access == Access::ReadWrite, parts))
}

type Sent = MaybeDone<BoxFuture<'static, Result<Answer, tokio_postgres::Error>>>;

/// The runs of one statement. Dropped before their end they leave a session that nobody vouches
/// for: it is closed, and with it everything undone.
struct Runs {
    session: Arc<Session>,
    ready: Statement,
    /// Set where each run is several messages, of which none can be sent ahead.
    printing: Option<Arc<Printing>>,
    waiting: VecDeque<Vec<Bound>>,
    sent: VecDeque<Sent>,
    reading: Option<Answer>,
    /// Its last row was read.
    complete: bool,
    /// The set that is being read, counted from 0.
    number: usize,
    columns: Arc<[Column]>,
    forms: Arc<[super::cells::Form]>,
    shift: usize,
    job: Job,
    clock: Clock,
    knowledge: Arc<super::Knowledge>,
    over: bool,
}

impl Runs {
    async fn next(&mut self) -> Option<Result<Part>> {
        if self.over {
            return None;
        }
        let part = self.step().await;
        self.over |= part.is_err();
        Some(part)
    }

    async fn step(&mut self) -> Result<Part> {
        let Some(mut rows) = self.reading.take() else { return self.open().await };
        let mut batch = Fetched::default();
        while !self.complete && !batch.is_full() {
            match self.clock.bound(rows.next()).await? {
                Some(Ok(row)) => batch.push(row, &self.session),
                Some(Err(error)) => return Err(self.failure(&error).await),
                None => self.complete = true,
            }
        }
        if !batch.is_empty() {
            self.reading = Some(rows);
            return Ok(Part::Rows(Box::new(Rows::new(batch, Arc::clone(&self.forms)))));
        }
        let affected = rows.affected();
        drop(rows);
        self.number += 1;
        if self.waiting.is_empty() && self.sent.is_empty() {
            self.close().await?;
            self.over = true;
        }
        Ok(Part::Done { affected: self.job.affected(affected, !self.columns.is_empty()) })
    }

    /// Sends what may be sent ahead, and waits until the next run begins to answer.
    async fn open(&mut self) -> Result<Part> {
        let ahead = if self.printing.is_some() { 1 } else { AHEAD };
        // Half a window at a time: few wakes, and the source never waits for us.
        if self.sent.len() <= ahead / 2 {
            while self.sent.len() < ahead {
                let Some(values) = self.waiting.pop_front() else { break };
                let (session, ready) = (Arc::clone(&self.session), self.ready.clone());
                let printing = self.printing.clone();
                let run = async move {
                    match printing {
                        Some(printing) => printing.run(session, values).await,
                        None => session.query_raw(&ready, values).await.map(running::rows),
                    }
                };
                self.sent.push_back(maybe_done(run.boxed()));
            }
        }
        // The first poll of each sends it.
        let mut sent = std::mem::take(&mut self.sent);
        let opened = self.clock.bound(std::future::poll_fn(|cx| {
            for run in &mut sent {
                let _ = run.poll_unpin(cx);
            }
            match sent.front_mut().and_then(|first| std::pin::Pin::new(first).take_output()) {
                Some(opened) => std::task::Poll::Ready(opened),
                None => std::task::Poll::Pending,
            }
        }));
        let opened = opened.await?;
        sent.pop_front();
        self.sent = sent;
        match opened {
            Ok(rows) => {
                self.reading = Some(rows);
                self.complete = false;
            }
            Err(error) => return Err(self.failure(&error).await),
        }
        Ok(Part::Columns(Arc::clone(&self.columns)))
    }

    /// Keeps what all runs did.
    async fn close(&mut self) -> Result<()> {
        let ended = self.clock.bound(closing(&self.session, self.job.frame())).await?;
        if ended.clean {
            self.session.settle();
        }
        ended.outcome.map_err(|error| self.clock.judge(self.job.failure(&error, self.shift)))?;
        if matches!(self.job.class, Class::Ddl | Class::Call | Class::Other) {
            self.knowledge.mark_stale();
        }
        Ok(())
    }

    /// What the source said of the run that is being read; everything before it is undone.
    async fn failure(&mut self, error: &tokio_postgres::Error) -> Error {
        let failure = Repeated::failure(self.number, self.clock.judge(self.job.failure(error, self.shift)));
        let sent = std::mem::take(&mut self.sent);
        self.waiting.clear();
        // The source refuses each of them at once: their transaction has failed.
        let refused = async {
            drop(join_all(sent).await);
            undoing(&self.session, self.job.frame()).await
        };
        if let Ok(ended) = self.clock.bound(refused).await
            && ended.clean
        {
            self.session.settle();
        }
        failure
    }
}
