//! Who is calling and how far they reach.

use std::fmt;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::{Error, Kind};

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
    /// These alone, and each no further than its own scope.
    Each(Arc<[(Uuid, Scope)]>),
}

impl Reach {
    /// These connections, each no further than its scope; where all of them have the widest one,
    /// the same as [`Reach::Only`].
    pub fn each(connections: impl IntoIterator<Item = (Uuid, Scope)>) -> Self {
        let connections: Vec<_> = connections.into_iter().collect();
        if connections.iter().all(|(_, scope)| *scope == Scope::Admin) {
            Self::Only(connections.into_iter().map(|(id, _)| id).collect())
        } else {
            Self::Each(connections.into())
        }
    }

    /// Whether `connection` is within reach.
    pub fn covers(&self, connection: Uuid) -> bool {
        self.scope_at(connection).is_some()
    }

    /// How far one may go at `connection` at most; `None` where it is not within reach.
    pub fn scope_at(&self, connection: Uuid) -> Option<Scope> {
        match self {
            Self::All => Some(Scope::Admin),
            Self::Only(ids) => ids.contains(&connection).then_some(Scope::Admin),
            Self::Each(ids) => ids.iter().find(|(id, _)| *id == connection).map(|(_, scope)| *scope),
        }
    }

    /// The connections within reach, each with the scope that it is reached with at most; `None`
    /// where no list could hold them all.
    pub fn list(&self) -> Option<Vec<(Uuid, Scope)>> {
        match self {
            Self::All => None,
            Self::Only(ids) => Some(ids.iter().map(|id| (*id, Scope::Admin)).collect()),
            Self::Each(ids) => Some(ids.to_vec()),
        }
    }

    /// What is within reach of both, with the narrower scope of the two.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self.list(), other.list()) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(own), Some(_)) => {
                Self::each(own.into_iter().filter_map(|(id, scope)| Some((id, scope.min(other.scope_at(id)?)))))
            }
        }
    }

    /// The widest scope that is left of `scope` somewhere within reach; `scope` itself where nothing is.
    pub fn widest(&self, scope: Scope) -> Scope {
        let widest = self.list().and_then(|list| list.into_iter().map(|(_, most)| most).max());
        widest.map_or(scope, |most| most.min(scope))
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
    /// How far the caller may go.
    pub scope: Scope,
    /// Where the caller may go.
    pub reach: Reach,
    /// What else is known of the caller.
    pub claims: Claims,
    /// The id of the credential that was shown: a personal access token's, or a token's `jti`.
    pub credential: Option<Arc<str>>,
    /// Whether that credential still opens this.
    pub validity: Validity,
}

/// Whether a credential still opens what it did when it was judged. Whatever goes on under it, such as a statement
/// or a stream, ends with it. That its time is over is no reason: what was begun in it may end.
#[derive(Clone, Default)]
pub struct Validity(Arc<CancellationToken>);

impl Validity {
    /// Completes when the credential was revoked, or opens less.
    pub async fn lost(&self) {
        self.0.cancelled().await;
    }

    /// Whether that has happened.
    pub fn is_lost(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Cancelled when the credential was revoked, or opens less.
    pub fn child_token(&self) -> CancellationToken {
        self.0.child_token()
    }

    /// What is told to a caller whose credential does not open any more what it did.
    pub fn refusal() -> Error {
        Error::unauthenticated("the credential was revoked, or opens less than before; what ran under it was cancelled")
            .hint("authenticate again")
    }

    /// Why something failed that was abandoned because the credential has lost its validity.
    #[must_use]
    pub fn explain(&self, failure: Error) -> Error {
        if failure.kind == Kind::Abandoned && self.is_lost() { Self::refusal() } else { failure }
    }

    /// The credential opens nothing any more, or less.
    pub(crate) fn lose(&self) {
        self.0.cancel();
    }

    /// Whether anybody but whoever judges goes on under it.
    pub(crate) fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl fmt::Debug for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_lost() { "Validity(lost)" } else { "Validity" })
    }
}

/// Who calls and how far they reach says nothing of it.
impl PartialEq for Validity {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Validity {}

impl Principal {
    /// The name for people, if this is a service account: a client that speaks for itself.
    pub fn account(&self) -> Option<&str> {
        let client = self.claims.verified("client_id").filter(|client| *client == self.subject);
        client.and_then(|_| self.claims.verified("name"))
    }

    /// Whether everything that `self` opens is opened by `other` too, for the same caller.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.subject == other.subject && self.scope <= other.scope && self.reach.and(&other.reach) == self.reach
    }

    /// Whether the caller's scope includes `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scope >= scope
    }

    /// The caller as `connection` sees them: with the scope that they have there.
    #[must_use]
    pub fn at(self: &Arc<Self>, connection: Uuid) -> Arc<Self> {
        match self.reach.scope_at(connection) {
            Some(most) if most < self.scope => Arc::new(Self { scope: most, ..Self::clone(self) }),
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
    fn what_two_reaches_share_has_the_narrower_scope() {
        let own = Reach::each([(A, Scope::Read), (B, Scope::Write)]);
        assert_eq!(own.and(&Reach::All), own);
        assert_eq!(Reach::All.and(&own), own);
        let other = Reach::each([(C, Scope::Write), (B, Scope::Read), (A, Scope::Admin)]);
        assert_eq!(own.and(&other), Reach::each([(A, Scope::Read), (B, Scope::Read)]));
        assert_eq!(own.and(&Reach::Only([B].into())), Reach::each([(B, Scope::Write)]));
        assert_eq!(Reach::each([(A, Scope::Admin)]), Reach::Only([A].into()));
        assert_eq!((own.widest(Scope::Admin), own.widest(Scope::Read)), (Scope::Write, Scope::Read));
        assert_eq!((own.scope_at(C), own.covers(A)), (None, true));
    }

    #[test]
    fn each_connection_sees_its_own_scope() {
        let reach = Reach::each([(A, Scope::Read), (B, Scope::Admin)]);
        let caller = Arc::new(Principal {
            subject: "a".to_owned(),
            scope: Scope::Write,
            reach,
            claims: Claims::default(),
            credential: None,
            validity: Validity::default(),
        });
        assert_eq!((caller.at(A).scope, caller.at(B).scope), (Scope::Read, Scope::Write));
        assert!(Arc::ptr_eq(&caller, &caller.at(B)), "nothing is narrowed, so nothing is copied");
    }
}
