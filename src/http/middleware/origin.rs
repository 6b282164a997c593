//! Browsers say which page a request comes from; only pages of allowed origins may call (MCP,
//! transports §Security: DNS rebinding). What is no browser sends no `Origin` and passes.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::web;
use portico_actors::error::Error;

use crate::app::App;
use crate::http::error;
use crate::http::middleware::recorder;
use crate::http::policy::{OriginCheck, Policy};

/// Refuses a request from a page of a foreign origin, where the route wants it.
pub(in crate::http) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let policy = Policy::of(request.request());
    let open = policy.is_some_and(|policy| matches!(policy.origin, OriginCheck::Any(_)));
    let allowed = open
        || request.headers().get_all(header::ORIGIN).all(|origin| {
            origin
                .to_str()
                .is_ok_and(|origin| request.app_data::<web::Data<App>>().is_some_and(|app| is_allowed(origin, app)))
        });
    if !allowed {
        let refusal = Error::forbidden("the Origin header names a page that may not call this service")
            .hint("an administrator can add it to server.allowed_origins");
        recorder::refused(request.request(), &refusal);
        let response = error::refusal(request.request(), &refusal);
        debug_assert_eq!(response.status(), error::FORBIDDEN);
        return Ok(request.into_response(response));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

/// Whether pages of `origin` may call.
pub(in crate::http) fn is_allowed(origin: &str, app: &App) -> bool {
    let config = app.config();
    let server = &config.server;
    origin.eq_ignore_ascii_case(&server.public_url)
        || server.allowed_origins.iter().any(|allowed| origin.eq_ignore_ascii_case(allowed.trim_end_matches('/')))
        || is_loopback(origin)
}

/// Pages served by this very machine: their host cannot be rebound.
fn is_loopback(origin: &str) -> bool {
    let Some(authority) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
        return false;
    };
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_counts_as_loopback() {
        for origin in ["http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:9"] {
            assert!(is_loopback(origin), "{origin}");
        }
        for origin in [
            "null",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "file://localhost",
            "http://localhost:",
        ] {
            assert!(!is_loopback(origin), "{origin}");
        }
    }
}
