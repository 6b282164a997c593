//! The rules of the 2025 revisions: the handshake, cancelling, and session settings. The sessions themselves are in
//! `sessions/`; requests without one are served too.

use serde_json::{Value, json};

use crate::fields::Fields;
use crate::mcp::call::{MethodCall, MethodResult, Params};
use crate::mcp::envelope::{RpcError, invalid_params, params_error};
use crate::mcp::era::SESSION_VERSIONS;
use crate::mcp::features::RequestResult;
use crate::mcp::logging::Level;
use crate::mcp::model::server_info;
use crate::mcp::sessions::Session;

/// Bytes of a client's capabilities at most: they are kept as long as its session.
const LONGEST_CAPABILITIES: usize = 4 * 1024;

/// `initialize`.
pub(in crate::mcp) fn initialize(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let mut fields = params?;
    let asked = fields.required("protocolVersion").map_err(params_error)?;
    // The version asked for if it is served, else our newest.
    let newest = SESSION_VERSIONS[SESSION_VERSIONS.len() - 1];
    let version = SESSION_VERSIONS.into_iter().find(|version| *version == asked).unwrap_or(newest);
    let result = json!({
        "protocolVersion": version,
        "capabilities": call.features.capabilities(),
        "serverInfo": server_info(),
        "instructions": call.features.instructions(call.context),
    });
    let declared = fields.take("capabilities");
    if declared.as_ref().is_some_and(|declared| declared.get().len() > LONGEST_CAPABILITIES) {
        let message = format!(
            "capabilities: they are longer than {LONGEST_CAPABILITIES} bytes; declare what is used, without details"
        );
        return Err(invalid_params(message).into());
    }
    let capabilities: Option<Value> = declared.and_then(|declared| serde_json::from_str(declared.get()).ok());
    let session = call.context.sessions.begin(call.context.owner(), version, capabilities.unwrap_or_default());
    let client = fields.take("clientInfo").and_then(|client| Fields::parse(client.get(), "clientInfo").ok());
    if let Some(name) = client.and_then(|client| client.peek("name").ok()?) {
        session.set_client_name(&name);
    }
    Ok(MethodResult::Begun(session, result.to_string()))
}

/// `logging/setLevel`. Without a session there is nothing to keep it.
pub(in crate::mcp) fn set_level(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let level = Level::read(params?.take("level").as_deref(), "level")?;
    let level = level.ok_or_else(|| invalid_params("level: this member is missing"))?;
    let session = call.context.request.session().ok_or_else(|| {
        invalid_params("logging/setLevel is for a session: initialize first, and send Mcp-Session-Id with each request")
    })?;
    session.set_level(level);
    Ok(MethodResult::nothing())
}

/// `resources/subscribe`.
pub(in crate::mcp) fn subscribe(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (session, uri) = watched(call, params)?;
    let version = call.features.version(&uri).ok_or_else(|| RpcError::resource(&uri, false))?;
    if session.subscribe(&uri, version) {
        Ok(MethodResult::nothing())
    } else {
        Err(invalid_params("uri: this session watches too many resources; unsubscribe from some").into())
    }
}

/// `resources/unsubscribe`.
pub(in crate::mcp) fn unsubscribe(call: &MethodCall<'_>, params: Params) -> RequestResult<MethodResult> {
    let (session, uri) = watched(call, params)?;
    session.unsubscribe(&uri);
    Ok(MethodResult::nothing())
}

/// Where a resource is watched, and which.
fn watched<'a>(call: &MethodCall<'a>, params: Params) -> RequestResult<(&'a Session, String)> {
    if call.features.capabilities()["resources"]["subscribe"] != true {
        return Err(call.unknown());
    }
    let uri = params?.required("uri").map_err(params_error)?;
    let session = call.context.request.session();
    let session = session
        .ok_or_else(|| invalid_params("subscriptions are for a session: initialize first, and send Mcp-Session-Id"))?;
    Ok((session, uri))
}

/// `notifications/cancelled`: one that names no request of this session that runs is ignored, as
/// the specification says.
pub(in crate::mcp) fn cancel(session: &Session, fields: &mut Fields) {
    if let Some(request) = fields.take("requestId") {
        session.cancel(request.get());
    }
}
