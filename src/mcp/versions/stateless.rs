//! The rules of 2026-07-28: what a request must carry, in the order of the checks, and what every result gets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::mcp::call::{MethodCall, MethodResult};
use crate::mcp::envelope::{ResponseStatus, RpcError};
use crate::mcp::era::{SESSION_VERSIONS, STATELESS_VERSION};
use crate::mcp::extensions::tasks::EXTENSION;
use crate::mcp::model::{Header, Headers, META_SERVER, Meta, Params, server_info};

/// How long a client may keep a list, in milliseconds: as long as a change of the source may take
/// to be seen here.
pub(in crate::mcp) const TIME_TO_LIVE_MS: u64 = 30_000;

/// Checks the revision of the request with `meta`, the client's capabilities, and that its headers agree.
pub(in crate::mcp) fn check(method: &str, meta: &Meta, headers: &Headers) -> Result<(), RpcError> {
    let malformed = |message: &str| RpcError::params(message, ResponseStatus::Malformed);
    let version = match &meta.version {
        Some(Ok(version)) => version,
        Some(Err(_)) => return Err(malformed("_meta: the protocol version must be a string")),
        None => {
            // An unsupported revision, named by its header alone as in the handshake.
            let Some(named) = headers.version.value().filter(|named| *named != STATELESS_VERSION) else {
                return Err(malformed(
                    "params._meta must name the protocol version: io.modelcontextprotocol/protocolVersion",
                ));
            };
            let served: Vec<&str> = SESSION_VERSIONS.into_iter().chain([STATELESS_VERSION]).collect();
            return Err(malformed(&format!(
                "the header MCP-Protocol-Version says {named:?}, which is not supported; supported: {}",
                served.join(", ")
            )));
        }
    };
    let said = required("MCP-Protocol-Version", &headers.version)?;
    if said != version {
        return Err(differs("MCP-Protocol-Version", said, version));
    }
    if !meta.capabilities.as_ref().is_some_and(|capabilities| capabilities.get().starts_with('{')) {
        return Err(malformed("params._meta must have an object io.modelcontextprotocol/clientCapabilities"));
    }
    if version != STATELESS_VERSION {
        return Err(RpcError::version(&[STATELESS_VERSION], version));
    }
    mirrored("Mcp-Method", &headers.method, method)
}

/// Checks that the header of a notification names it, where there is one.
pub(in crate::mcp) fn check_notification(method: &str, headers: &Headers) -> Result<(), RpcError> {
    if headers.method == Header::Absent { Ok(()) } else { mirrored("Mcp-Method", &headers.method, method) }
}

/// Checks the header that repeats the parameter `subject`, which names the subject of the request.
pub(in crate::mcp) fn check_subject(subject: &str, params: &Params, headers: &Headers) -> Result<(), RpcError> {
    let name = params.fields.as_ref().ok().and_then(|fields| fields.peek(subject).ok()?);
    mirrored("Mcp-Name", &headers.name, &name.unwrap_or_default())
}

/// Checks the headers that repeat arguments of a tool: `pairs` of a header's name behind
/// `Mcp-Param-`, and the argument's (MCP 2026-07-28, transports §Custom Headers).
pub(in crate::mcp) fn check_arguments(
    pairs: &[(&str, &str)],
    arguments: Option<&str>,
    headers: &Headers,
) -> Result<(), RpcError> {
    if pairs.is_empty() {
        return Ok(());
    }
    let arguments: Value = serde_json::from_str(arguments.unwrap_or("{}")).unwrap_or_default();
    for (header, argument) in pairs {
        let name = format!("Mcp-Param-{header}");
        let sent = headers.params.iter().find(|(sent, _)| sent.eq_ignore_ascii_case(&name));
        let sent = sent.map_or(&Header::Absent, |(_, sent)| sent);
        match &arguments[argument] {
            // An absent argument is not repeated.
            Value::Null if *sent == Header::Absent => {}
            Value::Null => {
                return Err(RpcError::header(format!("the header {name} repeats an argument that does not exist")));
            }
            Value::String(text) => mirrored(&name, sent, text)?,
            Value::Number(number) => mirrored_number(&name, sent, number)?,
            other => mirrored(&name, sent, &other.to_string())?,
        }
    }
    Ok(())
}

/// Numbers are the same when their values are.
fn mirrored_number(name: &str, header: &Header, body: &serde_json::Number) -> Result<(), RpcError> {
    let said = header.value().and_then(|value| decode(value)?.parse::<f64>().ok());
    match (said, body.as_f64()) {
        (Some(said), Some(body)) if said.total_cmp(&body).is_eq() => Ok(()),
        _ => mirrored(name, header, &body.to_string()),
    }
}

/// A header that must say the same as the body.
fn mirrored(name: &str, header: &Header, body: &str) -> Result<(), RpcError> {
    match decode(required(name, header)?) {
        None => Err(RpcError::header(format!("the header {name} is not valid base64 of UTF-8"))),
        Some(value) if value == body => Ok(()),
        Some(value) => Err(differs(name, &value, body)),
    }
}

/// The value of a header that has to be there.
fn required<'h>(name: &str, header: &'h Header) -> Result<&'h str, RpcError> {
    match header {
        Header::One(value) => Ok(value),
        Header::Absent => Err(RpcError::header(format!("the header {name} is missing"))),
        Header::Invalid => Err(RpcError::header(format!("the header {name} is malformed or repeated"))),
    }
}

fn differs(name: &str, said: &str, body: &str) -> RpcError {
    RpcError::header(format!("the header {name} says {said:?}, the body says {body:?}"))
}

/// `=?base64?…?=` is decoded strictly; anything else is literal.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}

/// `server/discover`.
pub(in crate::mcp) fn discover(call: &MethodCall<'_>) -> MethodResult {
    let mut capabilities = call.features.capabilities();
    capabilities["extensions"] = json!({"io.modelcontextprotocol/oauth-client-credentials": {}});
    if call.context.tasks.are_on() {
        capabilities["extensions"][EXTENSION] = json!({});
    }
    let result = json!({
        "supportedVersions": [STATELESS_VERSION],
        "capabilities": capabilities,
        "instructions": call.features.instructions(call.context),
    });
    MethodResult::Complete(result.to_string())
}

/// Adds what every result of this revision has, and how long a `cacheable` one may be kept.
pub(in crate::mcp) fn complete(result: String, cacheable: bool) -> String {
    let mut result = with_type(result, "complete");
    if cacheable {
        result.pop();
        // Lists depend on the caller and on the connection.
        result.push_str(&format!(",\"ttlMs\":{TIME_TO_LIVE_MS},\"cacheScope\":\"private\"}}"));
    }
    result
}

/// Adds what every result of this revision has, and its type.
pub(in crate::mcp) fn with_type(mut result: String, result_type: &str) -> String {
    result.pop();
    if result.len() > 1 {
        result.push(',');
    }
    result.push_str(&format!("\"resultType\":\"{result_type}\",\"_meta\":{{\"{META_SERVER}\":{}}}}}", server_info()));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_headers_are_decoded_strictly() {
        assert_eq!(decode("plain").as_deref(), Some("plain"));
        assert_eq!(decode("=?base64?w6k=?=").as_deref(), Some("é"));
        assert_eq!(decode("=?base64?w6k?="), None);
        assert_eq!(decode("=?base64?/w==?="), None);
        assert_eq!(decode("=?base64?w6k=").as_deref(), Some("=?base64?w6k="));
    }

    #[test]
    fn a_result_is_completed_once() {
        assert!(complete("{}".to_owned(), false).starts_with("{\"resultType\":\"complete\",\"_meta\":{"));
        let list: serde_json::Value = serde_json::from_str(&complete("{\"tools\":[]}".to_owned(), true)).unwrap();
        assert_eq!((list["ttlMs"].as_u64(), list["cacheScope"].as_str()), (Some(TIME_TO_LIVE_MS), Some("private")));
    }
}
