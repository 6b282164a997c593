//! The authenticated caller, stored in the request.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest};
use portico_actors::auth::accounts::session::Session;
use portico_actors::error::Result;
use portico_actors::principal::Principal;

/// The caller of a request, or why it was refused.
pub(super) struct Authenticated(pub(super) Result<Arc<Principal>>);

/// The session of the person whose browser sent the request, for its record.
pub(super) struct SignedIn(pub(super) Session);

/// The caller of a request that was let in.
pub(super) fn known(request: &HttpRequest) -> Option<Arc<Principal>> {
    request.extensions().get::<Authenticated>().and_then(|Authenticated(judged)| judged.as_ref().ok().map(Arc::clone))
}
