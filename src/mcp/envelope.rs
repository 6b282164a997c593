//! JSON-RPC 2.0: messages in, responses out, and every number of its errors. Knows no method.

use std::collections::BTreeMap;
use std::fmt::Display;

use portico_actors::error::{Error, Kind, bounded};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fields::members::Members;
use crate::mcp::model::{Id, Message, Params, present};

/// How the transport answers a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseStatus {
    /// An answer like any other.
    Answered,
    /// The message is refused as a whole.
    Malformed,
    /// The method does not exist; the transport reports that too.
    Unknown,
}

/// A JSON-RPC error object and how the transport answers it.
#[derive(Debug)]
pub struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) data: Option<Box<Value>>,
    pub(crate) status: ResponseStatus,
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
/// Of the 2025 revisions alone.
const RESOURCE_NOT_FOUND: i32 = -32002;
const HEADER_MISMATCH: i32 = -32020;
const MISSING_CAPABILITY: i32 = -32021;
const UNSUPPORTED_VERSION: i32 = -32022;

impl RpcError {
    fn new(code: i32, message: impl Into<String>, status: ResponseStatus) -> Self {
        Self { code, message: bounded(message.into()), data: None, status }
    }

    /// The body is not JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(PARSE_ERROR, message, ResponseStatus::Malformed)
    }

    /// The body is not a JSON-RPC message that this endpoint accepts.
    pub fn envelope(message: impl Into<String>) -> Self {
        Self::new(INVALID_REQUEST, message, ResponseStatus::Malformed)
    }

    /// The method does not exist.
    pub fn method(method: &str, status: ResponseStatus) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("there is no method {method:?} here"), status)
    }

    /// The parameters are wrong.
    pub fn params(message: impl Into<String>, status: ResponseStatus) -> Self {
        Self::new(INVALID_PARAMS, message, status)
    }

    /// A mirrored header is missing, malformed or differs from the body (MCP 2026-07-28, transport).
    pub fn header(message: impl Into<String>) -> Self {
        Self::new(HEADER_MISMATCH, message, ResponseStatus::Malformed)
    }

    /// Adds `data`, which the client's program can read.
    fn with(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// The revision is not served.
    pub fn version(supported: &[&str], requested: &str) -> Self {
        let message = format!("protocol version {requested:?} is not supported; supported: {}", supported.join(", "));
        Self::new(UNSUPPORTED_VERSION, message, ResponseStatus::Malformed)
            .with(json!({"supported": supported, "requested": bounded(requested.to_owned())}))
    }

    /// The request needs a capability that the client has not declared (MCP 2026-07-28, basic).
    pub fn capability(name: &str) -> Self {
        Self::missing(name, &json!({name: {}}))
    }

    /// The request needs an extension that the client has not declared.
    pub fn extension(name: &str) -> Self {
        Self::missing(name, &json!({"extensions": {name: {}}}))
    }

    fn missing(name: &str, required: &Value) -> Self {
        let message = format!("this needs the client capability {name}, which the request does not declare");
        Self::new(MISSING_CAPABILITY, message, ResponseStatus::Malformed)
            .with(json!({"requiredCapabilities": required}))
    }

    /// The resource does not exist; the error code changed with 2026-07-28.
    pub fn resource(uri: &str, stateless: bool) -> Self {
        let code = if stateless { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
        Self::new(code, "there is no such resource on this connection", ResponseStatus::Answered)
            .with(json!({"uri": uri}))
    }

    /// An internal error; its cause is only in the log.
    pub fn internal(error: &Error) -> Self {
        Self::new(INTERNAL_ERROR, error.message.clone(), ResponseStatus::Answered)
    }

    /// A refusal before the protocol is reached: code of the table of errors, outside the
    /// protocol's reserved ranges.
    pub fn transport(code: u16, error: &Error) -> Self {
        Self::new(code.into(), message(error), ResponseStatus::Malformed)
    }

    /// The whole response. `id` is null when it could not be read.
    pub fn body(&self, id: Option<&Id>) -> Vec<u8> {
        let error = present(json!({"code": self.code, "message": self.message, "data": self.data}));
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.map_or(Id::NULL, Id::as_json)).into_bytes()
    }
}

/// A failure in one sentence, with its hint.
pub fn message(error: &Error) -> String {
    match error.get_hint() {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}

/// The parameters are invalid, as `error` says.
pub(super) fn params_error(error: Error) -> RpcError {
    RpcError::params(message(&error), ResponseStatus::Answered)
}

/// The parameters are invalid, as `message` says.
pub(super) fn invalid_params(message: impl Into<String>) -> RpcError {
    RpcError::params(message, ResponseStatus::Answered)
}

/// The whole response with `result`, a JSON object.
pub fn success(id: &Id, mut result: String) -> Vec<u8> {
    // A large one is moved, and not held twice.
    result.insert_str(0, &["{\"jsonrpc\":\"2.0\",\"id\":", id.as_json(), ",\"result\":"].concat());
    result.push('}');
    result.into_bytes()
}

/// A whole notification with `params`, a JSON object.
pub(crate) fn notification(method: &str, params: impl Display) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}").into_bytes()
}

/// Returns the content of one of our responses: its result or its error object, each as JSON text.
pub(super) fn open(response: &[u8]) -> Option<Result<Box<RawValue>, Box<RawValue>>> {
    let mut members: BTreeMap<&str, Box<RawValue>> = serde_json::from_slice(response).ok()?;
    members.remove("result").map(Ok).or_else(|| members.remove("error").map(Err))
}

/// Returns the error object of an internal error, as JSON text.
pub(super) fn internal_error(message: &str) -> Box<RawValue> {
    let error = json!({"code": INTERNAL_ERROR, "message": message}).to_string();
    RawValue::from_string(error).unwrap_or_default()
}

/// The content of a body.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one is made for each request and not kept: a box would only cost")]
pub enum Body {
    /// One message.
    One(Message),
    /// Several (2025-03-26, base protocol §Batching), each by itself well-formed or not.
    Several(Vec<Result<Message, (Option<Id>, RpcError)>>),
}

/// Messages of one batch at most.
const BATCH: usize = 100;

/// Reads a body: one message, or a batch where `batches` are taken.
///
/// # Errors
/// The failure, and the id where it could be read.
pub fn read_body(body: &[u8], batches: bool) -> Result<Body, (Option<Id>, RpcError)> {
    if !batches || !body.trim_ascii_start().starts_with(b"[") {
        return read(body).map(Body::One);
    }
    let messages: Vec<Box<RawValue>> = serde_json::from_slice(body)
        .map_err(|error| (None, RpcError::parse(format!("the body is not valid JSON: {error}"))))?;
    match messages.len() {
        0 => Err((None, RpcError::envelope("a batch must hold a message"))),
        1..=BATCH => Ok(Body::Several(messages.iter().map(|message| read(message.get().as_bytes())).collect())),
        _ => Err((None, RpcError::envelope(format!("a batch may hold at most {BATCH} messages")))),
    }
}

/// Reads one message.
///
/// # Errors
/// The failure, and the id where it could be read.
pub fn read(body: &[u8]) -> Result<Message, (Option<Id>, RpcError)> {
    let text = std::str::from_utf8(body).map_err(|_| (None, RpcError::parse("the body is not UTF-8")))?;
    let invalid = |error| (None, RpcError::parse(format!("the body is not valid JSON: {error}")));
    if !text.trim_ascii_start().starts_with('{') {
        let other: &RawValue = serde_json::from_str(text).map_err(invalid)?;
        return Err((
            None,
            RpcError::envelope(match other.get().as_bytes().first() {
                Some(b'[') => "batches are not accepted; send each message by itself",
                _ => "the body must be one JSON-RPC message, an object",
            }),
        ));
    }
    let Members(members, repeated) = serde_json::from_str(text).map_err(invalid)?;
    let mut members: BTreeMap<String, Box<RawValue>> = members.into_iter().collect();
    let id = members.get("id").map(|raw| Id::read(raw));
    let known = id.clone().flatten();
    let refuse = |message: &str| (known.clone(), RpcError::envelope(message));
    // A proxy in front of the service may read the first one.
    let twice = |name: &str| refuse(&format!("the member {name} is given twice"));
    if let Some(name) = repeated {
        return Err(twice(&name));
    }
    if members.get("jsonrpc").is_none_or(|version| version.get() != "\"2.0\"") {
        return Err(refuse("jsonrpc must be \"2.0\""));
    }
    if id == Some(None) {
        return Err(refuse("id must be a string or an integer"));
    }
    let Some(method) = members.remove("method") else {
        if known.is_some() && (members.contains_key("result") || members.contains_key("error")) {
            return Ok(response(known, &mut members));
        }
        return Err(refuse("method is missing"));
    };
    let method: String = serde_json::from_str(method.get()).map_err(|_| refuse("method must be a string"))?;
    let params = members.remove("params");
    if params.as_ref().is_some_and(|params| !params.get().starts_with('{')) {
        return Err(refuse("params must be an object"));
    }
    let params = Params::read(params.as_deref());
    if let Some(name) = &params.repeated {
        return Err(twice(name));
    }
    Ok(match known {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

/// Parses an answer to one of our requests.
fn response(id: Option<Id>, members: &mut BTreeMap<String, Box<RawValue>>) -> Message {
    let mut value = |name| members.remove(name).map(|raw| serde_json::from_str(raw.get()).unwrap_or_default());
    let answer = match value("error") {
        Some(error) => Err(error),
        None => Ok(value("result").unwrap_or_default()),
    };
    Message::Response { id: id.and_then(|id| serde_json::from_str(id.as_json()).ok()), answer }
}

/// Whether the caller itself can mend a failure of `kind`, by another argument, another tool, or
/// a later attempt. Then it is a tool's result; else it is an error of the protocol.
pub fn is_tool_error(kind: Kind) -> bool {
    !matches!(kind, Kind::Internal | Kind::Unauthenticated | Kind::Abandoned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn code(body: &str) -> (Option<String>, i32) {
        let (id, failure) = read(body.as_bytes()).unwrap_err();
        assert_eq!(failure.status, ResponseStatus::Malformed);
        (id.map(|id| id.as_json().to_owned()), failure.code)
    }

    #[test]
    fn each_malformed_envelope_has_its_code_and_the_id_that_could_be_read() {
        let one = Some("1".to_owned());
        for (body, expected) in [
            ("", (None, PARSE_ERROR)),
            ("{", (None, PARSE_ERROR)),
            ("{\"a\":1}x", (None, PARSE_ERROR)),
            ("[]", (None, INVALID_REQUEST)),
            ("7", (None, INVALID_REQUEST)),
            ("{}", (None, INVALID_REQUEST)),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, (one.clone(), INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, (None, INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, (None, INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, (None, INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":1}"#, (one.clone(), INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, (one.clone(), INVALID_REQUEST)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, (one, INVALID_REQUEST)),
        ] {
            assert_eq!(code(body), expected, "{body}");
        }
    }

    #[test]
    fn ids_are_echoed_as_they_came() {
        for id in ["1", "-7", "18446744073709551615", "\"a\\u00e9\"", "\"\""] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(read(body.as_bytes()).unwrap().id().unwrap().as_json(), id);
        }
    }

    #[test]
    fn nesting_is_no_danger() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}1{}}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(read(deep.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_message_or_a_well_formed_failure(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Err((id, failure)) = read(&body) {
                let response: Value = serde_json::from_slice(&failure.body(id.as_ref())).unwrap();
                prop_assert_eq!(&response["jsonrpc"], "2.0");
            }
        }

        #[test]
        fn any_json_object_gives_a_message_or_a_well_formed_failure(
            id in "null|1|-3|\"x\"|2\\.5|\\[\\]", method in "\"ping\"|7|null", params in "\\{\\}|\\[\\]|null|\"s\""
        ) {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#);
            match read(body.as_bytes()) {
                Ok(message) => prop_assert!(message.id().is_some()),
                Err((id, failure)) => {
                    let response: Value = serde_json::from_slice(&failure.body(id.as_ref())).unwrap();
                    prop_assert_eq!(&response["error"]["code"], INVALID_REQUEST);
                }
            }
        }
    }
}
