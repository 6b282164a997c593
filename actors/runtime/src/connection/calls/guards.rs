//! Guards against harmful statements: one that changes every row of a table unintentionally, and one with a costly
//! plan. Both are refused before they run, with what they would do. After a timeout the costliest part of the plan
//! is reported.

use std::time::Duration;

use futures_util::StreamExt;

use super::run::understand;
use super::runner::Runner;
use portico_core::call::{Call, Limits, Op};
use portico_core::error::{Error, Kind, Result};
use portico_core::identity::AssumedIdentity;
use portico_core::reply::Part;
use portico_sources::texts;
use portico_sources::{Access, CallShare, Estimate, Plan, Prepared, Task};
use portico_sql::{Class, Edit, Statement, TRUNCATE};

/// How long a statement may run to be counted.
const COUNTING: Duration = Duration::from_secs(5);
/// How long the source may take to plan.
const PLANNING: Duration = Duration::from_secs(2);
/// Lines of a plan that are read.
const MOST_LINES: usize = 1_000;

impl Runner {
    /// Refuses harmful statements, if the call asks for that. Rare paths are boxed, so that calls do not get
    /// larger.
    pub(in crate::connection) async fn guard(
        &self,
        caller: &(AssumedIdentity, Option<CallShare>),
        (task, access): (&Task, Access),
        call: &Call,
    ) -> Result<()> {
        let (Op::Execute(_, sql) | Op::Script(_, sql), Task::Statement(prepared)) = (&call.op, task) else {
            return Ok(());
        };
        let is_guarded = sql.guards_every_row
            && !sql.dry_run
            && access == Access::ReadWrite
            && !self.only_plans(&prepared.statement);
        let every_row = prepared.statement.every_row.filter(|_| is_guarded);
        if every_row == Some(TRUNCATE) {
            return Err(Error::invalid("query: this TRUNCATE would remove every row; nothing was changed")
                .hint("DELETE with a WHERE removes some of them; give the argument all: true if every row is meant"));
        }
        if let Some(verb) = every_row {
            return Err(Box::pin(self.every_row(verb, caller, prepared, call)).await);
        }
        let limit = self.description.connection.cost_limit.filter(|_| sql.limits_cost && is_query(&prepared.statement));
        let Some(limit) = limit else { return Ok(()) };
        match Box::pin(self.estimate(caller, prepared, call)).await {
            Ok(Some(Estimate { cost: Some(cost), costliest })) if cost > f64::from(limit) => {
                // A plan is in the source's own names.
                let is_told = call.op.within().is_none_or(|within| within.is_reached);
                let costliest = if is_told { format!("{costliest}; ") } else { String::new() };
                let message =
                    format!("query: its planned cost of {cost:.0} is beyond this connection's limit of {limit}");
                Err(Error::new(Kind::Rejected, message)
                    .hint(format!("{costliest}filter by an indexed column, or read fewer rows")))
            }
            // Errors in its syntax and names are reported when it runs, in the usual order.
            Err(error)
                if !matches!(error.kind, Kind::Internal | Kind::TimedOut)
                    && error.get_sqlstate().is_none_or(|it| it.starts_with("42"))
                    // An EXPLAIN whose options are not understood may run its statement.
                    && !(prepared.statement.verb == "EXPLAIN" && error.get_sqlstate() == Some("42601")) =>
            {
                Ok(())
            }
            Err(error) => Err(Error::new(
                Kind::Rejected,
                format!("query: its cost could not be estimated, and this connection has a limit of {limit}"),
            )
            .because(error.message)
            .hint("simplify the statement: it could not be planned in time, or fails while it is planned")),
            Ok(_) => Ok(()),
        }
    }

    /// Returns true for an EXPLAIN that does not run its statement.
    fn only_plans(&self, statement: &Statement) -> bool {
        let driver = self.description.connection.driver;
        let plans = || driver.explain.is_some_and(|explain| (explain.query)(&statement.text).is_none());
        statement.verb == "EXPLAIN" && (driver.dialect.pragmas || plans())
    }

    /// Returns the refusal of a statement that changes every row, with their number; or another error of the
    /// statement.
    async fn every_row(
        &self,
        verb: &str,
        caller: &(AssumedIdentity, Option<CallShare>),
        prepared: &Prepared,
        call: &Call,
    ) -> Error {
        let limits = Limits { timeout: call.limits.timeout.min(COUNTING), rows: None };
        let task = Task::Statement(prepared.clone());
        let plan = Plan {
            dry_run: true,
            describes: false,
            notices: None,
            ..self.plan_of(caller.clone(), task, Access::ReadWrite, limits, call)
        };
        let count = async {
            let mut results = self.source.run(plan).await?;
            let mut affected = -1;
            while let Some(part) = results.next().await {
                if let Part::Done { affected: count } = part? {
                    affected = count;
                }
            }
            Ok::<_, Error>(affected)
        };
        let rows = match count.await {
            Ok(count) if count >= 0 => format!("all {count} rows"),
            Ok(_) => "every row".to_owned(),
            Err(error) if error.kind == Kind::TimedOut => "very many rows".to_owned(),
            // It would not run in earnest either.
            Err(error) => return error,
        };
        if !prepared.statement.understood {
            return Error::invalid(format!(
                "query: this {verb} is not understood, so that it may have no WHERE, and would change {rows}; nothing was changed"
            ))
            .hint("simplify the statement, or give the argument all: true if these rows are meant");
        }
        Error::invalid(format!("query: this {verb} has no WHERE and would change {rows}; nothing was changed"))
            .hint("add a WHERE, or give the argument all: true if every row is meant")
    }

    /// Returns the source's estimate for a query; `None` if the source has no plans, or nothing runs.
    async fn estimate(
        &self,
        caller: &(AssumedIdentity, Option<CallShare>),
        prepared: &Prepared,
        call: &Call,
    ) -> Result<Option<Estimate>> {
        let Some(explain) = self.description.connection.driver.explain else { return Ok(None) };
        let Some(begin) = (explain.query)(&prepared.statement.text) else { return Ok(None) };
        let prefix = Edit { range: 0..begin, replacement: explain.prefix.to_owned() };
        let mut statement = prepared.statement.edited(vec![prefix]);
        // To plan a change is to read.
        (statement.class, statement.returns_rows, statement.counts) = (Class::Select, true, false);
        let question = Prepared { statement, ..prepared.clone() };
        let limits = Limits { timeout: PLANNING, rows: None };
        let plan = Plan {
            dry_run: false,
            describes: false,
            notices: None,
            estimates: true,
            ..self.plan_of(caller.clone(), Task::Statement(question), Access::ReadOnly, limits, call)
        };
        let rows = texts(self.source.run(plan).await?, MOST_LINES).await?;
        (explain.read)(&rows).map(Some).ok_or_else(|| Error::internal("the source's plan cannot be read"))
    }

    /// Adds the costliest part of the plan to a timeout.
    pub(in crate::connection) async fn blame_plan(
        &self,
        error: Error,
        identity: AssumedIdentity,
        call: &Call,
    ) -> Error {
        let Op::Execute(_, sql) = &call.op else { return error };
        // What an administrator's statement reads must not be revealed.
        if error.kind != Kind::TimedOut || sql.by_administrator {
            return error;
        }
        let given = sql.parameters.iter().map(|value| value.name.trim_start_matches('@').to_owned()).collect();
        let read = understand(&sql.text, &self.description, &given).ok().and_then(|mut statements| statements.pop());
        let Some(statement) = read.filter(|statement| statement.class.reads_only()) else { return error };
        let prepared = Prepared {
            statement,
            values: sql.parameters.clone(),
            default_schema: sql.default_schema.clone(),
            by_administrator: sql.by_administrator,
        };
        let Ok(Some(estimate)) = self.estimate(&(identity, None), &prepared, call).await else { return error };
        let hint = error.get_hint().unwrap_or("narrow the statement").to_owned();
        error.hint(format!("{hint}; {}", estimate.costliest))
    }
}

/// Returns true for a statement that returns rows, also if it locks or changes rows.
fn is_query(statement: &Statement) -> bool {
    matches!(statement.class, Class::Select | Class::Insert | Class::Update) && !statement.counts
}
