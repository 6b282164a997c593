//! Who is calling and how far they reach.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};
use uuid::Uuid;

/// What a caller may do; each word includes the ones before it (`read` ⊂ `write` ⊂ `admin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Discovery and statements that only read.
    Read,
    /// Everything that may change data.
    Write,
    /// Administration of the service itself.
    Admin,
}

impl Scope {
    /// The word that stands in tokens, challenges and the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// Reads one scope word.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }

    /// The widest scope in a space-separated list (RFC 6749 §3.3); unknown words open nothing.
    pub fn widest(list: &str) -> Option<Self> {
        list.split(' ').filter_map(Self::from_word).max()
    }

    /// This scope and the ones it includes, as a space-separated list.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "read write",
            Self::Admin => "read write admin",
        }
    }
}

/// Which connections a caller reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every configured connection, also ones added later.
    All,
    /// These alone.
    Only(Arc<[Uuid]>),
}

impl Reach {
    /// Whether `connection` is within reach.
    pub fn covers(&self, connection: Uuid) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.contains(&connection),
        }
    }

    /// What is within reach of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, reach) | (reach, Self::All) => reach.clone(),
            (Self::Only(a), Self::Only(b)) => Self::Only(a.iter().copied().filter(|id| b.contains(id)).collect()),
        }
    }
}

/// What is known of a caller, under the names of RFC 7519, RFC 9068 and `OpenID` Connect.
pub type Claims = Arc<Map<String, Value>>;

/// A caller whose credential was found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// A user's e-mail address, or a service account's client id.
    pub subject: String,
    /// How far the caller may go.
    pub scope: Scope,
    /// Where the caller may go.
    pub reach: Reach,
    /// What else is known of the caller: a user's `email`, a service account's `client_id` and
    /// `name`, and what a trusted issuer's token says.
    pub claims: Claims,
}

impl Principal {
    /// The name for people, if this is a service account: a client that speaks for itself.
    pub fn account(&self) -> Option<&str> {
        let client = self.claims.get("client_id").filter(|client| client.as_str() == Some(&self.subject));
        client.and_then(|_| self.claims.get("name")).and_then(Value::as_str)
    }

    /// Whether the caller's scope includes `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scope >= scope
    }
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
    /// `Authorization: Bearer <JWT>`.
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
