//! Every tool of a connection, wherever it comes from: listed, and resolved to operations.

use portico_actors::call::{Limits, Op};
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde_json::Value;

use super::arguments;
use super::definitions::{DEFINITIONS, Definition};
use super::filter::Filter;
use super::kind::{Operation, Type};
use super::offer::{Offer, Resolved, caps};
use super::own_tools::OwnTool;
use super::source_tools::{self, SourceTool};
use crate::encode::{Format, Rest};
use crate::fields::Fields;

/// One tool of a connection, wherever it comes from.
enum Tool<'a> {
    Fixed(&'static Definition),
    Own(&'a OwnTool),
    Made(SourceTool<'a>),
}

impl Tool<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Fixed(tool) => tool.name(),
            Self::Own(tool) => &tool.name,
            Self::Made(tool) => &tool.name,
        }
    }

    fn kind(&self) -> Type {
        match self {
            Self::Fixed(tool) => tool.kind(),
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
            Self::Fixed(tool) => tool.writes(),
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
    let configured = DEFINITIONS.iter().map(Tool::Fixed).chain(offer.own.iter().map(Tool::Own));
    configured.chain(made).filter(|tool| is_there(offer, tool))
}

fn is_there(offer: &Offer<'_>, tool: &Tool<'_>) -> bool {
    offer.has(tool.kind(), tool.operation(), tool.name(), tool.writes())
        // Nor is a procedure that the caller's role may not run.
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
///
/// # Errors
/// [`Kind::NotFound`](portico_actors::error::Kind::NotFound): there is no such tool here. Others: the arguments are
/// wrong, or the caller may not use it.
pub fn resolve(offer: &Offer<'_>, name: &str, arguments: Option<&str>) -> Result<Resolved> {
    let Some(tool) = catalogue(offer).find(|tool| tool.name() == name) else {
        let tools: Vec<Tool<'_>> = catalogue(offer).collect();
        let hint = near::did_you_mean(&near::nearest(name, tools.iter().map(Tool::name)));
        return Err(Error::not_found(format!("there is no tool {name:?} on this connection"))
            .hint(hint.unwrap_or_else(|| "tools/list lists what there is".to_owned())));
    };
    if tool.writes() && !offer.may_write() {
        let error = Error::forbidden(format!("the tool {name} may change data, which needs the scope write"));
        return Err(error.needs("write"));
    }
    let fields = arguments.map_or_else(|| Ok(Fields::default()), |text| Fields::parse(text, "arguments"));
    tool.call(offer, fields?)
}

/// The names of the tools that every connection has.
pub fn fixed_names() -> impl Iterator<Item = &'static str> {
    DEFINITIONS.iter().map(Definition::name)
}
