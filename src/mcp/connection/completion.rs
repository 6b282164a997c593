//! Completions of connections (MCP, server/utilities/completion): names of schemas, tables and
//! procedures for the template of resources and for the arguments of prompts.

use portico_actors::call::{MetadataFilter, MetadataKind};
use portico_actors::pattern::literal;
use portico_actors::source::table_search;

use super::prompts;
use crate::config::Completes;
use crate::mcp::connection::resources::{rows, template};
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::{RpcError, invalid_params};
use crate::mcp::features::{CompletionRequest, CompletionTarget};
use crate::mcp::target::Catalog;

/// Names that are counted at most.
const MOST_COUNTED: u64 = 10_000;

/// Returns the values that complete the typed text.
pub(in crate::mcp) async fn values(
    context: &Context<'_>,
    completion: CompletionRequest,
    summary: &mut Summary,
) -> Result<Vec<String>, RpcError> {
    let CompletionRequest { reference, argument: name, begun, mut known } = completion;
    let (source, catalog) = match reference {
        CompletionTarget::Resource(uri) => {
            let known = context.target.catalogs().into_iter().find(|it| uri == template(it.name()));
            let catalog = known.ok_or_else(|| {
                invalid_params("ref.uri: resources/templates/list has the one template of each connection")
            })?;
            let source = match name.as_str() {
                "schemaName" => Some(Completes::Schemas),
                "tableName" => Some(Completes::Tables),
                _ => return Err(invalid_params("argument.name: the template has schemaName and tableName")),
            };
            (source, catalog)
        }
        CompletionTarget::Prompt(prompt) => {
            let (prompt, member) = prompts::find(context, &prompt)?;
            let argument = prompt.arguments.iter().find(|argument| argument.name == name);
            let argument = argument.ok_or_else(|| invalid_params("argument.name: the prompt has no such argument"))?;
            if let Some(values) = &argument.values {
                let fits = |value: &&String| value.to_lowercase().starts_with(&begun.to_lowercase());
                return Ok(values.iter().filter(fits).cloned().collect());
            }
            (argument.completes, Catalog::Connection(member))
        }
    };
    let schema = known.remove("schemaName");
    let schema_narrow = schema.as_deref().map(literal);
    let (metadata, column, narrow) = match source {
        None => return Ok(Vec::new()),
        Some(Completes::Schemas) => (MetadataKind::Schemas, 1, MetadataFilter::default()),
        Some(Completes::Tables) => {
            (MetadataKind::Tables, 2, MetadataFilter { schema: schema_narrow, ..MetadataFilter::default() })
        }
        Some(Completes::Procedures) => {
            (MetadataKind::Procedures, 2, MetadataFilter { schema: schema_narrow, ..MetadataFilter::default() })
        }
    };
    let rows = rows(context, catalog, metadata, narrow, MOST_COUNTED, summary).await?;
    let names: Vec<String> = rows.iter().filter_map(|row| row[column].as_str().map(str::to_owned)).collect();
    // Overloads share a name, and so may tables of several schemas: each is listed once.
    Ok(table_search::completions(&begun, names))
}
