//! Validates a client's authorization request (RFC 6749 §4.1, OAuth 2.1, RFC 9207, RFC 8707). As long as the client
//! and the redirect URI are not verified, an error is a page; after that it is sent to the client.

use actix_web::{HttpRequest, HttpResponse};
use portico_actors::auth::accounts::Accounts;
use portico_actors::auth::oauth::authorization::is_challenge;
use portico_actors::auth::oauth::client::{Client, ClientKind};
use portico_actors::error::{Error, Kind, Result};
use portico_actors::principal::{Rights, Scope};

use crate::app::App;
use crate::client_metadata::Documents;
use crate::http::error;
use crate::http::form::Form;
use crate::http::mcp::admission;
use crate::http::middleware::recorder;
use crate::http::pages::browser::Visitor;
use crate::http::pages::page::{self, Refused};

/// The person did not agree (RFC 6749 §4.1.2.1).
pub(super) const ACCESS_DENIED: &str = "access_denied";
/// Octets of `state` at most: it travels in an address.
const LONGEST_STATE: usize = 4_096;
/// Octets of a whole request at most.
const LONGEST_REQUEST: usize = 12 * 1_024;

/// A request that was found in order.
pub(super) struct AuthorizationRequest {
    /// The client.
    pub(super) client: Client,
    /// Where the answer is sent.
    pub(super) answer: RedirectTarget,
    /// What is requested.
    pub(super) wanted: RequestedGrant,
}

/// What a client requests.
pub(super) struct RequestedGrant {
    /// The PKCE challenge.
    pub(super) challenge: String,
    /// The most that is asked for.
    pub(super) scope: Scope,
    /// The default choice.
    pub(super) usual: Scope,
    /// The resource asked for.
    pub(super) resource: Option<String>,
    /// The only connection or workspace that the resource names.
    pub(super) part: Option<Rights>,
}

/// Where the answer to a client is sent.
pub(super) struct RedirectTarget {
    /// One of the client's own addresses.
    pub(super) redirect_uri: String,
    state: Option<String>,
    issuer: String,
}

impl RedirectTarget {
    /// The answer with these parameters, `iss` (RFC 9207) and `state`.
    fn location(&self, parameters: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(parameters).append_pair("iss", &self.issuer);
        if let Some(state) = &self.state {
            query.append_pair("state", state);
        }
        let joint = if self.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.redirect_uri, query.finish())
    }

    /// The code for the client.
    pub(super) fn code(&self, code: &str) -> HttpResponse {
        page::go(&self.location(&[("code", code)]), &[])
    }

    /// Sends an error to `client`. The browser is not redirected automatically to a client without a voucher, or
    /// anyone could use us to redirect people anywhere (RFC 9700 §4.11.2): the person is told, and may continue.
    pub(super) async fn fail(
        &self,
        request: &HttpRequest,
        client: &Client,
        visitor: Option<&Visitor>,
        (code, description): (&'static str, &str),
    ) -> Result<HttpResponse> {
        let address = self.location(&[("error", code), ("error_description", description)]);
        let kind = if code == ACCESS_DENIED { Kind::Forbidden } else { Kind::Invalid };
        let mut response = if vouched_for(client, visitor).await? {
            page::go(&address, &[])
        } else {
            page::unanswered(request, error::status(kind), description, (&self.host(), &address))?
        };
        response.extensions_mut().insert(Refused { kind, code });
        Ok(response)
    }

    /// The host that people know the address by.
    pub(super) fn host(&self) -> String {
        let rest = self.redirect_uri.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?']).next().filter(|host| !host.is_empty()).unwrap_or(&self.redirect_uri).to_owned()
    }

    /// Whether the answer stays on the person's own machine.
    pub(super) fn is_local(&self) -> bool {
        self.redirect_uri.starts_with("http://")
    }

    /// The address as a source of `form-action`: browsers follow a form's redirects by this rule.
    pub(super) fn policy_source(&self) -> String {
        let (scheme, rest) = self.redirect_uri.split_once(':').unwrap_or(("", ""));
        let host = rest.strip_prefix("//").and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
        let named = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'));
        // An IPv6 address cannot be written in a policy: its scheme must suffice.
        if matches!(scheme, "http" | "https") && named { format!(" {scheme}://{host}") } else { format!(" {scheme}:") }
    }
}

/// Validates a request, which comes back with the person's decision and is validated again then. Answers an invalid
/// one.
pub(super) async fn again(
    request: &HttpRequest,
    query: &str,
    app: &App,
    visitor: Option<&Visitor>,
) -> Result<std::result::Result<AuthorizationRequest, HttpResponse>> {
    let people = match visitor {
        Some(visitor) => visitor.people.clone(),
        None => app.people.at(recorder::audit_context(request, app, None)),
    };
    if query.len() > LONGEST_REQUEST {
        return Err(Error::invalid("the request of the application is too long"));
    }
    let form = Form::parse(query);
    let client = client(&form, app, &people).await?;
    let answer = answer_of(&form, &client, app)?;
    match RequestedGrant::read(&form, app) {
        Ok(wanted) => Ok(Ok(AuthorizationRequest { client, answer, wanted })),
        Err((code, description)) => answer.fail(request, &client, visitor, (code, &description)).await.map(Err),
    }
}

/// Returns true if a client is vouched for: by the administrator who registered it, or by this person's earlier
/// consent.
async fn vouched_for(client: &Client, visitor: Option<&Visitor>) -> Result<bool> {
    match (client.kind, visitor) {
        (ClientKind::Registered, _) => Ok(true),
        (ClientKind::Dynamic | ClientKind::Known | ClientKind::Document, None) => Ok(false),
        (ClientKind::Dynamic | ClientKind::Known | ClientKind::Document, Some(visitor)) => {
            let given = visitor.people.grants(&visitor.secret).await?;
            Ok(given.iter().any(|grant| grant.client_id == client.client_id))
        }
    }
}

impl RequestedGrant {
    /// Reads a client's request; otherwise returns the error's code and description.
    fn read(form: &Form, app: &App) -> std::result::Result<Self, (&'static str, String)> {
        let refuse = |code: &'static str, description: &str| Err((code, description.to_owned()));
        for name in [
            "state",
            "response_type",
            "response_mode",
            "scope",
            "resource",
            "code_challenge",
            "code_challenge_method",
            "prompt",
        ] {
            if form.repeats(name) {
                return refuse("invalid_request", &format!("{name} is given twice"));
            }
        }
        if form.exact("state").is_some_and(|state| state.len() > LONGEST_STATE) {
            return refuse("invalid_request", "state is too long");
        }
        if form.exact("request").is_some() {
            return refuse("request_not_supported", "a request as a JWT is not accepted; send its parameters");
        }
        if form.exact("request_uri").is_some() {
            return refuse("request_uri_not_supported", "a request by reference is not accepted; send its parameters");
        }
        match form.exact("response_type") {
            Some("code") => {}
            Some(_) => return refuse("unsupported_response_type", "response_type must be code"),
            None => return refuse("invalid_request", "response_type is missing; it must be code"),
        }
        if form.exact("response_mode").is_some_and(|mode| mode != "query") {
            return refuse("invalid_request", "response_mode must be query");
        }
        let challenge = match (form.exact("code_challenge"), form.exact("code_challenge_method")) {
            (None, _) => return refuse("invalid_request", "code_challenge is missing: PKCE is required"),
            (Some(_), method) if method != Some("S256") => {
                return refuse("invalid_request", "code_challenge_method must be S256");
            }
            (Some(challenge), _) if is_challenge(challenge) => challenge.to_owned(),
            _ => return refuse("invalid_request", "code_challenge is not a SHA-256 digest in base64url"),
        };
        // Access is never given without asking the person.
        if form.exact("prompt").is_some_and(|prompt| prompt.split(' ').any(|word| word == "none")) {
            return refuse("interaction_required", "prompt=none is not served: the person is always asked");
        }
        let (scope, usual) = match form.exact("scope") {
            None => (Scope::Write, Scope::Read),
            Some(asked) => match Scope::widest(asked) {
                Some(scope) => (scope, scope),
                None => return refuse("invalid_scope", "scope is a list of read, write and admin"),
            },
        };
        let resource = form.exact("resource").map(|asked| admission::resource(app, asked));
        let part = match resource.as_deref().map(|resource| app.people.target(resource)) {
            None => None,
            Some(Ok(part)) => part,
            Some(Err(refusal)) => return Err((refusal.code, refusal.description)),
        };
        Ok(Self { challenge, scope, usual, resource, part })
    }
}

async fn client(form: &Form, app: &App, people: &Accounts) -> Result<Client> {
    if form.repeats("client_id") {
        return Err(Error::invalid("client_id is given twice, so it is not known which application asks"));
    }
    let id = form
        .exact("client_id")
        .ok_or_else(|| Error::invalid("client_id is missing, so it is not known which application asks"))?;
    if let Some(client) = people.client(id.to_owned()).await? {
        return Ok(client);
    }
    if Documents::is_address(id) && app.config().oauth.client_documents {
        return app.documents.client(id).await;
    }
    Err(Error::invalid("client_id: this application is not known here")
        .hint("an administrator can register it with `portico client add`"))
}

fn answer_of(form: &Form, client: &Client, app: &App) -> Result<RedirectTarget> {
    if form.repeats("redirect_uri") {
        return Err(Error::invalid("redirect_uri is given twice"));
    }
    let redirect = form.exact("redirect_uri").ok_or_else(|| Error::invalid("redirect_uri is missing"))?;
    if !client.allows(redirect) {
        return Err(Error::invalid("redirect_uri is not one of the addresses that the application registered")
            .hint("it has to be the same character by character; only the port of 127.0.0.1 may differ"));
    }
    Ok(RedirectTarget {
        redirect_uri: redirect.to_owned(),
        // A duplicate is not returned at all.
        state: form
            .exact("state")
            .filter(|state| !form.repeats("state") && state.len() <= LONGEST_STATE)
            .map(str::to_owned),
        issuer: app.config().server.public_url.clone(),
    })
}
