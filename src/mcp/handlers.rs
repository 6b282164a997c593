//! The handlers of the methods about what is offered: each reads its parameters, and asks for the
//! result through the seam.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult, Params};
use crate::mcp::envelope::{Failure, refuse, wrong};
use crate::mcp::era::Era;
use crate::mcp::extensions::request_state::Bound;
use crate::mcp::extensions::{rounds, tasks};
use crate::mcp::features::pages::{self, Item};
use crate::mcp::features::{Answer, Asked, Completion, Input, Reference, Refusal};
use crate::mcp::rim::stateless;
use crate::mcp::streams::subscription::Subscription;
use crate::mcp::summary::Summary;

/// Values of one completion at most, as the protocol bounds them.
const MOST_COMPLETIONS: usize = 100;

/// `tools/list`.
pub(super) fn list_tools(call: &MethodCall<'_>, params: Params) -> Result<MethodResult, Refusal> {
    page("tools", "name", params, &call.features.tools(call.context).tools)
}

/// `tools/call`.
pub(super) fn call_tool<'a>(
    call: &'a MethodCall<'a>,
    params: Params,
    summary: &'a mut Summary,
) -> Answer<'a, MethodResult> {
    async move {
        let (asked, bound) = asked(call, "name", params)?;
        summary.what.clone_from(&asked.name);
        if call.era == Era::Stateless {
            let mirrored = call.features.mirrored(&asked.name);
            stateless::check_arguments(&mirrored, asked.arguments.as_deref(), call.headers)?;
            tasks::prepare(call, &asked)?;
        }
        rounds::given(call, &bound, call.features.call(call.context, asked, summary).await?)
    }
    .boxed_local()
}

/// `resources/list`.
pub(super) fn list_resources<'a>(
    call: &'a MethodCall<'a>,
    params: Params,
    summary: &'a mut Summary,
) -> Answer<'a, MethodResult> {
    async move {
        let cursor = cursor(params)?;
        let items = call.features.resources(call.context, summary).await?;
        let page = pages::page("resources", "uri", &items, cursor.as_deref()).map_err(wrong)?;
        Ok(MethodResult::Complete(page))
    }
    .boxed_local()
}

/// `resources/templates/list`.
pub(super) fn list_templates(call: &MethodCall<'_>, params: Params) -> Result<MethodResult, Refusal> {
    page("resourceTemplates", "uriTemplate", params, &call.features.templates(call.context))
}

/// `resources/read`.
pub(super) fn read_resource<'a>(
    call: &'a MethodCall<'a>,
    params: Params,
    summary: &'a mut Summary,
) -> Answer<'a, MethodResult> {
    async move {
        let (asked, bound) = asked(call, "uri", params)?;
        rounds::given(call, &bound, call.features.read(call.context, asked, summary).await?)
    }
    .boxed_local()
}

/// `prompts/list`.
pub(super) fn list_prompts(call: &MethodCall<'_>, params: Params) -> Result<MethodResult, Refusal> {
    page("prompts", "name", params, &call.features.prompts(call.context))
}

/// `prompts/get`.
pub(super) fn get_prompt<'a>(call: &'a MethodCall<'a>, params: Params, _: &'a mut Summary) -> Answer<'a, MethodResult> {
    async move {
        let (asked, bound) = asked(call, "name", params)?;
        let arguments: BTreeMap<String, String> = match asked.arguments.as_deref() {
            Some(arguments) => {
                serde_json::from_str(arguments).map_err(|_| refuse("arguments must be an object of texts"))?
            }
            None => BTreeMap::new(),
        };
        rounds::given(call, &bound, call.features.prompt(call.context, asked, arguments).await?)
    }
    .boxed_local()
}

/// `completion/complete`.
pub(super) fn complete<'a>(
    call: &'a MethodCall<'a>,
    params: Params,
    summary: &'a mut Summary,
) -> Answer<'a, MethodResult> {
    async move {
        let mut values = call.features.complete(call.context, completion(params?)?, summary).await?;
        let total = values.len();
        values.truncate(MOST_COMPLETIONS);
        let completion = json!({"values": values, "total": total, "hasMore": total > MOST_COMPLETIONS});
        Ok(MethodResult::Complete(json!({"completion": completion}).to_string()))
    }
    .boxed_local()
}

/// `subscriptions/listen`.
pub(super) fn listen(call: &MethodCall<'_>, params: Params) -> Result<MethodResult, Refusal> {
    let subscription = Subscription::read(call.id, params?, &call.features.capabilities())?;
    Ok(MethodResult::Listening(tasks::follow(call.context, subscription)?))
}

fn cursor(params: Params) -> Result<Option<String>, Failure> {
    params?.string("cursor").map_err(wrong)
}

fn page(member: &str, key: &str, params: Params, items: &[impl Item]) -> Result<MethodResult, Refusal> {
    let page = pages::page(member, key, items, cursor(params)?.as_deref()).map_err(wrong)?;
    Ok(MethodResult::Complete(page))
}

/// Reads a request for one thing, which the parameter `subject` names, and what its state is bound to.
fn asked(call: &MethodCall<'_>, subject: &'static str, params: Params) -> Result<(Asked, Bound), Failure> {
    let mut fields = params?;
    let name = fields.required(subject).map_err(wrong)?;
    let arguments = fields.take("arguments");
    if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err(refuse("arguments must be an object"));
    }
    let arguments = arguments.map(|arguments| arguments.get().to_owned());
    let mut asked = Asked { name, arguments, input: Input::default() };
    let bound = rounds::bound(call, &asked);
    asked.input = rounds::input(call, &mut fields, &bound)?;
    Ok((asked, bound))
}

fn completion(mut fields: Fields) -> Result<Completion, Failure> {
    let mut object = |name: &'static str| fields.take(name).and_then(|raw| Fields::parse(raw.get(), name).ok());
    let (reference, argument, known) = (object("ref"), object("argument"), object("context"));
    let mut reference = reference.ok_or_else(|| refuse("ref: give an object with type and name or uri"))?;
    let mut argument = argument.ok_or_else(|| refuse("argument: give an object with name and value"))?;
    let known = known.and_then(|mut known| known.take("arguments"));
    let known =
        known.and_then(|known| serde_json::from_str::<Map<String, Value>>(known.get()).ok()).unwrap_or_default();
    let text = |(name, value): (String, Value)| value.as_str().map(|value| (name, value.to_owned()));
    Ok(Completion {
        argument: argument.required("name").map_err(wrong)?,
        begun: argument.required("value").map_err(wrong)?,
        known: known.into_iter().filter_map(text).collect(),
        reference: match reference.required("type").map_err(wrong)?.as_str() {
            "ref/resource" => Reference::Resource(reference.required("uri").map_err(wrong)?),
            "ref/prompt" => Reference::Prompt(reference.required("name").map_err(wrong)?),
            _ => return Err(refuse("ref.type: give \"ref/resource\" or \"ref/prompt\"")),
        },
    })
}
