//! PostgreSQL as a source: executes plans.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::Pooler;
use crate::exposure::rows as listed;
use crate::postgres::address::Address;
use crate::postgres::catalog::cache::CatalogCache;
use crate::postgres::catalog::fragments;
use crate::postgres::catalog::metadata;
use crate::postgres::connect::connector::Connector;
use crate::postgres::execute::envelope::options::ExecOptions;
use crate::postgres::execute::execution::{Execution, Values};
use crate::postgres::execute::procedure::RoutineCall;
use crate::postgres::execute::shared::{CallOptions, Shared};
use crate::postgres::execute::{answer::rows, batch, procedure, script, statement};
use crate::postgres::failure;
use crate::postgres::session::context::CallContext;
use crate::postgres::session::custom_types::CustomTypes;
use crate::postgres::session::housekeeping::Housekeeping;
use crate::postgres::session::pool::SessionPool;
use crate::postgres::walls::check::Walls;
use crate::postgres::walls::names::hiding;
use crate::postgres::walls::objects::HiddenTables;
use crate::postgres::walls::policy::StatementUse;
use crate::{Access, Invocation, Plan, Pool, Profile, Settings, Source, Table, Task};
use portico_core::call::{MetadataFilter, MetadataKind};
use portico_core::error::Result;
use portico_core::finding::Finding;
use portico_core::reply::Results;
use portico_sql::Class;

/// A PostgreSQL database behind a pool of sessions.
pub(crate) struct Postgres {
    shared: Arc<Shared>,
}

impl Postgres {
    /// Parses the connection's address; does not connect yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid) if it is not valid.
    pub(crate) fn open(settings: Settings, address: &Address) -> Result<Self> {
        let connector = Arc::new(Connector::new(address, settings.connect_timeout)?.within(&settings.budget));
        let types = Arc::new(CustomTypes::new());
        let roles = if address.login.is_some() { fragments::LOGINS } else { fragments::MEMBERS };
        let roles = settings.has_roles.then_some(roles);
        let wants_writer = connector.wants_writer() && settings.access == Access::ReadWrite;
        let housekeeping = Arc::new(Housekeeping::new(Arc::clone(&connector)));
        let walls = Arc::new(Walls::new(Arc::clone(&settings.exposure), Arc::clone(&housekeeping)));
        let sessions = SessionPool::new(connector, settings.pool, &types);
        let shared = Shared {
            name: Arc::clone(&settings.name),
            access: settings.access,
            pooled: address.pooler == Pooler::Transaction,
            wants_writer,
            sessions,
            cache: Arc::new(CatalogCache::new(housekeeping, types, roles, Arc::clone(&walls))),
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
        async move {
            let profile = shared.cache.refresh().await?;
            let children = shared.walls.hidden_children().await?;
            if children.is_empty() {
                return Ok(profile);
            }
            let is_shown = |table: &&Table| !children.contains(&(table.schema.clone(), table.name.clone()));
            Ok(Profile { tables: profile.tables.iter().filter(is_shown).cloned().collect(), ..profile })
        }
        .boxed()
    }

    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>> {
        let shared = Arc::clone(&self.shared);
        async move { Box::pin(shared.run(plan)).await }.boxed()
    }

    fn excess_privileges(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        let shared = Arc::clone(&self.shared);
        async move { shared.cache.reach(&shared.settings).await }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.closing.cancel();
            shared.sessions.close().await;
            shared.cache.close();
        }
        .boxed()
    }

    fn pool(&self) -> Option<Pool> {
        Some(self.shared.sessions.count())
    }
}

impl Shared {
    /// Executes a plan. If a server was required to be writable and no longer is, its sessions are dropped: nothing
    /// was changed, and the next attempt looks for its successor.
    async fn run(&self, plan: Plan) -> Result<Results> {
        // A reading transaction is refused by itself, whatever the server is.
        let writes = plan.access == Access::ReadWrite;
        let walls = self.walls.around(plan.exposure.as_ref());
        let results = match Box::pin(self.carry_out(plan, &walls)).await {
            Ok(results) if walls.hides() => Ok(results.map_error(move |error| {
                let walls = Arc::clone(&walls);
                async move { walls.mend(error).await }.boxed()
            })),
            Err(error) => Err(walls.mend(error).await),
            results => results,
        };
        match results {
            Err(error) if writes && self.wants_writer && error.get_sqlstate() == Some(failure::READ_ONLY) => {
                self.sessions.evict_all();
                self.cache.close();
                Err(failure::unavailable(&error.message)
                    .sqlstate(failure::READ_ONLY)
                    .retry_after(std::time::Duration::from_secs(1))
                    .hint(
                        "the server has become a standby, and another server is being looked for; nothing was changed",
                    ))
            }
            results => results,
        }
    }

    async fn carry_out(&self, plan: Plan, walls: &Walls) -> Result<Results> {
        let dry_run = plan.dry_run;
        let context = CallContext::start(plan.limits, plan.abandoned, self.closing.clone())
            .hearing(plan.notices)
            .with_share(plan.share)
            .noting(plan.effects)
            .with_role(&plan.identity);
        let access = if self.access == Access::ReadOnly { Access::ReadOnly } else { plan.access };
        let options = ExecOptions { access, dry_run, describes: plan.describes, estimates: plan.estimates };
        context.bound(self.cache.freshen()).await?;
        let (by, trace) = (plan.identity, plan.trace);
        let asked = CallOptions { walls, options, by: &by, trace };
        let execution = match plan.task {
            Task::Describe(metadata, narrow) => return self.describe(metadata, narrow, asked, context).await,
            Task::Statement(prepared) => self.execution(prepared, asked, StatementUse::Alone)?,
            // Boxed: a single statement does not need this memory.
            Task::Statements(prepared) => return Box::pin(script::results(self, prepared, asked, context)).await,
            Task::Columns(prepared) => return Box::pin(script::columns(self, prepared, asked, context)).await,
            Task::Batch(repeated) => return Box::pin(batch::results(self, repeated, asked, context)).await,
            Task::Procedure(invocation) => return Box::pin(self.call(&invocation, asked, context)).await,
        };
        self.start(execution, asked, context).await
    }

    /// Lists the catalogue, without tables that are hidden because of what they inherit from.
    async fn describe(
        &self,
        metadata: MetadataKind,
        narrow: MetadataFilter,
        asked: CallOptions<'_>,
        context: CallContext,
    ) -> Result<Results> {
        let hidden = if metadata.is_of_tables() {
            context.bound(asked.walls.hidden_children()).await??
        } else {
            HiddenTables::new()
        };
        let results = self.start(metadata::execution(metadata, narrow, &self.name), asked, context).await?;
        if hidden.is_empty() {
            return Ok(results);
        }
        let is_shown = move |schema: &str, table: &str| !hidden.contains(&(schema.to_owned(), table.to_owned()));
        Ok(listed::chosen(results, move |batch, row| listed::of_tables(batch, row, metadata, &is_shown)))
    }

    /// Calls a routine, and repeats the call if the routine has changed since it was read.
    async fn call(&self, invocation: &Invocation, asked: CallOptions<'_>, context: CallContext) -> Result<Results> {
        let call = context.bound(self.invoke(invocation, asked)).await??;
        let (text, is_function) = (call.execution.text.clone(), call.execution.class == Class::Select);
        match self.start(call.execution, asked, context.clone()).await {
            Err(error) if procedure::may_be_changed(&error) => {
                // A failed function was rolled back; a procedure may have committed.
                context.bound(self.cache.refresh()).await??;
                let again = context.bound(self.invoke(invocation, asked)).await??;
                if is_function && again.execution.text != text {
                    return self.start(again.execution, asked, context).await;
                }
                Err(again.told(error))
            }
            results => results,
        }
    }

    /// Runs `execution` up to its first rows.
    async fn start(&self, mut execution: Execution, asked: CallOptions<'_>, context: CallContext) -> Result<Results> {
        let CallOptions { walls, options, by, trace } = asked;
        execution.identity.clone_from(by);
        // Our own metadata queries need no preparing.
        execution.position.pooled = self.pooled && matches!(execution.values, Values::Inferred(_));
        if let (Some(trace), None) = (trace, &execution.origin) {
            trace.comment(&mut execution.text);
        }
        if execution.opens_cursors {
            return Box::pin(script::run(self, VecDeque::from([execution]), options, context)).await;
        }
        let answer = statement::execute(self, &execution, &context).await?;
        let telling = context.bound(walls.telling(&execution)).await??;
        let results = rows::results(answer, execution, context, &self.name, Arc::clone(&self.cache)).await;
        Ok(match telling {
            Some(telling) => hiding::hide_names(results, telling),
            None => results,
        })
    }

    /// The call of a routine, as its name means it now.
    async fn invoke(&self, invocation: &Invocation, asked: CallOptions<'_>) -> Result<RoutineCall> {
        let CallOptions { walls, options, by, .. } = asked;
        walls.admit_schema(invocation.default_schema.as_deref())?;
        let hides = walls.hides();
        if !self.cache.is_current(&procedure::lookup(&self.cache.routines(), invocation)).await? {
            self.cache.refresh().await?;
        }
        let known = self.cache.routines();
        match by {
            None => procedure::execution(&known, invocation, options, hides),
            Some(identity) => procedure::execution(&known.seen_by(&identity.role), invocation, options, hides),
        }
    }
}
