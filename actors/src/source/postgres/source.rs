//! PostgreSQL as a source: what is asked of it, in which order.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};
use crate::identity::Assumed;
use crate::reply::Results;
use crate::source::address::{Address, Pooler};
use crate::source::postgres::bind::argument;
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::catalog::facets;
use crate::source::postgres::connect::connector::Connector;
use crate::source::postgres::execute::statement::{Job, Values};
use crate::source::postgres::execute::transaction::{Place, Terms};
use crate::source::postgres::execute::{batch, procedure, rows, script, statement};
use crate::source::postgres::failure;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::custom_types::CustomTypes;
use crate::source::postgres::session::housekeeping::Housekeeping;
use crate::source::postgres::session::pool::Sessions;
use crate::source::postgres::walls::check::{Extent, Guarded, Walls};
use crate::source::postgres::walls::names::redaction;
use crate::source::{Access, Finding, Invocation, Plan, Pool, Prepared, Profile, Settings, Source, Task};
use crate::sql::{self, Class, Dialect, Outline, outline};
use crate::trace::TraceParent;

/// A PostgreSQL database behind a pool of sessions.
pub struct Postgres {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) name: Arc<str>,
    pub(crate) access: Access,
    pub(crate) sessions: Sessions,
    /// Whether a pooler hands out the server's sessions by the transaction.
    pub(crate) pooled: bool,
    /// Whether the address asks for a server that can write, and this connection may.
    pub(crate) wants_writer: bool,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) walls: Arc<Walls>,
    pub(crate) settings: Settings,
    pub(crate) closing: CancellationToken,
}

impl Postgres {
    /// Understands the connection's address; nothing is connected yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when it cannot be honoured.
    pub fn open(settings: Settings, address: &Address) -> Result<Self> {
        let connector = Arc::new(Connector::new(address, settings.connect_timeout)?.within(&settings.budget));
        let types = Arc::new(CustomTypes::new());
        let roles = if address.login.is_some() { facets::LOGINS } else { facets::MEMBERS };
        let roles = settings.has_roles.then_some(roles);
        let wants_writer = connector.wants_writer() && settings.access == Access::ReadWrite;
        let housekeeping = Housekeeping::new(Arc::clone(&connector));
        let walls = Arc::new(Walls::new(Arc::clone(&settings.exposure)));
        let sessions = Sessions::new(connector, settings.pool, &types);
        let shared = Shared {
            name: Arc::clone(&settings.name),
            access: settings.access,
            pooled: address.pooler == Pooler::Transaction,
            wants_writer,
            sessions,
            knowledge: Arc::new(Knowledge::new(housekeeping, types, roles, Arc::clone(&walls))),
            walls,
            closing: CancellationToken::new(),
            settings,
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

/// Whether `address` can be honoured, as far as that can be told without connecting.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) naming the parameter and the remedy.
pub fn understand(address: &Address) -> Result<()> {
    Connector::new(address, std::time::Duration::from_secs(1)).map(drop)
}

impl Source for Postgres {
    fn ping(&self) -> BoxFuture<'static, Result<Profile>> {
        let shared = Arc::clone(&self.shared);
        async move { shared.knowledge.refresh().await }.boxed()
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let shared = Arc::clone(&self.shared);
        async move { Box::pin(shared.run(plan)).await }.boxed()
    }

    fn reach(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        let shared = Arc::clone(&self.shared);
        async move { shared.knowledge.reach(&shared.settings).await }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.closing.cancel();
            shared.sessions.close().await;
            shared.knowledge.close();
        }
        .boxed()
    }

    fn pool(&self) -> Option<Pool> {
        Some(self.shared.sessions.count())
    }
}

impl Shared {
    /// Carries out a plan. A server that was asked to be one that can write, and is so no longer,
    /// is left for good: nothing was changed, and the next attempt looks for its successor.
    async fn run(&self, plan: Plan) -> Result<Results> {
        // A reader is refused by its own transaction, whatever the server is.
        let writes = plan.access == Access::ReadWrite;
        let results = match Box::pin(self.carry_out(plan)).await {
            Ok(results) if self.walls.hides() => {
                let (walls, knowledge) = (Arc::clone(&self.walls), Arc::clone(&self.knowledge));
                Ok(results.mend(move |error| {
                    let (walls, knowledge) = (Arc::clone(&walls), Arc::clone(&knowledge));
                    async move { walls.mend(error, &knowledge).await }.boxed()
                }))
            }
            Err(error) => Err(self.walls.mend(error, &self.knowledge).await),
            results => results,
        };
        match results {
            Err(error) if writes && self.wants_writer && error.get_sqlstate() == Some(failure::READ_ONLY) => {
                self.sessions.renounce();
                self.knowledge.close();
                Err(failure::unavailable(&error.message)
                    .sqlstate(failure::READ_ONLY)
                    .retry_after(std::time::Duration::from_secs(1))
                    .hint("the server has become a standby, and another one is looked for; nothing was changed"))
            }
            results => results,
        }
    }

    async fn carry_out(&self, plan: Plan) -> Result<Results> {
        let dry_run = plan.dry_run;
        let clock =
            Clock::start(plan.limits, plan.abandoned, self.closing.clone()).hearing(plan.notices).of(&plan.identity);
        let access = if self.access == Access::ReadOnly { Access::ReadOnly } else { plan.access };
        let terms = Terms { access, dry_run, describes: plan.describes };
        clock.bound(self.knowledge.freshen()).await?;
        let (by, trace) = (plan.identity, plan.trace);
        let asked = Asked { terms, by: &by, trace };
        let job = match plan.task {
            Task::Describe(facet, narrow) => facets::job(facet, narrow, &self.name),
            Task::Statement(prepared) => self.job(prepared, asked, Extent::Alone)?,
            Task::Statements(prepared) => return script::results(self, prepared, asked, clock).await,
            Task::Columns(prepared) => return script::columns(self, prepared, asked, clock).await,
            Task::Batch(repeated) => return batch::results(self, repeated, asked, clock).await,
            Task::Procedure(invocation) => return Box::pin(self.call(&invocation, asked, clock)).await,
        };
        self.start(job, asked, clock).await
    }

    /// Calls a routine, and once more where it is no longer what it was when it was read.
    async fn call(&self, invocation: &Invocation, asked: Asked<'_>, clock: Clock) -> Result<Results> {
        let job = clock.bound(self.invoke(invocation, asked.terms, asked.by)).await??;
        let (text, is_function) = (job.text.clone(), job.class == Class::Select);
        match self.start(job, asked, clock.clone()).await {
            Err(error) if procedure::may_be_changed(&error) => {
                // What failed of a function was undone; a procedure may have committed.
                clock.bound(self.knowledge.refresh()).await??;
                match clock.bound(self.invoke(invocation, asked.terms, asked.by)).await?? {
                    job if is_function && job.text != text => self.start(job, asked, clock).await,
                    _ => Err(error),
                }
            }
            results => results,
        }
    }

    /// Runs `job` up to its first rows.
    async fn start(&self, mut job: Job, asked: Asked<'_>, clock: Clock) -> Result<Results> {
        let Asked { terms, by, trace } = asked;
        job.identity.clone_from(by);
        // Our own questions for a facet hold nothing that would have to be prepared.
        job.place.pooled = self.pooled && matches!(job.values, Values::Inferred(_));
        if let (Some(trace), None) = (trace, &job.origin) {
            trace.comment(&mut job.text);
        }
        if job.opens_cursors {
            return script::run(self, VecDeque::from([job]), terms, clock).await;
        }
        let redaction = clock.bound(self.walls.redaction(&job, &self.knowledge)).await??;
        let answer = statement::execute(self, &job, &clock).await?;
        let brief = job.guarded.as_ref().is_some_and(Guarded::is_brief);
        let results = rows::results(answer, job, clock, &self.name, Arc::clone(&self.knowledge)).await;
        Ok(match redaction {
            Some(names) => redaction::redacted(results, names, brief),
            None => results,
        })
    }

    /// A caller's statement, unless it is one that no caller may run here.
    pub(crate) fn job(&self, prepared: Prepared, asked: Asked<'_>, extent: Extent) -> Result<Job> {
        let Prepared { mut statement, values, default_schema, by_administrator } = prepared;
        match statement.class {
            Class::Transaction => {
                return Err(Error::invalid(
                    "each call is its own transaction: it is committed when it succeeds and undone when it fails",
                )
                .hint("send the statement alone, without BEGIN, COMMIT or SAVEPOINT"));
            }
            Class::Session => {
                return Err(Error::invalid("a statement that changes the session has no effect beyond its own call")
                    .hint("send the statement that needs the setting alone, with its names written in full"));
            }
            _ => {}
        }
        if statement.class == Class::Other && outline(&statement.text).0 == Outline::Other("COPY".to_owned()) {
            return Err(Error::invalid("COPY is not available").hint("use SELECT to read and INSERT to write"));
        }
        if statement.text.contains('\0') {
            return Err(Error::invalid("the statement contains the character NUL, which the source does not know"));
        }
        let values = argument::in_order(&statement.placeholders, values)?;
        let guarded = if by_administrator {
            None
        } else {
            let with = (values.as_slice(), default_schema.as_deref());
            self.walls.guard(&mut statement, with, (asked.terms, asked.by), extent)?
        };
        if let Some(trace) = asked.trace.filter(|_| !sql::is_open(&statement.text, Dialect::PostgreSql)) {
            // Positions that the source tells stay true: the comment stands behind the text.
            trace.comment(&mut statement.text);
        }
        Ok(Job {
            text: statement.text.clone(),
            class: statement.class,
            returns_rows: statement.returns_rows || statement.class == Class::Select,
            terms: asked.terms,
            values: Values::Inferred(values),
            default_schema,
            origin: Some(statement),
            place: Place::ALONE,
            opens_cursors: false,
            identity: asked.by.clone(),
            guarded,
        })
    }

    /// The call of a routine; what is not known may have been made since we last asked.
    async fn invoke(&self, invocation: &Invocation, terms: Terms, by: &Assumed) -> Result<Job> {
        let job = || match by {
            None => procedure::job(&self.knowledge.routines(), invocation, terms),
            Some(identity) => procedure::job(&self.knowledge.routines().seen_by(&identity.role), invocation, terms),
        };
        match job() {
            Err(_) => {
                self.knowledge.refresh().await?;
                job()
            }
            job => job,
        }
    }
}

/// On which terms, for whom and in which trace statements are run.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) terms: Terms,
    pub(crate) by: &'a Assumed,
    pub(crate) trace: Option<TraceParent>,
}
