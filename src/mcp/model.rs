//! Common types of the protocol: messages and their ids, the metadata of a request, headers, and the events of a
//! stream. Imports nothing of `mcp`.

use bytes::Bytes;
use portico_actors::error::Error;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fields::Fields;

/// The maximal length in bytes of a client's name that is kept beyond its request.
pub(super) const LONGEST_NAME: usize = 1_024;

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The member of `_meta` that asks for log messages of one request.
pub(super) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The member of `_meta` in which a result names its server.
pub(super) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// How this server names itself.
pub(super) fn server_info() -> Value {
    json!({"name": "portico", "title": "Portico", "version": env!("CARGO_PKG_VERSION")})
}

/// A request's id, kept as the JSON text it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Id(String);

impl Id {
    /// The text for an id that could not be read.
    pub const NULL: &str = "null";

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// An id is a string or an integer (MCP, base protocol §Requests).
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let integer = !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let string = text.starts_with('"') && serde_json::from_str::<String>(text).is_ok();
        (integer || string).then(|| Self(text.to_owned()))
    }
}

/// One message from a client.
#[derive(Debug)]
pub enum Message {
    /// Wants an answer.
    Request {
        /// Echoed in the answer.
        id: Id,
        /// The method.
        method: String,
        /// Its parameters.
        params: Params,
    },
    /// A message without an answer.
    Notification {
        /// The method.
        method: String,
        /// Its parameters.
        params: Params,
    },
    /// An answer to one of our requests.
    Response {
        /// The request's id, if it is one of ours: a string.
        id: Option<String>,
        /// Its result, or an error object.
        answer: Result<Value, Value>,
    },
}

impl Message {
    /// The id that an error about this message carries.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } => Some(id),
            _ => None,
        }
    }
}

/// The parameters of a message, read once.
#[derive(Debug)]
pub struct Params {
    /// Its members except `_meta`, or their error.
    pub(super) fields: Result<Fields, Error>,
    /// The metadata of the message.
    pub(super) meta: Meta,
    /// The first name that was given more than once, among these or in `_meta`.
    pub(super) repeated: Option<String>,
}

impl Params {
    /// Reads `raw`, an object; absent means empty.
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let mut fields = raw.map_or_else(|| Ok(Fields::default()), |raw| Fields::parse(raw.get(), "params"));
        let mut repeated = fields.as_ref().ok().and_then(Fields::repeated).map(str::to_owned);
        let meta = fields.as_mut().ok().and_then(|fields| fields.take("_meta"));
        let meta = meta.and_then(|meta| Fields::parse(meta.get(), "_meta").ok());
        repeated = repeated.or_else(|| meta.as_ref().and_then(Fields::repeated).map(str::to_owned));
        Self { fields, meta: meta.map(Meta::read).unwrap_or_default(), repeated }
    }

    /// Returns true if the message names its protocol version.
    pub fn names_version(&self) -> bool {
        self.meta.version.is_some()
    }

    /// The revision that the message says it is of.
    pub fn version(&self) -> Option<&str> {
        self.meta.version.as_ref()?.as_deref().ok()
    }

    /// A parameter that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        self.fields.as_ref().ok()?.peek(name).ok()?
    }

    /// Takes a parameter out.
    pub fn take(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        self.fields.as_mut().ok()?.take(name)
    }
}

/// The metadata of a message (`_meta`).
#[derive(Debug, Default)]
pub(super) struct Meta {
    /// The protocol version (2026-07-28), or an error if it is not a string.
    pub(super) version: Option<Result<String, Error>>,
    /// The client's declared capabilities, as JSON text.
    pub(super) capabilities: Option<Box<RawValue>>,
    /// The client's name.
    pub(super) client: Option<String>,
    /// The lowest severity of log messages that the client wants.
    pub(super) log_level: Option<Box<RawValue>>,
    /// The client's token for progress notifications.
    pub(super) progress_token: Option<Box<RawValue>>,
    /// The trace that the message belongs to.
    pub(super) traceparent: Option<String>,
}

impl Meta {
    fn read(mut fields: Fields) -> Self {
        Self {
            version: fields.string(META_VERSION).transpose(),
            capabilities: fields.take(META_CAPABILITIES),
            client: fields
                .take(META_CLIENT)
                .and_then(|client| Fields::parse(client.get(), META_CLIENT).ok()?.string("name").ok().flatten()),
            log_level: fields.take(META_LOG_LEVEL),
            progress_token: fields.take("progressToken"),
            traceparent: fields.string("traceparent").ok().flatten(),
        }
    }

    /// Returns the client's declared capabilities, an object.
    pub(super) fn capabilities(&self) -> Value {
        self.capabilities.as_ref().and_then(|declared| serde_json::from_str(declared.get()).ok()).unwrap_or_default()
    }
}

/// One header of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Not there.
    #[default]
    Absent,
    /// Its value, trimmed.
    One(String),
    /// Repeated, or no text.
    Invalid,
}

impl Header {
    pub(super) fn value(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            _ => None,
        }
    }
}

/// The headers that the protocol reads.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// `MCP-Protocol-Version`.
    pub version: Header,
    /// `Mcp-Method`.
    pub method: Header,
    /// `Mcp-Name`.
    pub name: Header,
    /// `Mcp-Session-Id`.
    pub session: Header,
    /// `Last-Event-ID`.
    pub last_event: Header,
    /// `Mcp-Param-…`, by their names in lower case.
    pub params: Vec<(String, Header)>,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// The `Last-Event-ID` of a client that lost its stream; within a session it identifies the stream, and the
    /// position in it.
    pub id: Option<String>,
    /// A JSON-RPC message; empty for an event that only has an id.
    pub message: Bytes,
}

impl ServerEvent {
    /// One that only carries a message.
    pub fn message(message: impl Into<Bytes>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }
}

/// A JSON object without the members that are null.
pub(super) fn present(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}
