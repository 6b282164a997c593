//! Plans: what a source is asked to do.

use std::any::Any;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::exposure::names::Exposure;
use portico_core::call::{Argument, Limits, MetadataFilter, MetadataKind, Notices};
use portico_core::effects::Effects;
use portico_core::error::Error;
use portico_core::identity::AssumedIdentity;
use portico_core::trace::TraceParent;
use portico_sql::Statement;

/// One thing to do at a source, ready to be carried out.
#[derive(Debug)]
pub struct Plan {
    /// The task.
    pub task: Task,
    /// Whether it may write. Drivers enforce it with the engine's own means.
    pub access: Access,
    /// How much may be spent on it.
    pub limits: Limits,
    /// Cancelled when the caller no longer waits.
    pub abandoned: CancellationToken,
    /// Whether all of it is undone at its end, and answered as if it were kept: deferred
    /// constraints are checked too.
    pub dry_run: bool,
    /// Receives the source's notices beside the result.
    pub notices: Option<Notices>,
    /// The caller's identity at the source, if callers have one there.
    pub identity: AssumedIdentity,
    /// Handed to the source as a comment on its statements, where it keeps comments.
    pub trace: Option<TraceParent>,
    /// Whether the caller is told which tables the results' columns originate from. If not, drivers need not look
    /// it up.
    pub describes: bool,
    /// Whether its rows are a query plan that only [`Explain::read`](crate::Explain) reads: the plan may contain
    /// costs of hidden objects.
    pub estimates: bool,
    /// What is exposed to this caller, if less than the connection exposes: the workspace's part of it. The driver
    /// refuses every use of the rest.
    pub exposure: Option<Exposure>,
    /// The caller's share of the connection's limits. A driver holds it until the source has ended everything that
    /// it started for the call, even if the caller has left.
    pub share: Option<CallShare>,
    /// Notes what of it may stand, before that is sent.
    pub effects: Effects,
}

/// A caller's share of a connection's limits, returned when the last clone is dropped.
pub type CallShare = Arc<dyn Any + Send + Sync>;

impl Plan {
    /// Makes a plan with default limits, without abandonment and dry run, under the pool's own role.
    pub fn alone(task: Task, access: Access) -> Self {
        let (limits, abandoned) = (Limits::default(), CancellationToken::new());
        Self {
            task,
            access,
            limits,
            abandoned,
            dry_run: false,
            notices: None,
            identity: None,
            trace: None,
            describes: true,
            estimates: false,
            exposure: None,
            share: None,
            effects: Effects::default(),
        }
    }
}

/// The task of a plan.
#[derive(Debug)]
pub enum Task {
    /// Lists one kind of metadata of the catalogue, in the columns of [`columns`](crate::catalog::columns), by schema and name.
    Describe(MetadataKind, MetadataFilter),
    /// Runs one statement.
    Statement(Prepared),
    /// Runs several statements in order, in one transaction: a result for each. If one fails, all are rolled back.
    Statements(Vec<Prepared>),
    /// Runs one statement once for each set of values, in one transaction: a result for each.
    Batch(Repeated),
    /// Describes the columns of each statement, and runs none of them.
    Columns(Vec<Prepared>),
    /// Runs a function or procedure.
    Procedure(Invocation),
}

/// One statement in the source's own names, with its values.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The text and what is known about it. Placeholders are numbered as the source does.
    pub statement: Statement,
    /// The values as given, each under its name or its number. The driver puts them in the order of the statement's
    /// placeholders, and refuses missing and surplus ones.
    pub values: Vec<Argument>,
    /// Put in front of the search path for this statement alone.
    pub default_schema: Option<String>,
    /// Whether an administrator wrote it: it may use what is hidden from callers.
    pub by_administrator: bool,
}

/// One statement in the source's own names, with many sets of values.
#[derive(Debug)]
pub struct Repeated {
    /// The text and what is known about it.
    pub statement: Statement,
    /// The values of each run, given as those of a [`Prepared`].
    pub sets: Vec<Vec<Argument>>,
    /// Put in front of the search path for this task alone.
    pub default_schema: Option<String>,
}

impl Repeated {
    /// The error of the set `number`, counted from 0, which it names.
    pub fn failure(number: usize, mut error: Error) -> Error {
        let message = error.message.strip_prefix("parameters: ").unwrap_or(&error.message);
        error.message = format!("parameters[{number}]: {message}");
        error
    }
}

/// A procedure by name, and its arguments.
#[derive(Debug)]
pub struct Invocation {
    /// The schema as the caller named it.
    pub schema: Option<String>,
    /// The procedure's own name.
    pub name: String,
    /// Arguments by name or by position.
    pub arguments: Vec<Argument>,
    /// Where an unqualified name is looked for first.
    pub default_schema: Option<String>,
    /// The [signature](crate::Procedure::signature) that selects one overload; absent if the arguments select it.
    pub overload: Option<Vec<String>>,
}

impl Invocation {
    /// The schemas in which the name is looked for, of a source with this search path.
    pub fn schemas<'a>(&'a self, path: &'a [String]) -> impl Iterator<Item = &'a String> {
        let (own, path) = match &self.schema {
            Some(schema) => (Some(schema), &[][..]),
            None => (self.default_schema.as_ref(), path),
        };
        own.into_iter().chain(path)
    }

    /// The names to look for, of which the first that is there counts: as the caller wrote it, then as PostgreSQL folds
    /// a name without quotes (§4.1.1; in UTF-8 it folds ASCII alone).
    pub fn spellings(&self) -> [String; 2] {
        [self.name.clone(), self.name.to_ascii_lowercase()]
    }
}

/// Whether writing is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The engine refuses every write.
    ReadOnly,
    /// Writing is allowed.
    ReadWrite,
}
