//! The store's content as its readers see it: never a secret, a digest or a private key. The rights of a credential
//! are determined in `verify/snapshot.rs`.

use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::clock::Timestamp;
use portico_core::principal::Rights;
use portico_core::reach::with_connections;

/// Characters of an e-mail address at most (RFC 5321 §4.5.3.1.3, erratum 1690). Longer ones are refused before
/// anything is done with them.
pub const LONGEST_EMAIL: usize = 254;

/// Returns true if `name` has the usual form of an e-mail address. Other input in such a field may be a password,
/// even with an `@`.
pub fn is_usual_address(name: &str) -> bool {
    let Some((local, domain)) = name.split_once('@') else { return false };
    let is_local = |octet: u8| octet.is_ascii_alphanumeric() || b"._+-".contains(&octet);
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
    let top = domain.rsplit_once('.').map(|(_, top)| top);
    !local.is_empty()
        && local.bytes().all(is_local)
        && domain.split('.').all(is_label)
        && top.is_some_and(|top| top.len() >= 2 && top.bytes().all(|octet| octet.is_ascii_alphabetic()))
}

/// A person with personal access tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// As it was written when the user was added; compared without regard to case.
    pub email: String,
    /// The user's rights: `admin`, `scope` and `reach` in listings.
    #[serde(flatten, serialize_with = "of_user")]
    pub rights: Rights,
    /// When the user was added.
    pub created_at: Timestamp,
    /// Whether the user can sign in with a password.
    pub has_password: bool,
    /// Since when the user is refused, if they are.
    pub disabled_at: Option<Timestamp>,
}

/// A user to add.
#[derive(Clone, Debug)]
pub struct NewUser {
    /// The name to authenticate with.
    pub email: String,
    /// The user's rights; `admin` makes an administrator.
    pub rights: Rights,
}

/// One personal access token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonalAccessToken {
    /// Names the token for ever.
    pub id: Uuid,
    /// The user it belongs to.
    pub email: String,
    /// Unique among the user's tokens that are not revoked.
    pub name: String,
    /// Its current rights: no more than the user has. `scope` and `reach` in listings.
    #[serde(flatten)]
    pub rights: Rights,
    /// When it was made.
    pub created_at: Timestamp,
    /// From then on it is refused; absent means never.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute or so; absent means never.
    pub last_used_at: Option<Timestamp>,
    /// The token that began the session in which this token was made. Both end together.
    pub parent: Option<Uuid>,
    /// Whether `parent` was recorded; older versions did not record it.
    pub parent_known: bool,
}

/// What was ended when a person was signed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedOut {
    /// The person.
    pub email: String,
    /// How many sessions have ended.
    pub sessions: usize,
    /// How many applications have lost their access.
    pub grants: usize,
    /// How many personal access tokens were revoked.
    pub tokens: usize,
}

/// The subject of another issuer that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedSubject {
    /// As `issuer#sub`.
    pub subject: String,
    /// Since when.
    pub disabled_at: Timestamp,
}

/// A personal access token to make.
#[derive(Clone, Debug)]
pub struct NewPat {
    /// A name for listings; made up from the id when absent.
    pub name: Option<String>,
    /// From then on the token is refused; absent means never.
    pub expires_at: Option<Timestamp>,
    /// Its maximal rights, whatever the user has now or later; [`Rights::ALL`] restricts nothing.
    pub rights: Rights,
}

impl Default for NewPat {
    fn default() -> Self {
        Self { name: None, expires_at: None, rights: Rights::ALL }
    }
}

/// A program that exchanges its client id and secret for access tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    /// Its name in token requests, and the subject of its tokens.
    pub client_id: String,
    /// Its name for people, unique.
    pub name: String,
    /// Its rights; never all connections. `scope` and `connections` in listings.
    #[serde(flatten, serialize_with = "with_connections")]
    pub rights: Rights,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its secret was last replaced, if it was.
    pub rotated_at: Option<Timestamp>,
    /// Since when it is refused, if it is.
    pub disabled_at: Option<Timestamp>,
    /// The rights of the secret: at most those of each administrator who has seen it.
    #[serde(serialize_with = "with_connections")]
    pub secret_opens: Rights,
    /// The token that began the session in which the secret was made. The secret ends with the token.
    pub secret_parent: Option<Uuid>,
    /// When its secret ends, or has ended, with that token; absent means not by itself.
    pub secret_ends_at: Option<Timestamp>,
}

/// A service account to make.
#[derive(Clone, Debug)]
pub struct NewServiceAccount {
    /// A name for people, unique.
    pub name: String,
    /// At least one connection or workspace, and not all: a service account never reaches those added later.
    pub rights: Rights,
}

/// One signing key, without its private part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The key's thumbprint (RFC 7638), `kid` in tokens.
    pub kid: String,
    /// The `alg` of RFC 7518 or RFC 8037.
    pub algorithm: &'static str,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stopped signing, if it was replaced; what it signed stays valid until it expires.
    pub retired_at: Option<Timestamp>,
}

/// The same, and whether that is an administrator.
fn of_user<S: Serializer>(rights: &Rights, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct OfUser<'a> {
        admin: bool,
        #[serde(flatten)]
        rights: &'a Rights,
    }
    OfUser { admin: rights.administer(), rights }.serialize(serializer)
}
