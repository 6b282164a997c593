//! Parses the form of an OAuth endpoint and its headers (RFC 6749): its parameters, and the client's
//! authentication.

use actix_web::http::header;
use actix_web::{HttpRequest, web};
use portico_actors::auth::oauth::authorization::ClientCredential;
use portico_actors::auth::{ClientAuthentication, GrantError};
use secrecy::SecretString;

use crate::app::App;
use crate::http::form::Form;
use crate::http::middleware::body;
use crate::http::{caller, connections::peer};

/// How large a form may be.
pub(in crate::http) const LIMIT: body::Limit = body::Limit::Form(16 * 1024);

/// Reads the form that `request` sends; its parameters are given at most once (§3.2).
pub(in crate::http) async fn read(request: &HttpRequest, payload: web::Payload) -> Result<Form, GrantError> {
    let invalid = |description: String| GrantError::new("invalid_request", description);
    if let Some(refusal) = body::coded(request) {
        return Err(invalid(refusal.message));
    }
    let form = Form::read(request, payload).await.map_err(|refusal| invalid(refusal.message))?;
    match form.repeated() {
        Some(name) => Err(invalid(format!("{name:?} is given twice"))),
        None => Ok(form),
    }
}

/// The proof of a client that has to have a secret.
pub(in crate::http) fn proof(
    ClientCredential { from, client_id, secret }: ClientCredential,
) -> Result<ClientAuthentication, GrantError> {
    let missing = || GrantError::new("invalid_client", "client_secret is missing");
    Ok(ClientAuthentication { from, client_id, client_secret: secret.ok_or_else(missing)? })
}

/// The client's name, and its secret if it has one, from the header or from the form, but not from
/// both (§2.3).
pub(in crate::http) fn client(request: &HttpRequest, app: &App, form: &Form) -> Result<ClientCredential, GrantError> {
    let invalid = |description: &str| GrantError::new("invalid_client", description);
    let from = peer::client(request, app);
    let (name, secret) = (form.take("client_id"), form.take("client_secret"));
    let mut headers = request.headers().get_all(header::AUTHORIZATION);
    let Some(header) = headers.next() else {
        return Ok(ClientCredential {
            from,
            client_id: name.ok_or_else(|| invalid("client_id is missing"))?,
            secret: secret.map(SecretString::from),
        });
    };
    if headers.next().is_some() {
        return Err(GrantError::new("invalid_request", "the Authorization header is repeated; send it once"));
    }
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
    let client_id = decode(&basic_name);
    if name.is_some_and(|name| name != client_id) {
        return Err(GrantError::new("invalid_request", "client_id differs between the header and the form"));
    }
    // A client without a secret may still send its id in the header; an empty secret counts as none.
    let secret = Some(decode(&basic_secret)).filter(|secret| !secret.is_empty());
    Ok(ClientCredential { from, client_id, secret: secret.map(SecretString::from) })
}
