//! `[[issuers]]`: other issuers whose access tokens are accepted.

use std::sync::Arc;
use std::time::Duration;

use portico_actors::auth::{IssuerKey, IssuerKeys, TrustedIssuer};
use portico_actors::principal::{Rights, Scope, WorkspaceGrant};
use portico_actors::workspace::Workspace;
use uuid::Uuid;

use crate::config::connections::connection::Connection;
use crate::config::connections::identity::{self, IssuerIdentitySettings, claim};
use crate::config::declared::section::Section;
use crate::config::declared::setting::Literal::{Number, Text, Texts};
use crate::config::declared::setting::{TEXT, TEXTS, number, optional_table, word, words};
use crate::config::declared::table::{Table, settings};

settings! {
    /// Whose access tokens are taken besides our own: one table for each issuer.
    pub(in crate::config) struct IssuerSettings {
        /// iss of its tokens.
        issuer: String = TEXT.example("\"https://id.example.org\"")
            .required("write the iss of its tokens, as in \"https://id.example.org\""),
        /// Its keys: the address of its JWK set (https; http only on this machine), fetched anew every ten minutes
        /// and when a token names an unknown key, and used for a day at most while it cannot be.
        jwks_url: Option<String> = TEXT.example("\"https://id.example.org/.well-known/jwks.json\""),
        /// Instead of that one key in PEM, or the path of its file.
        public_key: Option<String> = TEXT.example("\"id.pem\""),
        /// aud that its tokens must name. Left out, they must name `public_url` or an endpoint within it.
        audience: Option<String> = TEXT.example("\"https://data.example.org\""),
        /// The claim with the ids of connections; only an array opens any.
        connections_claim: String = claim("write \"connection_ids\", or leave it out").or(Text("connection_ids")),
        /// The claim with the names of workspaces; only an array opens any.
        workspaces_claim: String = claim("write \"workspaces\", or leave it out").or(Text("workspaces")),
        /// The claim with the scopes.
        scope_claim: String = claim("write \"scope\", or leave it out").or(Text("scope")),
        /// The claim with the caller's name.
        subject_claim: String = claim("write \"sub\", or leave it out").or(Text("sub")),
        /// What its tokens open at most. Left out, what their claim names; with an empty list, nothing.
        connections: Option<Vec<String>> = TEXTS.example("[\"sales:read\"]"),
        /// The same of workspaces. A workspace of the claim that is not in this list is opened as far as `connections`
        /// have all that is underneath. Where one of the two lists is there, the other one is empty if left out.
        workspaces: Option<Vec<String>> = TEXTS.example("[\"revenue:read\"]"),
        /// "read", "write" or "admin": a token without the scope claim has this scope; without it, it is refused.
        scope: Option<Scope> = word::<Scope>().example("\"read\""),
        /// typ of its access tokens; one that does not say is a JWT. Write `["at+jwt"]` where it writes that (RFC
        /// 9068). ID tokens, logout tokens and the like are refused whatever they say.
        typ: Vec<String> = TEXTS.or(Texts(&TrustedIssuer::DEFAULT_TYPES)),
        /// Seconds that a token lasts at most, from now and from when it was issued.
        max_age: Duration = number(60..=31_536_000).or(Number(TrustedIssuer::DEFAULT_MAX_AGE.as_secs())),
    }
    tables {
        identity = optional_table::<IssuerIdentitySettings>(),
    }
}

words! {
    Scope { "read" => Self::Read, "write" => Self::Write, "admin" => Self::Admin }
}

/// Reads every table. `ours` is our own issuer, which none of them may be.
pub(in crate::config) fn read_all(
    root: &Section<'_>,
    ours: &str,
    connections: &[Arc<Connection>],
    workspaces: &[Arc<Workspace>],
) -> Vec<TrustedIssuer> {
    let mut issuers: Vec<TrustedIssuer> = Vec::new();
    for section in root.tables("issuers") {
        let Some(issuer) = read(&section, connections, workspaces) else { continue };
        if issuer.issuer.contains('#') {
            // It ends where a caller's subject begins: "issuer#subject" must not be two callers' name.
            section.problem("issuer", "an issuer's name must have no # (RFC 8414)", "write the iss of its tokens");
        } else if issuer.issuer.trim_end_matches('/') == ours {
            section.problem("issuer", "this is our own issuer, and its keys are in the store", "remove this table");
        } else if issuers.iter().any(|other| other.issuer == issuer.issuer) {
            section.problem("issuer", "another table has this issuer", "write one table for each issuer");
        } else {
            issuers.push(issuer);
        }
    }
    issuers
}

fn read(
    section: &Section<'_>,
    connections: &[Arc<Connection>],
    workspaces: &[Arc<Workspace>],
) -> Option<TrustedIssuer> {
    let settings = IssuerSettings::read(section);
    let keys = keys(section, settings.jwks_url, settings.public_key);
    let reach = match (settings.connections, settings.workspaces) {
        (None, None) => Rights::ALL,
        (named, spaces) => {
            let ids: Vec<(&str, Uuid)> = connections.iter().map(|known| (known.name.as_ref(), known.id)).collect();
            let names: Vec<(&str, &str)> = workspaces.iter().map(|known| (known.name.as_ref(), &*known.name)).collect();
            let connections = reach(section, "connections", &named.unwrap_or_default(), &ids);
            let spaces = reach(section, "workspaces", &spaces.unwrap_or_default(), &names);
            let given = spaces.into_iter().map(|(name, scope)| (name.into(), WorkspaceGrant::Given(scope)));
            Rights::each(connections).with_workspaces(given)
        }
    };
    let identity = identity::of_issuer(section);
    Some(TrustedIssuer {
        issuer: settings.issuer,
        keys: keys?,
        audience: settings.audience,
        connections_claim: settings.connections_claim,
        workspaces_claim: settings.workspaces_claim,
        scope_claim: settings.scope_claim,
        subject_claim: settings.subject_claim,
        reach,
        scope: settings.scope,
        types: settings.typ,
        max_age: settings.max_age,
        identity,
    })
}

/// The address of a JWK set or one public key, but not both.
fn keys(section: &Section<'_>, url: Option<String>, key: Option<String>) -> Option<IssuerKeys> {
    match (url, key) {
        (Some(url), None) => {
            let checked = TrustedIssuer::check_url(&url).map_err(|error| section.error("jwks_url", error, ""));
            checked.ok().map(|()| IssuerKeys::Url(url))
        }
        (None, Some(key)) => {
            let pem = if key.trim_start().starts_with("-----BEGIN") {
                key
            } else {
                section.read_file("public_key", key.as_ref(), "write the key in PEM, or the path of its file")?
            };
            let key = IssuerKey::from_pem(&pem).map_err(|error| section.error("public_key", error, ""));
            key.ok().map(IssuerKeys::Fixed)
        }
        (Some(_), Some(_)) => {
            section.problem("public_key", "there is a jwks_url too", "keep one of the two");
            None
        }
        (None, None) => {
            section.problem("jwks_url", "there is no key to verify its tokens with", "give jwks_url, or public_key");
            None
        }
    }
}

/// Returns the maximal reach of the issuer's tokens among `known`: names, or `name:read`.
fn reach<T: Copy>(section: &Section<'_>, key: &str, named: &[String], known: &[(&str, T)]) -> Vec<(T, Scope)> {
    let mut reach = Vec::new();
    for named in named {
        let (name, word) = named.split_once(':').unwrap_or((named, "admin"));
        let found = known.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        match (found, Scope::parse(word)) {
            (Some((_, found)), Some(scope)) => reach.push((*found, scope)),
            (None, _) => {
                let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
                let remedy = format!("{key}: {}", names.join(", "));
                section.problem(key, format!("there is no {} {name:?}", key.trim_end_matches('s')), &remedy);
            }
            (_, None) => {
                section.problem(key, format!("{word:?} is not a scope"), "write name, name:read or name:write");
            }
        }
    }
    reach
}
