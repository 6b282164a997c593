//! Who is calling and how far they reach.

mod validity;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use self::validity::Validity;

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

/// What a credential opens, as one value: connections, each with the scope that it is reached with at
/// most, or every connection with one scope for the whole service. It is kept and compared as a whole:
/// two of equal meaning are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rights(Extent);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Extent {
    /// Every configured connection, also ones added later, and what belongs to no connection.
    All(Scope),
    /// These alone, by id, each once.
    Each {
        /// The widest of them.
        widest: Scope,
        connections: Arc<[(Uuid, Scope)]>,
    },
}

impl Rights {
    /// Everything: as a bound, it narrows nothing.
    pub const ALL: Self = Self(Extent::All(Scope::Admin));

    /// Every connection, also ones added later, and the service itself, with this scope.
    pub const fn all(scope: Scope) -> Self {
        Self(Extent::All(scope))
    }

    /// These connections alone, each with its scope. Of a connection that is named twice, the first
    /// mention counts.
    pub fn each(connections: impl IntoIterator<Item = (Uuid, Scope)>) -> Self {
        let mut connections: Vec<_> = connections.into_iter().collect();
        connections.sort_by_key(|(id, _)| *id);
        connections.dedup_by_key(|(id, _)| *id);
        let widest = connections.iter().map(|(_, scope)| *scope).max().unwrap_or(Scope::Read);
        Self(Extent::Each { widest, connections: connections.into() })
    }

    /// These connections alone, all with this scope.
    pub fn only(connections: impl IntoIterator<Item = Uuid>, scope: Scope) -> Self {
        Self::each(connections.into_iter().map(|id| (id, scope)))
    }

    /// Whether every connection is within reach, also ones added later.
    pub const fn is_all(&self) -> bool {
        matches!(self.0, Extent::All(_))
    }

    /// The widest scope that is held anywhere; [`Scope::Read`] where nothing is within reach.
    pub const fn widest(&self) -> Scope {
        match self.0 {
            Extent::All(scope) => scope,
            Extent::Each { widest, .. } => widest,
        }
    }

    /// The connections within reach by id, each with its scope; `None` where no list could hold them all.
    pub fn list(&self) -> Option<&[(Uuid, Scope)]> {
        match &self.0 {
            Extent::All(_) => None,
            Extent::Each { connections, .. } => Some(connections),
        }
    }

    /// Whether `connection` is within reach.
    pub fn covers(&self, connection: Uuid) -> bool {
        self.scope_at(connection).is_some()
    }

    /// How far one may go at `connection`; `None` where it is not within reach.
    pub fn scope_at(&self, connection: Uuid) -> Option<Scope> {
        match &self.0 {
            Extent::All(scope) => Some(*scope),
            Extent::Each { connections, .. } => {
                let found = connections.binary_search_by_key(&connection, |(id, _)| *id).ok();
                found.and_then(|at| connections.get(at)).map(|(_, scope)| *scope)
            }
        }
    }

    /// What both open: the connections of both, each with the narrower scope of the two.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Extent::All(own), Extent::All(most)) => Self(Extent::All(*own.min(most))),
            (Extent::All(most), Extent::Each { .. }) => other.up_to(*most),
            (Extent::Each { .. }, Extent::All(most)) => self.up_to(*most),
            (Extent::Each { connections, .. }, Extent::Each { .. }) => {
                let shared = |(id, own): &(Uuid, Scope)| Some((*id, other.scope_at(*id)?.min(*own)));
                Self::each(connections.iter().filter_map(shared))
            }
        }
    }

    /// The same with nowhere more than `scope`.
    #[must_use]
    pub fn up_to(&self, scope: Scope) -> Self {
        match &self.0 {
            _ if self.widest() <= scope => self.clone(),
            Extent::All(_) => Self(Extent::All(scope)),
            Extent::Each { connections, .. } => Self::each(connections.iter().map(|(id, own)| (*id, scope.min(*own)))),
        }
    }

    /// Whether everything that `other` opens is opened by these.
    pub fn contains(&self, other: &Self) -> bool {
        match &other.0 {
            Extent::All(asked) => self.is_all() && *asked <= self.widest(),
            Extent::Each { connections, .. } => {
                connections.iter().all(|(id, asked)| self.scope_at(*id).is_some_and(|own| *asked <= own))
            }
        }
    }

    /// Whether they open nothing.
    pub fn is_empty(&self) -> bool {
        self.list().is_some_and(<[_]>::is_empty)
    }

    /// Whether they make an administrator: of the service, or of what lies within the connections that
    /// they name.
    pub fn administer(&self) -> bool {
        self.widest() == Scope::Admin
    }

    /// What of them is administered: all of it, or the connections that have the scope `admin`.
    #[must_use]
    pub fn administered(&self) -> Self {
        let Some(connections) = self.list() else { return self.clone() };
        let administered = connections.iter().filter(|(_, scope)| *scope == Scope::Admin);
        Self::only(administered.map(|(id, _)| *id), Scope::Admin)
    }

    /// The connections for people, as `name` calls them; with its scope where one is reached with less
    /// than the widest.
    pub fn describe(&self, name: impl Fn(Uuid) -> String) -> String {
        let Some(connections) = self.list() else { return "all".to_owned() };
        let described = connections.iter().map(|(id, scope)| match scope {
            scope if *scope == self.widest() => name(*id),
            scope => format!("{}:{}", name(*id), scope.word()),
        });
        described.collect::<Vec<_>>().join(", ")
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);
    const C: Uuid = Uuid::from_u128(3);

    #[test]
    fn what_two_share_has_the_narrower_scope() {
        let own = Rights::each([(B, Scope::Write), (A, Scope::Read)]);
        assert_eq!((own.and(&Rights::ALL), Rights::ALL.and(&own)), (own.clone(), own.clone()));
        let other = Rights::each([(C, Scope::Write), (B, Scope::Read), (A, Scope::Admin)]);
        assert_eq!(own.and(&other), Rights::only([A, B], Scope::Read));
        assert_eq!(own.and(&Rights::only([B], Scope::Admin)), Rights::only([B], Scope::Write));
        assert_eq!(
            Rights::all(Scope::Write).and(&other),
            Rights::each([(A, Scope::Write), (B, Scope::Read), (C, Scope::Write)])
        );
        assert_eq!(Rights::all(Scope::Write).and(&Rights::all(Scope::Read)), Rights::all(Scope::Read));
        assert_eq!((own.widest(), own.up_to(Scope::Read).widest()), (Scope::Write, Scope::Read));
        assert_eq!((own.scope_at(C), own.covers(A)), (None, true));
        assert_eq!(Rights::each([(A, Scope::Read), (A, Scope::Admin)]), Rights::only([A], Scope::Read));
    }

    #[test]
    fn what_is_contained_is_what_an_intersection_leaves_as_it_is() {
        let scopes = [None, Some(Scope::Read), Some(Scope::Write), Some(Scope::Admin)];
        let mut all: Vec<Rights> = scopes.into_iter().flatten().map(Rights::all).collect();
        for at_a in scopes {
            for at_b in scopes {
                all.push(Rights::each([(A, at_a), (B, at_b)].into_iter().filter_map(|(id, at)| Some((id, at?)))));
            }
        }
        for one in &all {
            for other in &all {
                let both = one.and(other);
                assert_eq!(both, other.and(one));
                assert_eq!(one.contains(other), both == *other, "{one:?} {other:?}");
                assert!(one.contains(&both) && other.contains(&both), "{one:?} {other:?}");
                for id in [A, B, C] {
                    let narrower = one.scope_at(id).and_then(|own| Some(own.min(other.scope_at(id)?)));
                    assert_eq!(both.scope_at(id), narrower, "{one:?} {other:?} {id}");
                }
            }
        }
        assert!(!Rights::only([A, B], Scope::Admin).contains(&Rights::all(Scope::Read)), "there may be more of them");
    }

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
