//! Which tools a caller is told of elsewhere than in the list: in hints and in the instructions.

use portico_actors::call::Briefing;

use super::definitions::{DEFINITIONS, Definition};
use super::kind::Type;
use super::offer::Offer;

/// The tools that every connection has, as far as they are not switched off on this one.
fn fixed(offer: &Offer<'_>) -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().filter(|tool| offer.has(tool.kind(), tool.operation, tool.name(), tool.writes()))
}

/// The names of the tools that run statements or procedures and are not switched off.
pub(super) fn executing(offer: &Offer<'_>) -> Vec<&'static str> {
    fixed(offer).map(Definition::name).filter(|name| name.starts_with("execute_")).collect()
}

/// What `get_instructions` says of the tools that this caller is offered.
pub(super) fn briefing(offer: &Offer<'_>) -> Briefing {
    let is_allowed = |writes: bool| offer.may_write() || !writes;
    let own = offer
        .own
        .iter()
        .filter(|tool| offer.has(Type::Sql, tool.operation(), &tool.name, tool.writes()) && is_allowed(tool.writes()));
    Briefing {
        max_rows: offer.max_rows,
        max_bytes: offer.max_bytes,
        tools: fixed(offer).filter(|tool| is_allowed(tool.writes())).map(Definition::name).collect(),
        own_tools: own.map(|tool| (tool.name.clone(), tool.description.clone())).collect(),
    }
}
