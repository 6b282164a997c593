//! Fetches the JWK sets of trusted issuers (RFC 7517 §5): limited in time and size. What the keys are used for is
//! not known here.

use std::time::Duration;

use reqwest::Url;
use reqwest::redirect::Policy;
use serde_json::Value;

use crate::keys::key::PublicKey;
use portico_core::error::{Error, Result};
use portico_core::loopback;

/// How long an issuer may take, from the first look-up to the last byte.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a JWK set at most.
const LARGEST: usize = 256 * 1024;
/// Keys of a set that are looked at.
const MOST_KEYS: usize = 100;

/// Keys, each with its `kid` or an empty text, or the cause for the log.
pub(crate) type Keys = std::result::Result<Vec<(String, PublicKey)>, String>;

/// See [`TrustedIssuer::check_url`](crate::TrustedIssuer::check_url).
pub(crate) fn check_url(address: &str) -> Result<()> {
    let wrong = || {
        Error::invalid("this is not the address of a JWK set")
            .hint("write an https address, such as \"https://id.example.org/jwks.json\"; http only on this machine")
    };
    let url = Url::parse(address).map_err(|_| wrong())?;
    let loopback = url.host_str().is_some_and(loopback::is_host);
    let allowed = url.scheme() == "https" || url.scheme() == "http" && loopback;
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    if allowed && plain && url.has_host() { Ok(()) } else { Err(wrong()) }
}

/// Returns the HTTP client for JWK sets. It follows no redirects: they could lead anywhere.
pub(crate) fn client() -> Result<reqwest::Client> {
    let built = reqwest::Client::builder()
        .redirect(Policy::none())
        .timeout(TIMEOUT)
        .user_agent(concat!("portico/", env!("CARGO_PKG_VERSION")))
        .build();
    built.map_err(Error::internal)
}

/// Fetches the set at `url`.
pub(crate) async fn fetch(client: &reqwest::Client, url: &str) -> Keys {
    let mut response = client.get(url).send().await.map_err(|error| causes(&error))?;
    if !response.status().is_success() {
        return Err(format!("the server answered with status {}", response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| causes(&error))? {
        if body.len() + chunk.len() > LARGEST {
            return Err(format!("the server answered with more than {LARGEST} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    read(&body)
}

/// Returns the error and its causes, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    words
}

/// Returns the keys of a set that can verify accepted algorithms; others are ignored (RFC 7517 §5).
fn read(body: &[u8]) -> Keys {
    let set: Value = serde_json::from_slice(body).map_err(|error| format!("the answer is not JSON: {error}"))?;
    let keys =
        set.get("keys").and_then(Value::as_array).ok_or("the answer is not a JWK set: there is no list of keys")?;
    Ok(keys.iter().take(MOST_KEYS).filter_map(key).collect())
}

fn key(jwk: &Value) -> Option<(String, PublicKey)> {
    let text = |member: &str| jwk.get(member).and_then(Value::as_str);
    let public = PublicKey::from_jwk(jwk)?;
    let for_signatures = text("use").is_none_or(|usage| usage == "sig");
    let may_verify = jwk
        .get("key_ops")
        .is_none_or(|operations| operations.as_array().is_some_and(|all| all.iter().any(|each| each == "verify")));
    let same = text("alg").is_none_or(|algorithm| algorithm == public.algorithm().as_str());
    (for_signatures && may_verify && same).then(|| (text("kid").unwrap_or_default().to_owned(), public))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_https_and_this_machine_are_asked() {
        for good in ["https://id.example.org/jwks.json", "http://localhost:9/x", "http://127.0.0.1/", "http://[::1]:9/"]
        {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example.org/jwks.json",
            "http://localhost.evil.example/",
            "http://127.0.0.1@evil.example/",
            "https://user:secret@id.example.org/",
            "file:///etc/passwd",
            "ftp://localhost/",
            "/jwks.json",
            "",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_of_other_kinds_are_left_aside() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a", "x5t": "ignored"});
        let with = |member: &str, value: Value| {
            let mut key = ed.clone();
            key[member] = value;
            key
        };
        let set = json!({"keys": [
            ed,
            with("use", json!("enc")),
            with("alg", json!("ES256")),
            with("key_ops", json!(["sign"])),
            with("crv", json!("X25519")),
            with("x", json!(7)),
            {"kty": "oct", "k": "c2VjcmV0", "kid": "hmac"},
            {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "short"},
            {"kty": "EC", "crv": "P-384", "x": x, "y": x},
            7, null,
        ]});
        let keys = read(set.to_string().as_bytes()).unwrap();
        assert_eq!(keys.iter().map(|(kid, _)| kid.as_str()).collect::<Vec<_>>(), ["a"]);
        for wrong in ["", "[]", "{}", "{\"keys\":{}}", "<html>"] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
