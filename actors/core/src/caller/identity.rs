//! Maps a caller to a database role, and to the claims that the database may read while the caller's statements
//! run. How the role is assumed is left to each driver.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::principal::Principal;
use crate::error::{Error, Result};
use crate::message::call::RequestId;
use crate::naming::name;

/// The maximal length of a role's name in bytes. PostgreSQL truncates longer names, so that two callers could end
/// up in one role.
const LONGEST_ROLE: usize = 63;

/// The names of the session settings that a statement can read, in the order of [`Identity::settings`].
pub const SETTINGS: [&str; 5] =
    ["request.jwt.claims", "portico.principal", "portico.client_id", "portico.scope", "portico.request_id"];

/// The rules that map callers to roles of a connection's database. The first matching rule decides. A caller
/// without a matching rule is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Roles by the [`principal_key`] of the caller's subject or of a service account's name.
    pub principals: HashMap<String, String>,
    /// The claim that selects the role.
    pub claim: Option<RoleClaim>,
    /// A role's name with `{subject}` or another claim's name in braces.
    pub pattern: Option<Pattern>,
}

/// A claim that selects the role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleClaim {
    /// Its name.
    pub name: String,
    /// Roles by the claim's value. If absent, the value itself is the role's name.
    pub roles: Option<HashMap<String, String>>,
}

impl RoleClaim {
    /// Returns the role for a value of the claim. For a list, returns the role of the first element that has one.
    pub fn role(&self, value: &Value) -> Option<String> {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut values = values.iter().filter_map(Value::as_str);
        match &self.roles {
            Some(roles) => values.find_map(|value| roles.get(value)).cloned(),
            // With several values it is ambiguous which is meant.
            None => values.next().filter(|_| values.next().is_none()).map(str::to_owned),
        }
    }
}

/// A role's name with placeholders for claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Claim(String),
}

impl Pattern {
    /// Reads a pattern such as `app_{subject}`.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) when a brace has no partner, or nothing in
    /// the pattern depends on the caller.
    pub fn parse(text: &str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (claim, behind) = after
                .split_once('}')
                .ok_or_else(|| Error::invalid(format!("{text:?} has a brace that is not closed")))?;
            if claim.is_empty() || claim.contains('{') {
                return Err(Error::invalid(format!("{text:?} has braces without a claim's name in them")));
            }
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(Piece::Claim(claim.to_owned()));
            rest = behind;
        }
        if pieces.is_empty() {
            return Err(Error::invalid(format!("{text:?} names the same role for everybody"))
                .hint("put {subject} or another claim in braces, or list callers one by one"));
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// Returns the role's name, if the caller has every claim that the pattern uses.
    fn fill(&self, by: &Principal) -> Option<String> {
        let mut role = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => role.push_str(text),
                Piece::Claim(name) => role.push_str(claim(by, name)?.as_str()?),
            }
        }
        Some(role)
    }
}

impl Mapping {
    /// Returns the roles that the rules name explicitly, each once, in order.
    pub fn named_roles(&self) -> Vec<&str> {
        let told = self.claim.iter().filter_map(|claim| claim.roles.as_ref()).flat_map(HashMap::values);
        let mut roles: Vec<&str> = self.principals.values().chain(told).map(String::as_str).collect();
        roles.sort_unstable();
        roles.dedup();
        roles
    }

    /// Returns the role of `by` at the connection named `connection`.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden) if no rule matches, or if the result is not a valid role
    /// name.
    pub fn role(&self, connection: &str, by: &Principal) -> Result<String> {
        let role = self.named(by).or_else(|| by.claims.role().map(str::to_owned)).or_else(|| self.claimed(by));
        let role = role.or_else(|| self.pattern.as_ref()?.fill(by));
        let role = role.ok_or_else(|| {
            Error::forbidden(format!("this caller has no role in the database of connection {connection}"))
                .hint("an administrator can map the caller to a role under [connections.identity]")
        })?;
        check_role(&role).map_err(|why| {
            Error::forbidden(format!("the role of this caller in the database of connection {connection} {why}"))
                .hint("an administrator can map the caller to another role under [connections.identity]")
        })?;
        Ok(role)
    }

    /// Returns the role and the settings with which a call of `by` runs in the database.
    ///
    /// # Errors
    /// As [`Mapping::role`].
    pub fn identity(&self, connection: &str, by: &Principal, request: RequestId) -> Result<Identity> {
        let role = self.role(connection, by)?;
        let mut claims = by.claims.all().clone();
        // Values verified here override what a token says of itself.
        for (name, value) in [("sub", by.subject.as_str()), ("scope", by.scope().list()), ("role", role.as_str())] {
            claims.insert(name.to_owned(), Value::from(value));
        }
        let client = by.claims.verified("client_id").unwrap_or_default().to_owned();
        let settings = [String::new(), by.subject.clone(), client, by.scope().list().to_owned(), request.to_string()];
        let mut identity = Identity { role, settings, refused: AtomicBool::new(false) };
        identity.settings[0] = Value::Object(claims).to_string();
        Ok(identity)
    }

    fn named(&self, by: &Principal) -> Option<String> {
        let of = |name: &str| self.principals.get(&principal_key(name));
        // An account's name is chosen by whoever creates it: it must never match a person or another issuer's
        // subject.
        let account = || by.account().filter(|name| !name.contains(['@', '#']));
        of(&by.subject).or_else(|| of(account()?)).cloned()
    }

    fn claimed(&self, by: &Principal) -> Option<String> {
        let told = self.claim.as_ref()?;
        told.role(&claim(by, &told.name)?)
    }
}

/// Returns the key by which names in `principals` are compared: our own names in any spelling, another issuer's
/// `issuer#sub` exactly (RFC 7519 §4.1.2).
pub fn principal_key(name: &str) -> String {
    if name.contains('#') { name.to_owned() } else { name::key(name) }
}

/// Returns one claim of a caller; `subject` stands for `sub`.
fn claim(by: &Principal, name: &str) -> Option<Value> {
    match name {
        "subject" | "sub" => Some(Value::from(by.subject.as_str())),
        "scope" => Some(Value::from(by.scope().as_str())),
        other => by.claims.all().get(other).cloned(),
    }
}

/// Checks that a caller's role can have this name. `none` is refused, for it would be the connection's own user.
///
/// # Errors
/// The rest of a sentence that begins with what the name is for.
pub fn check_role(role: &str) -> std::result::Result<(), &'static str> {
    match role {
        "" => Err("is empty"),
        "none" | "public" => Err("has a name that PostgreSQL keeps for itself"),
        _ if role.len() > LONGEST_ROLE => Err("has a name of more than 63 bytes"),
        _ if role.starts_with("pg_") => Err("is one of PostgreSQL's own, which are granted to roles instead"),
        _ if role.chars().any(char::is_control) => Err("has a name with control characters"),
        _ => Ok(()),
    }
}

/// The role and the settings with which a call runs in the database.
pub struct Identity {
    /// The role.
    pub role: String,
    /// The values of [`SETTINGS`].
    settings: [String; SETTINGS.len()],
    /// True if the database refused to switch to the role.
    refused: AtomicBool,
}

impl Identity {
    /// Makes an identity with a role and without a caller, to test whether the role can be assumed.
    pub fn of_role(role: &str) -> Self {
        Self { role: role.to_owned(), settings: Default::default(), refused: AtomicBool::new(false) }
    }

    /// Returns the values of [`SETTINGS`], in their order.
    pub fn settings(&self) -> &[String; SETTINGS.len()] {
        &self.settings
    }

    /// Records that the database refused to switch to the role. Further errors of the call are consequences of
    /// that.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// Returns true if the database refused to switch to the role.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("role", &self.role).finish_non_exhaustive()
    }
}

/// The identity of a call, if its connection maps callers to roles.
pub type AssumedIdentity = Option<Arc<Identity>>;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Kind;
    use crate::principal::{Asserted, Claims, Rights, Scope, Validity};

    fn caller(subject: &str, claims: Value) -> Principal {
        let claims = Claims::from(claims.as_object().cloned().unwrap_or_default());
        let (subject, validity) = (subject.to_owned(), Validity::default());
        Principal { subject, rights: Rights::all(Scope::Write), claims, credential: None, validity }
    }

    fn table(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, role)| ((*name).to_owned(), (*role).to_owned())).collect()
    }

    #[test]
    fn the_first_rule_that_fits_decides_and_nobody_is_left_to_the_pool() {
        let mapping = Mapping {
            principals: table(&[("ann@example.org", "north"), ("reporting", "reports")]),
            claim: Some(RoleClaim { name: "groups".to_owned(), roles: Some(table(&[("emea", "sales_emea")])) }),
            pattern: Some(Pattern::parse("app_{tenant}").unwrap()),
        };
        let role = |subject, claims| mapping.role("shop", &caller(subject, claims)).map_err(|error| error.kind);
        assert_eq!(role("Ann@Example.org", json!({"groups": ["emea"]})).unwrap(), "north");
        assert_eq!(role("c1", json!({"client_id": "c1", "name": "Reporting"})).unwrap(), "reports");
        // A name from another issuer is not an account's name.
        assert_eq!(role("eve", json!({"client_id": "c1", "name": "reporting"})), Err(Kind::Forbidden));
        assert_eq!(role("x", json!({"groups": ["other", "emea"], "tenant": "t"})).unwrap(), "sales_emea");
        assert_eq!(role("x", json!({"groups": "other", "tenant": "blue"})).unwrap(), "app_blue");
        assert_eq!(role("x", json!({"tenant": 5})), Err(Kind::Forbidden));
        assert_eq!(role("x", json!({})), Err(Kind::Forbidden));
        let of = |roles| Mapping { claim: Some(RoleClaim { name: "role".to_owned(), roles }), ..Mapping::default() };
        assert_eq!(of(None).role("shop", &caller("x", json!({"role": ["one"]}))).unwrap(), "one");
        assert!(of(None).role("shop", &caller("x", json!({"role": ["one", "two"]}))).is_err());
        assert!(of(Some(table(&[]))).role("shop", &caller("x", json!({"role": "one"}))).is_err(), "an empty table");
    }

    #[test]
    fn of_another_issuers_word_only_its_own_table_makes_a_role_and_no_setting_of_ours_holds_any() {
        let mapping = Mapping {
            principals: table(&[("reporting", "reports"), ("https://id.example.org#eve", "eve")]),
            claim: Some(RoleClaim { name: "email".to_owned(), roles: None }),
            pattern: Some(Pattern::parse("app_{tenant}").unwrap()),
        };
        let asserted = |claims: Value, role: Option<&str>| {
            let claims = claims.as_object().cloned().unwrap_or_default();
            let asserted = Asserted { claims, role: role.map(str::to_owned) };
            let claims = Claims::Asserted(Arc::new(asserted));
            Principal { claims, ..caller("https://id.example.org#robot", json!({})) }
        };
        let role = |by: &Principal| mapping.role("shop", by).ok();
        assert_eq!(role(&asserted(json!({}), None)), None);
        assert_eq!(role(&asserted(json!({"tenant": "t"}), Some("theirs"))).unwrap(), "theirs");
        assert_eq!(role(&asserted(json!({"tenant": "t"}), None)).unwrap(), "app_t");
        let named = |subject: &str| Principal { subject: subject.to_owned(), ..asserted(json!({}), Some("theirs")) };
        assert_eq!(role(&named("https://id.example.org#eve")).unwrap(), "eve");
        assert_eq!(role(&named("https://id.example.org#Eve")).unwrap(), "theirs", "another subject of theirs");
        // Claims of another issuer that imitate ours.
        let by = asserted(json!({"client_id": "https://id.example.org#robot", "name": "reporting"}), None);
        assert_eq!((role(&by), by.account()), (None, None));
        let by = asserted(json!({"client_id": "c", "sub": "ann", "scope": "admin"}), Some("theirs"));
        let identity = mapping.identity("shop", &by, RequestId::from_client("r1").unwrap()).unwrap();
        assert_eq!(identity.settings()[1..4], [by.subject.clone(), String::new(), "read write".to_owned()]);
        let claims: Value = serde_json::from_str(&identity.settings()[0]).unwrap();
        assert_eq!(claims, json!({"client_id": "c", "sub": by.subject, "scope": "read write", "role": "theirs"}));
    }

    #[test]
    fn names_that_would_be_another_role_are_refused() {
        let mapping = Mapping { pattern: Some(Pattern::parse("{subject}").unwrap()), ..Mapping::default() };
        let long = "x".repeat(64);
        for name in ["none", "public", "", "pg_read_all_data", "a\nb", long.as_str()] {
            assert_eq!(mapping.role("shop", &caller(name, json!({}))).unwrap_err().kind, Kind::Forbidden, "{name:?}");
        }
        assert!(mapping.role("shop", &caller("o'neil \"x\"", json!({}))).is_ok());
    }

    #[test]
    fn patterns_depend_on_the_caller() {
        for wrong in ["app", "app_{", "app_{}", "{{x}}"] {
            assert_eq!(Pattern::parse(wrong).unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
    }

    #[test]
    fn what_was_found_valid_stands_above_what_a_token_claims() {
        let mapping = Mapping { principals: table(&[("ann", "north")]), ..Mapping::default() };
        let by = caller("ann", json!({"sub": "boss", "role": "admin", "client_id": "c", "tenant": "t"}));
        let identity = mapping.identity("shop", &by, RequestId::from_client("r1").unwrap()).unwrap();
        let claims: Value = serde_json::from_str(&identity.settings()[0]).unwrap();
        assert_eq!(
            claims,
            json!({"sub": "ann", "role": "north", "client_id": "c", "tenant": "t", "scope": "read write"})
        );
        assert_eq!(identity.settings()[1..4], ["ann".to_owned(), "c".to_owned(), "read write".to_owned()]);
    }
}
