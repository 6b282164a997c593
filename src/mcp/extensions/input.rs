//! Requests that need input from the client before they have a result (MCP 2026-07-28, multi round-trip requests):
//! reads the input of a repeated request, and asks for it.

use portico_actors::error::{Error, Kind};
use serde_json::{Map, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult};
use crate::mcp::envelope::{RpcError, invalid_params, params_error};
use crate::mcp::era::Era;
use crate::mcp::extensions::request_state::StateBinding;
use crate::mcp::features::{ClientInput, FeatureRequest, InputRequired, RequestResult, ToolOutcome};
use crate::mcp::model::present;

/// Returns what the state of this request is bound to.
pub(in crate::mcp) fn binding(call: &MethodCall<'_>, asked: &FeatureRequest) -> StateBinding {
    // Revisions with a handshake have no state of requests.
    if call.context.request.era == Era::Session {
        return StateBinding::default();
    }
    let arguments = asked.arguments.as_deref().unwrap_or("{}");
    StateBinding::new(&call.context.owner(), &[call.method, &asked.name, arguments])
}

/// Reads the client's input for the request, whose state is bound to `bound`.
pub(in crate::mcp) fn read(
    call: &MethodCall<'_>,
    fields: &mut Fields,
    bound: &StateBinding,
) -> Result<ClientInput, RpcError> {
    if call.context.request.era == Era::Session {
        return Ok(ClientInput::default());
    }
    let responses = fields.take("inputResponses").map(|given| serde_json::from_str(given.get())).transpose();
    let responses = responses.map_err(|_| invalid_params("inputResponses must be an object"))?.unwrap_or_default();
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

/// The result for the client, where one that is not complete may be given.
pub(in crate::mcp) fn outcome(
    call: &MethodCall<'_>,
    bound: &StateBinding,
    outcome: ToolOutcome,
) -> RequestResult<MethodResult> {
    let InputRequired { requests: wanted, state } = match outcome {
        ToolOutcome::Complete(result) => return Ok(MethodResult::Complete(result)),
        ToolOutcome::InputRequired(required) => required,
    };
    if call.context.request.era == Era::Session {
        let error = Error::internal("bug: input is asked of a client whose protocol revision has none");
        return Err(RpcError::internal(&error).into());
    }
    let mut requests = Map::new();
    for (name, request) in wanted {
        if !call.context.request.client_can(request.capability) {
            return Err(RpcError::capability(request.capability).into());
        }
        requests.insert(name.to_owned(), json!({"method": request.method, "params": request.params}));
    }
    let state = state.map(|state| call.context.state_signer.sign(bound, &state)).transpose();
    let state = state.map_err(|error| RpcError::internal(&error))?;
    let requests = (!requests.is_empty()).then_some(requests);
    let result = present(json!({"inputRequests": requests, "requestState": state}));
    Ok(MethodResult::InputRequired(result.to_string()))
}
