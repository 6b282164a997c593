//! The catalogue of tools: what a caller of one connection may use, filtered, listed and resolved
//! to operations. A tool is a row in a table; no protocol is known here.

pub(crate) mod arguments;
mod definitions;
mod filter;
mod own_tools;
mod parameters;
mod source_tools;
mod switches;

use std::time::Duration;

use portico_actors::call::{Briefing, Limits, Op};
use portico_actors::error::{Error, Result};
use portico_actors::near;
use portico_actors::principal::{Principal, Scope};
use portico_actors::source::{Access, Profile};
use serde_json::{Value, json};

use crate::encode::{Caps, Format, Rest};
use crate::fields::Fields;
use definitions::{DEFINITIONS, Definition};
pub use filter::{Filter, OPERATIONS, TYPES};
pub use own_tools::OwnTool;
use source_tools::SourceTool;
pub use switches::Switches;

/// Where a tool comes from; the words of the `tools` query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Made by Portico for every connection.
    Universal,
    /// Runs SQL text.
    Sql,
    /// Made from a procedure of the source.
    Source,
}

/// What a tool does; the words of the `ops` query parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the words are the documentation: wire.md §3
pub enum Operation {
    GetCatalogs,
    GetSchemas,
    GetTables,
    GetColumns,
    GetProcedures,
    GetProcedureParameters,
    GetInstructions,
    ExecuteProcedure,
    ExecuteSql,
    ExecuteSelect,
    ExecuteInsert,
    ExecuteUpdate,
}

impl Operation {
    /// The word of the `ops` query parameter.
    pub fn word(self) -> &'static str {
        OPERATIONS.iter().find(|(_, operation)| *operation == self).map_or("", |(word, _)| word)
    }
}

/// The connection and the caller that a catalogue is made for.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    /// The connection's name.
    pub connection: &'a str,
    /// Whether the connection may write at all.
    pub access: Access,
    /// What the source said of itself, once it was up.
    pub profile: Option<&'a Profile>,
    /// The caller.
    pub by: &'a Principal,
    /// The caller's role in the database, where callers have any.
    pub role: Option<&'a str>,
    /// What an administrator switched off.
    pub switches: &'a Switches,
    /// The administrator's own tools.
    pub own: &'a [OwnTool],
    /// Rows of a result at most.
    pub max_rows: u64,
    /// Bytes of a result at most.
    pub max_bytes: usize,
}

/// A call of a tool, understood.
#[derive(Debug)]
pub struct Resolved {
    /// What the tool does, in one word.
    pub operation: Operation,
    /// What to ask of the connection.
    pub op: Op,
    /// How much may be spent on it.
    pub limits: Limits,
    /// How much of the result is read.
    pub caps: Caps,
    /// The form of the text block.
    pub format: Format,
}

/// Why a call of a tool was not understood.
#[derive(Debug)]
pub enum Unresolved {
    /// There is no such tool here, or it is disabled.
    Unknown(Error),
    /// The arguments are wrong, or the caller may not use it.
    Refused(Error),
}

impl Offer<'_> {
    fn writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Whether the caller may write here.
    pub fn may_write(&self) -> bool {
        self.writable() && self.by.may(Scope::Write)
    }
}

/// One tool of a connection, wherever it comes from.
enum Tool<'a> {
    Fixed(&'static Definition),
    Own(&'a OwnTool),
    Made(SourceTool<'a>),
}

impl Tool<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Fixed(tool) => tool.name,
            Self::Own(tool) => &tool.name,
            Self::Made(tool) => &tool.name,
        }
    }

    fn kind(&self) -> Type {
        match self {
            Self::Fixed(tool) => tool.kind,
            Self::Own(_) => Type::Sql,
            Self::Made(_) => Type::Source,
        }
    }

    fn operation(&self) -> Operation {
        match self {
            Self::Fixed(tool) => tool.operation,
            Self::Own(tool) => tool.operation(),
            Self::Made(_) => Operation::ExecuteProcedure,
        }
    }

    fn writes(&self) -> bool {
        match self {
            Self::Fixed(tool) => tool.writes,
            Self::Own(tool) => tool.writes(),
            Self::Made(tool) => !tool.procedure.reads_only,
        }
    }

    fn describe(&self, offer: &Offer<'_>) -> Value {
        match self {
            Self::Fixed(tool) => tool.describe(offer),
            Self::Own(tool) => tool.describe(),
            Self::Made(tool) => tool.describe(),
        }
    }

    fn call(&self, offer: &Offer<'_>, fields: Fields) -> Result<Resolved> {
        let op = match self {
            Self::Fixed(tool) => return arguments::resolve(tool.operation, fields, offer),
            Self::Own(tool) => tool.call(fields)?,
            Self::Made(tool) => Op::Procedure(tool.call(fields)?),
        };
        let limits = Limits { rows: Some(offer.max_rows), ..Limits::default() };
        let caps = caps(offer, Rest::Parameters);
        Ok(Resolved { operation: self.operation(), op, limits, caps, format: Format::Json })
    }
}

/// Every tool of the connection that is not switched off, in the order in which they are listed.
/// Those of the source are made when it comes to them: there may be thousands.
fn catalogue<'o, 'a>(offer: &'o Offer<'a>) -> impl Iterator<Item = Tool<'a>> + use<'o, 'a> {
    let make = || offer.profile.map(|profile| source_tools::make(profile, offer.own)).unwrap_or_default();
    let made = std::iter::once_with(make).flatten().map(Tool::Made);
    configured(offer).chain(made.filter(|tool| is_there(offer, tool)))
}

/// Those among them that do not come from the source.
fn configured<'o, 'a>(offer: &'o Offer<'a>) -> impl Iterator<Item = Tool<'a>> + use<'o, 'a> {
    let tools = DEFINITIONS.iter().map(Tool::Fixed).chain(offer.own.iter().map(Tool::Own));
    tools.filter(|tool| is_there(offer, tool))
}

fn is_there(offer: &Offer<'_>, tool: &Tool<'_>) -> bool {
    offer.switches.pass(tool.kind(), tool.operation(), tool.name())
        // What writes does not exist where nothing can be written.
        && (offer.writable() || !tool.writes())
        // Nor does a procedure that the caller's role may not run.
        && !matches!(tool, Tool::Made(made) if !made.procedure.is_for(offer.role))
}

/// The tools that `offer` holds and `filter` lets through, in their fixed order, each as the
/// object that `tools/list` shows.
pub fn list(offer: &Offer<'_>, filter: &Filter) -> Vec<Value> {
    let may_write = offer.may_write();
    catalogue(offer)
        .filter(|tool| filter.passes(tool.kind(), tool.operation()) && (may_write || !tool.writes()))
        .map(|tool| tool.describe(offer))
        .collect()
}

/// Understands a call of the tool `name`.
pub fn resolve(offer: &Offer<'_>, name: &str, arguments: Option<&str>) -> Result<Resolved, Unresolved> {
    let Some(tool) = catalogue(offer).find(|tool| tool.name() == name) else {
        let tools: Vec<Tool<'_>> = catalogue(offer).collect();
        let error = Error::not_found(format!("there is no tool {name:?} on this connection"));
        let offered = near::nearest(name, tools.iter().map(Tool::name));
        return Err(Unresolved::Unknown(match near::did_you_mean(&offered) {
            Some(hint) => error.hint(hint),
            None => error.hint("tools/list lists what there is"),
        }));
    };
    if tool.writes() && !offer.may_write() {
        let error = Error::forbidden(format!("the tool {name} may change data, which needs the scope write"));
        return Err(Unresolved::Refused(error.needs("write")));
    }
    let fields = parse(arguments)?;
    tool.call(offer, fields).map_err(Unresolved::Refused)
}

/// The names of the tools that run statements or procedures and are not switched off.
fn executing(offer: &Offer<'_>) -> Vec<&'static str> {
    let names = configured(offer).filter_map(|tool| if let Tool::Fixed(tool) = tool { Some(tool.name) } else { None });
    names.filter(|name| name.starts_with("execute_")).collect()
}

/// What `get_instructions` says of the tools that this caller is offered.
fn briefing(offer: &Offer<'_>) -> Briefing {
    let tools: Vec<Tool<'_>> = configured(offer).filter(|tool| offer.may_write() || !tool.writes()).collect();
    Briefing {
        max_rows: offer.max_rows,
        max_bytes: offer.max_bytes,
        tools: tools
            .iter()
            .filter_map(|tool| if let Tool::Fixed(tool) = tool { Some(tool.name) } else { None })
            .collect(),
        own_tools: tools
            .iter()
            .filter_map(|tool| match tool {
                Tool::Own(tool) => Some((tool.name.clone(), tool.description.clone())),
                _ => None,
            })
            .collect(),
    }
}

/// The names of the tools that every connection has.
pub fn fixed_names() -> impl Iterator<Item = &'static str> {
    DEFINITIONS.iter().map(|tool| tool.name)
}

fn parse(arguments: Option<&str>) -> Result<Fields, Unresolved> {
    match arguments {
        None => Ok(Fields::default()),
        Some(text) => Fields::parse(text, "arguments").map_err(Unresolved::Refused),
    }
}

fn caps(offer: &Offer<'_>, rest: Rest) -> Caps {
    Caps { rows: offer.max_rows, bytes: offer.max_bytes, rows_bound: offer.max_rows, rest }
}

/// The bounds of a call's `timeout`, in seconds (`wire.md` §5).
pub const TIMEOUT_SECONDS: std::ops::RangeInclusive<u64> = 1..=300;

/// The `timeout` member, or its default.
pub fn timeout(fields: &mut Fields) -> Result<Duration> {
    Ok(fields.integer("timeout", TIMEOUT_SECONDS)?.map_or(Limits::DEFAULT_TIMEOUT, Duration::from_secs))
}

/// What tools say of themselves so that clients can ask before something is changed.
fn annotations(title: &str, reads_only: bool, destructive: bool, idempotent: bool) -> Value {
    json!({
        "title": title,
        "readOnlyHint": reads_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": false,
    })
}

/// The schema that every tabular result satisfies.
fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "columns": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                    "required": ["name", "type"],
                },
            },
            "rows": {"type": "array", "items": {"type": "array"}},
            "rowCount": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "affectedRows": {"type": "integer", "description": "Rows changed; -1 for a statement that only returns rows"},
            "hint": {"type": "string", "description": "What was left out and how to get it, when truncated"},
        },
        "required": ["columns", "rows", "rowCount", "truncated", "affectedRows"],
    })
}
