//! The seam between a connection and its database: one trait with few methods, and the values
//! that pass through it. What a driver needs beyond that lives in the driver's own folder.

pub mod address;
pub mod catalog;
mod drivers;
mod exposed;
mod exposure;
pub(crate) mod given;
mod grants;
mod late;
pub mod postgres;
pub mod sqlite;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::call::{Argument, Facet, Limits, Narrow, Notices};
use crate::error::Result;
use crate::identity::Assumed;
use crate::reply::Results;
use crate::sql::Statement;
use crate::trace::TraceParent;

pub use address::Address;
pub use drivers::{apply_grants, grants, open};
pub use exposed::narrow;
pub use exposure::{Exposure, Names, speaks_of};
pub(crate) use grants::printable;
pub use grants::{Finding, Grade, Script, Wanted};
pub(crate) use late::Late;
pub use late::Open;

/// A database, reached through a driver of its own.
///
/// The futures are `Send` and own what they need: they run on the connection's thread, the
/// streams inside their answers on the HTTP worker that reads them.
pub trait Source: Send + Sync + 'static {
    /// Connects if need be, asks for a sign of life, and reads what callers may want to know
    /// without a question of their own.
    ///
    /// # Errors
    /// [`Kind::Unavailable`](crate::error::Kind::Unavailable) when the database is away or
    /// refuses us; the inner cause says why.
    fn ping(&self) -> BoxFuture<'static, Result<Profile>>;

    /// Answers as soon as the first columns are known, or fails with what the source said.
    ///
    /// Whatever is dropped before its end, this future or the results, is cancelled at the source.
    fn run(&self, plan: Plan) -> BoxFuture<'static, Result<Results>>;

    /// Compares what the connection's own user can do at the source with what the connection exposes: what is
    /// weaker than it looks. A source without users of its own has nothing to tell.
    fn reach(&self) -> BoxFuture<'static, Result<Vec<Finding>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Lets go of every session; what still runs is cancelled.
    fn close(&self) -> BoxFuture<'static, ()>;

    /// The sessions that are open now, for gauges; `None` where there are none to count.
    fn pool(&self) -> Option<Pool> {
        None
    }
}

/// The sessions of a source at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Sessions that are open.
    pub open: usize,
    /// Of these, the ones that nobody uses.
    pub idle: usize,
    /// Sessions that may be open at most.
    pub most: usize,
}

/// One thing to do at a source, ready to be carried out.
#[derive(Debug)]
pub struct Plan {
    /// What to do.
    pub task: Task,
    /// Whether it may write. Drivers enforce it with the engine's own means.
    pub access: Access,
    /// How much may be spent on it.
    pub limits: Limits,
    /// Cancelled when nobody waits any more.
    pub abandoned: CancellationToken,
    /// Whether all of it is undone at its end, and answered as if it were kept: deferred
    /// constraints are checked too.
    pub dry_run: bool,
    /// Hears what the source says beside the result, where it says anything.
    pub notices: Option<Notices>,
    /// Who the caller is to the source, where callers have identities there.
    pub identity: Assumed,
    /// Handed to the source as a comment on its statements, where it keeps comments.
    pub trace: Option<TraceParent>,
    /// Whether somebody is told which columns of which tables the results' columns are. Where nobody is,
    /// drivers need not ask.
    pub describes: bool,
}

impl Plan {
    /// A plan that nobody bounds or leaves, that is kept, and that is the pool's own.
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
        }
    }
}

/// What to do at a source.
#[derive(Debug)]
pub enum Task {
    /// Lists a facet of the catalogue, in the columns and the order of `wire.md` §6.
    Describe(Facet, Narrow),
    /// Runs one statement.
    Statement(Prepared),
    /// Runs several statements in order, in one transaction: a result for each, and nothing kept
    /// when one fails.
    Statements(Vec<Prepared>),
    /// Runs one statement once for each set of values, in one transaction: a result for each.
    Batch(Repeated),
    /// Tells the columns of each statement and runs none of them.
    Columns(Vec<Prepared>),
    /// Runs a function or procedure.
    Procedure(Invocation),
}

/// One statement in the source's own names, with its values.
#[derive(Debug)]
pub struct Prepared {
    /// The text and what is known about it. Placeholders stand as the source numbers them.
    pub statement: Statement,
    /// One value for each number, in order.
    pub values: Vec<Argument>,
    /// Goes in front of the search path for this statement alone.
    pub default_schema: Option<String>,
    /// Whether an administrator wrote it: what is hidden from callers exists for it.
    pub by_administrator: bool,
}

/// One statement in the source's own names, with many sets of values.
#[derive(Debug)]
pub struct Repeated {
    /// The text and what is known about it.
    pub statement: Statement,
    /// For each run one value for each placeholder.
    pub sets: Vec<Vec<Argument>>,
    /// Goes in front of the search path for this task alone.
    pub default_schema: Option<String>,
}

impl Repeated {
    /// The error of the set `number`, counted from 0, which it names.
    pub fn failure(number: usize, mut error: crate::error::Error) -> crate::error::Error {
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
    /// The [`Procedure::signature`] of the one overload that is meant; absent where the arguments
    /// are to choose it.
    pub overload: Option<Vec<String>>,
}

/// Whether writing is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The engine refuses every write.
    ReadOnly,
    /// Writing is allowed.
    ReadWrite,
}

/// What a source said of itself when it was last asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Product and version, such as `PostgreSQL 15.18`.
    pub product: String,
    /// The schema that unqualified names resolve to first.
    pub default_schema: Option<String>,
    /// The functions and procedures that the connection exposes, ordered by schema and name.
    pub procedures: Arc<[Procedure]>,
    /// The tables and views that the connection exposes, ordered by schema and name; of a source
    /// with more than [`MOST_TABLES`] only the first.
    pub tables: Arc<[Table]>,
}

impl Profile {
    /// As a caller with `role` may know it.
    #[must_use]
    pub fn seen_by(&self, role: &str) -> Self {
        let procedures = self.procedures.iter().filter(|procedure| procedure.is_for(Some(role))).cloned().collect();
        Self { procedures, ..self.clone() }
    }
}

/// Tables of one source whose definitions are watched.
pub const MOST_TABLES: u16 = 5_000;

/// A table or view, and what tells one definition of it from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// The schema it lives in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Differs when its kind, its columns or its comments do. It is compared, never shown.
    pub definition: u64,
}

impl Table {
    /// A table whose definition is all of `definition`.
    pub(crate) fn new(schema: String, name: String, definition: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        definition.hash(&mut hasher);
        Self { schema, name, definition: hasher.finish() }
    }
}

/// A function or procedure, as callers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// The schema it lives in.
    pub schema: String,
    /// Its name; overloads share it.
    pub name: String,
    /// Its comment.
    pub remarks: Option<String>,
    /// Whether the source itself says that it only reads.
    pub reads_only: bool,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The roles of the source that may run it, where callers have roles; absent means everybody.
    pub roles: Option<Arc<[String]>>,
}

impl Procedure {
    /// The types of the parameters that a call gives, in order and in the source's own words: what
    /// tells its overloads apart.
    pub fn signature(&self) -> Vec<String> {
        let given = |parameter: &&Parameter| matches!(parameter.direction, Direction::In | Direction::InOut);
        self.parameters.iter().filter(given).map(|parameter| parameter.type_name.clone()).collect()
    }

    /// Whether it is the overload with this signature, where one is asked for.
    pub fn is_overload(&self, signature: Option<&[String]>) -> bool {
        signature.is_none_or(|signature| self.signature() == signature)
    }

    /// Whether a caller with `role` may run it.
    pub fn is_for(&self, role: Option<&str>) -> bool {
        match (&self.roles, role) {
            (None, _) => true,
            (Some(roles), Some(role)) => roles.iter().any(|known| known == role),
            (Some(_), None) => false,
        }
    }
}

/// One parameter of a procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name; may be empty where the source allows that.
    pub name: String,
    /// Which way its value goes.
    pub direction: Direction,
    /// Its type on the wire.
    pub data_type: crate::reply::DataType,
    /// Its type in the source's own words.
    pub type_name: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// What the parameter is for, in the administrator's words.
    pub remarks: Option<String>,
    /// The JSON text of the value that it has when it is left out, where that is declared here.
    pub default: Option<String>,
}

/// Which way a parameter's value goes; the numbers are those of JDBC on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Given by the caller.
    In = 1,
    /// Given and returned.
    InOut = 2,
    /// Returned.
    Out = 4,
    /// The function's own result.
    Return = 5,
}

/// What a driver is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection's name: the catalogue of everything in it.
    pub name: Arc<str>,
    /// Where the database is.
    pub locator: Locator,
    /// Whether the connection may write at all.
    pub access: Access,
    /// Sessions at most.
    pub pool: usize,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// Procedures that the administrator declared, for sources that have none of their own.
    pub declared: Arc<[Declared]>,
    /// Whether callers have roles of their own at the source: what any of them may see is then
    /// known of, whatever the connection's own user may see.
    pub has_roles: bool,
    /// What exists for callers. The driver refuses every use of what does not.
    pub exposure: Arc<Exposure>,
    /// What large rows share, with those of other connections.
    pub budget: Budget,
}

/// Where a database is.
#[derive(Clone, Debug)]
pub enum Locator {
    /// A PostgreSQL database.
    Postgres(Address),
    /// A SQLite file.
    Sqlite(PathBuf),
}

impl Locator {
    /// One word for listings: the driver's name.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Sqlite(_) => "sqlite",
        }
    }
}

/// A procedure that the administrator declared: a named, described, parameterised statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// What callers see.
    pub procedure: Procedure,
    /// The statement, with `@name` placeholders for the parameters.
    pub sql: String,
}
