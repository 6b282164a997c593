//! What may be asked of a connection: few operations in five shapes, free of any protocol.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::reply::Reply;
pub use super::request::RequestId;
use super::trace::TraceParent;
use crate::caller::principal::Principal;
use crate::error::{Result, bounded};
pub use crate::workspace::Within;

/// One request to one connection, on its way through the mailbox.
#[derive(Debug)]
pub struct Call {
    /// The request this call serves.
    pub origin: Origin,
    /// Who asks.
    pub by: Arc<Principal>,
    /// What is asked.
    pub op: Op,
    /// How much may be spent on it.
    pub limits: Limits,
    /// Cancelled as soon as nobody waits for the answer: the mailbox does not notice by itself
    /// that a caller dropped its `send` future.
    pub abandoned: CancellationToken,
    /// Hears what the source says beside the result.
    pub notices: Option<Notices>,
}

impl actix::Message for Call {
    type Result = Result<Reply>;
}

/// How weighty a notice is, the lightest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For who looks for an error.
    Debug,
    /// What was asked to be told.
    Info,
    /// What may help.
    Notice,
    /// What is likely a mistake.
    Warning,
}

/// What the source says beside a result: `RAISE NOTICE`, warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How weighty it is.
    pub severity: Severity,
    /// In the source's words.
    pub message: String,
    /// Five characters.
    pub sqlstate: String,
    /// What the source suggests.
    pub hint: Option<String>,
}

/// Who hears notices, as they come. Must return at once.
#[derive(Clone)]
pub struct Notices(Arc<dyn Fn(Notice) + Send + Sync>);

impl Notices {
    /// Hands every notice to `hear`.
    pub fn new(hear: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Tells one.
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
    /// The trace that the caller joins it to.
    pub trace: Option<TraceParent>,
}

impl From<RequestId> for Origin {
    fn from(id: RequestId) -> Self {
        Self { id, trace: None }
    }
}

/// The operations, in five shapes.
#[derive(Debug)]
pub enum Op {
    /// `get_catalogs` … `get_procedure_parameters`.
    Describe(MetadataKind, MetadataFilter),
    /// `get_instructions`, with what the front alone knows.
    Instructions(InstructionsOptions),
    /// `execute_sql`, `execute_select`, `execute_insert`, `execute_update`.
    Execute(AllowedStatements, Sql),
    /// `/api/query` and `/api/batch`: one or more statements in one transaction.
    Script(Mode, Sql),
    /// `execute_procedure`.
    Procedure(ProcedureCall),
}

impl Op {
    /// Whether everything that it does is undone at its end.
    pub const fn is_dry_run(&self) -> bool {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.dry_run,
            Self::Procedure(procedure) => procedure.dry_run,
            Self::Describe(..) | Self::Instructions(_) => false,
        }
    }

    /// Lets it have one result alone, as far as their number is known before it is run.
    pub const fn expect_one_result(&mut self) {
        if let Self::Execute(_, sql) | Self::Script(_, sql) = self {
            sql.one_result = true;
        }
    }

    /// Leaves the default schema out: it belongs to another connection.
    pub fn forget_default_schema(&mut self) {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.default_schema = None,
            Self::Procedure(call) => call.default_schema = None,
            Self::Describe(..) | Self::Instructions(_) => {}
        }
    }

    /// The workspace that the names of its statements are of, or that has its procedure.
    pub const fn within(&self) -> Option<&Within> {
        match self {
            Self::Execute(_, sql) | Self::Script(_, sql) => sql.within.as_ref(),
            Self::Procedure(call) => call.within.as_ref(),
            Self::Describe(..) | Self::Instructions(_) => None,
        }
    }

    /// The statement's text or the procedure's name, and each set of values that it runs with.
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
    /// One row per table or view: what a digest of the schema needs beside the listings. No endpoint lists it.
    TableDetails,
}

impl MetadataKind {
    /// Whether each of its rows is of a table or view.
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
    /// Tables or routines as an agent writes them: names, patterns and comma lists of these, with or without their
    /// schema. Empty means all; only the metadata of these, of columns and of parameters knows it.
    pub objects: Vec<String>,
    /// Words that are looked for in names and comments; the rows come with the best first. Only the metadata of tables
    /// knows it.
    pub search: Option<String>,
    /// Whether an empty answer says why, and what is near, and each member may be several with commas. What stands in
    /// `objects` and `search` counts only then.
    pub explains: bool,
}

/// What instructions say of the tools in front, as this caller is offered them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionsOptions {
    /// Rows of a tool's result at most.
    pub max_rows: u64,
    /// Bytes of a tool's result at most.
    pub max_bytes: usize,
    /// The names of the tools that every connection has, as far as they are offered.
    pub tools: Vec<&'static str>,
    /// The administrator's own tools: name and description.
    pub own_tools: Vec<(String, String)>,
    /// Tokens of the instructions at most, counted as four bytes each.
    pub tokens: usize,
    /// Whether the rows of small lookup tables are told.
    pub lookup_rows: bool,
}

/// Which classes of statement a tool takes.
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

/// What to do with the statements of a script.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Run each once, in order; a value may be used by any of them.
    Run,
    /// Tell the columns of each without running it.
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
    /// Goes in front of the connection's own search path.
    pub default_schema: Option<String>,
    /// Whether an administrator wrote it, and the caller gave the values alone.
    pub by_administrator: bool,
    /// Whether everything that it does is undone at its end.
    pub dry_run: bool,
    /// Whether an UPDATE or DELETE without WHERE is refused, and told with the rows that it would touch.
    pub guards_every_row: bool,
    /// Whether a query is refused whose plan costs more than its connection's limit.
    pub limits_cost: bool,
    /// Whether the answer has room for one result alone; more are refused before anything is run.
    pub one_result: bool,
    /// Whether nobody is told which tables the columns of its result come from.
    pub rows_alone: bool,
    /// The workspace that its names are of; else they are the connection's own.
    pub within: Option<Within>,
    /// Names of the tools in front that run statements or procedures and are not switched off: a
    /// hint may send the caller to these alone.
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
    /// The client's own idea of the type, a code of [`DataType`](super::reply::DataType); a hint, never a rule.
    pub data_type: Option<i32>,
}

/// A function or procedure and its arguments.
#[derive(Clone, Debug, Default)]
pub struct ProcedureCall {
    /// `procedure`, `schema.procedure` or `connection.schema.procedure`.
    pub procedure: String,
    /// Arguments by name or by position.
    pub arguments: Vec<Argument>,
    /// Where an unqualified name is looked for first.
    pub default_schema: Option<String>,
    /// The types of the parameters, as listings tell them, of the one overload that is meant;
    /// absent where the arguments are to choose it.
    pub overload: Option<Vec<String>>,
    /// Whether everything that it does is undone at its end.
    pub dry_run: bool,
    /// The workspace that has it; its arguments name nothing that the workspace has not.
    pub within: Option<Within>,
}

/// How much one call may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bounds the statement at the source, which cancels it there.
    pub timeout: Duration,
    /// The reader stops after so many rows; a source may use it to fetch no more.
    pub rows: Option<u64>,
}

impl Limits {
    /// The timeout of a call that names none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
}

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Self::DEFAULT_TIMEOUT, rows: None }
    }
}
