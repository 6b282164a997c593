//! The state shared by the calls of a connection, and passing plans to its source.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::connection::description::Description;
use crate::connection::instructions_key::InstructionsKey;
use portico_core::call::{Call, Limits, Op, Sql};
use portico_core::effects::Effects;
use portico_core::error::Result;
use portico_core::identity::AssumedIdentity;
use portico_core::principal::Scope;
use portico_core::reply::Results;
use portico_core::trace::TraceParent;
use portico_sources::digest::TextCache;
use portico_sources::{Access, CallShare, Exposure, Plan, Source, Task};

/// Everything a call needs of its connection; shared by all calls that run at once.
pub(crate) struct Runner {
    pub(crate) description: Arc<Description>,
    pub(in crate::connection) source: Arc<dyn Source>,
    /// How often the source was read.
    pub(crate) refreshes: AtomicU64,
    /// Instructions that were written since.
    pub(in crate::connection) instructions: TextCache<InstructionsKey>,
    /// Whether the source has answered a call since [`Runner::listen`].
    answered: AtomicBool,
}

impl Runner {
    pub(crate) fn new(description: Arc<Description>, source: Arc<dyn Source>) -> Self {
        Self {
            description,
            source,
            refreshes: AtomicU64::default(),
            instructions: TextCache::default(),
            answered: AtomicBool::default(),
        }
    }

    /// Completes when all running and waiting calls have ended.
    pub(crate) fn idle(&self) -> impl Future<Output = ()> + Send + use<> {
        Arc::clone(&self.description.queue).idle()
    }

    /// From here on an answer of the source counts for [`Runner::has_answered`].
    pub(in crate::connection) fn listen(&self) {
        self.answered.store(false, Ordering::Relaxed);
    }

    /// Whether the source has answered a call since [`Runner::listen`].
    pub(in crate::connection) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Hands a plan to the source under the call's own limits.
    pub(in crate::connection) async fn plan(&self, task: Task, access: Access, call: &Call) -> Result<Results> {
        self.plan_within(task, access, call.limits, call).await
    }

    /// Runs a plan at the source, with limits of its own.
    pub(in crate::connection) async fn plan_within(
        &self,
        task: Task,
        access: Access,
        limits: Limits,
        call: &Call,
    ) -> Result<Results> {
        self.execute(self.plan_of((self.identity(call)?, None), task, access, limits, call)).await
    }

    /// Runs a plan of [`Runner::plan_of`] at the source.
    pub(in crate::connection) async fn execute(&self, mut plan: Plan) -> Result<Results> {
        if plan.access == Access::ReadOnly {
            // Its transaction is ended by a commit too, of nothing.
            plan.effects = Effects::default();
        }
        let results = self.source.run(plan).await;
        // All threads share the flag, so it is written only once.
        if results.is_ok() && !self.has_answered() {
            self.answered.store(true, Ordering::Relaxed);
        }
        results
    }

    /// Makes a plan for a call. It contains all limits of the caller at the source: the identity, what is exposed, and
    /// the timeout.
    pub(in crate::connection) fn plan_of(
        &self,
        (identity, share): (AssumedIdentity, Option<CallShare>),
        task: Task,
        access: Access,
        limits: Limits,
        call: &Call,
    ) -> Plan {
        let exposure = self.exposure(call);
        Plan {
            task,
            access,
            limits,
            abandoned: call.abandoned.clone(),
            dry_run: call.op.is_dry_run(),
            // Notices of a source contain its own names.
            notices: call.notices.clone().filter(|_| exposure.is_none()),
            identity,
            trace: self.trace(call),
            // A tool's result has labels and types alone.
            describes: !matches!(&call.op, Op::Execute(..) | Op::Script(_, Sql { rows_alone: true, .. })),
            estimates: false,
            exposure,
            share,
            effects: call.effects.clone(),
        }
    }

    /// Returns what a workspace exposes of the connection, if the call is for one.
    fn exposure(&self, call: &Call) -> Option<Exposure> {
        call.op.within().map(|within| Exposure::of_workspace(&within.workspace, &self.description.connection.name))
    }

    /// Returns the caller's identity at the source, if callers have identities there.
    pub(in crate::connection) fn identity(&self, call: &Call) -> Result<AssumedIdentity> {
        let Some(mapping) = &self.description.connection.identity else { return Ok(None) };
        mapping
            .identity(&self.description.connection.name, &call.by, call.origin.id)
            .map(|identity| Some(Arc::new(identity)))
    }

    /// Whether the caller may write here.
    pub(in crate::connection) fn may_write(&self, call: &Call) -> bool {
        self.description.connection.access == Access::ReadWrite && call.by.may(Scope::Write)
    }

    /// Returns the caller's trace, if it is passed to the source.
    pub(in crate::connection) fn trace(&self, call: &Call) -> Option<TraceParent> {
        call.origin.trace.filter(|_| self.description.connection.trace_comments)
    }
}
