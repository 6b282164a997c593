//! `POST /oauth/register`: clients that register themselves (RFC 7591), if they are admitted.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::auth::oauth::client::{DynamicRegistration, NewClient};
use portico_actors::error::{Error, Kind, Result};
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::client_metadata::plain_name;
use crate::http::middleware::body;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::public::fallback;
use crate::http::{connections::peer, error};
use crate::mcp::envelope;

/// How large a registration may be.
pub(in crate::http) const LIMIT: body::Limit = body::Limit::Json(16 * 1024);

/// What of a registration matters here; the rest is ignored (RFC 7591 §2).
#[derive(Deserialize, JsonSchema)]
pub(in crate::http) struct Registration {
    #[serde(default)]
    redirect_uris: Vec<String>,
    #[serde(default)]
    client_name: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    grant_types: Option<Vec<String>>,
    #[serde(default)]
    response_types: Option<Vec<String>>,
}

/// A client that was registered (RFC 7591 §3.2.1).
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct Registered {
    client_id: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    client_id_issued_at: i64,
    client_name: String,
    redirect_uris: Vec<String>,
    grant_types: [&'static str; 2],
    response_types: [&'static str; 1],
    token_endpoint_auth_method: &'static str,
    /// Shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// 0: it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret_expires_at: Option<u64>,
}

/// `POST /oauth/register`.
pub(in crate::http) async fn register(
    request: HttpRequest,
    payload: web::Payload,
    app: web::Data<App>,
) -> HttpResponse {
    if app.config().oauth.registration() == DynamicRegistration::Nobody {
        return fallback::no_such_path(request).await;
    }
    let mut recorder = CallRecorder::begin(&request, &app);
    let registered = async {
        let bytes = body::read(&request, payload).await?;
        let (new, method) = read(&bytes)?;
        let redirect_uris = new.redirect_uris.clone();
        let (client, secret) = app
            .people
            .at(recorder::audit_context(&request, &app, None))
            .register(new, peer::client(&request, &app))
            .await?;
        Ok::<_, Error>(Registered {
            client_id: client.client_id,
            client_id_issued_at: client.created_at.seconds(),
            client_name: client.name,
            redirect_uris,
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            token_endpoint_auth_method: method,
            client_secret_expires_at: secret.as_ref().map(|_| 0),
            client_secret: secret.map(|secret| secret.expose_secret().to_owned()),
        })
    }
    .await;
    match registered {
        Ok(answer) => {
            recorder.finish(0, None);
            HttpResponse::Created().insert_header((header::CACHE_CONTROL, "no-store")).json(answer)
        }
        Err(failure) => {
            recorder.finish(0, Some(&failure));
            let code = match failure.kind {
                Kind::Invalid if failure.message.starts_with("redirect_uris") => "invalid_redirect_uri",
                Kind::Invalid | Kind::TooLarge => "invalid_client_metadata",
                other => error::oauth_code(other),
            };
            let mut response = error::begin(&failure, None);
            response.insert_header((header::CACHE_CONTROL, "no-store"));
            response.json(error::OAuthFailure { error: code, error_description: envelope::message(&failure) })
        }
    }
}

/// The client to keep, and how it authenticates.
fn read(bytes: &[u8]) -> Result<(NewClient, &'static str)> {
    let asked: Registration = serde_json::from_slice(bytes)
        .map_err(|_| Error::invalid("the body is not a JSON object of a client's metadata"))?;
    let one_of = |name: &str, given: Option<&Vec<String>>, needed: &str| match given {
        // The client may support more than it can use here (RFC 7591 §2): the response says what it got.
        Some(words) if !words.iter().any(|word| word == needed) => {
            Err(Error::invalid(format!("{name}: {needed} must be among them")))
        }
        _ => Ok(()),
    };
    one_of("grant_types", asked.grant_types.as_ref(), "authorization_code")?;
    one_of("response_types", asked.response_types.as_ref(), "code")?;
    // Left out, the standard means client_secret_basic (RFC 7591 §2).
    let (confidential, method) = match asked.token_endpoint_auth_method.as_deref() {
        Some("none") => (false, "none"),
        Some("client_secret_post") => (true, "client_secret_post"),
        None | Some("client_secret_basic") => (true, "client_secret_basic"),
        Some(_) => {
            return Err(Error::invalid(
                "token_endpoint_auth_method: give one of none, client_secret_basic and client_secret_post",
            ));
        }
    };
    let name =
        asked.client_name.as_deref().map(plain_name).filter(|name| !name.is_empty() && !name.starts_with("ptc_"));
    let name = name.unwrap_or_else(|| "An application without a name".to_owned());
    Ok((NewClient { name, redirect_uris: asked.redirect_uris, confidential }, method))
}
