//! All tools of a connection, of any origin: lists them, and resolves calls to operations.

use portico_actors::call::{InstructionsOptions, Limits, Op};
use portico_actors::error::{Error, Result};
use portico_actors::near;
use serde_json::Value;

use super::arguments;
use super::definitions::{DEFINITIONS, Definition};
use super::filter::Filter;
use super::kind::{Operation, Type};
use super::names::distinct;
use super::offer::{Offer, ResolvedCall, caps};
use super::own_tools::OwnTool;
use super::source_tools::{self, SourceTool};
use crate::encode::{Caps, Format, TruncationHint};
use crate::fields::Fields;

/// A tool of a connection, of any origin.
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

    /// Returns the object for `tools/list`, where `left_out` of the tools made from the source are missing.
    fn describe(&self, offers: &[Offer<'_>], left_out: usize) -> Value {
        match self {
            Self::Fixed(tool) => tool.describe(offers, left_out),
            Self::Own(tool) => tool.describe(),
            Self::Made(tool) => tool.describe(),
        }
    }

    /// Resolves a call of it for the connection of `offer`, which has the index `of` among `offers`; `filter`
    /// selects what is listed.
    fn call(
        &self,
        offers: &[Offer<'_>],
        of: usize,
        offer: &Offer<'_>,
        filter: &Filter,
        fields: Fields,
    ) -> Result<ResolvedCall> {
        let op = match self {
            Self::Fixed(tool) => {
                return arguments::resolve(tool.operation, fields, offer, || options(offers, of, offer, filter));
            }
            Self::Own(tool) => tool.call(fields)?,
            Self::Made(tool) => Op::Procedure(tool.call(fields)?),
        };
        // It has its own arguments, and none of them asks for more rows.
        let caps = caps(offer, TruncationHint::Parameters);
        let caps = Caps { rows_bound: caps.rows, ..caps };
        let limits = Limits { rows: Some(caps.rows), ..Limits::default() };
        Ok(ResolvedCall { operation: self.operation(), op, limits, caps, format: Format::Json })
    }
}

/// A tool as it is called at an address.
pub struct ResolvedTool<'a> {
    tool: Tool<'a>,
    /// The index of the offer whose own tool it is; `None` for a tool that every connection has.
    pub of: Option<usize>,
}

impl ResolvedTool<'_> {
    /// Resolves a call with these arguments for the connection with the index `of` among `offers`, at an address
    /// that lists what passes `filter`.
    ///
    /// # Errors
    /// The arguments are wrong, or the caller may not use it.
    pub fn resolve(&self, offers: &[Offer<'_>], of: usize, filter: &Filter, arguments: Fields) -> Result<ResolvedCall> {
        let offer = offers.get(of).ok_or_else(|| Error::internal("bug: a tool belongs to no connection"))?;
        if self.tool.writes() && !offer.may_write() && offer.is_writable() {
            let error =
                Error::forbidden(format!("the tool {} may change data, which needs the scope write", self.tool.name()));
            return Err(error.needs("write"));
        }
        self.tool.call(offers, of, offer, filter, arguments)
    }

    /// Returns its operation.
    pub fn operation(&self) -> Operation {
        self.tool.operation()
    }

    /// Whether it is switched on at the connection of `offer`, which may be one of several.
    pub fn is_on(&self, offer: &Offer<'_>) -> bool {
        offer.passes(self.tool.kind(), self.tool.operation(), self.tool.name())
    }
}

/// Returns the connection's own tools that are not disabled, in their listed order. Those of the source are made
/// lazily: there may be thousands.
fn own_tools<'o, 'a>(offer: &'o Offer<'a>) -> impl Iterator<Item = Tool<'a>> + use<'o, 'a> {
    let make = || offer.profile.map(|profile| source_tools::make(profile, offer.own)).unwrap_or_default();
    let made = std::iter::once_with(make).flatten().map(Tool::Made);
    offer.own.iter().map(Tool::Own).chain(made).filter(|tool| is_there(offer, tool))
}

fn is_there(offer: &Offer<'_>, tool: &Tool<'_>) -> bool {
    offer.has(tool.kind(), tool.operation(), tool.name(), tool.writes())
        // Nor is a procedure that the caller's role may not run.
        && !matches!(tool, Tool::Made(made) if !made.procedure.is_for(offer.role))
}

/// The tools that every connection has and that not all of `offers` have switched off.
fn fixed(offers: &[Offer<'_>]) -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().filter(|tool| offers.iter().any(|offer| is_there(offer, &Tool::Fixed(tool))))
}

/// Returns the own tools of several connections under their names at one address, those of an administrator first.
fn own_of_several<'a>(offers: &[Offer<'a>]) -> Vec<(String, ResolvedTool<'a>)> {
    let all = offers
        .iter()
        .enumerate()
        .flat_map(|(of, offer)| own_tools(offer).map(move |tool| ResolvedTool { tool, of: Some(of) }));
    let mut all: Vec<ResolvedTool<'a>> = all.collect();
    all.sort_by_key(|found| matches!(found.tool, Tool::Made(_)));
    let connection =
        |found: &ResolvedTool<'a>| found.of.and_then(|of| offers.get(of)).map_or("", |offer| offer.connection);
    let things: Vec<(&str, &str)> = all.iter().map(|found| (connection(found), found.tool.name())).collect();
    let names = distinct(&things, fixed_names().map(str::to_owned));
    names.into_iter().zip(all).collect()
}

/// Returns the tools of `offers` that pass `filter`, in their fixed order, each as the object for `tools/list`.
/// Tools made from a source are limited to the number that its connection lists, the first by name, unless `filter`
/// asks for these. `with_schemas` includes output schemas.
pub fn list(offers: &[Offer<'_>], filter: &Filter, with_schemas: bool) -> Vec<Value> {
    let passes = |tool: &Tool<'_>| filter.passes(tool.kind(), tool.operation());
    let may = |offer: &Offer<'_>, tool: &Tool<'_>| offer.may_write() || !tool.writes();
    let may_any = |tool: &Tool<'_>| offers.iter().any(|offer| is_there(offer, tool) && may(offer, tool));
    let mut own: Vec<(String, ResolvedTool<'_>)> = match offers {
        [only] => own_tools(only).map(|tool| (tool.name().to_owned(), ResolvedTool { tool, of: Some(0) })).collect(),
        _ => own_of_several(offers),
    };
    own.retain(|(_, ResolvedTool { tool, of })| {
        passes(tool) && of.and_then(|of| offers.get(of)).is_some_and(|offer| may(offer, tool))
    });
    let (own, made): (Vec<_>, Vec<_>) = own.into_iter().partition(|(_, found)| !matches!(found.tool, Tool::Made(_)));
    let (made, left_out) = if filter.asks_for_source() { (made, 0) } else { first_of_each(offers, made) };
    let fixed = DEFINITIONS.iter().map(Tool::Fixed).filter(|tool| passes(tool) && may_any(tool));
    let mut listed: Vec<Value> = fixed.map(|tool| tool.describe(offers, left_out)).collect();
    for (name, ResolvedTool { tool, of }) in own.into_iter().chain(made) {
        let described = tool.describe(offers, 0);
        listed.push(match (offers, of.and_then(|of| offers.get(of))) {
            ([_, _, ..], Some(offer)) => told_apart(described, &name, offer),
            _ => described,
        });
    }
    if !with_schemas {
        listed.iter_mut().filter_map(Value::as_object_mut).for_each(|tool| drop(tool.shift_remove("outputSchema")));
    }
    listed
}

/// Returns as many of `made` as the connection of each lists, the first by name; and the number of the others.
fn first_of_each<'a>(
    offers: &[Offer<'_>],
    mut made: Vec<(String, ResolvedTool<'a>)>,
) -> (Vec<(String, ResolvedTool<'a>)>, usize) {
    let all = made.len();
    let mut of_each: Vec<usize> = offers.iter().map(|offer| offer.bounds.max_source_tools).collect();
    let is_cut = |(of, most): (usize, &usize)| {
        *most > 0 && made.iter().filter(|(_, found)| found.of == Some(of)).count() > *most
    };
    if !of_each.iter().enumerate().any(is_cut) {
        return (made, 0);
    }
    made.sort_by(|(first, _), (second, _)| first.cmp(second));
    let unbounded: Vec<bool> = of_each.iter().map(|most| *most == 0).collect();
    made.retain(|(_, found)| {
        let Some(of) = found.of else { return true };
        let Some(left) = of_each.get_mut(of) else { return true };
        if unbounded.get(of) == Some(&true) {
            return true;
        }
        let is_listed = *left > 0;
        *left = left.saturating_sub(1);
        is_listed
    });
    let left_out = all - made.len();
    (made, left_out)
}

/// Adds its connection and its unique name to a tool of one of several connections.
fn told_apart(mut tool: Value, name: &str, offer: &Offer<'_>) -> Value {
    let about = tool["description"].as_str().unwrap_or_default();
    let what = if offer.is_workspace { "Workspace" } else { "Connection" };
    tool["description"] = Value::from(format!("{about} ({what} {}.)", offer.connection));
    tool["name"] = Value::from(name);
    tool
}

/// Describes the tools listed to this caller for the connection of `offer`, for `get_instructions`.
fn options(offers: &[Offer<'_>], of: usize, offer: &Offer<'_>, filter: &Filter) -> InstructionsOptions {
    let fixed = DEFINITIONS.iter().filter(|tool| tool.is_there(offer) && (offer.may_write() || !tool.writes()));
    let fixed = fixed.filter(|tool| filter.passes(tool.kind(), tool.operation));
    InstructionsOptions {
        max_rows: offer.bounds.rows(),
        max_bytes: offer.bounds.bytes(),
        tokens: offer.instructions_tokens,
        lookup_rows: offer.lookup_rows,
        tools: fixed.map(Definition::name).collect(),
        own_tools: administrators(offers, of, offer, filter),
    }
}

/// Returns the administrator's own tools of the connection of `offer` that its caller may use and that pass
/// `filter`: their names at this address, and their purpose.
fn administrators(offers: &[Offer<'_>], of: usize, offer: &Offer<'_>, filter: &Filter) -> Vec<(String, String)> {
    let may = |tool: &OwnTool| offer.may_write() || !tool.writes();
    let told = |name: String, tool: &Tool<'_>| match tool {
        Tool::Own(tool) if may(tool) && filter.passes(Type::Sql, tool.operation()) => {
            Some((name, tool.description.clone()))
        }
        _ => None,
    };
    match offers {
        [only] => {
            let own = only.own.iter().map(Tool::Own).filter(|tool| is_there(only, tool));
            own.filter_map(|tool| told(tool.name().to_owned(), &tool)).collect()
        }
        _ => {
            let own = own_of_several(offers).into_iter().filter(|(_, found)| found.of == Some(of));
            own.filter_map(|(name, found)| told(name, &found.tool)).collect()
        }
    }
}

/// Finds the tool with the name `name` at the address of `offers`.
///
/// # Errors
/// [`Kind::NotFound`](portico_actors::error::Kind::NotFound): there is no such tool here.
pub fn find<'a>(offers: &[Offer<'a>], name: &str) -> Result<ResolvedTool<'a>> {
    if let Some(tool) = fixed(offers).find(|tool| tool.name() == name) {
        return Ok(ResolvedTool { tool: Tool::Fixed(tool), of: None });
    }
    let (found, here) = match offers {
        [only] => {
            let tool = own_tools(only).find(|tool| tool.name() == name);
            (tool.map(|tool| ResolvedTool { tool, of: Some(0) }), "on this connection")
        }
        _ => {
            let found = own_of_several(offers).into_iter().find(|(known, _)| known == name);
            (found.map(|(_, found)| found), "here")
        }
    };
    found.ok_or_else(|| {
        let error = Error::not_found(format!("there is no tool {name:?} {here}"));
        if DEFINITIONS.iter().any(|tool| tool.writes() && tool.name() == name) && !offers.iter().any(Offer::is_writable)
        {
            return error.hint("what is here is read-only; an administrator can change that: access = \"read-write\"");
        }
        let fixed = fixed(offers).map(|tool| tool.name().to_owned());
        let own: Vec<String> = match offers {
            [only] => own_tools(only).map(|tool| tool.name().to_owned()).collect(),
            _ => own_of_several(offers).into_iter().map(|(name, _)| name).collect(),
        };
        let known: Vec<String> = fixed.chain(own).collect();
        let hint = near::suggestion(name, known.iter().map(String::as_str));
        error.hint(hint.unwrap_or_else(|| "tools/list lists what there is".to_owned()))
    })
}

/// Returns the names of the tools that run a statement or a procedure of the caller's.
pub fn executing_names() -> impl Iterator<Item = &'static str> {
    fixed_names().filter(|name| name.starts_with("execute_"))
}

/// The names of the tools that every connection has.
pub fn fixed_names() -> impl Iterator<Item = &'static str> {
    DEFINITIONS.iter().map(Definition::name)
}
