//! `POST /oauth/token`, `/oauth/revoke` and `/oauth/introspect`: their answers (RFC 6749, RFC 7009, RFC 7662).
//! Forms are parsed in `form.rs`.

use std::collections::{BTreeMap, BTreeSet};

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::auth::oauth::authorization::{AuthorizationCodeRequest, RefreshTokenRequest};
use portico_actors::auth::{
    AccessToken, CLIENT_ID_PREFIX, GrantError, Introspect, Introspection, Revoke, TokenRequest,
};
use portico_actors::error::{Error, bounded};
use portico_actors::principal::Scope;
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use uuid::Uuid;

use crate::app::App;
use crate::audit;
use crate::http::error;
use crate::http::form::Form;
use crate::http::mcp::admission;
use crate::http::middleware::recorder::{self, CallRecorder};
use crate::http::oauth::form;

/// A successful answer of the token endpoint (RFC 6749 §5.1).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Token")]
pub(in crate::http) struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    /// Seconds.
    expires_in: u64,
    /// A space-separated list.
    scope: String,
    /// For the next access token, where a person agreed to it. It is good once.
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
}

/// What a token opens now (RFC 7662 §2.2): `active` alone where that is nothing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Introspection")]
pub(in crate::http) struct Described {
    active: bool,
    #[serde(flatten)]
    token: Option<DescribedToken>,
}

/// The members of RFC 7662 §2.2; those that name connections and workspaces are our own.
#[derive(Serialize, JsonSchema)]
pub(in crate::http) struct DescribedToken {
    /// A space-separated list.
    scope: &'static str,
    client_id: String,
    token_type: &'static str,
    /// Seconds since 1970-01-01T00:00:00Z.
    exp: i64,
    /// Seconds since 1970-01-01T00:00:00Z.
    iat: i64,
    /// A user's e-mail address, or a service account's client id.
    sub: String,
    aud: Audience,
    iss: String,
    jti: Uuid,
    /// The connections within reach.
    connection_ids: Vec<Uuid>,
    /// Those of them that are reached with less than `scope`, each with its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    connection_scopes: BTreeMap<Uuid, &'static str>,
    /// The workspaces that were given beside those connections, by name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    workspaces: BTreeSet<String>,
    /// Those of them that are reached with less than `scope`, each with its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    workspace_scopes: BTreeMap<String, &'static str>,
}

/// One resource, or several (RFC 7519 §4.1.3).
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::http) enum Audience {
    One(String),
    Several(Vec<String>),
}

/// `POST /oauth/token`.
pub(in crate::http) async fn token(request: HttpRequest, payload: web::Payload, app: web::Data<App>) -> HttpResponse {
    answer(&request, payload, &app, async |form, recorder| {
        let (token, refresh) = exchange(&request, &app, form, recorder).await?;
        Ok(Some(TokenResponse {
            access_token: token.token.expose_secret().to_owned(),
            token_type: "Bearer",
            expires_in: token.expires_in.as_secs(),
            scope: token.scope.into(),
            refresh_token: refresh.map(|refresh| refresh.expose_secret().to_owned()),
        }))
    })
    .await
}

/// `POST /oauth/revoke` (RFC 7009): a token that is not valid counts as revoked.
pub(in crate::http) async fn revoke(request: HttpRequest, payload: web::Payload, app: web::Data<App>) -> HttpResponse {
    answer(&request, payload, &app, async |form, recorder| {
        let client = form::client(&request, &app, form)?;
        recorder.note_claim(&client.client_id);
        let (name, has_secret) = (client.client_id.clone(), client.secret.is_some());
        let token = shown(form)?;
        let audit_context = recorder::audit_context(&request, &app, None);
        if client.client_id.starts_with(CLIENT_ID_PREFIX) {
            let client = form::proof(client)?;
            app.auth.send(Revoke { client, token, audit_context }).await.unwrap_or_else(|_| Err(away()))?;
        } else {
            app.people.at(audit_context).revoke(client, token).await?;
        }
        // A client without a secret only claims its id.
        if has_secret {
            recorder.note(|event| event.subject = name);
        }
        Ok(None::<()>)
    })
    .await
}

/// `POST /oauth/introspect` (RFC 7662).
pub(in crate::http) async fn introspect(
    request: HttpRequest,
    payload: web::Payload,
    app: web::Data<App>,
) -> HttpResponse {
    answer(&request, payload, &app, async |form, recorder| {
        let client = form::proof(form::client(&request, &app, form)?)?;
        recorder.note_claim(&client.client_id);
        let name = client.client_id.clone();
        let token = shown(form)?;
        let token = app.auth.send(Introspect { client, token }).await.unwrap_or_else(|_| Err(away()))?;
        recorder.note(|event| event.subject = name);
        Ok(Some(Described { active: token.is_some(), token: token.map(described) }))
    })
    .await
}

fn described(token: Introspection) -> DescribedToken {
    let connections = token.rights.list().unwrap_or_default();
    let narrower = connections.iter().filter(|(_, scope)| *scope < token.rights.widest());
    let held = token.rights.workspaces().iter();
    let held: BTreeMap<String, Scope> =
        held.filter_map(|(name, hold)| Some((name.to_string(), hold.widest()?))).collect();
    let aud = match token.audience.as_slice() {
        [one] => Audience::One(one.clone()),
        _ => Audience::Several(token.audience),
    };
    DescribedToken {
        scope: token.rights.widest().list(),
        client_id: token.client_id,
        token_type: "Bearer",
        exp: token.expires_at,
        iat: token.issued_at,
        sub: token.subject,
        aud,
        iss: token.issuer,
        jti: token.id,
        connection_ids: connections.iter().map(|(id, _)| *id).collect(),
        connection_scopes: narrower.map(|(id, scope)| (*id, scope.as_str())).collect(),
        workspaces: held.keys().cloned().collect(),
        workspace_scopes: (held.into_iter())
            .filter(|(_, scope)| *scope < token.rights.widest())
            .map(|(name, scope)| (name, scope.as_str()))
            .collect(),
    }
}

/// Runs the work behind a form, and answers with its document or nothing, or with an error (RFC 6749 §5).
async fn answer<T: Serialize>(
    request: &HttpRequest,
    payload: web::Payload,
    app: &App,
    work: impl AsyncFnOnce(&Form, &mut CallRecorder) -> Result<Option<T>, GrantError>,
) -> HttpResponse {
    let mut recorder = CallRecorder::begin(request, app);
    let result = async { work(&form::read(request, payload).await?, &mut recorder).await };
    match result.await {
        Ok(document) => {
            recorder.finish(0, None);
            let mut response = HttpResponse::Ok();
            response.insert_header((header::CACHE_CONTROL, "no-store"));
            match document {
                Some(document) => response.json(document),
                None => response.finish(),
            }
        }
        Err(refusal) => {
            recorder.record(|request| {
                request.code = Some(refusal.code.to_owned());
                request.reason = Some(audit::shortened(&refusal.description));
            });
            recorder.finish(0, Some(&Error::new(error::oauth_kind(refusal.code), refusal.code)));
            let mut response = error::begin_oauth(&refusal);
            response.insert_header((header::CACHE_CONTROL, "no-store"));
            // A client that authenticated with a header gets the scheme (RFC 6749 §5.2).
            if refusal.code == "invalid_client" {
                response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"portico\""));
            }
            response.json(error::OAuthFailure { error: refusal.code, error_description: bounded(refusal.description) })
        }
    }
}

/// Returns the error while the actor that authenticates is being restarted.
fn away() -> GrantError {
    GrantError::new("service_unavailable", "no client can be recognised at the moment; try again")
}

/// The token that a form asks about. Its `token_type_hint` can be left aside: there is one place to
/// look (RFC 7009 §2.1).
fn shown(form: &Form) -> Result<SecretString, GrantError> {
    let token = form.take("token").ok_or_else(|| GrantError::new("invalid_request", "token is missing"))?;
    Ok(SecretString::from(token))
}

/// Returns the access token, and the refresh token if there is one: for a service account's own credentials, for
/// the code of a person's consent, or for the refresh token of such a consent.
async fn exchange(
    request: &HttpRequest,
    app: &App,
    form: &Form,
    recorder: &mut CallRecorder,
) -> Result<(AccessToken, Option<SecretString>), GrantError> {
    let need = |name: &str| {
        let missing = || GrantError::new("invalid_request", format!("{name} is missing"));
        form.take(name).ok_or_else(missing)
    };
    let people = app.people.at(recorder::audit_context(request, app, None));
    let issued = match need("grant_type")?.as_str() {
        "client_credentials" => {
            let client = form::proof(form::client(request, app, form)?)?;
            let name = client.client_id.clone();
            recorder.note_claim(&name);
            let (scope, resource) = (form.take("scope"), resource(app, form));
            let token =
                app.auth.send(TokenRequest { client, scope, resource }).await.unwrap_or_else(|_| Err(away()))?;
            recorder.note(|event| event.subject = name);
            return Ok((token, None));
        }
        "authorization_code" => {
            let redemption = AuthorizationCodeRequest {
                client: form::client(request, app, form)?,
                code: need("code")?.into(),
                redirect_uri: need("redirect_uri")?,
                verifier: need("code_verifier")?.into(),
                resource: resource(app, form),
            };
            note_client(recorder, &redemption.client.client_id);
            people.redeem(redemption).await?
        }
        "refresh_token" => {
            let refresh = RefreshTokenRequest {
                client: form::client(request, app, form)?,
                token: need("refresh_token")?.into(),
                scope: form.take("scope"),
                resource: resource(app, form),
            };
            note_client(recorder, &refresh.client.client_id);
            people.refresh(refresh).await?
        }
        _ => {
            return Err(GrantError::new(
                "unsupported_grant_type",
                "grant_type must be authorization_code, refresh_token or client_credentials",
            ));
        }
    };
    recorder.note(|event| event.subject.clone_from(&issued.subject));
    Ok((issued.access, Some(issued.refresh)))
}

/// The resource that a token is asked for.
fn resource(app: &App, form: &Form) -> Option<String> {
    form.take("resource").map(|asked| admission::resource(app, &asked))
}

/// The client is authenticated by its credential; until then only its claimed id is known.
fn note_client(recorder: &mut CallRecorder, client_id: &str) {
    recorder.note_claim(client_id);
    recorder.record(|request| request.client = Some(client_id.to_owned()));
}
