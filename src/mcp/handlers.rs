//! The handlers of the methods about what is offered: each reads its parameters, and calls the features for the
//! result.

use std::collections::BTreeMap;

use portico_actors::error::Error;
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult, Params};
use crate::mcp::context::Summary;
use crate::mcp::envelope::{RpcError, invalid_params, params_error};
use crate::mcp::era::Era;
use crate::mcp::extensions::request_state::StateBinding;
use crate::mcp::extensions::{input, tasks};
use crate::mcp::features::pages;
use crate::mcp::features::{ClientInput, CompletionRequest, CompletionTarget, FeatureRequest, RequestResult};
use crate::mcp::streams::subscription::Subscription;
use crate::mcp::versions::stateless;

/// Values of one completion at most, as the protocol bounds them.
const MOST_COMPLETIONS: usize = 100;

/// `tools/list`.
pub(super) fn list_tools(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let cursor = cursor(params)?;
    let list = call.features.tools(call.context);
    let items = list.tools.iter().map(|tool| (tool.name.as_str(), &tool.json));
    complete_with(pages::page("tools", items, cursor.as_deref()))
}

/// `tools/call`.
pub(super) async fn call_tool(
    call: &MethodCall<'_>,
    params: Params,
    summary: &mut Summary,
) -> RequestResult<MethodResult> {
    let (asked, bound) = read_request(call, "name", params)?;
    summary.what.clone_from(&asked.name);
    if call.context.request.era == Era::Stateless {
        let mirrored = call.features.mirrored(&asked.name);
        stateless::check_arguments(&mirrored, asked.arguments.as_deref(), call.headers)?;
        tasks::prepare(call.context);
    }
    input::outcome(call, &bound, call.features.call(call.context, asked, summary).await?)
}

/// `resources/list`.
pub(super) async fn list_resources(
    call: &MethodCall<'_>,
    params: Params,
    summary: &mut Summary,
) -> RequestResult<MethodResult> {
    let cursor = cursor(params)?;
    let items = call.features.resources(call.context, summary).await?;
    complete_with(pages::page("resources", pages::named(&items, "uri"), cursor.as_deref()))
}

/// `resources/templates/list`.
pub(super) fn list_templates(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (cursor, items) = (cursor(params)?, call.features.templates(call.context));
    complete_with(pages::page("resourceTemplates", pages::named(&items, "uriTemplate"), cursor.as_deref()))
}

/// `resources/read`.
pub(super) async fn read_resource(
    call: &MethodCall<'_>,
    params: Params,
    summary: &mut Summary,
) -> RequestResult<MethodResult> {
    let (asked, bound) = read_request(call, "uri", params)?;
    input::outcome(call, &bound, call.features.read(call.context, asked, summary).await?)
}

/// `prompts/list`.
pub(super) fn list_prompts(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (cursor, items) = (cursor(params)?, call.features.prompts(call.context));
    complete_with(pages::page("prompts", pages::named(&items, "name"), cursor.as_deref()))
}

/// `prompts/get`.
pub(super) async fn get_prompt(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (asked, bound) = read_request(call, "name", params)?;
    let arguments: BTreeMap<String, String> = serde_json::from_str(asked.arguments.as_deref().unwrap_or("{}"))
        .map_err(|_| invalid_params("arguments must be an object of texts"))?;
    input::outcome(call, &bound, call.features.prompt(call.context, asked, arguments).await?)
}

/// `completion/complete`.
pub(super) async fn complete(
    call: &MethodCall<'_>,
    params: Params,
    summary: &mut Summary,
) -> RequestResult<MethodResult> {
    let mut values = call.features.complete(call.context, completion(params?)?, summary).await?;
    let total = values.len();
    values.truncate(MOST_COMPLETIONS);
    let completion = json!({"values": values, "total": total, "hasMore": total > MOST_COMPLETIONS});
    Ok(MethodResult::Complete(json!({"completion": completion}).to_string()))
}

/// `subscriptions/listen`.
pub(super) fn listen(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let tasks = |ids| tasks::listen(call.context, ids);
    let subscription = Subscription::read(call.id, params?, &call.features.capabilities(), tasks)?;
    Ok(MethodResult::Listening(subscription))
}

fn cursor(params: Params) -> Result<Option<String>, RpcError> {
    params?.string("cursor").map_err(params_error)
}

fn complete_with(page: Result<String, Error>) -> RequestResult<MethodResult> {
    Ok(MethodResult::Complete(page.map_err(params_error)?))
}

/// Reads a request for one thing, which the parameter `subject` names, and what its state is bound to.
fn read_request(
    call: &MethodCall<'_>,
    subject: &'static str,
    params: Params,
) -> Result<(FeatureRequest, StateBinding), RpcError> {
    let mut fields = params?;
    let name = fields.required(subject).map_err(params_error)?;
    let arguments = fields.take("arguments");
    if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err(invalid_params("arguments must be an object"));
    }
    let arguments = arguments.map(|arguments| Box::<str>::from(arguments).into_string());
    let mut asked = FeatureRequest { name, arguments, input: ClientInput::default() };
    let bound = input::binding(call, &asked);
    asked.input = input::read(call, &mut fields, &bound)?;
    Ok((asked, bound))
}

fn completion(mut fields: Fields) -> Result<CompletionRequest, RpcError> {
    let mut object = |name: &'static str| fields.take(name).and_then(|raw| Fields::parse(raw.get(), name).ok());
    let (reference, argument, known) = (object("ref"), object("argument"), object("context"));
    let mut reference = reference.ok_or_else(|| invalid_params("ref: give an object with type and name or uri"))?;
    let mut argument = argument.ok_or_else(|| invalid_params("argument: give an object with name and value"))?;
    let known = known.and_then(|mut known| known.take("arguments"));
    let known =
        known.and_then(|known| serde_json::from_str::<Map<String, Value>>(known.get()).ok()).unwrap_or_default();
    let text = |(name, value): (String, Value)| value.as_str().map(|value| (name, value.to_owned()));
    Ok(CompletionRequest {
        argument: argument.required("name").map_err(params_error)?,
        begun: argument.required("value").map_err(params_error)?,
        known: known.into_iter().filter_map(text).collect(),
        reference: match reference.required("type").map_err(params_error)?.as_str() {
            "ref/resource" => CompletionTarget::Resource(reference.required("uri").map_err(params_error)?),
            "ref/prompt" => CompletionTarget::Prompt(reference.required("name").map_err(params_error)?),
            _ => return Err(invalid_params("ref.type: give \"ref/resource\" or \"ref/prompt\"")),
        },
    })
}
