//! Requests that need more from the client before they have a result (MCP 2026-07-28, multi round-trip
//! requests): what it sends with a repeated request, and what it is asked for.

use portico_actors::error::{Error, Kind};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult};
use crate::mcp::envelope::{Failure, refuse, wrong};
use crate::mcp::era::Era;
use crate::mcp::extensions::request_state::Bound;
use crate::mcp::features::{Asked, Given, Input, Refusal, Wanting};

/// What the state of this request is bound to.
pub(in crate::mcp) fn bound(call: &MethodCall<'_>, asked: &Asked) -> Bound {
    let arguments = asked.arguments.as_deref().unwrap_or("{}");
    Bound::of(&call.context.holder(), &[call.method, &asked.name, arguments])
}

/// What the client has sent with the request, which is bound to `bound`.
pub(in crate::mcp) fn input(call: &MethodCall<'_>, fields: &mut Fields, bound: &Bound) -> Result<Input, Failure> {
    if call.era == Era::Session {
        return Ok(Input::default());
    }
    let responses = responses(fields.take("inputResponses"))?;
    let state = fields.string("requestState").map_err(wrong)?.map(|state| call.context.seal.open(bound, &state));
    let state = state.transpose().map_err(|error| match error.kind {
        Kind::Invalid => wrong(error),
        _ => Failure::internal(&error),
    })?;
    Ok(Input { responses, state })
}

fn responses(given: Option<Box<RawValue>>) -> Result<Map<String, Value>, Failure> {
    let Some(given) = given else { return Ok(Map::new()) };
    serde_json::from_str(given.get()).map_err(|_| refuse("inputResponses must be an object"))
}

/// The result for the client, where one that is not complete may be given.
pub(in crate::mcp) fn given(call: &MethodCall<'_>, bound: &Bound, given: Given) -> Result<MethodResult, Refusal> {
    let Wanting { questions, state } = match given {
        Given::Complete(result) => return Ok(MethodResult::Complete(result)),
        Given::Wanting(wanting) => wanting,
    };
    if call.era == Era::Session {
        let error = Error::internal("input was wanted from a client of a revision that has no word for it");
        return Err(Failure::internal(&error).into());
    }
    let mut requests = Map::new();
    for (name, question) in questions {
        if !call.context.exchange.client_can(question.capability) {
            return Err(Failure::capability(question.capability).into());
        }
        requests.insert(name.to_owned(), json!({"method": question.method, "params": question.params}));
    }
    let mut result = Map::new();
    if !requests.is_empty() {
        result.insert("inputRequests".to_owned(), Value::Object(requests));
    }
    if let Some(state) = state {
        let sealed = call.context.seal.close(bound, &state).map_err(|error| Failure::internal(&error))?;
        result.insert("requestState".to_owned(), Value::from(sealed));
    }
    Ok(MethodResult::InputRequired(Value::Object(result).to_string()))
}
