//! PostgreSQL as a source: what is asked of it, in which order.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::error::Result;
use crate::identity::Assumed;
use crate::reply::Results;
use crate::source::Pooler;
use crate::source::postgres::address::Address;
use crate::source::postgres::catalog::cache::Knowledge;
use crate::source::postgres::catalog::facets;
use crate::source::postgres::catalog::fragments;
use crate::source::postgres::connect::connector::Connector;
use crate::source::postgres::execute::job::{Job, Values};
use crate::source::postgres::execute::mode::Terms;
use crate::source::postgres::execute::shared::{Asked, Shared};
use crate::source::postgres::execute::{batch, procedure, rows, script, statement};
use crate::source::postgres::failure;
use crate::source::postgres::session::clock::Clock;
use crate::source::postgres::session::custom_types::CustomTypes;
use crate::source::postgres::session::housekeeping::Housekeeping;
use crate::source::postgres::session::pool::Sessions;
use crate::source::postgres::walls::check::Walls;
use crate::source::postgres::walls::guarded::{Extent, Guarded};
use crate::source::postgres::walls::names::redaction;
use crate::source::{Access, Finding, Invocation, Plan, Pool, Profile, Settings, Source, Task};
use crate::sql::Class;

/// A PostgreSQL database behind a pool of sessions.
pub(crate) struct Postgres {
    shared: Arc<Shared>,
}

impl Postgres {
    /// Understands the connection's address; nothing is connected yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when it cannot be honoured.
    pub(crate) fn open(settings: Settings, address: &Address) -> Result<Self> {
        let connector = Arc::new(Connector::new(address, settings.connect_timeout)?.within(&settings.budget));
        let types = Arc::new(CustomTypes::new());
        let roles = if address.login.is_some() { fragments::LOGINS } else { fragments::MEMBERS };
        let roles = settings.has_roles.then_some(roles);
        let wants_writer = connector.wants_writer() && settings.access == Access::ReadWrite;
        let housekeeping = Arc::new(Housekeeping::new(Arc::clone(&connector)));
        let walls = Arc::new(Walls::new(Arc::clone(&settings.exposure), Arc::clone(&housekeeping)));
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
                let walls = Arc::clone(&self.walls);
                Ok(results.mend(move |error| {
                    let walls = Arc::clone(&walls);
                    async move { walls.mend(error).await }.boxed()
                }))
            }
            Err(error) => Err(self.walls.mend(error).await),
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
        let redaction = clock.bound(self.walls.redaction(&job)).await??;
        let answer = statement::execute(self, &job, &clock).await?;
        let brief = job.guarded.as_ref().is_some_and(Guarded::is_brief);
        let results = rows::results(answer, job, clock, &self.name, Arc::clone(&self.knowledge)).await;
        Ok(match redaction {
            Some(names) => redaction::redacted(results, names, brief),
            None => results,
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
