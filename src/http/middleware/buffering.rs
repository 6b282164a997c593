//! Request buffering, as proxies call it: the caller of the SQL API and of the MCP endpoint is authenticated and the
//! body read whole before anything else is taken for a request. Whoever sends slowly, or is nobody, holds no place
//! of others.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};
use portico_actors::principal::Endpoint;

use crate::app::App;
use crate::http::caller;
use crate::http::middleware::body;
use crate::http::policy::{Authentication, Form, Policy};

/// Authenticates the caller and reads the body, where the route wants both. What is wrong with either is told by the
/// handler.
pub(in crate::http) async fn buffer(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let policy = Policy::of(request.request()).filter(|policy| matches!(policy.caller, Authentication::Credential));
    if let Some((policy, app)) = policy.zip(request.app_data::<web::Data<App>>().cloned()) {
        let endpoint = if policy.form == Form::Mcp { Endpoint::Mcp } else { Endpoint::Api };
        let known = caller::authenticate(request.request(), &app, endpoint).await;
        if let Ok(by) = known
            && request.method() == Method::POST
        {
            let payload = request.extract::<web::Payload>().await?;
            let received = body::receive(request.request(), payload, &app, &by).await;
            request.extensions_mut().insert(received);
        }
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}
