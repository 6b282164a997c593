//! `[connections.disabled]`, `[connections.exposed]` and `[connections.hidden]`: what a connection
//! does not offer, and what of its source exists for callers.

use portico_actors::near;
use portico_actors::source::{Declared, Exposure, Names};

use super::problem::Problem;
use super::section::Section;
use crate::tools::{self, OPERATIONS, OwnTool, Switches, TYPES};

/// `[connections.disabled]`. `procedures` are all that the source has, where that is known.
pub(super) fn disabled(
    connection: &mut Section<'_>,
    own: &[OwnTool],
    procedures: Option<&[Declared]>,
    problems: &mut Vec<Problem>,
) -> Switches {
    let mut section = connection.section("disabled", problems);
    let types = section.words("types", &TYPES, problems).unwrap_or_default();
    let operations = section.words("operations", &OPERATIONS, problems).unwrap_or_default();
    let tools = section.strings("tools", problems).unwrap_or_default();
    if let Some(procedures) = procedures {
        let mut known: Vec<&str> = tools::fixed_names().collect();
        known.extend(own.iter().map(|tool| tool.name.as_str()));
        known.extend(procedures.iter().map(|declared| declared.procedure.name.as_str()));
        for tool in tools.iter().filter(|tool| !known.contains(&tool.as_str())) {
            let offered = near::did_you_mean(&near::nearest(tool, known.iter().copied()));
            let remedy = offered.unwrap_or_else(|| "write the name that tools/list shows".to_owned());
            section.problem("tools", format!("this connection has no tool {tool:?}"), &remedy, problems);
        }
    }
    section.finish(problems);
    Switches { types, operations, tools }
}

/// `[connections.exposed]` and `[connections.hidden]`.
pub(super) fn exposure(connection: &mut Section<'_>, problems: &mut Vec<Problem>) -> Exposure {
    let mut exposed = connection.section("exposed", problems);
    let mut hidden = connection.section("hidden", problems);
    let mut names = |key: &'static str| Names {
        // An empty list shows nothing: only a list that is not there shows all.
        shown: patterns(&mut exposed, key, problems),
        hidden: patterns(&mut hidden, key, problems).unwrap_or_default(),
    };
    let exposure = Exposure { schemas: names("schemas"), tables: names("tables"), procedures: names("procedures") };
    exposed.finish(problems);
    hidden.finish(problems);
    exposure
}

fn patterns(section: &mut Section<'_>, key: &'static str, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
    let patterns = section.strings(key, problems)?;
    if patterns.iter().any(String::is_empty) {
        let remedy = "write a name, or a LIKE pattern such as \"order%\"";
        section.problem(key, "an empty text is no name".to_owned(), remedy, problems);
    }
    Some(patterns)
}
