//! Who is calling and how far they reach.

mod rights;
mod scope;
mod validity;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use self::rights::{Rights, WorkspaceGrant};
pub use self::scope::Scope;
pub use self::validity::Validity;

/// What is known of a caller, under the names of RFC 7519, RFC 9068 and `OpenID` Connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claims {
    /// What Portico itself knows: a user's `email`, a service account's `client_id` and `name`, and the
    /// `client_id` of the client that acts for a person.
    Verified(Arc<Map<String, Value>>),
    /// What another issuer asserts, as far as it is trusted here.
    Asserted(Arc<Asserted>),
}

/// The part of another issuer's assertions that is used here, as configured in that issuer's table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asserted {
    /// Claims that databases may read, and that select roles.
    pub claims: Map<String, Value>,
    /// The database role that the claims map to, if the issuer's table has one.
    pub role: Option<String>,
}

/// Claims that name a token, and not the caller who shows it (RFC 7519 §4.1.7, `OpenID` Connect Core §2, and what
/// one large issuer adds).
const OF_THE_TOKEN: [&str; 9] = ["jti", "auth_time", "nonce", "sid", "at_hash", "c_hash", "uti", "rh", "aio"];

impl Default for Claims {
    fn default() -> Self {
        Self::Verified(Arc::default())
    }
}

impl From<Map<String, Value>> for Claims {
    fn from(verified: Map<String, Value>) -> Self {
        Self::Verified(Arc::new(verified))
    }
}

impl From<Asserted> for Claims {
    fn from(asserted: Asserted) -> Self {
        Self::Asserted(Arc::new(asserted))
    }
}

impl Claims {
    /// Returns all claims, regardless of who asserts them.
    pub fn all(&self) -> &Map<String, Value> {
        match self {
            Self::Verified(claims) => claims,
            Self::Asserted(asserted) => &asserted.claims,
        }
    }

    /// Returns the claims that describe the caller and not the token: they stay the same when the token is renewed.
    pub fn of_the_caller(&self) -> BTreeMap<&str, &Value> {
        let lasting = self.all().iter().filter(|(name, _)| !OF_THE_TOKEN.contains(&name.as_str()));
        lasting.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Returns a claim that Portico itself has verified.
    pub fn verified(&self, name: &str) -> Option<&str> {
        match self {
            Self::Verified(claims) => claims.get(name).and_then(Value::as_str),
            Self::Asserted(_) => None,
        }
    }

    /// Returns the role that another issuer's table gives the caller.
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Verified(_) => None,
            Self::Asserted(asserted) => asserted.role.as_deref(),
        }
    }
}

/// A caller whose credential was found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// A user's e-mail address, or a service account's client id.
    pub subject: String,
    /// What the caller can reach and with which scope: the rights of the credential, limited by those of everything
    /// it was derived from.
    pub rights: Rights,
    /// What else is known of the caller.
    pub claims: Claims,
    /// The id of the credential that was shown: a personal access token's, or a token's `jti`.
    pub credential: Option<Arc<str>>,
    /// Whether the credential still grants these rights.
    pub validity: Validity,
}

impl Principal {
    /// Returns the account's display name, if the caller is a service account: a client that acts for itself.
    pub fn account(&self) -> Option<&str> {
        let client = self.claims.verified("client_id").filter(|client| *client == self.subject);
        client.and_then(|_| self.claims.verified("name"))
    }

    /// Returns true if `other` is the same caller with at least the rights of `self`.
    pub fn is_within(&self, other: &Self) -> bool {
        self.subject == other.subject && other.rights.contains(&self.rights)
    }

    /// Returns the caller's scope: at one connection if made by [`Principal::at`], else the widest anywhere.
    pub const fn scope(&self) -> Scope {
        self.rights.widest()
    }

    /// Whether the caller's scope includes `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scope() >= scope
    }

    /// Returns the caller as seen by `connection`: with the scope for that connection.
    #[must_use]
    pub fn at(self: &Arc<Self>, connection: Uuid) -> Arc<Self> {
        match self.rights.scope_at(connection) {
            Some(most) if most < self.scope() => {
                Arc::new(Self { rights: Rights::only([connection], most), ..Self::clone(self) })
            }
            _ => Arc::clone(self),
        }
    }
}

/// What a credential is presented to. An access token is accepted only by the resource that it was issued for (RFC
/// 8707 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// An MCP endpoint; the endpoint's address determines the token's reach.
    Mcp,
    /// The SQL API.
    Api,
}

/// What a caller presents for authentication. `Debug` never prints a secret.
#[derive(Clone)]
pub enum Credential {
    /// `Authorization: Basic base64(email:PAT)`.
    Basic {
        /// The user's e-mail address.
        email: String,
        /// The personal access token.
        token: SecretString,
    },
    /// `Authorization: Bearer` and an access token, of ours or of a trusted issuer's, or a personal access token.
    Bearer(SecretString),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic { email, .. } => write!(f, "Basic({email})"),
            Self::Bearer(_) => f.write_str("Bearer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    #[test]
    fn each_connection_sees_its_own_scope() {
        let rights = Rights::each([(A, Scope::Read), (B, Scope::Write)]);
        let caller = Arc::new(Principal {
            subject: "a".to_owned(),
            rights,
            claims: Claims::default(),
            credential: None,
            validity: Validity::default(),
        });
        assert_eq!((caller.at(A).scope(), caller.at(B).scope()), (Scope::Read, Scope::Write));
        assert!(!caller.at(A).rights.covers(B));
        assert!(Arc::ptr_eq(&caller, &caller.at(B)), "nothing is narrowed, so nothing is copied");
    }
}
