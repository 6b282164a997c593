//! `completion/complete` (MCP, server/utilities/completion): names of schemas, tables and
//! procedures for the template of resources and for the arguments of prompts.

use portico_actors::call::{Facet, Narrow};
use serde_json::{Value, json};

use super::envelope::{Failure, Standing};
use super::resources::{literal, rows, template, wrong};
use super::{Context, Summary, prompts};
use crate::config::Completes;
use crate::fields::Fields;

/// Values of one answer at most, as the protocol bounds them.
const MOST: usize = 100;
/// Names that are counted at most.
const MOST_COUNTED: u64 = 10_000;

/// The result of `completion/complete`.
pub(super) async fn complete(
    context: &Context<'_>,
    params: Option<&str>,
    summary: &mut Summary,
) -> Result<String, Failure> {
    let refuse = |message: &str| Failure::params(message, Standing::Answered);
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let mut object = |name: &'static str| fields.take(name).and_then(|raw| Fields::parse(raw.get(), name).ok());
    let (reference, argument, known) = (object("ref"), object("argument"), object("context"));
    let mut reference = reference.ok_or_else(|| refuse("ref: give an object with type and name or uri"))?;
    let mut argument = argument.ok_or_else(|| refuse("argument: give an object with name and value"))?;
    let name = argument.required("name").map_err(wrong)?;
    let begun = argument.required("value").map_err(wrong)?;
    let mut known = known
        .and_then(|mut known| Fields::parse(known.take("arguments")?.get(), "context.arguments").ok())
        .unwrap_or_default();
    let source = match reference.required("type").map_err(wrong)?.as_str() {
        "ref/resource" => {
            if reference.required("uri").map_err(wrong)? != template(&context.entry.name) {
                return Err(refuse("ref.uri: resources/templates/list has the one template of this connection"));
            }
            match name.as_str() {
                "schemaName" => Some(Completes::Schemas),
                "tableName" => Some(Completes::Tables),
                _ => return Err(refuse("argument.name: the template has schemaName and tableName")),
            }
        }
        "ref/prompt" => {
            let prompt = prompts::find(context, &reference.required("name").map_err(wrong)?)?;
            let argument = prompt.arguments.iter().find(|argument| argument.name == name);
            argument.ok_or_else(|| refuse("argument.name: the prompt has no such argument"))?.completes.clone()
        }
        _ => return Err(refuse("ref.type: give \"ref/resource\" or \"ref/prompt\"")),
    };
    let schema = known.string("schemaName").map_err(wrong)?;
    let begins = Some(format!("{}%", literal(&begun)));
    let schema_narrow = schema.as_deref().map(literal);
    let (facet, column, narrow) = match source {
        None => return Ok(answer(Vec::new())),
        Some(Completes::Values(values)) => {
            let fits = |value: &String| value.to_lowercase().starts_with(&begun.to_lowercase());
            return Ok(answer(values.into_iter().filter(fits).collect()));
        }
        Some(Completes::Schemas) => (Facet::Schemas, 1, Narrow { schema: begins, ..Narrow::default() }),
        Some(Completes::Tables) => {
            (Facet::Tables, 2, Narrow { schema: schema_narrow, table: begins, ..Narrow::default() })
        }
        Some(Completes::Procedures) => {
            (Facet::Procedures, 2, Narrow { schema: schema_narrow, procedure: begins, ..Narrow::default() })
        }
    };
    let rows = rows(context, facet, narrow, MOST_COUNTED, summary).await?;
    let mut names: Vec<String> = rows.iter().filter_map(|row| row[column].as_str().map(str::to_owned)).collect();
    // Overloads share a name, and so may tables of several schemas.
    names.sort();
    names.dedup();
    Ok(answer(names))
}

fn answer(mut values: Vec<String>) -> String {
    let total = values.len();
    values.truncate(MOST);
    let completion: Value = json!({"values": values, "total": total, "hasMore": total > MOST});
    json!({"completion": completion}).to_string()
}
