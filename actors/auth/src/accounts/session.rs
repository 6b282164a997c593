//! A signed-in person, and the rights of the session. How a browser keeps the session's secret is not known here.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::records::NewPat;
use crate::secret::{self, Digest};
use portico_core::error::{Error, Result};
use portico_core::principal::Rights;

/// A session ends when it was not used for so long.
pub const SESSION_IDLE: Duration = Duration::from_hours(2);
/// A session ends after so long in any case.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(12);
/// The maximal number of sessions of one person. One more ends the least recently used one.
pub const MOST_SESSIONS: i64 = 50;

/// Begins the secret of every visit without a session.
const VISIT_PREFIX: &str = "ptc_vi_";

/// A session in force. If it began with a personal access token, it never has more rights than that token, and ends
/// with it.
#[derive(Clone, Debug)]
pub struct Session {
    /// The user's address.
    pub email: String,
    /// The rights of the user, limited by those of the token that began the session.
    pub rights: Rights,
    /// Whether it has all rights of the user. Only such a session manages tokens.
    pub whole: bool,
    /// The name of the token that began the session; `None` for a password.
    pub token: Option<String>,
    /// When that token ends, if it does.
    pub ends: Option<Timestamp>,
    /// The rights of that token; everything for a password.
    pub(crate) bound: Rights,
    pub(crate) user_id: i64,
    pub(crate) token_id: Option<Uuid>,
}

impl Session {
    /// The id of the token that began the session, as records of the audit trail have it.
    pub fn credential(&self) -> Option<String> {
        self.token_id.map(|id| id.to_string())
    }

    /// Whether it may administer the service.
    pub fn administers(&self) -> bool {
        self.whole && self.rights.administer()
    }

    /// Refuses a session with less than all rights of its user: a narrowed token must not lead to a wider one.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden).
    pub fn must_be_whole(&self) -> Result<()> {
        if self.whole {
            return Ok(());
        }
        Err(Error::forbidden("you signed in with a token that was narrowed, so you cannot manage access here")
            .hint("sign in with your password, or with a token that has all of your scope and connections"))
    }

    /// Refuses sessions of users who are not administrators.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden).
    pub fn must_administer(&self) -> Result<()> {
        self.must_be_whole()?;
        if self.administers() { Ok(()) } else { Err(Error::forbidden("this page is for administrators")) }
    }

    /// Limits a token made in a session that began with a token: it has no more rights than that one, whatever the
    /// user has later, and does not outlive it.
    pub(crate) fn bound(&self, new: NewPat) -> NewPat {
        let expires_at = match (new.expires_at, self.ends) {
            (Some(asked), Some(ends)) => Some(asked.min(ends)),
            (asked, ends) => asked.or(ends),
        };
        NewPat { expires_at, rights: new.rights.intersection(&self.bound), ..new }
    }
}

/// Makes the secret of a visit without a session, for the form of the sign-in page.
///
/// # Errors
/// If the system has no random bytes.
pub fn new_visit() -> Result<SecretString> {
    secret::mint(VISIT_PREFIX).map(|(visit, _)| visit)
}

/// Returns the token that forms carry for the session or visit with this secret: it does not reveal the secret, and
/// cannot be made without it.
pub fn form_token(secret: &SecretString) -> String {
    let whole = SecretString::from(format!("form:{}", secret.expose_secret()));
    URL_SAFE_NO_PAD.encode(Digest::new(whole.expose_secret()).octets())
}

/// Whether a form carries the token of this secret; compares in constant time.
pub fn form_token_fits(secret: &SecretString, shown: &str) -> bool {
    Digest::new(shown).fits(&Digest::new(&form_token(secret)))
}
