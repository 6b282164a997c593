//! The features of configured connections: the tools of their catalogues, their tables as resources, and the
//! administrator's prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use portico_actors::error::{Error, Kind};
use portico_actors::reply::Reply;
use portico_actors::source::digest::TextCache;
use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::ask::ask;
use super::plan::RoutedCall;
use super::{completion, greeting, instructions, offers, plan, prompts, resources, workspace};
use crate::encode::{self, ToolResult};
use crate::fields::Fields;
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::{self, RpcError, params_error};
use crate::mcp::features::{
    CompletionRequest, Digests, FeatureRequest, Features, RequestError, RequestResult, ToolList, ToolListCache,
    ToolListKey, ToolOutcome, UNKNOWN_DIGEST, digest, structured, tool_result,
};
use crate::mcp::logging::Level;
use crate::mcp::model::present;
use crate::mcp::target::{Target, TargetConnection};
use crate::tools::{self, Operation, ResolvedCall};

/// The features of every configured connection; which one or which ones it is, the context says.
#[derive(Debug, Default)]
pub struct ConnectionFeatures {
    listings: ToolListCache,
    /// Instructions of workspaces.
    workspaces: TextCache<workspace::WorkspaceInstructionsKey>,
}

#[async_trait(?Send)]
impl Features for ConnectionFeatures {
    fn capabilities(&self) -> Value {
        json!({
            "tools": {"listChanged": true},
            "resources": {"listChanged": true},
            "prompts": {"listChanged": true},
            "completions": {},
            "logging": {},
        })
    }

    fn instructions(&self, context: &Context<'_>) -> String {
        greeting::write(context)
    }

    fn tools(&self, context: &Context<'_>) -> Arc<ToolList> {
        let with_schemas = structured::is_declared(context);
        offers::with(context, |offers| {
            let list = || tools::list(offers, context.filter, with_schemas).into_iter().collect();
            // The list for a workspace depends on several connections.
            if matches!(context.target, Target::Workspace(_)) || !offers::own_workspaces(context.target).is_empty() {
                return Arc::new(list());
            }
            let settings = context.target.members().iter().map(|member| &member.settings);
            let key = ToolListKey::new(settings.zip(offers), context.filter, with_schemas);
            self.listings.get(key, list)
        })
    }

    async fn call(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome> {
        call(context, &self.workspaces, &asked, summary).await.map(ToolOutcome::Complete)
    }

    async fn resources(&self, context: &Context<'_>, summary: &mut Summary) -> RequestResult<Vec<Value>> {
        Ok(resources::list(context, summary).await?)
    }

    fn templates(&self, context: &Context<'_>) -> Vec<Value> {
        context.target.catalogs().into_iter().map(resources::template_item).collect()
    }

    async fn read(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome> {
        Ok(ToolOutcome::Complete(resources::read(context, &asked.name, summary).await?))
    }

    fn prompts(&self, context: &Context<'_>) -> Vec<Value> {
        prompts::list(context)
    }

    async fn prompt(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        arguments: BTreeMap<String, String>,
    ) -> RequestResult<ToolOutcome> {
        Ok(ToolOutcome::Complete(prompts::get(context, &asked.name, &arguments)?))
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        completion: CompletionRequest,
        summary: &mut Summary,
    ) -> RequestResult<Vec<String>> {
        Ok(completion::values(context, completion, summary).await?)
    }

    fn digests(&self, context: &Context<'_>) -> Digests {
        let known = |member: &TargetConnection| Some((member.entry.id, digest(&member.entry.profile()?.tables)));
        let known: Vec<(Uuid, u64)> = context.target.connections().iter().filter_map(known).collect();
        let tables = match known.as_slice() {
            [] => UNKNOWN_DIGEST,
            [(_, tables)] if context.target.named().is_some() => *tables,
            // Unavailable connections are not listed.
            several => digest(&several),
        };
        // They change with the configuration.
        let prompts: Vec<String> = self.prompts(context).iter().map(Value::to_string).collect();
        // In the order of `ListKind::ALL`.
        [self.tools(context).digest, tables, digest(&prompts)]
    }
}

async fn call(
    context: &Context<'_>,
    kept: &TextCache<workspace::WorkspaceInstructionsKey>,
    asked: &FeatureRequest,
    summary: &mut Summary,
) -> RequestResult<String> {
    let arguments = asked.arguments.as_deref();
    let mut fields = arguments.map_or_else(|| Ok(Fields::default()), |text| Fields::parse(text, "arguments"));
    if let (Target::All(all), Ok(fields)) = (context.target, &mut fields)
        && let Some(it) = plan::workspace(all, &asked.name, fields)
    {
        // A call that names a workspace is handled as one at the workspace's own address.
        let target = Target::Workspace(Box::new(it.clone()));
        let fields = Ok(std::mem::take(fields));
        let context = Context { target: &target, ..context.clone() };
        return Box::pin(carry_out(&context, kept, asked, fields, summary)).await;
    }
    carry_out(context, kept, asked, fields, summary).await
}

async fn carry_out(
    context: &Context<'_>,
    kept: &TextCache<workspace::WorkspaceInstructionsKey>,
    asked: &FeatureRequest,
    mut fields: Result<Fields, Error>,
    summary: &mut Summary,
) -> RequestResult<String> {
    let started = Instant::now();
    let addressing = match &mut fields {
        Ok(fields) => plan::addressing(context, &asked.name, fields).await,
        Err(_) => Ok(None),
    };
    let plan = offers::with(context, |offers| {
        let found = tools::find(offers, &asked.name).map_err(|error| {
            if let (Target::Workspace(it), true) = (context.target, tools::fixed_names().any(|it| it == asked.name)) {
                let name = &it.reachable.workspace.name;
                let message =
                    format!("the tool {} is not available in the workspace {name}, which is read-only", asked.name);
                return failed(Error::forbidden(message).hint("write to one of the connections by itself"), summary);
            }
            summary.failure = Some(Kind::NotFound);
            RequestError::from(params_error(error))
        })?;
        let plan = fields.and_then(|fields| plan::plan(context, offers, &found, addressing?, fields));
        plan.map_err(|error| failed(error, summary))
    })?;
    summary.asked = Some(started.into_std());
    let (resolved, whom) = match plan {
        RoutedCall::Ask(resolved, whom) => (resolved, whom),
        RoutedCall::Instructions(each) => {
            summary.operation = Some(Operation::GetInstructions.as_str());
            let text = instructions::write(context, kept, each, summary).await;
            return Ok(tool_result::instructions(&text, structured::is_sent(context)));
        }
    };
    let ResolvedCall { operation, op, limits, caps, format } = resolved;
    summary.operation = Some(operation.as_str());
    let (reply, logger) = ask(context, kept, whom, op, limits, summary).await;
    let table = match reply {
        Ok(Reply::Text(text)) => return Ok(tool_result::instructions(&text, structured::is_sent(context))),
        Ok(Reply::Results(results)) => {
            summary.class = results.class;
            let queued = results.queued;
            let read = |rows, octets| {
                context.request.progress.read(rows);
                context.request.prepare(octets)
            };
            let table = encode::read_tool_result(results, caps, format, read).await;
            summary.queued = Some(queued);
            summary.source = Some(started.elapsed().saturating_sub(queued));
            table
        }
        Err(error) => Err(error),
    };
    tell_end(context, asked, &logger, &table, started);
    let table = table.map_err(|error| failed(error, summary))?;
    summary.rows = table.rows;
    if let Some(missing) = &table.missing {
        summary.note_failure(missing);
    }
    Ok(tool_result::table(&table, structured::is_sent(context)))
}

/// Sends the outcome of the call to a client that wants log messages. The source's messages are left to the result:
/// they may repeat values.
fn tell_end(
    context: &Context<'_>,
    asked: &FeatureRequest,
    logger: &str,
    table: &Result<ToolResult, Error>,
    started: Instant,
) {
    if !context.request.is_heard() {
        return;
    }
    let tool = &asked.name;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let log = |level, data: Value| context.request.log(level, logger, &present(data));
    match table {
        Ok(ToolResult { rows, truncated, .. }) => {
            let message = format!("{tool} ended: {rows} rows in {milliseconds} ms");
            log(Level::Info, json!({"message": message, "tool": tool, "rows": rows, "milliseconds": milliseconds}));
            if *truncated {
                let message = format!("the result was cut at {rows} rows, the cap of this call");
                log(Level::Warning, json!({"message": message, "tool": tool, "rows": rows, "truncated": true}));
            }
        }
        Err(error) => {
            let message = format!("{tool} failed after {milliseconds} ms: {}", error.kind.as_str());
            let state = error.get_sqlstate();
            log(
                Level::Error,
                json!({"message": message, "tool": tool, "milliseconds": milliseconds, "sqlState": state}),
            );
        }
    }
}

/// A tool's error where the caller can mend it, else one of the protocol.
fn failed(error: Error, summary: &mut Summary) -> RequestError {
    summary.note_failure(&error);
    if envelope::is_tool_error(error.kind) { RequestError::Tool(error) } else { RpcError::internal(&error).into() }
}
