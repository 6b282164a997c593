//! What a configured connection offers: the tools of its catalogue, its tables as resources, and
//! the administrator's prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use portico_actors::error::{Error, Kind};
use portico_actors::reply::Reply;
use portico_actors::source::Profile;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{completion, prompts, resources};
use crate::audit;
use crate::encode::{self, Table};
use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::{self, RpcError, params_error};
use crate::mcp::features::{
    Answer, CompletionRequest, Digests, FeatureRequest, Features, RequestError, ToolList, ToolListCache, ToolListKey,
    ToolOutcome, UNKNOWN, digest, tool_result,
};
use crate::mcp::logging::Level;
use crate::mcp::model::present;
use crate::tools::{self, Offer};

/// The features of every configured connection; which one it is, the context says.
#[derive(Debug, Default)]
pub struct ConnectionFeatures {
    listings: ToolListCache,
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

    fn tools(&self, context: &Context<'_>) -> Arc<ToolList> {
        let profile = context.entry.profile();
        with_offer(context, profile.as_deref(), |offer| {
            let key = ToolListKey::new(context.settings, profile.as_ref(), offer, context.filter);
            self.listings.get(key, || tools::list(offer, context.filter).into_iter().collect())
        })
    }

    async fn call(&self, context: &Context<'_>, asked: FeatureRequest, summary: &mut Summary) -> Answer<ToolOutcome> {
        call(context, &asked, summary).await.map(ToolOutcome::Complete)
    }

    async fn resources(&self, context: &Context<'_>, summary: &mut Summary) -> Answer<Vec<Value>> {
        Ok(resources::list(context, summary).await?)
    }

    fn templates(&self, context: &Context<'_>) -> Vec<Value> {
        vec![resources::template_item(context)]
    }

    async fn read(&self, context: &Context<'_>, asked: FeatureRequest, summary: &mut Summary) -> Answer<ToolOutcome> {
        Ok(ToolOutcome::Complete(resources::read(context, &asked.name, summary).await?))
    }

    fn prompts(&self, context: &Context<'_>) -> Vec<Value> {
        context.settings.prompts.iter().map(prompts::describe).collect()
    }

    async fn prompt(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        arguments: BTreeMap<String, String>,
    ) -> Answer<ToolOutcome> {
        Ok(ToolOutcome::Complete(prompts::get(context, &asked.name, &arguments)?))
    }

    async fn complete(
        &self,
        context: &Context<'_>,
        completion: CompletionRequest,
        summary: &mut Summary,
    ) -> Answer<Vec<String>> {
        Ok(completion::values(context, completion, summary).await?)
    }

    fn digests(&self, context: &Context<'_>) -> Digests {
        let tables = context.entry.profile().map_or(UNKNOWN, |profile| digest(&profile.tables));
        // They change with the configuration.
        let prompts: Vec<String> = self.prompts(context).iter().map(Value::to_string).collect();
        // In the order of `ListKind::ALL`.
        [self.tools(context).digest, tables, digest(&prompts)]
    }
}

/// Makes the offer of `context` and hands it on: it borrows the caller's role.
fn with_offer<T>(context: &Context<'_>, profile: Option<&Profile>, then: impl FnOnce(&Offer<'_>) -> T) -> T {
    let mapping = context.settings.identity.as_ref();
    // Without a role there is nothing to run, and every call is told so.
    let role = mapping.and_then(|mapping| mapping.role(&context.entry.name, &context.by).ok());
    then(&Offer {
        connection: &context.entry.name,
        access: context.entry.access,
        profile,
        by: &context.by,
        role: role.as_deref(),
        max_rows: context.settings.max_rows,
        max_bytes: context.settings.max_bytes,
        switches: &context.settings.switches,
        own: &context.settings.tools,
    })
}

async fn call(context: &Context<'_>, asked: &FeatureRequest, summary: &mut Summary) -> Answer<String> {
    let started = Instant::now();
    let arguments = asked.arguments.as_deref();
    let profile = context.entry.profile();
    let understand = |offer: &Offer<'_>| tools::resolve(offer, &asked.name, arguments);
    let resolved = with_offer(context, profile.as_deref(), understand).map_err(|error| match error.kind {
        Kind::NotFound => {
            summary.failure = Some(Kind::NotFound);
            params_error(error).into()
        }
        _ => failed(error, summary),
    })?;
    let (caps, format) = (resolved.caps, resolved.format);
    summary.statement = context.audit.and_then(|audit| audit.statement(&resolved.op, context.entry.kind));
    summary.operation = Some(resolved.operation.as_str());
    let (by, origin) = (Arc::clone(&context.by), summary.origin(context.origin));
    summary.asked = Some(started.into_std());
    let notices = context.request.notices(&logger(context));
    let reply = context.directory.ask_hearing(context.entry, origin, by, resolved.op, resolved.limits, notices).await;
    let table = match reply {
        Ok(Reply::Text(text)) => return Ok(tool_result::instructions(&text)),
        Ok(Reply::Results(results)) => {
            summary.class = results.class;
            let queued = results.queued;
            let read = |rows, octets| {
                context.request.progress.read(rows);
                context.request.prepare(octets)
            };
            let table = encode::tabulate(results, caps, format, read).await;
            summary.queued = Some(queued);
            summary.source = Some(started.elapsed().saturating_sub(queued));
            table
        }
        Err(error) => Err(error),
    };
    tell_end(context, asked, &table, started);
    let table = table.map_err(|error| failed(error, summary))?;
    summary.rows = table.rows;
    Ok(tool_result::table(&table))
}

/// Whose log messages they are: the connection's.
fn logger(context: &Context<'_>) -> String {
    format!("portico.{}", context.entry.name)
}

/// Tells a client that wants log messages how the call has ended. Words of the source are left to
/// the result: they may repeat values.
fn tell_end(context: &Context<'_>, asked: &FeatureRequest, table: &Result<Table, Error>, started: Instant) {
    if !context.request.is_heard() {
        return;
    }
    let (tool, logger) = (&asked.name, logger(context));
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let log = |level, data: Value| context.request.log(level, &logger, &present(data));
    match table {
        Ok(Table { rows, truncated, .. }) => {
            let message = format!("{tool} ended: {rows} rows in {milliseconds} ms");
            log(Level::Info, json!({"message": message, "tool": tool, "rows": rows, "milliseconds": milliseconds}));
            if *truncated {
                let message = format!("the result was cut at {rows} rows, the cap of this call");
                log(Level::Warning, json!({"message": message, "tool": tool, "rows": rows, "truncated": true}));
            }
        }
        Err(error) => {
            let message = format!("{tool} failed after {milliseconds} ms: {}", error.kind.word());
            let state = error.get_sqlstate();
            log(
                Level::Error,
                json!({"message": message, "tool": tool, "milliseconds": milliseconds, "sqlState": state}),
            );
        }
    }
}

/// Who can mend it decides the channel.
fn failed(error: Error, summary: &mut Summary) -> RequestError {
    summary.failure = Some(error.kind);
    summary.code = error.get_sqlstate().map(str::to_owned);
    summary.reason = audit::reason(&error);
    summary.cause = error.cause().filter(|_| error.kind == Kind::Internal).map(str::to_owned);
    if envelope::is_tool_error(error.kind) { RequestError::Tool(error) } else { RpcError::internal(&error).into() }
}
