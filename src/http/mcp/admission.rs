//! The order of refusal on the MCP endpoints: credential, then the connection's id, then reach, then
//! existence. A token cannot probe which connections exist.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest};
use portico_actors::directory::ConnectionEntry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Endpoint, Principal};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use crate::app::App;
use crate::http::caller;
use crate::http::error::Challenge;
use crate::http::middleware::recorder::CallRecorder;
use crate::mcp::target::{AllTarget, Target, TargetConnection, WorkspaceTarget};
use crate::workspace::Reachable;

/// The maximal length in bytes of a query that is repeated in an answer.
const LONGEST_QUERY: usize = 512;
/// Longer than any connection's name should be.
const LONGEST_NAME: usize = 255;

/// A caller at an address where something is within reach.
pub(in crate::http) struct Admitted {
    pub(in crate::http) by: Arc<Principal>,
    pub(in crate::http) target: Target,
}

/// An MCP address.
pub(in crate::http) enum Address {
    /// A single connection: its id or its name, as in the address.
    Connection(String),
    /// Of all that a credential opens.
    All,
    /// Of one workspace, by its name.
    Workspace(String),
}

impl FromRequest for Address {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let word = |name: &str| request.match_info().get(name).map(str::to_owned);
        let one = word("connectionId").map(Self::Connection);
        ready(Ok(one.or_else(|| word("workspace").map(Self::Workspace)).unwrap_or(Self::All)))
    }
}

/// A word in place of a connection's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'a> {
    Id(Uuid),
    /// The connection's name, which clients find easier to remember.
    Name(&'a str),
}

impl<'a> Word<'a> {
    /// Reads the last part of an address. An id has one form, that of RFC 9562 §4; every other word of a
    /// name's letters is one.
    fn read(word: &'a str) -> Option<Self> {
        let id = Uuid::try_parse(word).ok().filter(|_| word.len() == Hyphenated::LENGTH);
        if let Some(id) = id {
            return Some(Self::Id(id));
        }
        let letter = |each: u8| each.is_ascii_alphanumeric() || matches!(each, b'_' | b'-');
        let fits = (1..=LONGEST_NAME).contains(&word.len()) && word.bytes().all(letter);
        fits.then_some(Self::Name(word))
    }
}

/// Lets the caller of `request` in at `address`.
pub(in crate::http) async fn admit(
    request: &HttpRequest,
    app: &App,
    address: &Address,
    recorder: &mut CallRecorder,
) -> Result<Admitted> {
    let by = caller::authenticate(request, app, Endpoint::Mcp).await?;
    recorder.note_caller(&by);
    match address {
        Address::Connection(word) => admit_to_connection(app, by, word, recorder),
        Address::All => {
            let target = all(app, &by)?;
            if matches!(&target, Target::All(all) if all.is_empty()) {
                return Err(Error::forbidden("this credential opens no connection and no workspace"));
            }
            Ok(Admitted { by, target })
        }
        Address::Workspace(name) => {
            let target = workspace(app, &by, name)?;
            Ok(Admitted { by, target })
        }
    }
}

/// Returns the workspace `name`, if `by` reaches it now.
///
/// # Errors
/// There is no such workspace for this caller.
pub(in crate::http) fn workspace(app: &App, by: &Principal, name: &str) -> Result<Target> {
    Ok(Target::Workspace(Box::new(over(app, app.workspace(by, name)?)?)))
}

/// `reachable` over its connections as they are now.
fn over(app: &App, reachable: Reachable) -> Result<WorkspaceTarget> {
    let entries = reachable.entries(&app.directory)?;
    Ok(WorkspaceTarget::new(reachable, connections(app, entries)?))
}

fn connections(app: &App, entries: Vec<ConnectionEntry>) -> Result<Vec<TargetConnection>> {
    entries.into_iter().map(|entry| Ok(TargetConnection { settings: app.connection(&entry)?, entry })).collect()
}

/// All that `by` reaches now.
///
/// # Errors
/// A reload is about to change some of it.
pub(in crate::http) fn all(app: &App, by: &Principal) -> Result<Target> {
    let members = connections(app, app.reachable(by))?;
    let workspaces = app.workspaces(by).into_iter().map(|reachable| over(app, reachable)).collect::<Result<_>>()?;
    Ok(Target::All(AllTarget::new(members, workspaces)))
}

/// Lets `by` in to the connection `word`, its id or its name.
fn admit_to_connection(app: &App, by: Arc<Principal>, word: &str, recorder: &mut CallRecorder) -> Result<Admitted> {
    let id = match Word::read(word) {
        Some(Word::Id(id)) => Some(id),
        // A name that the caller may not use is reported like an unknown one.
        Some(Word::Name(name)) => app.directory.named(name).map(|entry| entry.id).filter(|id| by.rights.covers(*id)),
        None => None,
    };
    let id = id.ok_or_else(|| {
        Error::invalid("connectionId: this is neither a UUID nor the name of a connection that this credential opens")
            .hint("write the address as /mcp/connections/{connectionId}")
    })?;
    recorder.note(|event| event.connection_id = Some(id));
    if !by.rights.covers(id) {
        return Err(Error::forbidden("this credential does not open this connection")
            .hint("use a credential of this connection; GET /api/connections lists those of any credential that opens the SQL API too"));
    }
    let entry = app.directory.get(id).ok_or_else(|| Error::not_found("there is no connection with this id"))?;
    recorder.note_connection(app, &entry, &by);
    let settings = app.connection(&entry)?;
    // From here on the caller has only the scope for this connection.
    Ok(Admitted { by: by.at(id), target: Target::Connection(TargetConnection { entry, settings }) })
}

/// The challenge of the MCP endpoint at `address`, whether there is a connection or not.
pub(in crate::http) fn challenge(request: &HttpRequest, app: &App, address: &Address) -> Challenge {
    let root = format!("{}/.well-known/oauth-protected-resource", app.config().server.public_url);
    let metadata = match address {
        Address::All => format!("{root}/mcp"),
        Address::Workspace(name) => match Word::read(name) {
            Some(Word::Name(name)) => format!("{root}/mcp/workspaces/{name}"),
            _ => root,
        },
        Address::Connection(word) => match Word::read(word) {
            Some(Word::Id(id)) => format!("{root}/mcp/connections/{id}"),
            Some(Word::Name(name)) => format!("{root}/mcp/connections/{name}"),
            // Anything else could break out of the header's quotes.
            None => root,
        },
    };
    Challenge {
        metadata: with_query(metadata, request),
        shown: request.headers().contains_key(header::AUTHORIZATION),
        basic: false,
    }
}

/// Adds the query of `request` to `address`: a client that narrows the tools by its address compares all of it with
/// the resource in the metadata (RFC 9728 §3.3). Unusual characters could break out of a header's quotes.
pub(in crate::http) fn with_query(address: String, request: &HttpRequest) -> String {
    let query = request.query_string();
    let plain =
        |each: u8| each.is_ascii_alphanumeric() || matches!(each, b'_' | b'-' | b'=' | b'&' | b',' | b'%' | b'.');
    if query.is_empty() || query.len() > LONGEST_QUERY || !query.bytes().all(plain) {
        return address;
    }
    format!("{address}?{query}")
}

/// Returns the MCP endpoint of `word`, as its client names it (RFC 9728 §3.3): every id and every name has one,
/// which does not reveal which connections exist.
pub(in crate::http) fn endpoint(app: &App, word: &str) -> Option<String> {
    Some(match Word::read(word)? {
        Word::Id(id) => app.mcp_url(id),
        Word::Name(name) => format!("{}{name}", stem(app)),
    })
}

/// The MCP endpoint of the workspace `name`, as its client names it: every name has one.
pub(in crate::http) fn workspace_endpoint(app: &App, name: &str) -> Option<String> {
    matches!(Word::read(name), Some(Word::Name(_))).then(|| app.workspace_url(name))
}

/// Returns a resource (RFC 8707) for which a client requests a token, with the connection's id in place of its
/// name: a token is for the connection that has the name when it is issued. An unknown name becomes an unused id.
pub(in crate::http) fn resource(app: &App, asked: &str) -> String {
    let stem = stem(app);
    let Some(rest) = asked.strip_prefix(&stem) else { return asked.to_owned() };
    let (word, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    match Word::read(word) {
        Some(Word::Name(name)) => {
            let id = app.directory.named(name).map_or(Uuid::nil(), |entry| entry.id);
            format!("{stem}{id}{rest}")
        }
        Some(Word::Id(_)) | None => asked.to_owned(),
    }
}

fn stem(app: &App) -> String {
    format!("{}/mcp/connections/", app.config().server.public_url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form_and_a_name_no_odd_letter() {
        let id = Uuid::from_u128(0x6f0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b11);
        let text = id.to_string();
        assert_eq!(Word::read(&text), Some(Word::Id(id)));
        assert_eq!(Word::read(&text.to_uppercase()), Some(Word::Id(id)));
        assert_eq!(Word::read("shop_2-a"), Some(Word::Name("shop_2-a")));
        for odd in [
            "",
            "a b",
            "a/b",
            "a\"b",
            "é",
            "a.b",
            &format!("{{{text}}}"),
            &format!("urn:uuid:{text}"),
            &"x".repeat(300),
        ] {
            assert_eq!(Word::read(odd), None, "{odd}");
        }
        assert!(matches!(Word::read(&text.replace('-', "")), Some(Word::Name(_))));
    }
}
