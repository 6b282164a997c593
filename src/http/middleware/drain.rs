//! The entry while the service stops: refuses new calls, and counts running ones to their last byte, so that it is
//! known when all have ended.

use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use portico_actors::error::{Error, Kind};

use crate::http::error;
use crate::http::middleware::limits;
use crate::http::policy::RoutePolicy;
use crate::http::state;

/// When it is worth asking again: by then another process serves, or a proxy knows better.
const COME_BACK: Duration = Duration::from_secs(5);

/// Admits a request and counts it, or refuses it. Monitoring endpoints answer to the end.
pub(in crate::http) async fn refuse_while_stopping(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = state::app(&request)?;
    if RoutePolicy::from_request(request.request()).is_some_and(|policy| policy.while_stopping) {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    // Counted before the check: whoever waits for the last one does not miss this one.
    let running = app.begin();
    if app.draining() {
        let refusal = Error::new(Kind::Unavailable, "the service is stopping and takes no new calls")
            .retry_after(COME_BACK)
            .hint("try again after the given delay, on a new connection");
        let mut response = error::refusal(request.request(), &refusal);
        error::close(&mut response);
        return Ok(request.into_response(response));
    }
    let mut response = next.call(request).await?.map_into_boxed_body();
    limits::hold(&mut response.response_mut().extensions_mut(), running);
    Ok(response)
}
