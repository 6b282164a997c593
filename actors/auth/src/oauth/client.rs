//! Clients that people give access to, and which addresses an answer may be sent to. How a client
//! is asked about over the network is not known here.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::oauth::redirects::{is_known, is_published, loopback};
use portico_core::error::{Error, Result};

/// Begins the id of every client that is kept in the store.
pub const APP_ID_PREFIX: &str = "ptc_app_";

/// Octets of an address at most.
const LONGEST_REDIRECT: usize = 2_048;
/// Addresses of one client at most.
const MOST_REDIRECTS: usize = 20;
/// Schemes that run or read something instead of reaching a program.
const FORBIDDEN_SCHEMES: [&str; 11] =
    ["about", "blob", "data", "file", "filesystem", "ftp", "javascript", "mailto", "vbscript", "ws", "wss"];

/// How a client became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientKind {
    /// An administrator registered it on the command line.
    Registered,
    /// It registered itself (RFC 7591).
    Dynamic,
    /// It registered itself too, and answers go to the person's own machine or to a published client alone.
    #[serde(rename = "dynamic")]
    Known,
    /// Its id is the address of its own description (Client ID Metadata Document).
    Document,
}

impl ClientKind {
    /// Its word in the store and in listings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Dynamic | Self::Known => "dynamic",
            Self::Document => "document",
        }
    }

    /// Returns the kind of a client in the store, from its stored kind and redirect URIs.
    pub(crate) fn of_kept(word: &str, redirect_uris: &[String]) -> Self {
        match word {
            "dynamic" if are_known(redirect_uris) => Self::Known,
            "dynamic" => Self::Dynamic,
            _ => Self::Registered,
        }
    }

    /// Returns the kind of a grant's client, from what the store has of it in `word` and `redirect_uris`; `None` if
    /// the client is no longer known.
    pub(crate) fn of_grant(client_id: &str, word: Option<String>, redirect_uris: Option<String>) -> Option<Self> {
        match word {
            // Unreadable redirect URIs count as none.
            Some(word) => {
                let uris = redirect_uris.and_then(|uris| serde_json::from_str::<Vec<String>>(&uris).ok());
                Some(Self::of_kept(&word, &uris.unwrap_or_default()))
            }
            None => client_id.contains("://").then_some(Self::Document),
        }
    }
}

/// Whether answers go to the person's own machine and to published clients alone.
fn are_known(redirect_uris: &[String]) -> bool {
    !redirect_uris.is_empty() && redirect_uris.iter().all(|uri| is_known(uri))
}

/// Which clients may register themselves (RFC 7591).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicRegistration {
    /// No clients.
    Nobody,
    /// Clients that redirect to the person's own machine, or to a published client's address.
    Known,
    /// All of them.
    Everybody,
}

impl DynamicRegistration {
    /// Checks that a client with these redirect URIs may register itself.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid), naming the first address that is not allowed.
    pub fn admit(self, redirect_uris: &[String]) -> Result<()> {
        match redirect_uris.iter().find(|uri| !is_known(uri)) {
            Some(uri) if self == Self::Known && uri.len() <= LONGEST_REDIRECT => Err(Error::invalid(format!(
                "redirect_uris: {uri:?} is neither on the client's own machine (http://127.0.0.1/…) nor the address of a \
                 client that is known here"
            ))
            .hint(
                "an administrator can admit every client with oauth.dynamic_registration = true, or this one with \
                 `portico client add`",
            )),
            _ => Ok(()),
        }
    }
}

/// Which clients may be given access, besides those that an administrator registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientPolicy {
    /// Clients that describe themselves at their own address.
    pub documents: bool,
    /// Clients that registered themselves.
    pub dynamic: DynamicRegistration,
}

impl Default for ClientPolicy {
    fn default() -> Self {
        Self { documents: true, dynamic: DynamicRegistration::Everybody }
    }
}

impl ClientPolicy {
    /// Returns true if clients of that kind are admitted; unknown clients are not.
    pub fn takes(self, kind: Option<ClientKind>) -> bool {
        match kind {
            Some(ClientKind::Registered) => true,
            Some(ClientKind::Dynamic) => self.dynamic == DynamicRegistration::Everybody,
            Some(ClientKind::Known) => self.dynamic != DynamicRegistration::Nobody,
            Some(ClientKind::Document) => self.documents,
            None => false,
        }
    }
}

/// A client that may ask people for access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Its name in requests.
    pub client_id: String,
    /// How it became known.
    pub kind: ClientKind,
    /// Its display name as it claims it, unverified.
    pub name: String,
    /// Whether it has a secret.
    pub confidential: bool,
    /// Where answers may be sent.
    pub redirect_uris: Vec<String>,
    /// When it became known here.
    pub created_at: Timestamp,
    /// When a person last gave it access.
    pub used_at: Option<Timestamp>,
}

/// A client to keep.
#[derive(Clone, Debug)]
pub struct NewClient {
    /// Its name for people.
    pub name: String,
    /// Where answers may be sent: at least one.
    pub redirect_uris: Vec<String>,
    /// Whether it gets a secret.
    pub confidential: bool,
}

impl Client {
    /// Whether an answer may be sent to `redirect`: character by character one of the client's
    /// addresses, but for the port of a loopback one (RFC 8252 §7.3).
    pub fn allows(&self, redirect: &str) -> bool {
        self.redirect_uris.iter().any(|known| {
            known == redirect
                || matches!((loopback(known), loopback(redirect)), (Some(known), Some(asked)) if known == asked)
        })
    }
}

/// Checks the addresses of a client that is to become known.
///
/// # Errors
/// [`Kind::Invalid`](portico_core::error::Kind::Invalid), naming the address and the remedy.
pub fn check_redirects(uris: &[String], kind: ClientKind) -> Result<()> {
    if uris.is_empty() || uris.len() > MOST_REDIRECTS {
        return Err(Error::invalid(format!("redirect_uris: a client must have 1 to {MOST_REDIRECTS} of them")));
    }
    uris.iter().try_for_each(|uri| check_redirect(uri, kind))
}

fn check_redirect(uri: &str, kind: ClientKind) -> Result<()> {
    let wrong = |why: &str| Err(Error::invalid(format!("redirect_uris: {uri:?} {why}")));
    if uri.len() > LONGEST_REDIRECT {
        return Err(Error::invalid(format!("redirect_uris: one is longer than {LONGEST_REDIRECT} octets")));
    }
    if !uri.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '\\' | '"' | '<' | '>' | '^' | '`' | '{' | '}' | '|'))
    {
        return wrong("has a character that an address has to escape");
    }
    if uri.contains('#') {
        return wrong("has a fragment, which never reaches a client");
    }
    let Some((scheme, rest)) = uri.split_once(':') else { return wrong("has no scheme") };
    match (scheme, rest.strip_prefix("//")) {
        ("https", Some(rest)) => {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
            if authority.is_empty() || authority.starts_with(':') || !authority.chars().all(plain) {
                return wrong("has no plain host");
            }
            Ok(())
        }
        ("http", _) if loopback(uri).is_some() => Ok(()),
        ("http" | "https", _) => wrong("is neither https nor on the client's own machine (http://127.0.0.1/…)"),
        _ if is_published(uri) => Ok(()),
        // An application's own scheme (RFC 8252 §7.1): any program may claim it, so an administrator decides.
        _ if kind == ClientKind::Registered && is_private_scheme(scheme) => Ok(()),
        _ => wrong("is neither https nor on the client's own machine (http://127.0.0.1/…)"),
    }
}

fn is_private_scheme(scheme: &str) -> bool {
    let mut letters = scheme.chars();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))
        && !FORBIDDEN_SCHEMES.contains(&scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(uris: &[&str]) -> Client {
        Client {
            client_id: "c".to_owned(),
            kind: ClientKind::Registered,
            name: "c".to_owned(),
            confidential: false,
            redirect_uris: uris.iter().map(|uri| (*uri).to_owned()).collect(),
            created_at: Timestamp::from_seconds(0),
            used_at: None,
        }
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let known = client(&[
            "https://app.example/cb",
            "http://127.0.0.1/cb",
            "http://localhost:3000/cb?x=1",
            "http://[::1]/cb",
        ]);
        for good in [
            "https://app.example/cb",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:49152/cb",
            "http://localhost:1/cb?x=1",
            "http://[::1]:8080/cb",
        ] {
            assert!(known.allows(good), "{good}");
        }
        for bad in [
            "https://app.example/cb/",
            "https://app.example/cb?x",
            "https://app.example:8443/cb",
            "https://app.example.evil.example/cb",
            "https://app.example@evil.example/cb",
            "http://app.example/cb",
            "http://127.0.0.1:80@evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://127.0.0.1:+80/cb",
            "http://127.0.0.1:99999/cb",
            "http://127.0.0.1:80/cb/../x",
            "http://localhost/cb",
            "https://127.0.0.1/cb",
            "HTTP://127.0.0.1/cb",
            "http://[::1]x:80/cb",
            "",
        ] {
            assert!(!known.allows(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_that_a_browser_would_misread_are_refused() {
        for good in
            ["https://a.example/cb?x=1", "http://localhost:3000/cb", "http://127.0.0.1", "https://a.example:8443/"]
        {
            assert!(check_redirect(good, ClientKind::Dynamic).is_ok(), "{good}");
        }
        for bad in [
            "",
            "nonsense",
            "/relative",
            "http://a.example/cb",
            "https://",
            "https:///cb",
            "https:a.example",
            "https://a.example/#x",
            "https://user@a.example/",
            "https://a.example\\@evil.example/",
            "https://a example/",
            "https://a.example/\u{e9}",
            "javascript:alert(1)",
            "data:text/html,x",
            "com.example.app:/cb",
        ] {
            assert!(check_redirect(bad, ClientKind::Dynamic).is_err(), "{bad}");
        }
        assert!(check_redirect("cursor://anysphere.cursor-mcp/oauth/callback", ClientKind::Dynamic).is_ok());
        assert!(check_redirect("cursor://anysphere.cursor-mcp/oauth/callback/x", ClientKind::Dynamic).is_err());
        assert!(check_redirect("com.example.app:/cb", ClientKind::Registered).is_ok());
        for bad in ["javascript:alert(1)", "JavaScript:alert(1)", "data:x", "file:///etc/passwd", ":x"] {
            assert!(check_redirect(bad, ClientKind::Registered).is_err(), "{bad}");
        }
    }
}
