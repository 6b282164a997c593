//! The Model Context Protocol: one dispatch for both eras, each with its rim. Knows messages and
//! no server: headers come in as values, and what goes out is bytes and a standing.

mod answering;
mod batch;
pub mod changes;
mod completion;
pub mod envelope;
pub mod era;
mod pages;
pub mod progress;
mod prompts;
pub mod replay;
mod resources;
mod session;
pub mod sessions;
mod stateless;
pub mod subscription;
mod tool_result;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use portico_actors::call::Origin;
use portico_actors::directory::{Directory, Entry};
use portico_actors::error::{Error, Kind};
use portico_actors::principal::Principal;
use portico_actors::reply::Reply;
use portico_actors::trace::TraceParent;

use crate::config::Connection;
use crate::encode;
use crate::fields::Fields;
use crate::tools::{self, Filter, Offer, Unresolved};
pub use answering::{Reception, answer, end_session, find_session, receive};
pub use batch::{answer_batch, receive_batch};
use changes::{Digests, List, UNKNOWN};
use envelope::{Failure, Standing};
use era::Era;
use progress::Progress;
use sessions::{Holder, Session, Sessions};
use subscription::Subscription;

const PRODUCT: &str = "portico";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const INSTRUCTIONS: &str = "SQL access to one database connection. Call get_instructions first: it tells the dialect, \
                            the tables and what you may do.";

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
    fn value(&self) -> Option<&str> {
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
}

/// Where and for whom a message is answered.
pub struct Context<'a> {
    /// Sends calls.
    pub directory: &'a Directory,
    /// The connection.
    pub entry: &'a Entry,
    /// The caller.
    pub by: Arc<Principal>,
    /// The request, and its trace as the header tells it.
    pub origin: Origin,
    /// Narrows `tools/list`.
    pub filter: &'a Filter,
    /// How the connection was configured.
    pub settings: &'a Connection,
    /// The sessions of the 2025 revisions.
    pub sessions: &'a Sessions,
    /// Counts what a call reads.
    pub progress: &'a Progress,
}

impl Context<'_> {
    /// Whose session it is that this caller begins or names.
    fn holder(&self) -> Holder {
        Holder { subject: self.by.subject.clone(), connection: self.entry.id }
    }
}

/// How a message is answered.
#[derive(Debug)]
pub enum Outcome {
    /// Taken; there is nothing to say.
    Accepted,
    /// A response.
    Response(Standing, Vec<u8>),
    /// The response to a handshake, and the session that begins with it.
    Begun(Arc<Session>, Vec<u8>),
    /// The response is a stream that stays open.
    Listening(Subscription),
    /// The client has cancelled the request, which is not answered then.
    Cancelled,
    /// The caller's scope does not reach. The transport says so with a challenge; where it is too
    /// late for that, there is a response.
    Denied(Error, Vec<u8>),
}

impl Outcome {
    /// The response, where there is one.
    pub fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Response(_, body) | Self::Begun(_, body) | Self::Denied(_, body) => Some(body),
            Self::Accepted | Self::Listening(_) | Self::Cancelled => None,
        }
    }
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// What a client that lost its stream sends as `Last-Event-ID`; within a session it names the
    /// stream, and the place in it.
    pub id: Option<String>,
    /// A JSON-RPC message; empty for an event that only gives an id.
    pub message: Bytes,
}

/// What the log says of a message.
#[derive(Debug, Default)]
pub struct Summary {
    /// The tool's name, or the method.
    pub what: String,
    /// What the tool does, in one word.
    pub operation: Option<&'static str>,
    /// The trace that the message itself names.
    pub trace: Option<TraceParent>,
    /// How long the call waited for its turn.
    pub queued: Option<Duration>,
    /// How long the source then took.
    pub source: Option<Duration>,
    /// The statement's class.
    pub class: Option<&'static str>,
    /// Rows sent.
    pub rows: u64,
    /// How it failed.
    pub failure: Option<Kind>,
    /// The inner cause of an internal failure.
    pub cause: Option<String>,
}

/// Why a request has no result.
enum Refusal {
    Protocol(Failure),
    Scope(Error),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Protocol(failure)
    }
}

/// What the caller's lists hold now, as numbers that differ when they do.
pub fn digests(context: &Context<'_>) -> Digests {
    List::ALL.map(|list| {
        let mut hasher = DefaultHasher::new();
        match list {
            List::Resources => match context.entry.profile() {
                Some(profile) => profile.tables.hash(&mut hasher),
                None => return UNKNOWN,
            },
            List::Tools => {
                let tools = with_offer(context, |offer| tools::list(offer, context.filter));
                for tool in &tools {
                    tool.to_string().hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    })
}

/// The one dispatch of both eras. Gives a result, a JSON object.
async fn dispatch(
    context: &Context<'_>,
    era: Era,
    method: &str,
    params: Option<&str>,
    summary: &mut Summary,
) -> Result<String, Refusal> {
    match (method, era) {
        ("tools/list", _) => Ok(list_tools(context, params)?),
        ("tools/call", _) => call_tool(context, params, summary).await,
        ("resources/list", _) => Ok(resources::list(context, params, summary).await?),
        ("resources/templates/list", _) => Ok(resources::templates(context, params)?),
        ("resources/read", _) => Ok(resources::read(context, era, params, summary).await?),
        ("prompts/list", _) => Ok(prompts::list(context, params)?),
        ("prompts/get", _) => Ok(prompts::get(context, params)?),
        ("completion/complete", _) => Ok(completion::complete(context, params, summary).await?),
        ("server/discover", Era::Stateless) => Ok(stateless::discover()),
        ("ping", Era::Session) => Ok("{}".to_owned()),
        (_, Era::Stateless) => Err(Failure::method(method, Standing::Unknown).into()),
        (_, Era::Session) => Err(Failure::method(method, Standing::Answered).into()),
    }
}

/// Makes the offer of `context` and hands it on: it borrows the profile.
fn with_offer<T>(context: &Context<'_>, then: impl FnOnce(&Offer<'_>) -> T) -> T {
    let profile = context.entry.profile();
    then(&Offer {
        connection: &context.entry.name,
        access: context.entry.access,
        profile: profile.as_deref(),
        by: &context.by,
        max_rows: context.settings.max_rows,
        max_bytes: context.settings.max_bytes,
        switches: &context.settings.switches,
        own: &context.settings.tools,
    })
}

fn list_tools(context: &Context<'_>, params: Option<&str>) -> Result<String, Failure> {
    let wrong = |error: Error| Failure::params(error.message, Standing::Answered);
    let cursor = Fields::parse(params.unwrap_or("{}"), "params").and_then(|mut fields| fields.string("cursor"));
    let tools = with_offer(context, |offer| tools::list(offer, context.filter));
    pages::page("tools", "name", &tools, cursor.map_err(wrong)?.as_deref()).map_err(wrong)
}

async fn call_tool(context: &Context<'_>, params: Option<&str>, summary: &mut Summary) -> Result<String, Refusal> {
    let wrong = |error: Error| Failure::params(error.message, Standing::Answered);
    let mut fields = Fields::parse(params.unwrap_or("{}"), "params").map_err(wrong)?;
    let name = fields.required("name").map_err(wrong)?;
    let arguments = fields.take("arguments");
    summary.trace = fields.take("_meta").and_then(|meta| trace(meta.get()));
    if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err(Failure::params("arguments must be an object", Standing::Answered).into());
    }
    summary.what.clone_from(&name);
    let arguments = arguments.as_deref().map(serde_json::value::RawValue::get);
    let resolved = match with_offer(context, |offer| tools::resolve(offer, &name, arguments)) {
        Ok(resolved) => resolved,
        Err(Unresolved::Unknown(error)) => {
            summary.failure = Some(Kind::NotFound);
            return Err(Failure::params(words(&error), Standing::Answered).into());
        }
        Err(Unresolved::Refused(error)) => return failed(error, summary),
    };
    let (caps, format) = (resolved.caps, resolved.format);
    summary.operation = Some(resolved.operation.word());
    let origin = Origin { trace: summary.trace.or(context.origin.trace), ..context.origin };
    let asked = Instant::now();
    let reply =
        context.directory.ask(context.entry, origin, Arc::clone(&context.by), resolved.op, resolved.limits).await;
    let table = match reply {
        Ok(Reply::Text(text)) => return Ok(tool_result::instructions(&text)),
        Ok(Reply::Results(results)) => {
            summary.class = results.class;
            let queued = results.queued;
            let table = encode::tabulate(results, caps, format, |rows| context.progress.read(rows)).await;
            summary.queued = Some(queued);
            summary.source = Some(asked.elapsed().saturating_sub(queued));
            table
        }
        Err(error) => Err(error),
    };
    match table {
        Ok(table) => {
            summary.rows = table.rows;
            Ok(tool_result::table(&table))
        }
        Err(error) => failed(error, summary),
    }
}

/// The trace in `_meta` of a message.
fn trace(meta: &str) -> Option<TraceParent> {
    let traceparent = Fields::parse(meta, "_meta").ok()?.string("traceparent").ok()??;
    TraceParent::parse(&traceparent)
}

/// Who can mend it decides the channel.
fn failed(error: Error, summary: &mut Summary) -> Result<String, Refusal> {
    summary.failure = Some(error.kind);
    summary.cause = error.cause().filter(|_| error.kind == Kind::Internal).map(str::to_owned);
    if error.get_needs().is_some() {
        return Err(Refusal::Scope(error));
    }
    if envelope::mendable(error.kind) {
        return Ok(tool_result::error(&error));
    }
    Err(Failure::internal(&error).into())
}

/// A failure in one sentence, with its hint.
fn words(error: &Error) -> String {
    match error.get_hint() {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}
