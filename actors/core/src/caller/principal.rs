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
    /// What another issuer says, as far as that counts here.
    Asserted(Arc<Asserted>),
}

/// What counts here of what another issuer says: its own table names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asserted {
    /// Claims that databases may read, and that roles are found by.
    pub claims: Map<String, Value>,
    /// The role in databases that they lead to, where the table has one for them.
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
    /// All of them, whoever says so.
    pub fn all(&self) -> &Map<String, Value> {
        match self {
            Self::Verified(claims) => claims,
            Self::Asserted(asserted) => &asserted.claims,
        }
    }

    /// Those that tell who the caller is, and not which token was shown: with the next one they are the same.
    pub fn of_the_caller(&self) -> BTreeMap<&str, &Value> {
        let lasting = self.all().iter().filter(|(name, _)| !OF_THE_TOKEN.contains(&name.as_str()));
        lasting.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// One that Portico itself knows to be so.
    pub fn verified(&self, name: &str) -> Option<&str> {
        match self {
            Self::Verified(claims) => claims.get(name).and_then(Value::as_str),
            Self::Asserted(_) => None,
        }
    }

    /// The role that another issuer's table has for the caller.
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
    /// Where the caller may go, and how far: what is left of the credential and all that it came from.
    pub rights: Rights,
    /// What else is known of the caller.
    pub claims: Claims,
    /// The id of the credential that was shown: a personal access token's, or a token's `jti`.
    pub credential: Option<Arc<str>>,
    /// Whether that credential still opens this.
    pub validity: Validity,
}

impl Principal {
    /// The name for people, if this is a service account: a client that speaks for itself.
    pub fn account(&self) -> Option<&str> {
        let client = self.claims.verified("client_id").filter(|client| *client == self.subject);
        client.and_then(|_| self.claims.verified("name"))
    }

    /// Whether everything that `self` opens is opened by `other` too, for the same caller.
    pub fn is_within(&self, other: &Self) -> bool {
        self.subject == other.subject && other.rights.contains(&self.rights)
    }

    /// How far the caller may go: at one connection, as [`Principal::at`] gives them, else anywhere.
    pub const fn scope(&self) -> Scope {
        self.rights.widest()
    }

    /// Whether the caller's scope includes `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scope() >= scope
    }

    /// The caller as `connection` sees them: with the scope that they have there.
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

/// What a credential is shown to. An access token opens what it was issued for and nothing else
/// (RFC 8707 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// An MCP endpoint; which one decides the token's reach.
    Mcp,
    /// The SQL API.
    Api,
}

/// What a caller shows to prove who they are. Its `Debug` never prints a secret.
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
