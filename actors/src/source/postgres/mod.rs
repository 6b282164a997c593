//! PostgreSQL as a source: what is asked of it, in which order. Only this folder names the wire
//! library and the pool.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_util::sync::CancellationToken;

use self::clock::Clock;
use self::custom_types::CustomTypes;
use self::housekeeping::Housekeeping;
use self::knowledge::Knowledge;
use self::session::Sessions;
use self::statement::{Job, Values};
use self::transaction::{Place, Terms};
use super::{Access, Invocation, Plan, Pool, Prepared, Profile, Settings, Source, Task};
use crate::error::{Error, Kind, Result};
use crate::reply::Results;
use crate::sql::Class;
use crate::trace::TraceParent;

mod argument;
mod array;
mod catalog;
mod cells;
mod clock;
mod custom_types;
mod failure;
mod housekeeping;
mod keys;
mod knowledge;
mod network;
mod notices;
mod numeric;
mod prepared;
mod printed;
mod procedure;
mod relations;
mod repeated;
mod routines;
mod rows;
mod running;
mod script;
mod session;
mod statement;
mod temporal;
mod tls;
mod transaction;
mod types;

/// A PostgreSQL database behind a pool of sessions.
pub struct Postgres {
    shared: Arc<Shared>,
}

struct Shared {
    name: Arc<str>,
    access: Access,
    sessions: Sessions,
    knowledge: Arc<Knowledge>,
    closing: CancellationToken,
}

impl Postgres {
    /// Reads the connection's URL; nothing is connected yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`] when the URL cannot be understood.
    pub fn open(settings: Settings, url: &SecretString) -> Result<Self> {
        let mut config: Config = url.expose_secret().parse().map_err(|error| unreadable(&error))?;
        config.connect_timeout(settings.connect_timeout);
        if config.get_application_name().is_none() {
            config.application_name("portico");
        }
        let tls = tls::connector(config.get_ssl_mode())?;
        let types = Arc::new(CustomTypes::new());
        let housekeeping = Housekeeping::new(config.clone(), tls.clone(), settings.connect_timeout);
        let sessions = Sessions::new(config, tls, settings.pool, settings.connect_timeout, &types)?;
        let shared = Shared {
            name: settings.name,
            access: settings.access,
            sessions,
            knowledge: Arc::new(Knowledge::new(housekeeping, types)),
            closing: CancellationToken::new(),
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
        async move { shared.run(plan).await }.boxed()
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let shared = Arc::clone(&self.shared);
        async move {
            shared.closing.cancel();
            shared.sessions.close().await;
            shared.knowledge.close().await;
        }
        .boxed()
    }

    fn pool(&self) -> Option<Pool> {
        Some(self.shared.sessions.count())
    }
}

impl Shared {
    async fn run(&self, plan: Plan) -> Result<Results> {
        let dry_run = plan.dry_run;
        let clock = Clock::start(plan.limits, plan.abandoned, self.closing.clone()).hearing(plan.notices);
        let access = if self.access == Access::ReadOnly { Access::ReadOnly } else { plan.access };
        let terms = Terms { access, dry_run };
        clock.bound(self.knowledge.freshen()).await?;
        let mut task = plan.task;
        if let Some(trace) = plan.trace {
            carry(trace, &mut task);
        }
        let mut job = match task {
            Task::Describe(facet, narrow) => catalog::job(facet, narrow, &self.name),
            Task::Statement(prepared) => job(prepared, terms)?,
            Task::Statements(prepared) => return script::results(self, prepared, terms, clock).await,
            Task::Columns(prepared) => return script::columns(self, prepared, clock).await,
            Task::Batch(repeated) => return repeated::results(self, repeated, terms, clock).await,
            Task::Procedure(invocation) => clock.bound(self.invoke(&invocation, terms)).await??,
        };
        if let (Some(trace), None) = (plan.trace, &job.origin) {
            trace.comment(&mut job.text);
        }
        if job.opens_cursors {
            return script::run(self, VecDeque::from([job]), terms, clock).await;
        }
        let answer = statement::execute(&self.sessions, &self.knowledge, &job, &clock).await?;
        Ok(rows::results(answer, job, clock, &self.name, Arc::clone(&self.knowledge)).await)
    }

    /// The call of a routine; what is not known may have been made since we last asked.
    async fn invoke(&self, invocation: &Invocation, terms: Terms) -> Result<Job> {
        match procedure::job(&self.knowledge.routines(), invocation, terms) {
            Err(_) => {
                self.knowledge.refresh().await?;
                procedure::job(&self.knowledge.routines(), invocation, terms)
            }
            job => job,
        }
    }
}

/// Has every statement of `task` carry the trace. Positions that the source tells stay true: the
/// comment stands behind the text.
fn carry(trace: TraceParent, task: &mut Task) {
    match task {
        Task::Statement(prepared) => trace.comment(&mut prepared.statement.text),
        Task::Statements(several) | Task::Columns(several) => {
            for prepared in several {
                trace.comment(&mut prepared.statement.text);
            }
        }
        Task::Batch(repeated) => trace.comment(&mut repeated.statement.text),
        // Statements of our own, which are made later.
        Task::Describe(..) | Task::Procedure(_) => {}
    }
}

/// A caller's statement, unless it is one that no caller may run here.
fn job(prepared: Prepared, terms: Terms) -> Result<Job> {
    let Prepared { statement, values, default_schema, by_administrator: _ } = prepared;
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
        _ if first_word(&statement.text).eq_ignore_ascii_case("copy") => {
            return Err(Error::invalid("COPY is not available").hint("use SELECT to read and INSERT to write"));
        }
        _ => {}
    }
    if statement.text.contains('\0') {
        return Err(Error::invalid("the statement contains the character NUL, which the source does not know"));
    }
    let values = argument::in_order(&statement.placeholders, values)?;
    Ok(Job {
        text: statement.text.clone(),
        class: statement.class,
        returns_rows: statement.returns_rows || statement.class == Class::Select,
        terms,
        values: Values::Inferred(values),
        default_schema,
        origin: Some(statement),
        place: Place::ALONE,
        opens_cursors: false,
    })
}

/// The first word behind white space, comments and parentheses.
fn first_word(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(' || c == ';');
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            // Comments nest; one level too few only means that COPY is found out later.
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default();
        };
    }
}

/// What is wrong with a URL, without any of its words: a password may be among them.
fn unreadable(error: &tokio_postgres::Error) -> Error {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let what = if source.starts_with("invalid value for option") { source } else { "not a PostgreSQL URL".to_owned() };
    Error::new(Kind::Invalid, format!("url: {what}"))
        .hint("postgres://user:password@host:port/database?sslmode=prefer; sslmode is disable, prefer or require")
}

#[cfg(test)]
mod tests {
    use super::first_word;

    #[test]
    fn comments_do_not_hide_the_first_word() {
        assert_eq!(first_word("  /* a */ -- b\n (COPY t TO STDOUT)"), "COPY");
        assert_eq!(first_word("/* never closed"), "");
        assert_eq!(first_word("sélect"), "sélect");
    }
}
