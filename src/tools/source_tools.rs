//! Tools made from the source itself: one for each procedure, typed by its parameters.

use std::collections::HashSet;

use portico_actors::call::ProcedureCall;
use portico_actors::error::Result;
use portico_actors::source::{Procedure, Profile};
use serde_json::Value;

use super::definitions::DEFINITIONS;
use super::names::unique;
use super::own_tools::OwnTool;
use super::parameters;
use super::schema::tool;
use crate::fields::Fields;

/// A procedure under the name of its tool.
pub(super) struct SourceTool<'a> {
    pub(super) name: String,
    pub(super) procedure: &'a Procedure,
}

/// PostgreSQL's pseudo-types for arbitrary types (§8.21): the actual type is known only in a call, so that no
/// schema can state it. Other types cannot have these names without their schema.
const POLYMORPHIC: [&str; 12] = [
    "\"any\"",
    "anyarray",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblemultirange",
    "anycompatiblenonarray",
    "anycompatiblerange",
    "anyelement",
    "anyenum",
    "anymultirange",
    "anynonarray",
    "anyrange",
];

/// Whether a call can be made with typed arguments alone. A bare `record`, given or returned, would
/// need a list of its columns.
fn is_typed(procedure: &Procedure) -> bool {
    let untyped = |name: &str| POLYMORPHIC.contains(&name) || name == "record";
    !procedure.parameters.iter().any(|parameter| untyped(&parameter.type_name))
}

/// One tool a procedure, in the profile's order. A name is the procedure's own, behind its schema
/// unless that is the default one, and made unique by a number.
pub(super) fn make<'a>(profile: &'a Profile, own: &[OwnTool]) -> Vec<SourceTool<'a>> {
    let fixed = DEFINITIONS.iter().map(|tool| tool.name().to_owned());
    let mut taken: HashSet<String> = fixed.chain(own.iter().map(|tool| tool.name.clone())).collect();
    profile
        .procedures
        .iter()
        .filter(|procedure| is_typed(procedure))
        .map(|procedure| {
            let own = match &profile.default_schema {
                Some(default) if *default != procedure.schema => format!("{}_{}", procedure.schema, procedure.name),
                _ => procedure.name.clone(),
            };
            let base: String = own
                .chars()
                .map(|each| if each.is_ascii_alphanumeric() || "_-".contains(each) { each } else { '_' })
                .collect();
            SourceTool { name: unique(&base, &mut taken), procedure }
        })
        .collect()
}

impl SourceTool<'_> {
    /// The object that `tools/list` shows.
    pub(super) fn describe(&self) -> Value {
        let procedure = self.procedure;
        let about = procedure.remarks.clone().unwrap_or_else(|| {
            format!("Calls the procedure {}.{} and returns its result.", procedure.schema, procedure.name)
        });
        let (writes, input) = (!procedure.reads_only, parameters::input_schema(&procedure.parameters));
        tool(&self.name, &procedure.name, &about, input, writes, writes)
    }

    /// Returns the procedure call of the tool.
    pub(super) fn call(&self, fields: Fields) -> Result<ProcedureCall> {
        let arguments = parameters::arguments(&self.procedure.parameters, fields)?;
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let procedure = format!("{}.{}", quoted(&self.procedure.schema), quoted(&self.procedure.name));
        // The tool is for one overload, whatever others accept these arguments.
        let overload = Some(self.procedure.signature());
        Ok(ProcedureCall { procedure, arguments, overload, ..ProcedureCall::default() })
    }
}
