//! The way in while the service stops: no new calls, and the ones that run are counted to their
//! last byte, so that it is known when all have ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use portico_actors::error::{Error, Kind};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::app::App;
use crate::http::error;
use crate::http::policy::Policy;

/// When it is worth asking again: by then another process serves, or a proxy knows better.
const COME_BACK: Duration = Duration::from_secs(5);

/// Lets a request in and counts it, or refuses it. Those who watch the service may ask to the end.
pub(in crate::http) async fn keep(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let app = request.app_data::<web::Data<App>>().map(|app| Arc::clone(app));
    let watches = Policy::of(request.request()).is_some_and(|policy| policy.while_stopping);
    let Some(app) = app.filter(|_| !watches) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    // Counted before the look: whoever waits for the last one does not overlook this one.
    let running = app.begin();
    if app.draining() {
        let refusal = refuse(&request);
        return Ok(request.into_response(refusal));
    }
    let response = next.call(request).await?;
    Ok(response.map_body(|_, body| BoxBody::new(Counted { body: body.boxed(), _running: running })))
}

fn refuse(request: &ServiceRequest) -> HttpResponse {
    let refusal = Error::new(Kind::Unavailable, "the service is stopping and takes no new calls")
        .retry_after(COME_BACK)
        .hint("try again after the given delay, on a new connection");
    let mut response = error::refusal(request.request(), &refusal);
    error::close(&mut response);
    response
}

/// A body whose request counts until it is sent.
struct Counted {
    body: BoxBody,
    _running: TaskTrackerToken,
}

impl MessageBody for Counted {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(cx)
    }
}
