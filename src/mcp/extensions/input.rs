//! Requests that need more from the client before they have a result (MCP 2026-07-28, multi round-trip
//! requests): what it sends with a repeated request, and what it is asked for.

use portico_actors::error::{Error, Kind};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult};
use crate::mcp::envelope::{RpcError, invalid_params, params_error};
use crate::mcp::era::Era;
use crate::mcp::extensions::request_state::StateBinding;
use crate::mcp::features::{ClientInput, FeatureRequest, InputRequired, RequestError, ToolOutcome};

/// What the state of this request is bound to.
pub(in crate::mcp) fn binding(call: &MethodCall<'_>, asked: &FeatureRequest) -> StateBinding {
    let arguments = asked.arguments.as_deref().unwrap_or("{}");
    StateBinding::of(&call.context.owner(), &[call.method, &asked.name, arguments])
}

/// What the client has sent with the request, which is bound to `bound`.
pub(in crate::mcp) fn read(
    call: &MethodCall<'_>,
    fields: &mut Fields,
    bound: &StateBinding,
) -> Result<ClientInput, RpcError> {
    if call.era == Era::Session {
        return Ok(ClientInput::default());
    }
    let responses = responses(fields.take("inputResponses"))?;
    let state = fields
        .string("requestState")
        .map_err(params_error)?
        .map(|state| call.context.state_signer.verify(bound, &state));
    let state = state.transpose().map_err(|error| match error.kind {
        Kind::Invalid => params_error(error),
        _ => RpcError::internal(&error),
    })?;
    Ok(ClientInput { responses, state })
}

fn responses(given: Option<Box<RawValue>>) -> Result<Map<String, Value>, RpcError> {
    let Some(given) = given else { return Ok(Map::new()) };
    serde_json::from_str(given.get()).map_err(|_| invalid_params("inputResponses must be an object"))
}

/// The result for the client, where one that is not complete may be given.
pub(in crate::mcp) fn outcome(
    call: &MethodCall<'_>,
    bound: &StateBinding,
    outcome: ToolOutcome,
) -> Result<MethodResult, RequestError> {
    let InputRequired { requests: wanted, state } = match outcome {
        ToolOutcome::Complete(result) => return Ok(MethodResult::Complete(result)),
        ToolOutcome::InputRequired(required) => required,
    };
    if call.era == Era::Session {
        let error = Error::internal("input was wanted from a client of a revision that has no word for it");
        return Err(RpcError::internal(&error).into());
    }
    let mut requests = Map::new();
    for (name, request) in wanted {
        if !call.context.request.client_can(request.capability) {
            return Err(RpcError::capability(request.capability).into());
        }
        requests.insert(name.to_owned(), json!({"method": request.method, "params": request.params}));
    }
    let mut result = Map::new();
    if !requests.is_empty() {
        result.insert("inputRequests".to_owned(), Value::Object(requests));
    }
    if let Some(state) = state {
        let sealed = call.context.state_signer.sign(bound, &state).map_err(|error| RpcError::internal(&error))?;
        result.insert("requestState".to_owned(), Value::from(sealed));
    }
    Ok(MethodResult::InputRequired(Value::Object(result).to_string()))
}
