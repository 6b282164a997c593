//! The rim of 2026-07-28: what a request must carry, in the order in which it is checked, and
//! what every result gets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::envelope::{Failure, Standing};
use super::era::{SESSION_VERSIONS, STATELESS_VERSION};
use super::logging::{Level, META_LOG_LEVEL};
use super::{Header, Headers, PRODUCT, VERSION, tasks};
use crate::fields::Fields;

/// How long a client may keep a list, in milliseconds: as long as a change of the source may take
/// to be seen here.
pub(super) const TIME_TO_LIVE_MS: u64 = 30_000;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Methods that this revision knows and this server answers.
const METHODS: [&str; 13] = [
    "server/discover",
    "subscriptions/listen",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

/// The parameter that names a task.
pub(super) const TASK_ID: &str = "taskId";

/// Methods whose subject stands in `Mcp-Name` too, and the parameter that holds it.
const NAMED: [(&str, &str); 6] = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", TASK_ID),
    ("tasks/update", TASK_ID),
    ("tasks/cancel", TASK_ID),
];

/// Methods whose result may not be kept: it depends on more than the source's catalogue.
const NOT_KEPT: [&str; 6] =
    ["tools/call", "prompts/get", "completion/complete", "tasks/get", "tasks/update", "tasks/cancel"];

/// Whether `_meta` of `params` names a protocol version.
pub(super) fn meta_names_version(params: Option<&str>) -> bool {
    meta(params).is_some_and(|mut meta| meta.take(META_VERSION).is_some())
}

/// What a message says beside its parameters.
pub(super) fn meta(params: Option<&str>) -> Option<Fields> {
    let meta = Fields::parse(params?, "params").ok()?.take("_meta")?;
    Fields::parse(meta.get(), "_meta").ok()
}

/// What the client declares it can do, an object.
pub(super) fn capabilities_of(params: Option<&str>) -> Value {
    let declared = meta(params).and_then(|mut meta| meta.take(META_CAPABILITIES));
    declared.and_then(|declared| serde_json::from_str(declared.get()).ok()).unwrap_or_default()
}

/// From which severity on the client wants log messages of this request.
pub(super) fn log_level(params: Option<&str>) -> Result<Option<Level>, Failure> {
    meta(params).map_or(Ok(None), |mut meta| Level::read(&mut meta, META_LOG_LEVEL))
}

/// Checks a request before it is dispatched.
pub(super) fn check(method: &str, params: Option<&str>, headers: &Headers) -> Result<(), Failure> {
    let malformed = |message: &str| Failure::params(message, Standing::Malformed);
    let mut meta = meta(params);
    let version = match meta.as_mut().map(|meta| meta.string(META_VERSION)) {
        Some(Ok(version)) => version,
        Some(Err(_)) => return Err(malformed("_meta: the protocol version must be a string")),
        None => None,
    };
    if let Some(version) = &version {
        match &headers.version {
            Header::Absent => return Err(Failure::header("the header MCP-Protocol-Version is missing")),
            Header::Invalid => return Err(Failure::header("the header MCP-Protocol-Version is malformed or repeated")),
            Header::One(header) if header != version => {
                return Err(Failure::header(format!(
                    "the header MCP-Protocol-Version says {header:?}, the body says {version:?}"
                )));
            }
            Header::One(_) => {}
        }
    }
    let Some(version) = version else {
        // A revision that nobody serves, named as those of the handshake are: by its header alone.
        if let Some(named) = headers.version.value().filter(|named| *named != STATELESS_VERSION) {
            let served: Vec<&str> = SESSION_VERSIONS.into_iter().chain([STATELESS_VERSION]).collect();
            let served = served.join(", ");
            return Err(malformed(&format!(
                "the header MCP-Protocol-Version says {named:?}, which is not supported; supported: {served}"
            )));
        }
        return Err(malformed("params._meta must name the protocol version: io.modelcontextprotocol/protocolVersion"));
    };
    let capabilities = meta.as_mut().and_then(|meta| meta.take(META_CAPABILITIES));
    if !capabilities.is_some_and(|capabilities| capabilities.get().starts_with('{')) {
        return Err(malformed("params._meta must have an object io.modelcontextprotocol/clientCapabilities"));
    }
    if version != STATELESS_VERSION {
        return Err(Failure::version(&[STATELESS_VERSION], &version));
    }
    mirrored("Mcp-Method", &headers.method, method)?;
    if !METHODS.contains(&method) {
        return Err(Failure::method(method, Standing::Unknown));
    }
    if let Some((_, parameter)) = NAMED.iter().find(|(named, _)| *named == method) {
        let name = params.and_then(|params| Fields::parse(params, "params").ok()?.string(parameter).ok()?);
        mirrored("Mcp-Name", &headers.name, &name.unwrap_or_default())?;
    }
    log_level(params).map(drop)
}

/// Checks the headers that repeat arguments of a tool: `pairs` of a header's name behind
/// `Mcp-Param-`, and the argument's (MCP 2026-07-28, transports §Custom Headers).
pub(super) fn check_arguments(
    pairs: &[(&str, &str)],
    arguments: Option<&str>,
    headers: &Headers,
) -> Result<(), Failure> {
    if pairs.is_empty() {
        return Ok(());
    }
    let arguments: Value = serde_json::from_str(arguments.unwrap_or("{}")).unwrap_or_default();
    for (header, argument) in pairs {
        let name = format!("Mcp-Param-{header}");
        let sent = headers.params.iter().find(|(sent, _)| sent.eq_ignore_ascii_case(&name));
        let sent = sent.map_or(&Header::Absent, |(_, sent)| sent);
        match &arguments[argument] {
            // What is not there is not repeated.
            Value::Null if *sent == Header::Absent => {}
            Value::Null => {
                return Err(Failure::header(format!("the header {name} repeats an argument that is not there")));
            }
            Value::String(text) => mirrored(&name, sent, text)?,
            Value::Number(number) => mirrored_number(&name, sent, number)?,
            other => mirrored(&name, sent, &other.to_string())?,
        }
    }
    Ok(())
}

/// Numbers are the same when their values are.
fn mirrored_number(name: &str, header: &Header, body: &serde_json::Number) -> Result<(), Failure> {
    let said = header.value().and_then(|value| decode(value)?.parse::<f64>().ok());
    match (said, body.as_f64()) {
        (Some(said), Some(body)) if said.total_cmp(&body).is_eq() => Ok(()),
        _ => mirrored(name, header, &body.to_string()),
    }
}

/// A header that must say the same as the body.
fn mirrored(name: &str, header: &Header, body: &str) -> Result<(), Failure> {
    let value = match header {
        Header::Absent => return Err(Failure::header(format!("the header {name} is missing"))),
        Header::Invalid => return Err(Failure::header(format!("the header {name} is malformed or repeated"))),
        Header::One(value) => value,
    };
    match decode(value) {
        None => Err(Failure::header(format!("the header {name} is not valid base64 of UTF-8"))),
        Some(value) if value == body => Ok(()),
        Some(value) => Err(Failure::header(format!("the header {name} says {value:?}, the body says {body:?}"))),
    }
}

/// `=?base64?…?=` is decoded strictly; anything else is literal.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}

/// The result of `server/discover`.
pub(super) fn discover(mut capabilities: Value, has_tasks: bool) -> String {
    capabilities["extensions"] = json!({"io.modelcontextprotocol/oauth-client-credentials": {}});
    if has_tasks {
        capabilities["extensions"][tasks::EXTENSION] = json!({});
    }
    json!({
        "supportedVersions": [STATELESS_VERSION],
        "capabilities": capabilities,
        "instructions": super::INSTRUCTIONS,
    })
    .to_string()
}

/// Adds what every result of this revision has, and how long a list may be kept.
pub(super) fn complete(result: String, method: &str) -> String {
    let mut result = dressed(result, "complete");
    result.pop();
    if !NOT_KEPT.contains(&method) {
        // What is listed depends on the caller and on the connection.
        result.push_str(&format!(",\"ttlMs\":{TIME_TO_LIVE_MS},\"cacheScope\":\"private\""));
    }
    result.push('}');
    result
}

/// The same for a result that wants more from the client.
pub(super) fn input_required(result: String) -> String {
    dressed(result, "input_required")
}

/// The same for the handle of a task.
pub(super) fn task(handle: String) -> String {
    dressed(handle, "task")
}

fn dressed(mut result: String, kind: &str) -> String {
    result.pop();
    if result.len() > 1 {
        result.push(',');
    }
    let server = json!({"name": PRODUCT, "title": "Portico", "version": VERSION});
    result.push_str(&format!(
        "\"resultType\":\"{kind}\",\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{server}}}}}"
    ));
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
        assert!(complete("{}".to_owned(), "tools/call").starts_with("{\"resultType\":\"complete\",\"_meta\":{"));
        let list: serde_json::Value =
            serde_json::from_str(&complete("{\"tools\":[]}".to_owned(), "tools/list")).unwrap();
        assert_eq!((list["ttlMs"].as_u64(), list["cacheScope"].as_str()), (Some(TIME_TO_LIVE_MS), Some("private")));
    }
}
