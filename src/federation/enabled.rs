//! Statements over several connections. The engine asks the connections as their caller, on the thread that the request
//! came to, where their actors are.

use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use portico_actors::call::{AllowedStatements, Limits, Mode, Op, Origin, Sql};
use portico_actors::connection::with_reader_timeout;
use portico_actors::directory::{ConnectionEntry, Directory};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::federation::{Connections, Engine, Settings, SourceConnection, Statement};
use portico_actors::mutex::lock;
use portico_actors::principal::{Principal, Rights};
use portico_actors::reply::{Reply, Results};
use portico_actors::workspace::without_names;
use tokio::sync::{mpsc, oneshot};

use super::statement::{OverConnections, SentStatements};
use crate::config::Federation as FederationSettings;

/// Returns the functions of such statements, for authors of statements.
pub(crate) fn functions() -> String {
    portico_actors::federation::functions().join(", ")
}

/// Runs statements over several connections. Its threads are started by the first one.
#[derive(Debug)]
pub struct Federation {
    configured: FederationSettings,
    engine: OnceLock<Engine>,
    starting: Mutex<()>,
}

impl Federation {
    /// Makes the engine with these settings; it starts on first use.
    pub fn new(configured: FederationSettings) -> Self {
        Self { configured, engine: OnceLock::new(), starting: Mutex::default() }
    }

    fn engine(&self) -> Result<&Engine> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let _alone = lock(&self.starting);
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let configured = &self.configured;
        let engine = Engine::start(Settings {
            memory: configured.memory,
            statement_memory: configured.statement_memory,
            spill_dir: configured.spill_dir.clone(),
            spill_limit: configured.spill_limit as u64,
            threads: configured.threads,
            pushdown: configured.pushdown,
        });
        let folder = configured.spill_dir.display();
        let engine = engine.map_err(|error| {
            Error::new(Kind::Unavailable, "statements over several connections cannot be run here at present")
                .hint("an administrator has to check federation.spill_dir: portico doctor says what is wrong with it")
                .because(format!("federation.spill_dir: {folder}: {error}"))
        })?;
        Ok(self.engine.get_or_init(|| engine))
    }

    /// Runs a statement.
    ///
    /// # Errors
    /// [`Kind::Invalid`] if it is not a single statement that reads; errors of the engine and of the connections;
    /// [`Kind::Unavailable`] if the engine cannot be started.
    pub(crate) async fn run(&self, directory: &Directory, over: OverConnections<'_>) -> Result<Reply> {
        let OverConnections { entries, workspace, default_catalog, op, by, reached, origin, limits, sent } = over;
        let (sql, describes) = match op {
            Op::Execute(AllowedStatements::Insert | AllowedStatements::Update, _) => {
                return Err(Error::invalid(
                    "query: this tool writes, and nothing can be written over several connections",
                )
                .hint("use execute_select or execute_sql to read; write to one connection at a time"));
            }
            Op::Script(Mode::Run, sql) | Op::Execute(AllowedStatements::Any | AllowedStatements::Select, sql) => {
                (sql, false)
            }
            Op::Script(Mode::Describe, sql) => (sql, true),
            _ => {
                return Err(Error::invalid("query: a batch addresses one connection")
                    .hint("send one statement for each set of values to /api/query"));
            }
        };
        let Sql { text, parameters, default_schema, limits_cost, .. } = sql;
        let statement = Statement {
            principal: by.subject.clone(),
            text,
            parameters,
            workspace,
            default_catalog: default_catalog.map(str::to_owned),
            default_schema,
            limits,
            describes,
        };
        let validity = by.validity.clone();
        let connections = Lent { limits_cost, ..Lent::new(directory.clone(), entries, by, &reached, origin, sent) };
        let results = tokio::select! {
            results = self.engine()?.run(Arc::new(connections), statement) => results?,
            () = validity.lost() => return Err(validity.refusal()),
        };
        // Its sources may be done long before it is.
        Ok(Reply::Results(with_reader_timeout(results, limits.timeout, validity)))
    }
}

/// The connections that a caller's statement names, lent to the engine.
#[derive(Debug)]
struct Lent {
    members: Vec<SourceConnection>,
    asks: mpsc::UnboundedSender<Ask>,
    sent: SentStatements,
    /// Whether a connection's queries are subject to its cost limit.
    limits_cost: bool,
}

/// A call to a connection, on its way to the thread of its request.
struct Ask {
    place: usize,
    op: Op,
    limits: Limits,
    answer: oneshot::Sender<Result<Results>>,
}

impl Lent {
    /// Takes calls for as long as it is there.
    fn new(
        directory: Directory,
        entries: &[ConnectionEntry],
        by: Arc<Principal>,
        reached: &Rights,
        origin: Origin,
        sent: SentStatements,
    ) -> Self {
        let member = |entry: &ConnectionEntry| SourceConnection {
            id: entry.id,
            name: Arc::clone(&entry.name),
            driver: entry.driver,
            is_reached: reached.covers(entry.id),
        };
        let members = entries.iter().map(member).collect();
        let (asks, mut waiting) = mpsc::unbounded_channel::<Ask>();
        let (entries, reached) = (entries.to_vec(), reached.clone());
        actix::spawn(async move {
            while let Some(Ask { place, op, limits, mut answer }) = waiting.recv().await {
                let Some(entry) = entries.get(place).cloned() else { continue };
                let (directory, by) = (directory.clone(), Arc::clone(&by));
                let is_reached = reached.covers(entry.id);
                actix::spawn(async move {
                    let asked = directory.ask(&entry, origin, by, op, limits);
                    let reply = tokio::select! {
                        reply = asked => reply,
                        // The caller has left: the call is dropped, and so cancelled at its source.
                        () = answer.closed() => return,
                    };
                    let results = reply.and_then(Reply::into_results);
                    let _ = answer.send(if is_reached {
                        results
                    } else {
                        results.map(within_workspace).map_err(without_names)
                    });
                });
            }
        });
        Self { members, asks, sent, limits_cost: false }
    }
}

/// Returns the results of a connection that the caller reaches only through a workspace.
fn within_workspace(results: Results) -> Results {
    results.map_error(|error| ready(without_names(error)).boxed())
}

impl Connections for Lent {
    fn members(&self) -> &[SourceConnection] {
        &self.members
    }

    fn ask(&self, place: usize, mut op: Op, limits: Limits) -> BoxFuture<'static, Result<Results>> {
        if let Op::Script(_, sql) | Op::Execute(_, sql) = &mut op {
            sql.limits_cost = self.limits_cost;
        }
        let (answer, answered) = oneshot::channel();
        let asked = self.asks.send(Ask { place, op, limits, answer });
        async move {
            asked.map_err(|_| Error::internal("the thread of the request has ended"))?;
            answered.await.map_err(|_| Error::internal("the thread of the request has ended"))?
        }
        .boxed()
    }

    fn note(&self, place: usize, statement: &str) {
        if let Some(member) = self.members.get(place) {
            self.sent.add(&member.name, statement);
        }
    }
}
