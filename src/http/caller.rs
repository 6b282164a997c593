//! Authenticates callers: `Authorization: Bearer` or `Basic` becomes a [`Principal`]. A handler that takes a
//! [`Caller`] cannot be anonymous.

use std::sync::Arc;
use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header;
use actix_web::middleware::Next;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::future::LocalBoxFuture;
use portico_actors::auth::Authenticate;
use portico_actors::auth::records::LONGEST_EMAIL;
use portico_actors::error::{Error, Result};
use portico_actors::principal::{Credential, Endpoint, Principal};
use secrecy::SecretString;

use crate::app::App;
use crate::http::authenticated::{self, Authenticated, SignedIn};
use crate::http::error::Challenge;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::middleware::timing::Timing;
use crate::http::policy::{Authentication, RoutePolicy};
use crate::http::{connections::peer, error};

/// The caller of a handler of the SQL API.
pub(super) struct Caller(pub(super) Arc<Principal>);

impl FromRequest for Caller {
    type Error = actix_web::Error;
    type Future = LocalBoxFuture<'static, std::result::Result<Self, actix_web::Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let app = web::Data::<App>::extract(&request).await?;
            let mut recorder = CallRecorder::begin(&request, &app);
            match authenticate(&request, &app, Endpoint::Api).await {
                Ok(principal) => {
                    // The handler records the end itself.
                    recorder.forget();
                    Ok(Self(principal))
                }
                Err(refusal) => {
                    recorder.finish(0, Some(&refusal));
                    let challenge = api_challenge(&request, &app);
                    let response = error::api(&refusal, recorder::request_id(&request), Some(&challenge));
                    Err(InternalError::from_response(refusal, response).into())
                }
            }
        })
    }
}

/// The challenge of the SQL API.
pub(super) fn api_challenge(request: &HttpRequest, app: &App) -> Challenge {
    Challenge {
        metadata: format!("{}/.well-known/oauth-protected-resource", app.config().server.public_url),
        shown: request.headers().contains_key(header::AUTHORIZATION),
        basic: true,
    }
}

/// Validates the request's one credential.
pub(super) async fn authenticate(request: &HttpRequest, app: &App, endpoint: Endpoint) -> Result<Arc<Principal>> {
    // A request that is looked at twice is one request.
    if let Some(Authenticated(judged)) = request.extensions().get::<Authenticated>() {
        return judged.clone();
    }
    let judged = judge(request, app, endpoint).await;
    request.extensions_mut().insert(Authenticated(judged.clone()));
    judged
}

async fn judge(request: &HttpRequest, app: &App, endpoint: Endpoint) -> Result<Arc<Principal>> {
    let (credential, from) = (credential(request)?, peer::client(request, app));
    let asked = Instant::now();
    let by = app.auth.authenticate(Authenticate { credential, endpoint, from }).await?;
    Timing::from_request(request).authenticated(asked.elapsed());
    let quota = app.count_request(&by).map_err(|quota| {
        let refusal = Error::throttled("too many requests of this caller; come back when Retry-After says", quota);
        let refusal = refusal.claimed(&by.subject);
        match by.credential.as_deref() {
            Some(id) => refusal.of_credential(id),
            None => refusal,
        }
    })?;
    if let Some(quota) = quota {
        request.extensions_mut().insert(quota);
    }
    Ok(by)
}

/// Withholds the answer of a route that requires authentication if the caller was not authenticated: a handler that
/// forgets it fails its first test, and serves no one.
pub(super) async fn require_authentication(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> actix_web::Result<ServiceResponse<BoxBody>> {
    let wanted = RoutePolicy::from_request(request.request()).map(|policy| policy.caller);
    let response = next.call(request).await?.map_into_boxed_body();
    let known = match wanted {
        Some(Authentication::Credential) | None => authenticated::known(response.request()).is_some(),
        Some(Authentication::Session) => response.request().extensions().contains::<SignedIn>(),
        Some(Authentication::Handler(_) | Authentication::No(_)) => true,
    };
    if known || !response.status().is_success() {
        return Ok(response);
    }
    let refusal = Error::internal("bug: a handler answered without authenticating the caller");
    let refused = error::refusal(response.request(), &refusal);
    Ok(response.into_response(refused))
}

/// The request's one credential.
pub(super) fn credential(request: &HttpRequest) -> Result<Credential> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION);
    let wrong = || {
        Error::unauthenticated("the Authorization header is malformed")
            .hint("send Bearer <token> or Basic base64(email:token)")
    };
    let header = headers.next().ok_or_else(|| {
        Error::unauthenticated("authentication required")
            .hint("send Authorization: Bearer <token>, or Basic base64(email:token)")
    })?;
    if headers.next().is_some() {
        return Err(Error::unauthenticated("the Authorization header is repeated").hint("send it once"));
    }
    let header = std::str::from_utf8(header.as_bytes()).ok().filter(|header| header.is_ascii());
    let (scheme, value) = header.and_then(|header| header.split_once(' ')).ok_or_else(wrong)?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("Bearer") && !value.is_empty() {
        return Ok(Credential::Bearer(SecretString::from(value)));
    }
    if scheme.eq_ignore_ascii_case("Basic") {
        let (email, token) = decode_basic(value).ok_or_else(wrong)?;
        if email.chars().count() > LONGEST_EMAIL {
            return Err(wrong());
        }
        return Ok(Credential::Basic { email, token: SecretString::from(token) });
    }
    Err(wrong())
}

/// Name and secret of HTTP Basic (RFC 7617).
pub(super) fn decode_basic(value: &str) -> Option<(String, String)> {
    let decoded = String::from_utf8(BASE64.decode(value).ok()?).ok()?;
    decoded.split_once(':').map(|(name, secret)| (name.to_owned(), secret.to_owned()))
}
