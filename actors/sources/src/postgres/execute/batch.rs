//! One statement run once for each set of values: prepared once for all sets of values of the same
//! kinds, its runs sent ahead of their answers, all in one transaction. Single runs are in `statement.rs`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use futures_util::future::{self, BoxFuture, MaybeDone, join, join_all, maybe_done};
use futures_util::{FutureExt, StreamExt, stream};
use tokio_postgres::Statement;

use crate::postgres::bind::argument;
use crate::postgres::bind::argument_types;
use crate::postgres::bind::values;
use crate::postgres::catalog::relations;
use crate::postgres::catalog::relations::TableLookup;
use crate::postgres::decode::decoder::ColumnDecoder;
use crate::postgres::execute::answer::rows;
use crate::postgres::execute::answer::rows::Rows;
use crate::postgres::execute::answer::running;
use crate::postgres::execute::answer::running::{RowBatch, Rows as Answer};
use crate::postgres::execute::answer::text_fallback::TextFallback;
use crate::postgres::execute::envelope::options::TransactionPosition;
use crate::postgres::execute::envelope::transaction::{PREPARED, closing, undoing};
use crate::postgres::execute::execution::Execution;
use crate::postgres::execute::prepared::{PreparedExecution, make_ready};
use crate::postgres::execute::sent_text::SentText;
use crate::postgres::execute::shared::{CallOptions, Shared};
use crate::postgres::execute::statement::admit;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::handle::Session;
use crate::postgres::walls::policy::{PendingCheck, StatementUse};
use crate::{Access, Prepared, Repeated};
use portico_core::call::Argument;
use portico_core::error::{Error, Result};
use portico_core::reply::{Column, Part, Results};
use portico_sql::Class;

/// Runs that were sent and not yet read.
const AHEAD: usize = 64;
/// Variants that are prepared at once.
const MOST_PREPARED: usize = 128;

/// Runs `repeated`, a result for each set.
pub(crate) async fn results(
    shared: &Shared,
    repeated: Repeated,
    asked: CallOptions<'_>,
    context: CallContext,
) -> Result<Results> {
    let Repeated { statement, sets, default_schema } = repeated;
    let (variants, waiting) = sorted(&statement.placeholders, sets)?;
    let position = TransactionPosition { begins: true, ends: false, pooled: shared.pooled };
    let execution = |variant: &Variant| {
        let (statement, values) = (statement.clone(), variant.values.clone());
        let default_schema = default_schema.clone();
        let prepared = Prepared { statement, values, default_schema, by_administrator: false };
        Ok::<Execution, Error>(Execution { position, ..shared.execution(prepared, asked, StatementUse::Repeated)? })
    };
    let Some(first) = variants.first() else {
        return Err(Error::invalid("parameters: give at least one set of values"));
    };
    let first = execution(first)?;
    let session = context.bound(shared.sessions.take(&context)).await??;
    // Each is judged before the transaction begins.
    for (number, variant) in variants.iter().enumerate() {
        let made = if number == 0 { None } else { Some(execution(variant)?) };
        let execution = made.as_ref().unwrap_or(&first);
        judge(shared, &session, execution, variant.first, &context).await?;
    }
    let mut runs = BatchRun {
        session,
        name: Arc::clone(&shared.name),
        execution: Arc::new(first),
        variants,
        made: VecDeque::new(),
        waiting,
        sent: VecDeque::new(),
        reading: None,
        begun: false,
        complete: false,
        number: 0,
        context,
        cache: Arc::clone(&shared.cache),
        over: false,
    };
    runs.make(0).await?;
    let parts = stream::unfold(runs, |mut runs| async move { runs.next().await.map(|part| (part, runs)) });
    Ok(Results::new(asked.options.access == Access::ReadWrite, parts))
}

/// Sets of values that wait for their runs, each with the variant that runs it.
type Waiting = VecDeque<(usize, Vec<Argument>)>;

/// Sorts `sets` by the kinds of their values, with a variant of the statement for each.
fn sorted(placeholders: &[String], sets: Vec<Vec<Argument>>) -> Result<(Vec<Variant>, Waiting)> {
    let mut waiting = VecDeque::with_capacity(sets.len());
    let (mut variants, mut known) = (Vec::new(), HashMap::new());
    for (number, set) in sets.into_iter().enumerate() {
        let values = argument::in_order(placeholders, set);
        let values = values.map_err(|error| Repeated::failure(number, error))?;
        let kinds: Vec<_> = values.iter().map(argument_types::kind).collect();
        let variant = match known.entry(kinds) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                variants.push(Variant { values: values.clone(), first: number, made: None });
                *new.insert(variants.len() - 1)
            }
        };
        waiting.push_back((variant, values));
    }
    Ok((variants, waiting))
}

/// Judges the statement with the values of the set of this number.
async fn judge(
    shared: &Shared,
    session: &Arc<Session>,
    execution: &Execution,
    number: usize,
    context: &CallContext,
) -> Result<()> {
    let Err(error) = admit(&shared.cache, session, execution, context).await else { return Ok(()) };
    // A refused definition is reported as a failure of its run, like an object that does not exist; except for
    // syntax errors.
    let runs =
        execution.guarded.as_ref().is_some_and(PendingCheck::is_definition) && error.get_sqlstate() != Some("42601");
    let error = context.judge(error);
    Err(if runs { Repeated::failure(number, error) } else { error })
}

/// The statement as prepared for sets whose values are of the same kinds.
struct Variant {
    /// The first of those sets, and its number.
    values: Vec<Argument>,
    first: usize,
    made: Option<Ready>,
}

/// A variant that is prepared.
#[derive(Clone)]
struct Ready {
    execution: Arc<Execution>,
    statement: Statement,
    /// Set if each run takes several messages, none of which can be sent ahead.
    fallback: Option<Arc<TextFallback>>,
    columns: future::Shared<BoxFuture<'static, Arc<[Column]>>>,
    forms: Arc<[ColumnDecoder]>,
    sent: SentText,
}

type Sent = MaybeDone<BoxFuture<'static, Result<Answer, tokio_postgres::Error>>>;

/// The runs of one statement. If dropped before their end, the session is not settled: it is closed, and all is
/// rolled back.
struct BatchRun {
    name: Arc<str>,
    /// The statement with the values of the first set.
    execution: Arc<Execution>,
    variants: Vec<Variant>,
    /// The prepared variants, the oldest first.
    made: VecDeque<usize>,
    waiting: Waiting,
    /// With the statement that was prepared for each.
    sent: VecDeque<(Ready, Sent)>,
    reading: Option<(Ready, Answer)>,
    /// The transaction was begun.
    begun: bool,
    /// Its last row was read.
    complete: bool,
    /// The set that is being read, counted from 0.
    number: usize,
    context: CallContext,
    cache: Arc<crate::postgres::catalog::cache::CatalogCache>,
    over: bool,
    /// Dropped last: what was prepared on it is closed before it goes to the next caller.
    session: Arc<Session>,
}

impl BatchRun {
    async fn next(&mut self) -> Option<Result<Part>> {
        if self.over {
            return None;
        }
        let part = self.step().await;
        self.over |= part.is_err();
        Some(part)
    }

    async fn step(&mut self) -> Result<Part> {
        let Some((ready, mut rows)) = self.reading.take() else { return self.open().await };
        let mut batch = RowBatch::default();
        while !self.complete && !batch.is_full() {
            match self.context.bound(rows.next()).await? {
                Some(Ok(row)) => batch.push(row, &self.session),
                Some(Err(error)) => return Err(self.failure(&error, &ready).await),
                None => self.complete = true,
            }
        }
        if !batch.is_empty() {
            let part = Part::Rows(Box::new(Rows { rows: batch, forms: Arc::clone(&ready.forms) }));
            self.reading = Some((ready, rows));
            return Ok(part);
        }
        let affected = rows.affected();
        drop(rows);
        self.number += 1;
        if self.waiting.is_empty() && self.sent.is_empty() {
            self.close().await?;
            self.over = true;
        }
        Ok(Part::Done { affected: self.execution.affected(affected, !ready.forms.is_empty()) })
    }

    /// Prepares a variant while nothing else runs, and starts to describe its columns.
    async fn make(&mut self, variant: usize) -> Result<()> {
        let begins = !std::mem::replace(&mut self.begun, true);
        let Some(Variant { values, first, .. }) = self.variants.get(variant) else { return Ok(()) };
        let execution = Arc::new(self.execution.again(values.clone(), begins));
        let made = self.context.bound(async {
            let made = make_ready(&self.session, &execution, &self.context).await?;
            let tables = if execution.options.describes { relations::tables(&made.columns) } else { Vec::new() };
            let released =
                async { if execution.position.begins { Ok(()) } else { self.session.batch_execute(PREPARED).await } };
            let asked = if execution.asks_within() {
                let (released, found) = join(released, relations::seen_by(&self.session, tables.clone())).await;
                let found = released.and(found).map_err(|error| execution.failure(&error, &SentText::SAME))?;
                TableLookup::within(tables, std::future::ready(Some(found)))
            } else {
                released.await.map_err(|error| execution.failure(&error, &SentText::SAME))?;
                self.cache.ask_of(tables)
            };
            Ok::<(PreparedExecution, TableLookup), Error>((made, asked))
        });
        let (made, asked) = match made.await? {
            Ok(made) => made,
            Err(error) => {
                let of_a_set = !execution.position.begins || error.message.starts_with("parameter @");
                let first = *first;
                let error = self.context.judge(error);
                let error = if of_a_set { Repeated::failure(first, error) } else { error };
                self.undo().await;
                return Err(error);
            }
        };
        let PreparedExecution { ready: statement, columns, forms, sent, fallback, .. } = made;
        let (name, text) = (Arc::clone(&self.name), Arc::clone(&execution));
        // The runs need not wait for the description.
        let described = async move { rows::columns(&columns, &text.text, &name, &asked.answer().await) };
        let columns = described.boxed().shared();
        let ready = Ready { execution, statement, fallback, columns, forms: self.cache.forms(forms), sent };
        if self.made.len() >= MOST_PREPARED
            && let Some(oldest) = self.made.pop_front().and_then(|oldest| self.variants.get_mut(oldest))
        {
            oldest.made = None;
        }
        self.made.push_back(variant);
        if let Some(variant) = self.variants.get_mut(variant) {
            variant.made = Some(ready);
        }
        Ok(())
    }

    /// Sends the next run, if its variant is prepared and it may be sent ahead.
    fn send(&mut self) -> Result<bool> {
        let Some(ready) = self.waiting.front().and_then(|(variant, _)| self.variants.get(*variant)?.made.clone())
        else {
            return Ok(false);
        };
        if ready.fallback.is_some() && !self.sent.is_empty() {
            return Ok(false);
        }
        let number = self.number + self.sent.len();
        let Some((_, values)) = self.waiting.pop_front() else { return Ok(false) };
        let values = values::bound(&values, &ready.statement, ready.sent.split());
        let values = values.map_err(|error| Repeated::failure(number, error))?;
        let (session, made) = (Arc::clone(&self.session), ready.clone());
        let run = async move {
            match made.fallback {
                Some(fallback) => fallback.run(session, values).await,
                None => session.query_raw(&made.statement, values).await.map(running::rows),
            }
        };
        self.sent.push_back((ready, maybe_done(run.boxed())));
        Ok(true)
    }

    /// Sends what may be sent ahead, and waits until the next run starts to answer.
    async fn open(&mut self) -> Result<Part> {
        if self.sent.is_empty()
            && let Some((variant, _)) = self.waiting.front()
            && self.variants.get(*variant).is_some_and(|variant| variant.made.is_none())
        {
            self.make(*variant).await?;
        }
        // Half a window at a time: few wakes, and the source never waits for us.
        if self.sent.len() <= AHEAD / 2 {
            while self.sent.len() < AHEAD {
                match self.send() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.undo().await;
                        return Err(error);
                    }
                }
            }
        }
        // The first poll of each sends it.
        let mut sent = std::mem::take(&mut self.sent);
        let opened = self.context.bound(std::future::poll_fn(|cx| {
            for (_, run) in &mut sent {
                let _ = run.poll_unpin(cx);
            }
            match sent.front_mut().and_then(|(_, first)| std::pin::Pin::new(first).take_output()) {
                Some(opened) => std::task::Poll::Ready(opened),
                None => std::task::Poll::Pending,
            }
        }));
        let opened = opened.await?;
        let first = sent.pop_front();
        self.sent = sent;
        let Some((ready, _)) = first else { return Err(Error::internal("bug: a set of values was not sent")) };
        match opened {
            Ok(rows) => {
                let columns = self.context.bound(ready.columns.clone()).await?;
                self.reading = Some((ready, rows));
                self.complete = false;
                Ok(Part::Columns(columns))
            }
            Err(error) => Err(self.failure(&error, &ready).await),
        }
    }

    /// Commits all runs.
    async fn close(&mut self) -> Result<()> {
        let ended = self.context.bound(closing(&self.session, self.execution.mode())).await?;
        if ended.clean {
            self.session.settle();
        }
        ended.outcome.map_err(|error| self.context.judge(self.execution.failure(&error, &SentText::SAME)))?;
        if matches!(self.execution.class, Class::Ddl | Class::Call | Class::Other) {
            self.cache.mark_stale();
        }
        Ok(())
    }

    /// Returns the source's error for the run that is being read; all runs before it are rolled back.
    async fn failure(&mut self, error: &tokio_postgres::Error, ready: &Ready) -> Error {
        let failure = self.context.judge(ready.execution.failure(error, &ready.sent));
        let failure = Repeated::failure(self.number, failure);
        self.undo().await;
        failure
    }

    /// Rolls the transaction back.
    async fn undo(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        self.waiting.clear();
        let mode = self.execution.mode();
        // The source refuses each of them at once: their transaction has failed.
        let refused = async {
            drop(join_all(sent.into_iter().map(|(_, run)| run)).await);
            undoing(&self.session, mode).await
        };
        if let Ok(ended) = self.context.bound(refused).await
            && ended.clean
        {
            self.session.settle();
        }
    }
}
