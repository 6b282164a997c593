//! Who a caller is to a database: the role that the caller's statements run under, and the claims
//! that the database may read while they do. How a driver makes it so is the driver's business.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::principal::Principal;
use crate::error::{Error, Result};
use crate::message::call::RequestId;
use crate::naming::name;

/// Octets of a role's name at most. PostgreSQL cuts longer ones off, and two callers could then
/// meet in one role.
const LONGEST_ROLE: usize = 63;

/// The settings that a statement finds, in the order of [`Identity::settings`].
pub const SETTINGS: [&str; 5] =
    ["request.jwt.claims", "portico.principal", "portico.client_id", "portico.scope", "portico.request_id"];

/// Which role of a connection's database each caller has. The first rule that fits decides; a
/// caller that none fits has no role, and is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Roles by the [`principal_key`] of the caller's subject or of a service account's name.
    pub principals: HashMap<String, String>,
    /// The claim that tells the role.
    pub claim: Option<RoleClaim>,
    /// A role's name with `{subject}` or another claim's name in braces.
    pub pattern: Option<Pattern>,
}

/// A claim that tells the role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleClaim {
    /// Its name.
    pub name: String,
    /// Roles by its values. Absent: the value itself is the role's name.
    pub roles: Option<HashMap<String, String>>,
}

impl RoleClaim {
    /// The role that a value of the claim tells; of a list the first that has one.
    pub fn role(&self, value: &Value) -> Option<String> {
        let values = match value {
            Value::Array(values) => values.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut values = values.iter().filter_map(Value::as_str);
        match &self.roles {
            Some(roles) => values.find_map(|value| roles.get(value)).cloned(),
            // Of several there is no telling which is meant.
            None => values.next().filter(|_| values.next().is_none()).map(str::to_owned),
        }
    }
}

/// A role's name with places for claims.
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

    /// The role of a caller who has every claim of the pattern.
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
    /// The roles that are named one by one, each once, in order.
    pub fn named_roles(&self) -> Vec<&str> {
        let told = self.claim.iter().filter_map(|claim| claim.roles.as_ref()).flat_map(HashMap::values);
        let mut roles: Vec<&str> = self.principals.values().chain(told).map(String::as_str).collect();
        roles.sort_unstable();
        roles.dedup();
        roles
    }

    /// The role of `by` at the connection named `connection`.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden) when no rule fits, or what fits is no
    /// name that a role can have.
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

    /// Everything that a call of `by` brings to the database.
    ///
    /// # Errors
    /// As [`Mapping::role`].
    pub fn identity(&self, connection: &str, by: &Principal, request: RequestId) -> Result<Identity> {
        let role = self.role(connection, by)?;
        let mut claims = by.claims.all().clone();
        // What was found valid here stands above what a token says of itself.
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
        // Whoever names an account chooses that name: it never stands for a person or for another issuer's subject.
        let account = || by.account().filter(|name| !name.contains(['@', '#']));
        of(&by.subject).or_else(|| of(account()?)).cloned()
    }

    fn claimed(&self, by: &Principal) -> Option<String> {
        let told = self.claim.as_ref()?;
        told.role(&claim(by, &told.name)?)
    }
}

/// How the names of `principals` are compared: ours in any spelling, another issuer's `issuer#sub` as it is
/// (RFC 7519 §4.1.2).
pub fn principal_key(name: &str) -> String {
    if name.contains('#') { name.to_owned() } else { name::key(name) }
}

/// One claim of a caller; `subject` stands for `sub`.
fn claim(by: &Principal, name: &str) -> Option<Value> {
    match name {
        "subject" | "sub" => Some(Value::from(by.subject.as_str())),
        "scope" => Some(Value::from(by.scope().as_str())),
        other => by.claims.all().get(other).cloned(),
    }
}

/// Why no role of a caller's can have this name. `none` would be the connection's own user.
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

/// What a call brings to the database.
pub struct Identity {
    /// The role.
    pub role: String,
    /// The values of [`SETTINGS`].
    settings: [String; SETTINGS.len()],
    /// The database did not let the role be taken on.
    refused: AtomicBool,
}

impl Identity {
    /// A role and nobody in it, to find out whether it can be taken on.
    pub fn of_role(role: &str) -> Self {
        Self { role: role.to_owned(), settings: Default::default(), refused: AtomicBool::new(false) }
    }

    /// The values of [`SETTINGS`], in their order.
    pub fn settings(&self) -> &[String; SETTINGS.len()] {
        &self.settings
    }

    /// Notes that the database did not let the role be taken on: whatever else it says of the
    /// call follows from that.
    pub fn refuse(&self) {
        self.refused.store(true, Ordering::Release);
    }

    /// Whether the database did not let the role be taken on.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("role", &self.role).finish_non_exhaustive()
    }
}

/// The identity of a call, where its connection gives callers one.
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
        // A name that somebody else chose is not an account's.
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
        // Their word for what is ours to know.
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
