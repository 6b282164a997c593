//! `[[issuers]]`: whose access tokens are taken besides our own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portico_actors::auth::{IssuerKey, IssuerKeys, TrustedIssuer};
use portico_actors::principal::{Rights, Scope};

use super::problem::Problem;
use super::section::Section;
use super::{Connection, identity};

/// The words of a scope.
const SCOPES: [(&str, Scope); 3] = [("read", Scope::Read), ("write", Scope::Write), ("admin", Scope::Admin)];

/// Reads every table. `ours` is our own issuer, which none of them may be.
pub(super) fn read_all(
    root: &mut Section<'_>,
    base: &Path,
    ours: &str,
    connections: &[Arc<Connection>],
    problems: &mut Vec<Problem>,
) -> Vec<TrustedIssuer> {
    let mut issuers: Vec<TrustedIssuer> = Vec::new();
    for mut section in root.sections("issuers", problems).unwrap_or_default() {
        let issuer = read(&mut section, base, connections, problems);
        section.finish(problems);
        let Some(issuer) = issuer else { continue };
        if issuer.issuer.contains('#') {
            // It ends where a caller's subject begins: "issuer#subject" must not be two callers' name.
            let message = "an issuer's name has no # (RFC 8414)".to_owned();
            section.problem("issuer", message, "write the iss of its tokens", problems);
        } else if issuer.issuer.trim_end_matches('/') == ours {
            let message = "this is our own issuer, and its keys are in the store".to_owned();
            section.problem("issuer", message, "remove this table", problems);
        } else if issuers.iter().any(|other| other.issuer == issuer.issuer) {
            let message = "another table has this issuer".to_owned();
            section.problem("issuer", message, "write one table for each issuer", problems);
        } else {
            issuers.push(issuer);
        }
    }
    issuers
}

fn read(
    section: &mut Section<'_>,
    base: &Path,
    connections: &[Arc<Connection>],
    problems: &mut Vec<Problem>,
) -> Option<TrustedIssuer> {
    let issuer = section.required("issuer", "write the iss of its tokens, as in \"https://id.example.org\"", problems);
    let keys = keys(section, base, problems);
    let audience = section.string("audience", problems);
    let mut claim = |name: &'static str, default: &str| {
        let given = section.string(name, problems).unwrap_or_else(|| default.to_owned());
        if given.is_empty() {
            section.problem(
                name,
                "a claim has a name".to_owned(),
                &format!("write \"{default}\", or leave it out"),
                problems,
            );
        }
        given
    };
    let connections_claim = claim("connections_claim", "connection_ids");
    let scope_claim = claim("scope_claim", "scope");
    let subject_claim = claim("subject_claim", "sub");
    let scope = section.word("scope", &SCOPES, problems);
    let reach = reach(section, connections, problems);
    let types = section.strings("typ", problems);
    let types = types.unwrap_or_else(|| TrustedIssuer::DEFAULT_TYPES.map(str::to_owned).to_vec());
    let max_age = section.integer("max_age", 60..=31_536_000, problems);
    let identity = identity::of_issuer(section, problems);
    Some(TrustedIssuer {
        issuer: issuer?,
        keys: keys?,
        audience,
        connections_claim,
        scope_claim,
        subject_claim,
        reach,
        scope,
        types,
        max_age: max_age.map_or(TrustedIssuer::DEFAULT_MAX_AGE, Duration::from_secs),
        identity,
    })
}

/// The address of a JWK set or one public key, but not both.
fn keys(section: &mut Section<'_>, base: &Path, problems: &mut Vec<Problem>) -> Option<IssuerKeys> {
    let (url, key) = (section.string("jwks_url", problems), section.string("public_key", problems));
    match (url, key) {
        (Some(url), None) => match TrustedIssuer::check_url(&url) {
            Ok(()) => Some(IssuerKeys::Url(url)),
            Err(error) => {
                section.problem("jwks_url", error.message.clone(), error.get_hint().unwrap_or_default(), problems);
                None
            }
        },
        (None, Some(key)) => {
            let pem = if key.trim_start().starts_with("-----BEGIN") {
                key
            } else {
                match std::fs::read_to_string(base.join(&key)) {
                    Ok(pem) => pem,
                    Err(error) => {
                        let message = format!("{key} cannot be read: {error}");
                        section.problem(
                            "public_key",
                            message,
                            "write the key in PEM, or the path of its file",
                            problems,
                        );
                        return None;
                    }
                }
            };
            match IssuerKey::from_pem(&pem) {
                Ok(key) => Some(IssuerKeys::Fixed(key)),
                Err(error) => {
                    section.problem(
                        "public_key",
                        error.message.clone(),
                        error.get_hint().unwrap_or_default(),
                        problems,
                    );
                    None
                }
            }
        }
        (Some(_), Some(_)) => {
            section.problem("public_key", "there is a jwks_url too".to_owned(), "keep one of the two", problems);
            None
        }
        (None, None) => {
            let message = "there is no key to verify its tokens with".to_owned();
            section.problem("jwks_url", message, "give jwks_url, or public_key", problems);
            None
        }
    }
}

/// The connections that the issuer's tokens reach at most: names, or `name:read`.
fn reach(section: &mut Section<'_>, connections: &[Arc<Connection>], problems: &mut Vec<Problem>) -> Rights {
    let Some(named) = section.strings("connections", problems) else { return Rights::ALL };
    let mut reach = Vec::new();
    for named in &named {
        let (name, word) = named.split_once(':').unwrap_or((named, "admin"));
        let connection = connections.iter().find(|connection| connection.name.eq_ignore_ascii_case(name));
        match (connection, Scope::from_word(word)) {
            (Some(connection), Some(scope)) => reach.push((connection.id, scope)),
            (None, _) => {
                let known: Vec<&str> = connections.iter().map(|connection| connection.name.as_ref()).collect();
                let remedy = format!("connections: {}", known.join(", "));
                section.problem("connections", format!("there is no connection {name:?}"), &remedy, problems);
            }
            (_, None) => {
                let message = format!("{word:?} is no scope");
                section.problem("connections", message, "write name, name:read or name:write", problems);
            }
        }
    }
    Rights::each(reach)
}
