//! The order of refusal on the MCP endpoint (`wire.md` §2): credential, then the connection's id,
//! then reach, then existence. A token cannot probe which connections exist.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header;
use portico_actors::directory::Entry;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Endpoint, Principal};
use uuid::Uuid;

use super::caller;
use super::ending::Ending;
use super::error::Challenge;
use crate::app::App;

/// A caller at a connection that is within reach.
pub(super) struct Admitted {
    pub(super) by: Arc<Principal>,
    pub(super) entry: Entry,
}

/// Lets the caller of `request` in to the connection `id`.
pub(super) async fn admit(request: &HttpRequest, app: &App, id: &str, ending: &mut Ending) -> Result<Admitted> {
    let by = caller::authenticate(request, app, Endpoint::Mcp).await?;
    ending.note_caller(&by);
    let id = Uuid::try_parse(id).map_err(|_| {
        Error::invalid("connectionId: this is no UUID").hint("the address is /mcp/connections/{connectionId}")
    })?;
    ending.note(|event| event.connection_id = Some(id));
    if !by.reach.covers(id) {
        return Err(Error::forbidden("this credential does not open this connection")
            .hint("use a credential of this connection; GET /api/connections lists those of any credential that opens the SQL API too"));
    }
    let entry = app.directory.get(id).ok_or_else(|| Error::not_found("there is no connection with this id"))?;
    ending.note_connection(app, &entry, &by);
    // From here on nobody asks for more than the caller may do at this connection.
    Ok(Admitted { by: by.at(id), entry })
}

/// The challenge of the MCP endpoint of the connection `id`.
pub(super) fn challenge(request: &HttpRequest, app: &App, id: &str) -> Challenge {
    let root = format!("{}/.well-known/oauth-protected-resource", app.config().server.public_url);
    Challenge {
        // Only a UUID is repeated: anything else could break out of the header's quotes.
        metadata: match Uuid::try_parse(id) {
            Ok(id) => format!("{root}/mcp/connections/{id}"),
            Err(_) => root,
        },
        shown: request.headers().contains_key(header::AUTHORIZATION),
        basic: false,
    }
}
