//! Answers requests without a handler: an unknown path, or a method that a path does not have.

use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use portico_actors::error::Error;

use crate::app::App;
use crate::http::error;
use crate::http::middleware::audit_trail;
use crate::http::middleware::recorder;
use crate::http::policy::RoutePolicy;

/// Answers requests without a route.
pub(in crate::http) async fn no_such_path(request: HttpRequest) -> HttpResponse {
    let refusal = Error::not_found("there is nothing at this path").hint("GET /openapi.json describes every endpoint");
    recorder::refused(&request, &refusal);
    // Of a scope that has one, it leaves its record there.
    if RoutePolicy::from_request(&request).is_none()
        && let Some(app) = request.app_data::<web::Data<App>>()
    {
        audit_trail::record_refusal(&request, app, &refusal).await;
    }
    error::refusal(&request, &refusal)
}

/// Completes a resource: any method besides those `allowed` is refused with the list of these.
pub(in crate::http) fn only(resource: Resource, allowed: &'static str) -> Resource {
    resource.default_service(web::to(move |request: HttpRequest| async move {
        let refusal = Error::invalid(format!("this path only takes {allowed}"));
        recorder::refused(&request, &refusal);
        let mut response = error::refusal_with_status(error::METHOD_NOT_ALLOWED, &request, &refusal);
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
        response
    }))
}
