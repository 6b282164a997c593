//! The interface between the protocol and what is offered at one address: tools, resources, prompts and completions
//! (MCP, server features). A configured connection is one implementation; the transport treats all alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use portico_actors::error::Error;
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::mcp::context::{Context, Summary};
use crate::mcp::envelope::RpcError;
use crate::mcp::features::ToolList;

/// Why a request has no result.
#[derive(Debug)]
pub enum RequestError {
    /// An error of the protocol.
    Protocol(RpcError),
    /// An error that the caller can correct: the tool fails. If the caller's scope is too narrow, the transport
    /// reports that.
    Tool(Error),
}

impl From<RpcError> for RequestError {
    fn from(failure: RpcError) -> Self {
        Self::Protocol(failure)
    }
}

/// The result of a request.
pub type RequestResult<T> = Result<T, RequestError>;

/// The result of a request that may need more from the client first.
#[derive(Debug)]
pub enum ToolOutcome {
    /// The result, a JSON object as text.
    Complete(String),
    /// The client is to send the request again with more (MCP 2026-07-28, multi round-trip requests).
    InputRequired(InputRequired),
}

/// The input required from the client before a request can be answered.
#[derive(Debug, Default)]
pub struct InputRequired {
    /// Requests to the client, each under the name that its answer has to carry.
    pub requests: Vec<(&'static str, InputRequest)>,
    /// The request's state, returned to it with the answers. The client carries it, sealed: it can neither change
    /// it nor use it for another request.
    pub state: Option<Value>,
}

/// A request to the client, and the capability that it needs.
#[derive(Debug)]
pub struct InputRequest {
    /// The client's capability: `elicitation`, `sampling` or `roots`.
    pub capability: &'static str,
    /// The method that the client is to answer.
    pub method: &'static str,
    /// Its parameters.
    pub params: Value,
}

/// The client's input in a repeated request.
#[derive(Debug, Default)]
pub struct ClientInput {
    /// Its answers, by the names of the requests.
    pub responses: Map<String, Value>,
    /// The state of the request.
    pub state: Option<Value>,
}

/// A request for one of the things offered.
#[derive(Debug)]
pub struct FeatureRequest {
    /// The tool's or prompt's name, or the resource's URI.
    pub name: String,
    /// The tool's arguments: the text of a JSON object.
    pub arguments: Option<String>,
    /// The client's input.
    pub input: ClientInput,
}

/// The subject of a completion (MCP, server/utilities/completion).
#[derive(Debug)]
pub enum CompletionTarget {
    /// A prompt's argument.
    Prompt(String),
    /// A variable of a template of URIs.
    Resource(String),
}

/// A value that is being typed.
#[derive(Debug)]
pub struct CompletionRequest {
    /// The subject.
    pub reference: CompletionTarget,
    /// The argument's name.
    pub argument: String,
    /// The typed text.
    pub begun: String,
    /// The arguments that are there already.
    pub known: BTreeMap<String, String>,
}

/// A list that a client may cache, and whose changes are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `resources/list`, and the content of its resources.
    Resources,
    /// `prompts/list`.
    Prompts,
}

impl ListKind {
    /// All kinds, in the order of their [`Digests`].
    pub const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];

    /// The member of `subscriptions/listen` that asks for it.
    pub const fn subscription(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Resources => "resourcesListChanged",
            Self::Prompts => "promptsListChanged",
        }
    }

    /// Returns the notification of its change.
    pub fn notification(self) -> String {
        format!("notifications/{}/list_changed", self.capability())
    }

    /// Returns the server capability whose `listChanged` announces the notification.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// The digest of a list that cannot be read now: it does not count as a change, and the next digest is compared
/// with the last reported one.
pub const UNKNOWN_DIGEST: u64 = 0;

/// The digests of each of [`ListKind::ALL`] for one caller.
pub type Digests = [u64; ListKind::ALL.len()];

/// What is offered at one address.
#[async_trait(?Send)]
pub trait Features: Send + Sync {
    /// Returns the declared server capabilities, an object, including those of the protocol's own utilities.
    fn capabilities(&self) -> Value;

    /// Returns the text for a client's first request, at most 2,000 characters.
    fn instructions(&self, _context: &Context<'_>) -> String {
        String::new()
    }

    /// Every tool that this caller is shown.
    fn tools(&self, context: &Context<'_>) -> Arc<ToolList>;

    /// Calls a tool. `summary` receives what is logged.
    async fn call(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome>;

    /// The arguments of the tool `name` that are mirrored in headers: the header's name behind
    /// `Mcp-Param-`, and the argument's (MCP 2026-07-28, transports §Custom Headers).
    fn mirrored(&self, _name: &str) -> Vec<(&str, &str)> {
        Vec::new()
    }

    /// Every resource, as it is listed.
    async fn resources(&self, context: &Context<'_>, summary: &mut Summary) -> RequestResult<Vec<Value>>;

    /// Every template of resources, as it is listed.
    fn templates(&self, context: &Context<'_>) -> Vec<Value>;

    /// Reads a resource.
    async fn read(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        summary: &mut Summary,
    ) -> RequestResult<ToolOutcome>;

    /// Every prompt, as it is listed.
    fn prompts(&self, context: &Context<'_>) -> Vec<Value>;

    /// Fills a prompt. Its arguments are texts.
    async fn prompt(
        &self,
        context: &Context<'_>,
        asked: FeatureRequest,
        arguments: BTreeMap<String, String>,
    ) -> RequestResult<ToolOutcome>;

    /// Returns the values that complete the typed text.
    async fn complete(
        &self,
        context: &Context<'_>,
        completion: CompletionRequest,
        summary: &mut Summary,
    ) -> RequestResult<Vec<String>>;

    /// Returns digests of the caller's current lists.
    fn digests(&self, context: &Context<'_>) -> Digests;

    /// Changes whenever a list or a resource may have changed, besides the connection's state.
    fn changed(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Returns the version of the resource `uri`, which grows with each change; `None` if it cannot be watched.
    fn version(&self, _uri: &str) -> Option<u64> {
        None
    }
}
