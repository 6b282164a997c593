//! Requests to a connection: few operations in five shapes, without types of a protocol. The comments name the
//! tools and paths that each of them serves.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::effects::Effects;
use super::reply::Reply;
pub use super::request::RequestId;
use super::trace::TraceParent;
use crate::caller::principal::Principal;
use crate::error::{Result, bounded};
pub use crate::workspace::WorkspaceContext;

/// One request to one connection, on its way through the mailbox.
#[derive(Debug)]
pub struct Call {
    /// The request this call serves.
    pub origin: Origin,
    /// The caller.
    pub by: Arc<Principal>,
    /// The operation.
    pub op: Op,
    /// The limits of the call.
    pub limits: Limits,
    /// Cancelled as soon as the caller no longer waits for the answer: the mailbox does not notice that the `send`
    /// future was dropped.
    pub abandoned: CancellationToken,
    /// Receives the source's notices beside the result.
    pub notices: Option<Notices>,
    /// Notes what of it may stand at the source, whatever its answer is.
    pub effects: Effects,
}

impl actix::Message for Call {
    type Result = Result<Reply>;
}

/// The severity of a notice, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// PostgreSQL's `DEBUG`.
    Debug,
    /// PostgreSQL's `INFO`.
    Info,
    /// PostgreSQL's `NOTICE`.
    Notice,
    /// PostgreSQL's `WARNING`.
    Warning,
}

/// A message that the source sends beside a result: `RAISE NOTICE`, warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Its severity.
    pub severity: Severity,
    /// In the source's words.
    pub message: String,
    /// The SQLSTATE: five characters.
    pub sqlstate: String,
    /// What the source suggests.
    pub hint: Option<String>,
}

/// Receives notices as they arrive. Must return at once.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(Notice) + Send + Sync>);

impl Notices {
    /// Passes every notice to `hear`.
    pub fn new(hear: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Passes on one notice, with its texts truncated.
    pub fn hear(&self, mut notice: Notice) {
        notice.message = bounded(notice.message);
        notice.hint = notice.hint.map(bounded);
        (self.0)(notice);
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notices")
    }
}

/// Where a call comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The request that it serves.
    pub id: RequestId,
    /// The caller's trace that this request belongs to.
    pub trace: Option<TraceParent>,
}

impl From<RequestId> for Origin {
    fn from(id: RequestId) -> Self {
        Self { id, trace: None }
    }
}

/// The operations, in five shapes. The comment of each names the tools and paths that it serves.
#[derive(Debug)]
pub enum Op {
    /// `get_catalogs` … `get_procedure_parameters`.
    Describe(MetadataKind, MetadataFilter),
    /// `get_instructions`, with what only the protocol layer knows.
    Instructions(InstructionsOptions),
    /// `execute_sql`, `execute_select`, `execute_insert`, `execute_update`.
    Execute(AllowedStatements, Sql),
    /// `/api/query` and `/api/batch`: one or more statements in one transaction.
    Script(Mode, Sql),
    /// `execute_procedure`.
    Procedure(ProcedureCall),
}

impl Op {
    /// Returns true if all changes are rolled back at the end.
    pub const fn is_dry_run(&self) -> bool {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.dry_run,
            Self::Procedure(procedure) => procedure.dry_run,
            Self::Describe(..) | Self::Instructions(_) => false,
        }
    }

    /// Allows one result only; more are refused if their number is known before the statement runs.
    pub const fn expect_one_result(&mut self) {
        if let Self::Execute(_, sql) | Self::Script(_, sql) = self {
            sql.one_result = true;
        }
    }

    /// Removes the default schema: it belongs to another connection.
    pub fn forget_default_schema(&mut self) {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.default_schema = None,
            Self::Procedure(call) => call.default_schema = None,
            Self::Describe(..) | Self::Instructions(_) => {}
        }
    }

    /// Returns the workspace that the statement's names belong to, or that contains the procedure.
    pub const fn within(&self) -> Option<&WorkspaceContext> {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.within.as_ref(),
            Self::Procedure(call) => call.within.as_ref(),
            Self::Describe(..) | Self::Instructions(_) => None,
        }
    }

    /// Returns the statement's text or the procedure's name, and each set of values that it runs with.
    pub fn statement(&self) -> Option<(&str, Vec<&[Argument]>)> {
        match self {
            Self::Describe(..) | Self::Instructions(_) => None,
            Self::Script(Mode::Sets(sets), sql) => Some((&sql.text, sets.iter().map(Vec::as_slice).collect())),
            Self::Execute(_, sql) | Self::Script(_, sql) => Some((&sql.text, vec![&sql.parameters])),
            Self::Procedure(call) => Some((&call.procedure, vec![&call.arguments])),
        }
    }
}

/// One table of the catalogue, as JDBC's `DatabaseMetaData` divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetadataKind {
    /// One row per connection.
    Catalogs,
    /// One row per schema.
    Schemas,
    /// One row per table or view.
    Tables,
    /// One row per column of a table or view.
    Columns,
    /// One row per function or procedure.
    Procedures,
    /// One row per parameter of a function or procedure.
    ProcedureParameters,
    /// One row per column of a primary key.
    PrimaryKeys,
    /// One row per column of a foreign key, found by the table that has the key.
    ImportedKeys,
    /// One row per column of a foreign key, found by the table that the key refers to.
    ExportedKeys,
    /// One row per column of an index.
    Indexes,
    /// One row per table or view: what a schema digest needs beside the listings. No endpoint lists it.
    TableDetails,
}

impl MetadataKind {
    /// Returns true if each row describes a table or view, or a part of one.
    pub const fn is_of_tables(self) -> bool {
        !matches!(self, Self::Catalogs | Self::Schemas | Self::Procedures | Self::ProcedureParameters)
    }
}

/// Narrows metadata. Each member is an exact name or a SQL LIKE pattern; absent means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataFilter {
    /// `catalogName`: the connection's name.
    pub catalog: Option<String>,
    /// `schemaName`.
    pub schema: Option<String>,
    /// `tableName`.
    pub table: Option<String>,
    /// `tableType`: `TABLE`, `VIEW` …
    pub table_type: Option<String>,
    /// `columnName`.
    pub column: Option<String>,
    /// `procedureName`.
    pub procedure: Option<String>,
    /// `paramName`.
    pub param: Option<String>,
    /// Tables or routines as an agent writes them: names, patterns and comma lists of these, with or without a
    /// schema. Empty means all. Used only for the metadata of columns and of parameters.
    pub objects: Vec<String>,
    /// Words to search for in names and comments; the best matches come first. Used only for the metadata of
    /// tables.
    pub search: Option<String>,
    /// Whether an empty answer explains itself and suggests similar names, and each member may be a comma list.
    /// `objects` and `search` are used only if it is true.
    pub explains: bool,
}

/// What the instructions say about the tools that this caller is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionsOptions {
    /// The maximal number of rows in a tool's result.
    pub max_rows: u64,
    /// The maximal number of bytes in a tool's result.
    pub max_bytes: usize,
    /// The names of the standard tools that are offered.
    pub tools: Vec<&'static str>,
    /// The administrator's custom tools: name and description.
    pub own_tools: Vec<(String, String)>,
    /// The maximal number of tokens of the instructions, counted as four bytes each.
    pub tokens: usize,
    /// Whether to include the rows of small lookup tables.
    pub lookup_rows: bool,
}

/// The classes of statement that a tool accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowedStatements {
    /// Any one statement that the connection's access and the caller's scope allow.
    Any,
    /// One statement that only reads.
    Select,
    /// INSERT, and MERGE that only inserts.
    Insert,
    /// UPDATE, DELETE, MERGE.
    Update,
}

/// How a script is executed.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Run each once, in order; a value may be used by any of them.
    Run,
    /// Describe the columns of each without running it.
    Describe,
    /// Run the one statement once for each set of values.
    Sets(Vec<Vec<Argument>>),
}

/// A statement as the caller wrote it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each true or not")]
pub struct Sql {
    /// The text, with `@name` placeholders.
    pub text: String,
    /// Values of the placeholders.
    pub parameters: Vec<Argument>,
    /// Put in front of the connection's own search path.
    pub default_schema: Option<String>,
    /// Whether an administrator wrote the statement, and the caller only supplied the values.
    pub by_administrator: bool,
    /// Whether all changes are rolled back at the end.
    pub dry_run: bool,
    /// Whether an UPDATE or DELETE without WHERE is refused, with the number of rows that it would change in the
    /// error.
    pub guards_every_row: bool,
    /// Whether a query is refused if its plan costs more than the connection's limit.
    pub limits_cost: bool,
    /// Whether the answer can hold one result only; more are refused before anything runs.
    pub one_result: bool,
    /// Whether the result's columns come without the names of the tables they originate from.
    pub rows_alone: bool,
    /// The workspace that the names belong to; `None` if they are the connection's own names.
    pub within: Option<WorkspaceContext>,
    /// Names of the offered tools that run statements or procedures: a hint may recommend only these.
    pub tools: Vec<&'static str>,
}

/// One value for a placeholder or a parameter, kept as the JSON text it came in: no digit is
/// lost on the way to the source.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name without `@`; `1`, `2` … address by position.
    pub name: String,
    /// The value's JSON text.
    pub value: Box<RawValue>,
    /// The client's idea of the type, a code of [`DataType`](super::reply::DataType); a hint, never binding.
    pub data_type: Option<i32>,
}

/// A function or procedure and its arguments.
#[derive(Clone, Debug, Default)]
pub struct ProcedureCall {
    /// `procedure`, `schema.procedure` or `connection.schema.procedure`.
    pub procedure: String,
    /// Arguments by name or by position.
    pub arguments: Vec<Argument>,
    /// The schema in which an unqualified name is looked up first.
    pub default_schema: Option<String>,
    /// The parameter types, as listings give them, that select one overload; absent if the arguments select it.
    pub overload: Option<Vec<String>>,
    /// Whether all changes are rolled back at the end.
    pub dry_run: bool,
    /// The workspace that contains it; its arguments can name nothing outside of the workspace.
    pub within: Option<WorkspaceContext>,
}

/// The limits of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The statement's timeout; the source cancels it.
    pub timeout: Duration,
    /// The number of rows after which the reader stops; a source may use it to fetch no more.
    pub rows: Option<u64>,
}

impl Limits {
    /// The timeout of a call that sets none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Self::DEFAULT_TIMEOUT, rows: None }
    }
}
