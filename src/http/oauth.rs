//! `POST /oauth/token`: how a form and its headers spell a grant (RFC 6749).

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpRequest, HttpResponse, web};
use portico_actors::auth::{Exchange, Grant, GrantError};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::ending::Ending;
use super::{body, caller, error};
use crate::app::App;

/// Bytes of a token request at most.
const MAX_BODY: usize = 16 * 1024;

/// `POST /oauth/token`.
pub(super) async fn token(request: HttpRequest, payload: web::Payload, app: web::Data<App>) -> HttpResponse {
    let mut ending = Ending::begin(&request, &app);
    let result = match body::read(&request, payload, MAX_BODY).await {
        Ok(bytes) => match grant(&request, &bytes) {
            Ok(grant) => {
                let Grant::ClientCredentials { client_id, .. } = &grant;
                ending.note(|event| event.subject.clone_from(client_id));
                let exchanged = app.auth.send(Exchange(grant)).await;
                exchanged.unwrap_or_else(|_| Err(GrantError::new("server_error", "internal error")))
            }
            Err(refusal) => Err(refusal),
        },
        Err(refusal) => Err(GrantError::new("invalid_request", refusal.message)),
    };
    match result {
        Ok(token) => {
            ending.finish(0, None);
            HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "no-store")).json(json!({
                "access_token": token.token.expose_secret(),
                "token_type": "Bearer",
                "expires_in": token.expires_in.as_secs(),
                "scope": token.scope,
            }))
        }
        Err(refusal) => {
            ending.record(|request| request.code = Some(refusal.code.to_owned()));
            ending.finish(0, Some(&portico_actors::error::Error::invalid(refusal.code)));
            let mut response = HttpResponse::build(error::oauth(refusal.code));
            response.insert_header((header::CACHE_CONTROL, "no-store"));
            // A client that authenticated with a header is told the scheme (RFC 6749 §5.2).
            if refusal.code == "invalid_client" {
                response.insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"portico\""));
            }
            response.json(json!({"error": refusal.code, "error_description": refusal.description}))
        }
    }
}

fn grant(request: &HttpRequest, bytes: &web::Bytes) -> Result<Grant, GrantError> {
    let invalid = |description: String| GrantError::new("invalid_request", description);
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = content_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    if !media.trim().eq_ignore_ascii_case(ContentType::form_url_encoded().essence_str()) {
        return Err(invalid("the body must be application/x-www-form-urlencoded".to_owned()));
    }
    let text = body::text(bytes).map_err(|error| invalid(error.message))?;
    let mut form = Form::parse(text)?;
    match form.take("grant_type").as_deref() {
        Some("client_credentials") => {}
        Some(_) => return Err(GrantError::new("unsupported_grant_type", "grant_type must be client_credentials")),
        None => return Err(invalid("grant_type is missing".to_owned())),
    }
    let (client_id, client_secret) = client(request, &mut form)?;
    Ok(Grant::ClientCredentials {
        client_id,
        client_secret: SecretString::from(client_secret),
        scope: form.take("scope"),
        resource: form.take("resource"),
    })
}

/// The client's name and secret, from the header or from the form, but not from both (§2.3).
fn client(request: &HttpRequest, form: &mut Form) -> Result<(String, String), GrantError> {
    let invalid = |description: &str| GrantError::new("invalid_client", description);
    let (name, secret) = (form.take("client_id"), form.take("client_secret"));
    let Some(header) = request.headers().get(header::AUTHORIZATION) else {
        return Ok((
            name.ok_or_else(|| invalid("client_id is missing"))?,
            secret.ok_or_else(|| invalid("client_secret is missing"))?,
        ));
    };
    if secret.is_some() {
        return Err(GrantError::new("invalid_request", "give the secret in the header or in the form, not in both"));
    }
    let (basic_name, basic_secret) = header
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Basic"))
        .and_then(|(_, value)| caller::decode_basic(value.trim()))
        .ok_or_else(|| invalid("the Authorization header is malformed"))?;
    // Both are form-encoded before they are joined (§2.3.1).
    let decode = |text: &str| {
        form_urlencoded::parse(format!("v={}", text.replace('&', "%26")).as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let basic_name = decode(&basic_name);
    if name.is_some_and(|name| name != basic_name) {
        return Err(GrantError::new("invalid_request", "client_id differs between the header and the form"));
    }
    Ok((basic_name, decode(&basic_secret)))
}

/// The parameters of a form, each at most once (§3.2).
struct Form(Vec<(String, String)>);

impl Form {
    fn parse(text: &str) -> Result<Self, GrantError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            if parameters.iter().any(|(known, _)| *known == name) {
                return Err(GrantError::new("invalid_request", format!("{name:?} is given twice")));
            }
            parameters.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(parameters))
    }

    /// Takes a parameter; an empty one counts as absent (§3.1).
    fn take(&mut self, name: &str) -> Option<String> {
        let index = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(index).1).filter(|value| !value.is_empty())
    }
}
