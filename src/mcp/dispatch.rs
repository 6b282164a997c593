//! The one dispatch of both eras: reads the parameters of each method, and asks what is offered.

use std::collections::BTreeMap;
use std::sync::Arc;

use portico_actors::error::{Error, Kind};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::envelope::{Failure, Standing, words};
use super::era::Era;
use super::features::{Asked, Completion, Given, Input, Reference, Refusal, Wanting};
use super::logging::Level;
use super::pages::Item;
use super::request_state::Bound;
use super::{Context, Headers, Summary, pages, stateless, tasks};
use crate::fields::Fields;

/// Values of one completion at most, as the protocol bounds them.
const MOST_COMPLETIONS: usize = 100;

/// A parameter that is wrong.
fn wrong(error: Error) -> Failure {
    Failure::params(words(&error), Standing::Answered)
}

fn refuse(message: impl Into<String>) -> Failure {
    Failure::params(message, Standing::Answered)
}

/// A result, and of which kind it is.
pub(super) enum Found {
    /// It is complete: a JSON object as text.
    Complete(String),
    /// The client is to send more.
    InputRequired(String),
}

/// Gives a result, a JSON object.
pub(super) async fn dispatch(
    context: &Context<'_>,
    headers: &Headers,
    era: Era,
    method: &str,
    params: Option<&str>,
    summary: &mut Summary,
) -> Result<Found, Refusal> {
    // What a source offers is known once it was asked.
    let held = if method.starts_with("tools/") { context.directory.hold(context.entry).await.ok() } else { None };
    let entry = held.as_ref().map_or(context.entry, |(entry, _)| entry);
    let context = &Context { entry, by: Arc::clone(&context.by), ..*context };
    let features = context.features;
    let complete = |result: String| Ok(Found::Complete(result));
    match (method, era) {
        ("tools/list", _) => complete(page("tools", "name", params, &features.tools(context).tools)?),
        ("tools/call", _) => {
            let (asked, fields) = asked(context, era, method, "name", params)?;
            drop(fields);
            summary.what.clone_from(&asked.name);
            if era == Era::Stateless {
                stateless::check_arguments(&features.mirrored(&asked.name), asked.arguments.as_deref(), headers)?;
                tasks::prepare(context, &asked)?;
            }
            let bound = bound(context, method, &asked);
            given(context, era, &bound, features.call(context, asked, summary).await?)
        }
        ("resources/list", _) => {
            let cursor = cursor(params)?;
            let items = features.resources(context, summary).await?;
            complete(pages::page("resources", "uri", &items, cursor.as_deref()).map_err(wrong)?)
        }
        ("resources/templates/list", _) => {
            complete(page("resourceTemplates", "uriTemplate", params, &features.templates(context))?)
        }
        ("resources/read", _) => {
            let (asked, _) = asked(context, era, method, "uri", params)?;
            let bound = bound(context, method, &asked);
            given(context, era, &bound, features.read(context, asked, summary).await?)
        }
        ("resources/subscribe", Era::Session) if subscribes(context) => complete(subscribe(context, params, true)?),
        ("resources/unsubscribe", Era::Session) if subscribes(context) => complete(subscribe(context, params, false)?),
        ("prompts/list", _) => complete(page("prompts", "name", params, &features.prompts(context))?),
        ("prompts/get", _) => {
            let (asked, _) = asked(context, era, method, "name", params)?;
            let arguments: BTreeMap<String, String> = match asked.arguments.as_deref() {
                Some(arguments) => {
                    serde_json::from_str(arguments).map_err(|_| refuse("arguments must be an object of texts"))?
                }
                None => BTreeMap::new(),
            };
            let bound = bound(context, method, &asked);
            given(context, era, &bound, features.prompt(context, asked, arguments).await?)
        }
        ("completion/complete", _) => {
            let values = features.complete(context, completion(params)?, summary).await?;
            complete(completed(values))
        }
        ("logging/setLevel", Era::Session) => complete(set_level(context, params)?),
        ("server/discover", Era::Stateless) => {
            complete(stateless::discover(features.capabilities(), context.tasks.are_on()))
        }
        ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Stateless) if context.tasks.are_on() => {
            complete(tasks::answer(context, method, params)?)
        }
        ("ping", Era::Session) => complete("{}".to_owned()),
        (_, Era::Stateless) => Err(Failure::method(method, Standing::Unknown).into()),
        (_, Era::Session) => Err(Failure::method(method, Standing::Answered).into()),
    }
}

fn cursor(params: Option<&str>) -> Result<Option<String>, Failure> {
    Fields::parse(params.unwrap_or("{}"), "params").and_then(|mut fields| fields.string("cursor")).map_err(wrong)
}

fn page(member: &str, key: &str, params: Option<&str>, items: &[impl Item]) -> Result<String, Failure> {
    pages::page(member, key, items, cursor(params)?.as_deref()).map_err(wrong)
}

/// Reads a request for one thing, which the parameter `subject` names.
fn asked(
    context: &Context<'_>,
    era: Era,
    method: &str,
    subject: &'static str,
    params: Option<&str>,
) -> Result<(Asked, Fields), Failure> {
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let name = fields.required(subject).map_err(wrong)?;
    let arguments = fields.take("arguments");
    if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err(refuse("arguments must be an object"));
    }
    let arguments = arguments.map(|arguments| arguments.get().to_owned());
    let mut asked = Asked { name, arguments, input: Input::default() };
    if era == Era::Stateless {
        asked.input.responses = responses(fields.take("inputResponses"))?;
        if let Some(state) = fields.string("requestState").map_err(wrong)? {
            let opened = context.seal.open(&bound(context, method, &asked), &state);
            asked.input.state = Some(opened.map_err(|error| match error.kind {
                Kind::Invalid => wrong(error),
                _ => Failure::internal(&error),
            })?);
        }
    }
    Ok((asked, fields))
}

fn responses(given: Option<Box<RawValue>>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    serde_json::from_str(given.get()).map_err(|_| refuse("inputResponses must be an object"))
}

/// What the state of this request is bound to.
fn bound(context: &Context<'_>, method: &str, asked: &Asked) -> Bound {
    let arguments = asked.arguments.as_deref().unwrap_or("{}");
    Bound::of(&context.holder(), &[method, &asked.name, arguments])
}

/// The result for the client, where one that is not complete may be given.
fn given(context: &Context<'_>, era: Era, bound: &Bound, given: Given) -> Result<Found, Refusal> {
    let wanting = match given {
        Given::Complete(result) => return Ok(Found::Complete(result)),
        Given::Wanting(wanting) => wanting,
    };
    if era == Era::Session {
        let error = Error::internal("input was wanted from a client of a revision that has no word for it");
        return Err(Failure::internal(&error).into());
    }
    let Wanting { questions, state } = wanting;
    let mut requests = Map::new();
    for (name, question) in questions {
        if !context.exchange.client_can(question.capability) {
            return Err(Failure::capability(question.capability).into());
        }
        requests.insert(name.to_owned(), json!({"method": question.method, "params": question.params}));
    }
    let mut result = Map::new();
    if !requests.is_empty() {
        result.insert("inputRequests".to_owned(), Value::Object(requests));
    }
    if let Some(state) = state {
        let sealed = context.seal.close(bound, &state).map_err(|error| Failure::internal(&error))?;
        result.insert("requestState".to_owned(), Value::from(sealed));
    }
    Ok(Found::InputRequired(Value::Object(result).to_string()))
}

fn completion(params: Option<&str>) -> Result<Completion, Failure> {
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
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

fn completed(mut values: Vec<String>) -> String {
    let total = values.len();
    values.truncate(MOST_COMPLETIONS);
    json!({"completion": {"values": values, "total": total, "hasMore": total > MOST_COMPLETIONS}}).to_string()
}

/// `logging/setLevel`. Without a session there is nothing that could keep it.
fn set_level(context: &Context<'_>, params: Option<&str>) -> Result<String, Failure> {
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let level = Level::read(&mut fields, "level")?.ok_or_else(|| refuse("level: this member is missing"))?;
    let session = context.exchange.session().ok_or_else(|| {
        refuse("logging/setLevel is for a session: initialize first, and send Mcp-Session-Id with each request")
    })?;
    session.set_level(level);
    Ok("{}".to_owned())
}

fn subscribes(context: &Context<'_>) -> bool {
    context.features.capabilities()["resources"]["subscribe"] == true
}

/// `resources/subscribe` and `resources/unsubscribe`.
fn subscribe(context: &Context<'_>, params: Option<&str>, wanted: bool) -> Result<String, Failure> {
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let uri = fields.required("uri").map_err(wrong)?;
    let session = context
        .exchange
        .session()
        .ok_or_else(|| refuse("subscriptions are for a session: initialize first, and send Mcp-Session-Id"))?;
    if !wanted {
        session.unsubscribe(&uri);
        return Ok("{}".to_owned());
    }
    let version = context.features.version(&uri).ok_or_else(|| Failure::resource(&uri, false))?;
    if session.subscribe(&uri, version) {
        Ok("{}".to_owned())
    } else {
        Err(refuse("uri: this session watches too many resources; unsubscribe from some"))
    }
}
