//! The client side of OAuth 2.1, for a person with a browser: discovery (RFC 9728, RFC 8414), registration (RFC
//! 7591), and exchanging a code or a refresh token for an access token. Where tokens are stored is not known here.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use portico_actors::error::{Error, Kind, Result};
use portico_actors::loopback;
use reqwest::{Client, Response, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// How long one exchange may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer at most.
const LARGEST: usize = 256 * 1024;
/// How the program names itself where it registers.
const CLIENT_NAME: &str = "Portico on this computer (portico stdio)";

/// A protected resource (RFC 9728 §2).
#[derive(Deserialize)]
struct Resource {
    resource: String,
    authorization_servers: Vec<String>,
}

/// The authorization server (RFC 8414 §2).
#[derive(Deserialize)]
struct Issuer {
    #[serde(rename = "issuer")]
    name: String,
    authorization_endpoint: String,
    token_endpoint: String,
    #[serde(default)]
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
}

/// Where access to one MCP endpoint is asked for.
pub struct Authorization {
    http: Client,
    resource: String,
    issuer: Issuer,
}

/// The question to a person, and what proves that the answer belongs to it.
pub struct AuthorizationPrompt {
    /// The address that the browser opens.
    pub address: String,
    /// Returned with the answer.
    pub state: String,
    verifier: String,
    redirect: String,
    client: String,
}

/// The tokens that were issued.
#[derive(Clone, Deserialize, Serialize)]
pub struct Tokens {
    /// Is shown with each request.
    pub access_token: String,
    /// Seconds that it is valid.
    #[serde(default)]
    pub expires_in: Option<u64>,
    /// Gets the next one.
    #[serde(default)]
    pub refresh_token: Option<String>,
}

/// Why there are no tokens.
pub enum Ungranted {
    /// The code or token is no longer valid: a person has to be asked.
    Ended(Error),
    /// Something else went wrong.
    Failed(Error),
}

impl Authorization {
    /// Finds the authorization server of the MCP endpoint at `url`.
    ///
    /// # Errors
    /// The server does not name it, or its metadata is invalid.
    pub async fn discover(url: &str) -> Result<Self> {
        let endpoint = Url::parse(url).map_err(|error| Error::invalid(format!("--server: {error}")))?;
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT);
        let http = client.build().map_err(Error::internal)?;
        let described = join(&endpoint, &format!("/.well-known/oauth-protected-resource{}", endpoint.path()))?;
        let resource: Resource = fetch(http.get(described)).await?;
        let own = Url::parse(&resource.resource).map_err(|_| odd("names no resource"))?;
        if own.origin() != endpoint.origin() {
            // A token for another service must not be sent to this one (RFC 9728 §3.3).
            return Err(Error::invalid(format!("the server calls itself {}", own.origin().ascii_serialization()))
                .hint("give that address with --server"));
        }
        let issuer = resource.authorization_servers.first().ok_or_else(|| odd("names no authorization server"))?;
        let issuer_url =
            Url::parse(issuer).map_err(|_| odd("names an authorization server without a valid address"))?;
        let path = issuer_url.path().trim_end_matches('/');
        let metadata = join(&issuer_url, &format!("/.well-known/oauth-authorization-server{path}"))?;
        let found: Issuer = fetch(http.get(metadata)).await?;
        if found.name != *issuer {
            return Err(odd("has an authorization server with another name"));
        }
        let addresses =
            [&found.authorization_endpoint, &found.token_endpoint].into_iter().chain(&found.registration_endpoint);
        if !addresses.chain([issuer]).all(|address| is_safe(address)) {
            return Err(odd("names an address for signing in that is neither https nor on this machine"));
        }
        if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(odd("has an authorization server without PKCE"));
        }
        Ok(Self { http, resource: resource.resource, issuer: found })
    }

    /// Returns the authorization server's name.
    pub fn issuer(&self) -> &str {
        &self.issuer.name
    }

    /// Registers this program: its client id.
    ///
    /// # Errors
    /// The server lets no client register itself.
    pub async fn register(&self, redirect: &str) -> Result<String> {
        let by_hand = || {
            Error::forbidden("the server lets no program register itself").hint(
                "ask its administrator for a client (portico client add stdio --redirect-uri http://127.0.0.1/callback) \
                 and give its id with --client-id, or for a personal access token in PORTICO_TOKEN",
            )
        };
        let endpoint = self.issuer.registration_endpoint.as_ref().ok_or_else(by_hand)?;
        let asked = json!({
            "client_name": CLIENT_NAME,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        });
        let request = self.http.post(endpoint).header("content-type", "application/json").body(asked.to_string());
        let registered: Value = fetch(request).await.map_err(|error| by_hand().because(&error.message))?;
        registered["client_id"].as_str().map(str::to_owned).ok_or_else(by_hand)
    }

    /// Makes the question to a person, whose answer goes to `redirect`.
    ///
    /// # Errors
    /// The server's authorization endpoint is not an address.
    pub fn question(&self, client: &str, redirect: &str) -> Result<AuthorizationPrompt> {
        let secret =
            || BASE64_URL_SAFE_NO_PAD.encode([*Uuid::new_v4().as_bytes(), *Uuid::new_v4().as_bytes()].concat());
        let (state, verifier) = (secret(), secret());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let mut address =
            Url::parse(&self.issuer.authorization_endpoint).map_err(|_| odd("has no valid address for signing in"))?;
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", redirect),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &self.resource),
        ]);
        let (redirect, client) = (redirect.to_owned(), client.to_owned());
        Ok(AuthorizationPrompt { address: address.into(), state, verifier, redirect, client })
    }

    /// Redeems the code that was the answer to `question`.
    ///
    /// # Errors
    /// The server does not take it.
    pub async fn redeem(&self, question: &AuthorizationPrompt, code: &str) -> Result<Tokens, Ungranted> {
        self.tokens(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &question.redirect),
            ("client_id", &question.client),
            ("code_verifier", &question.verifier),
            ("resource", &self.resource),
        ])
        .await
    }

    /// Other tokens for a refresh token, which is used up by that.
    ///
    /// # Errors
    /// The server does not take it.
    pub async fn refresh(&self, client: &str, refresh_token: &str) -> Result<Tokens, Ungranted> {
        self.tokens(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
            ("client_id", client),
            ("resource", &self.resource),
        ])
        .await
    }

    async fn tokens(&self, form: &[(&str, &str)]) -> Result<Tokens, Ungranted> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = self.http.post(&self.issuer.token_endpoint).body(body);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let response = send(request).await.map_err(Ungranted::Failed)?;
        let (status, body) = read(response).await.map_err(Ungranted::Failed)?;
        if status == 200 {
            return serde_json::from_slice(&body).map_err(|_| Ungranted::Failed(odd("gives no tokens")));
        }
        let refused: Value = serde_json::from_slice(&body).unwrap_or_default();
        let words =
            refused["error_description"].as_str().or(refused["error"].as_str()).unwrap_or("no reason was given");
        let error = Error::unauthenticated(format!("the server gives no access: {words}"));
        match refused["error"].as_str() {
            Some("invalid_grant" | "invalid_client" | "unauthorized_client") => Err(Ungranted::Ended(error)),
            _ => Err(Ungranted::Failed(error)),
        }
    }
}

impl Ungranted {
    /// The reason.
    pub fn error(self) -> Error {
        match self {
            Self::Ended(error) | Self::Failed(error) => error,
        }
    }
}

/// Whether a browser may be sent there, and codes and tokens: others could start any program that has a scheme.
fn is_safe(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    url.scheme() == "https" || url.scheme() == "http" && url.host_str().is_some_and(loopback::is_host)
}

fn join(base: &Url, path: &str) -> Result<Url> {
    base.join(path).map_err(Error::internal)
}

fn odd(what: &str) -> Error {
    Error::invalid(format!("the server {what}")).hint(
        "check whether --server is the address of a Portico server, or use a personal access token in PORTICO_TOKEN",
    )
}

async fn send(request: reqwest::RequestBuilder) -> Result<Response> {
    request.send().await.map_err(|error| {
        Error::new(Kind::Unavailable, "the Portico server cannot be reached for signing in").because(error)
    })
}

async fn read(mut response: Response) -> Result<(u16, Vec<u8>)> {
    let mut body = Vec::new();
    let broke = |error| Error::new(Kind::Unavailable, "the answer of the Portico server broke off").because(error);
    while let Some(chunk) = response.chunk().await.map_err(broke)? {
        body.extend_from_slice(&chunk);
        if body.len() > LARGEST {
            return Err(odd("sends an answer that is too long"));
        }
    }
    Ok((response.status().as_u16(), body))
}

async fn fetch<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T> {
    let (status, body) = read(send(request.header("accept", "application/json")).await?).await?;
    if !(200..300).contains(&status) {
        let refused: Value = serde_json::from_slice(&body).unwrap_or_default();
        let words = refused["error_description"].as_str().map(|words| format!(": {words}")).unwrap_or_default();
        return Err(odd(&format!("does not describe its sign-in; it answered with the status {status}{words}")));
    }
    serde_json::from_slice(&body).map_err(|_| odd("does not describe its sign-in"))
}
