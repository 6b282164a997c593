//! Executes one call: permit, class, access, names, and then the source. The results are lazy; rows are decoded by
//! the reader that polls them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::ready;

use super::reader_timeout::with_reader_timeout;
use super::runner::Runner;
use crate::connection::description::Description;
use crate::connection::instructions_key::InstructionsKey;
use crate::connection::names::misspelt::{is_misspelt, names_nothing};
use crate::connection::names::nearby::Nearby;
use crate::connection::names::workspace_names::{self, Names};
use crate::connection::settings::ConnectionSpec;
use crate::connection::state::changed;
use crate::connection::{instructions, names::listing};
use crate::queue::{Permit, RefusalReason};
use portico_core::call::{AllowedStatements, Argument, Call, Mode, Op, ProcedureCall, Sql};
use portico_core::error::{Error, Kind, Result};
use portico_core::identity::AssumedIdentity;
use portico_core::principal::{Principal, Scope};
use portico_core::reply::{Reply, Results};
use portico_sources::{Access, CallShare, Invocation, Prepared, Profile, Task};
use portico_sql::{Class, Naming, ParameterNames, Renamed, Statement};

/// The hint for writes on a connection that is read-only.
const WHO_CHANGES_IT: &str = "an administrator can change that: access = \"read-write\" of the connection";

/// The SQLSTATE of a write in a read-only transaction.
const READ_ONLY: &str = "25006";

/// A statement over this many bytes is parsed on a thread for blocking work.
const LARGE_STATEMENT: usize = 8 * 1024;

impl Runner {
    /// Carries out `call`.
    pub(crate) async fn run(&self, call: Call, profile: &Arc<Profile>) -> Result<Reply> {
        let (abandoned, validity) = (call.abandoned.clone(), call.by.validity.of_call(&call.effects));
        let reply = tokio::select! {
            biased;
            () = abandoned.cancelled() => Err(Error::new(Kind::Abandoned, "the caller went away")),
            reply = self.admit(call, profile) => reply,
        };
        reply.map_err(|failure| validity.explain(failure))
    }

    /// Waits for a permit for `call`, and executes it.
    async fn admit(&self, call: Call, known: &Arc<Profile>) -> Result<Reply> {
        let identity = self.identity(&call)?;
        let role = identity.as_ref().map(|identity| identity.role.as_str());
        let key = self.instructions_key(&call, known, role);
        if let Some(kept) = key.as_ref().and_then(|key| self.instructions.get(|it| it == key)) {
            return Ok(Reply::Text(kept.to_string()));
        }
        let seen = role.map(|role| known.seen_by(role));
        let profile = seen.as_ref().unwrap_or(known);
        let arrived = Instant::now();
        let share: CallShare = Arc::new(self.permit(&call.by.subject, call.limits.timeout).await?);
        let queued = arrived.elapsed();
        if let Some(key) = key {
            return Ok(Reply::Text(self.write_instructions(key, profile, &call).await?));
        }
        let mut results = match &call.op {
            Op::Describe(metadata, narrow) if narrow.explains => {
                listing::explained(self, *metadata, narrow, &call).await?
            }
            _ => self.ask_source((identity, Some(Arc::clone(&share))), profile, &call).await?,
        };
        results.queued = queued;
        let validity = call.by.validity.of_call(&call.effects);
        Ok(Reply::Results(with_reader_timeout(
            results.with_guard(share),
            self.description.connection.reader_timeout,
            validity,
        )))
    }

    /// Returns the cache key of the instructions that `call` asks for; `None` for any other call.
    fn instructions_key(&self, call: &Call, known: &Arc<Profile>, role: Option<&str>) -> Option<InstructionsKey> {
        let Op::Instructions(options) = &call.op else { return None };
        Some(InstructionsKey::new(self.refreshes.load(Ordering::Acquire), known, role, self.may_write(call), options))
    }

    /// Writes instructions, and keeps them where everything could be read for them.
    async fn write_instructions(&self, key: InstructionsKey, profile: &Profile, call: &Call) -> Result<String> {
        let (text, is_whole) = instructions::write(self, profile, key.options(), call).await?;
        if is_whole {
            let text = Arc::from(text.as_str());
            self.instructions.put(key.clone(), text, |it| it.is_replaced_by(&key));
        }
        Ok(text)
    }

    /// Executes `call` at the source, and reports errors with the names that the caller uses.
    async fn ask_source(
        &self,
        caller: (AssumedIdentity, Option<CallShare>),
        profile: &Profile,
        call: &Call,
    ) -> Result<Results> {
        let (task, access, renamed) = self.prepare(call, profile).await?;
        let names = call.op.within().map(|within| Names::new(within, renamed));
        let class = class_of(&task);
        let is_seen_late = matches!(task, Task::Statements(_) | Task::Batch(_));
        let surprise = self.surprise(&task);
        let identity = caller.0.clone();
        let outcome = match self.guard(&caller, (&task, access), call).await {
            Ok(()) => self.execute(self.plan_of(caller, task, access, call.limits, call)).await,
            Err(refusal) => Err(refusal),
        };
        let mut results = match outcome {
            Ok(results) => results,
            Err(error) => return Err(self.explain(error, names.as_ref(), identity, (call, profile)).await),
        };
        if let Some(names) = names {
            results = names.rename(results);
        } else if is_seen_late {
            // The source checks each statement, or set of values, only after those before it.
            let nearby = self.nearby(identity, call, profile);
            results = results.map_error(move |error| {
                if names_nothing(&error) { nearby.clone().offer(error).boxed() } else { ready(error).boxed() }
            });
        }
        if let Some(hint) = surprise {
            results.hint.say(hint.to_owned());
        }
        results.class = class;
        results.dry_run = call.op.is_dry_run();
        Ok(results)
    }

    /// Returns the error with the caller's names and a hint on how to correct the statement. Rare paths are boxed.
    async fn explain(
        &self,
        error: Error,
        names: Option<&Names>,
        identity: AssumedIdentity,
        (call, profile): (&Call, &Profile),
    ) -> Error {
        match names {
            Some(names) => names.failure(error),
            None if is_misspelt(&error, &call.op) => Box::pin(self.nearby(identity, call, profile).offer(error)).await,
            None if error.kind == Kind::TimedOut => Box::pin(self.blame_plan(error, identity, call)).await,
            None => self.name_what_writes(error, call),
        }
    }

    /// Adds the scope or the tool for writes to a refusal, if the connection itself allows them.
    fn name_what_writes(&self, error: Error, call: &Call) -> Error {
        // A tool or a procedure that only reads would refuse it with any scope.
        let takes_writes = match &call.op {
            Op::Script(..) => true,
            Op::Execute(allowed, _) => *allowed != AllowedStatements::Select,
            _ => false,
        };
        let is_refused_write = error.kind == Kind::Forbidden && error.get_sqlstate() == Some(READ_ONLY);
        let is_of_scope = takes_writes && is_refused_write;
        if is_of_scope && !call.by.may(Scope::Write) && self.description.connection.access == Access::ReadWrite {
            return error.needs("write").hint("this credential only reads here; the statement needs the scope write");
        }
        let Op::Execute(AllowedStatements::Select, sql) = &call.op else { return error };
        let is_of_tool = match error.get_sqlstate() {
            Some(READ_ONLY) => true,
            Some("42501") => error.is_judged(),
            _ => false,
        };
        if is_of_tool && self.may_write(call) && sql.tools.contains(&"execute_sql") {
            return error.hint(
                "execute_select runs what only reads; execute_sql takes this statement, if it is to change something",
            );
        }
        error
    }

    /// Where names like one that `call` has misspelt are looked for.
    fn nearby(&self, identity: AssumedIdentity, call: &Call, profile: &Profile) -> Nearby {
        let (given, text) = match &call.op {
            Op::Execute(_, sql) | Op::Script(_, sql) => (sql.default_schema.clone(), sql.text.clone()),
            _ => (None, String::new()),
        };
        Nearby {
            source: Arc::clone(&self.source),
            identity,
            trace: self.trace(call),
            default_schema: given.or_else(|| profile.default_schema.clone()),
            text,
            dialect: self.description.connection.driver.dialect,
        }
    }

    /// Waits for a permit.
    async fn permit(&self, caller: &str, timeout: Duration) -> Result<Permit> {
        let Description { connection, queue, .. } = &*self.description;
        queue.acquire(caller, timeout.min(connection.queue_timeout)).await.map_err(|refused| {
            let why = match refused.why {
                RefusalReason::Full => "its queue is full",
                RefusalReason::TooLate => "its queue is too long for this call to be served in time",
                RefusalReason::Displaced => "its queue is full, and callers with fewer calls go first",
                RefusalReason::TimedOut => "no place became free in time",
                RefusalReason::Closed => return changed(&connection.name),
            };
            Error::new(Kind::Busy, format!("connection {} is busy: {why}", connection.name))
                .retry_after(refused.retry_after)
                .hint("try again after the given delay")
        })
    }

    /// Returns the task, its access, and the tables that replace names of a workspace.
    async fn prepare(&self, call: &Call, profile: &Profile) -> Result<(Task, Access, Vec<Renamed>)> {
        let (task, access) = match &call.op {
            Op::Describe(metadata, narrow) => (Task::Describe(*metadata, narrow.clone()), Access::ReadOnly),
            Op::Execute(verb, text) => {
                let (statements, renamed) = self.understood(text, &text.parameters, profile).await?;
                let (task, access) = self.prepare_statement(*verb, text, statements, &call.by)?;
                return Ok((task, access, renamed));
            }
            Op::Script(mode, text) => {
                let values = match mode {
                    // All sets have the same names.
                    Mode::Sets(sets) => sets.first().map_or([].as_slice(), Vec::as_slice),
                    Mode::Run | Mode::Describe => &text.parameters,
                };
                let (statements, renamed) = self.understood(text, values, profile).await?;
                let (task, access) = self.prepare_script(mode, text, statements, &call.by)?;
                return Ok((task, access, renamed));
            }
            Op::Procedure(procedure) => self.prepare_procedure(procedure, profile, &call.by)?,
            Op::Instructions(_) => return Err(Error::internal("bug: instructions are not planned")),
        };
        Ok((task, access, Vec::new()))
    }

    fn prepare_statement(
        &self,
        verb: AllowedStatements,
        text: &Sql,
        mut statements: Vec<Statement>,
        by: &Principal,
    ) -> Result<(Task, Access)> {
        let count = statements.len();
        let statement = statements.pop().filter(|_| count == 1).ok_or_else(|| {
            Error::invalid(format!("query: a call runs one statement, and this text holds {count}"))
                .hint("send each statement in a call of its own")
        })?;
        let access = self.access(verb, &statement, by, &text.tools)?;
        let prepared = Prepared {
            statement,
            values: text.parameters.clone(),
            // In a workspace the default schema is a folder: the statement's names were found in it already.
            default_schema: text.default_schema.clone().filter(|_| text.within.is_none()),
            by_administrator: text.by_administrator,
        };
        Ok((Task::Statement(prepared), access))
    }

    /// Returns the statements of a text, and the tables that replace names of a workspace. The names of `values` tell
    /// placeholders from operators. The text must address this connection.
    async fn understood(
        &self,
        text: &Sql,
        values: &[Argument],
        profile: &Profile,
    ) -> Result<(Vec<Statement>, Vec<Renamed>)> {
        let given = values.iter().map(|value| value.name.trim_start_matches('@').to_owned()).collect();
        let read = |text: &Sql, description: &Description, given: &ParameterNames, profile: &Profile| match &text.within
        {
            Some(within) => {
                let connection = &description.connection;
                let (dialect, place) = (connection.driver.dialect, (within, text.default_schema.as_deref()));
                workspace_names::understand(&text.text, dialect, place, (&connection.name, profile), given)
            }
            None => Ok((understand(&text.text, description, given)?, Vec::new())),
        };
        if text.text.len() <= LARGE_STATEMENT {
            return read(text, &self.description, &given, profile);
        }
        let (text, description, profile) = (text.clone(), Arc::clone(&self.description), profile.clone());
        let reading = tokio::task::spawn_blocking(move || read(&text, &description, &given, &profile));
        reading.await.map_err(Error::internal)?
    }

    /// Decides whether `statement` may run, and whether its plan may write.
    pub(in crate::connection) fn access(
        &self,
        verb: AllowedStatements,
        statement: &Statement,
        by: &Principal,
        tools: &[&'static str],
    ) -> Result<Access> {
        let class = statement.class;
        match class {
            Class::Transaction => {
                return Err(Error::invalid("query: transaction control is not for callers")
                    .hint("each call is a transaction of its own: it is committed when the statement succeeds"));
            }
            Class::Session => {
                return Err(Error::invalid("query: statements that change the session are not for callers")
                    .hint("sessions are shared and carry nothing over from one call to the next"));
            }
            _ => {}
        }
        // A statement that was not understood is checked by the source, read-only until then.
        if class == Class::Other && (verb != AllowedStatements::Any || self.check_writing(by, "").is_err()) {
            return Ok(Access::ReadOnly);
        }
        let is_read_only = self.description.connection.access == Access::ReadOnly;
        check_verb(verb, statement, tools).map_err(|error| {
            // The tool that takes it would refuse it too.
            if is_read_only && !class.reads_only() {
                error.hint(format!("this connection is read-only; {WHO_CHANGES_IT}"))
            } else {
                error
            }
        })?;
        if class.reads_only() {
            let may_write = verb == AllowedStatements::Any
                && statement.calls_functions
                && by.may(Scope::Write)
                && self.description.connection.access == Access::ReadWrite;
            return Ok(if may_write { Access::ReadWrite } else { Access::ReadOnly });
        }
        self.check_writing(by, "this statement")?;
        Ok(Access::ReadWrite)
    }

    fn check_writing(&self, by: &Principal, what: &str) -> Result<()> {
        if self.description.connection.access == Access::ReadOnly {
            return Err(Error::forbidden(format!(
                "connection {} is read-only, and {what} may change data",
                self.description.connection.name
            ))
            .sqlstate(READ_ONLY)
            .hint(WHO_CHANGES_IT));
        }
        if !by.may(Scope::Write) {
            return Err(Error::forbidden(format!("{what} may change data, which needs the scope write")).needs("write"));
        }
        Ok(())
    }

    fn prepare_procedure(&self, call: &ProcedureCall, profile: &Profile, by: &Principal) -> Result<(Task, Access)> {
        let mut parts = portico_sql::procedure_name(&call.procedure)?;
        let name = parts.pop().unwrap_or_default();
        let schema = parts.pop();
        if let Some(catalog) = parts.pop() {
            self.check_catalog(&catalog)?;
        }
        let invocation = Invocation {
            schema,
            name,
            arguments: call.arguments.clone(),
            default_schema: call.default_schema.clone(),
            overload: call.overload.clone(),
        };
        let wanted = invocation.schema.as_ref().or(invocation.default_schema.as_ref());
        let in_reach = || {
            let is_there = |schema: &str| wanted.is_none_or(|wanted| schema.eq_ignore_ascii_case(wanted));
            profile.procedures.iter().filter(move |known| is_there(&known.schema))
        };
        let spelling = invocation.spellings().into_iter().find(|name| in_reach().any(|known| known.name == *name));
        let known = in_reach()
            .filter(|known| Some(&known.name) == spelling.as_ref() && known.is_overload(call.overload.as_deref()));
        // A routine not marked as read-only may write; an unknown name is refused by the source.
        let reads_only = known.fold(None, |all, known| Some(all.unwrap_or(true) && known.reads_only));
        let access = match reads_only {
            Some(true) => Access::ReadOnly,
            Some(false) => {
                self.check_writing(by, &format!("procedure {}", invocation.name))?;
                Access::ReadWrite
            }
            None if by.may(Scope::Write) => self.description.connection.access,
            None => Access::ReadOnly,
        };
        Ok((Task::Procedure(invocation), access))
    }

    fn check_catalog(&self, catalog: &str) -> Result<()> {
        if catalog.eq_ignore_ascii_case(&self.description.connection.name) {
            return Ok(());
        }
        let name = &self.description.connection.name;
        Err(Error::not_found(
            if self.description.names.load().iter().any(|other| other.eq_ignore_ascii_case(catalog)) {
                format!("procedure: {catalog} is another connection; this call addresses {name}")
            } else {
                format!("procedure: there is no connection {catalog}; this call addresses {name}")
            },
        )
        .hint(format!("use {name}, or leave that part out")))
    }
}

/// Returns the class to report for a task.
fn class_of(task: &Task) -> Option<&'static str> {
    match task {
        Task::Statement(prepared) => Some(prepared.statement.class.as_str()),
        Task::Statements(_) => Some("script"),
        Task::Batch(repeated) => Some(repeated.statement.class.as_str()),
        Task::Procedure(_) => Some(Class::Call.as_str()),
        Task::Describe(..) | Task::Columns(_) => None,
    }
}

/// The statements of `text` in the names of the connection.
pub(super) fn understand(text: &str, description: &Description, given: &ParameterNames) -> Result<Vec<Statement>> {
    let ConnectionSpec { name, driver, .. } = &description.connection;
    if let Some(statement) = portico_sql::recall(text, driver.dialect, name, given) {
        return Ok(vec![statement]);
    }
    let names = description.names.load();
    // There may be thousands.
    let others: Vec<&str> = names.iter().map(AsRef::as_ref).filter(|other| **other != **name).collect();
    portico_sql::statements_with(text, driver.dialect, Naming { connection: name, others: &others }, given)
}

/// Checks that a tool accepts statements of this class; the error names the one among `tools` that does.
fn check_verb(verb: AllowedStatements, statement: &Statement, tools: &[&'static str]) -> Result<()> {
    let class = statement.class;
    let (takes, tool) = match verb {
        AllowedStatements::Any => (true, "execute_sql"),
        AllowedStatements::Select => (class == Class::Select, "execute_select"),
        AllowedStatements::Insert => (class == Class::Insert, "execute_insert"),
        AllowedStatements::Update => (class == Class::Update, "execute_update"),
    };
    if takes {
        return Ok(());
    }
    let right = match class {
        Class::Select => "execute_select",
        Class::Insert => "execute_insert",
        Class::Update => "execute_update",
        // It takes a name, and no block of statements.
        Class::Call if statement.verb == "CALL" => "execute_procedure",
        _ => "execute_sql",
    };
    let error = Error::invalid(format!("query: {tool} does not take a statement of class {}", class.as_str()));
    Err(match [right, "execute_sql"].into_iter().find(|right| tools.contains(right)) {
        Some(right) => error.hint(format!("use {right}")),
        None => error.hint("no tool of this connection takes such a statement"),
    })
}
