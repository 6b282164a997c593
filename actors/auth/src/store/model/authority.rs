//! On whose behalf the store is used, and the one rule of what they may grant, change and see: nothing that exceeds
//! their own rights. It is always checked here, in the transaction of the change.

use uuid::Uuid;

use crate::accounts::session::Session;
use crate::records::NewPat;
use crate::secret::Digest;
use portico_core::error::{Error, Result};
use portico_core::principal::Rights;

/// On whose behalf the store is used.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Actor {
    /// The operator of the machine: the command line.
    Operator,
    /// Without authority: operations that are open to people and clients.
    Nobody,
    /// The administrator in this session.
    Session(Digest),
}

/// What an actor may do at one moment.
pub(crate) struct Authority {
    /// The rights with the scope admin: connections that are only read or written are not included.
    rights: Rights,
    /// The administrator's session; `None` for the operator.
    session: Option<Session>,
}

impl Authority {
    /// The operator's.
    pub(crate) fn of_operator() -> Self {
        Self { rights: Rights::ALL, session: None }
    }

    /// Returns the authority of the administrator in `session`.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) for a user who is no administrator, or a narrowed
    /// session.
    pub(crate) fn of_session(session: Session) -> Result<Self> {
        session.must_administer()?;
        Ok(Self { rights: session.rights.administered(), session: Some(session) })
    }

    /// Returns true if an object with the rights `target` is visible. Others do not exist for the actor. An object
    /// without rights is visible only to those who reach all.
    pub(crate) fn sees(&self, target: &Rights) -> bool {
        self.rights.contains(target) && (!target.is_empty() || self.reaches_all())
    }

    /// Whether they act for the whole service.
    pub(crate) fn reaches_all(&self) -> bool {
        self.rights == Rights::ALL
    }

    /// Refuses an operation on the whole service to an administrator of a part of it.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden).
    pub(crate) fn must_reach_all(&self) -> Result<()> {
        self.within(&Rights::ALL)
    }

    /// Refuses to grant `target`, unless all of it is within the actor's own rights.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden).
    pub(crate) fn within(&self, target: &Rights) -> Result<()> {
        if self.sees(target) {
            return Ok(());
        }
        Err(Error::forbidden("this gives more access than you have")
            .hint("give no more than your own connections and scopes, or ask an administrator of the whole service"))
    }

    /// Refuses to take their own access from administrators.
    ///
    /// # Errors
    /// [`Kind::Invalid`](portico_core::error::Kind::Invalid).
    pub(crate) fn not_oneself(&self, user: i64) -> Result<()> {
        if self.session.as_ref().is_some_and(|session| session.user_id == user) {
            return Err(Error::invalid(
                "you cannot take away your own access; another administrator can, and so can the command line",
            ));
        }
        Ok(())
    }

    /// Returns the maximal rights of a secret that the actor has seen.
    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Returns the token that began the session: a secret made in it ends with that token.
    pub(crate) fn token(&self) -> Option<Uuid> {
        self.session.as_ref()?.token_id
    }

    /// Limits a token for a person who has `own`. An administrator who hands it over has seen it: it does not
    /// include rights that the person is given later.
    pub(crate) fn handed_over(&self, new: NewPat, own: &Rights) -> NewPat {
        match &self.session {
            None => new,
            Some(session) => session.bound(NewPat { rights: new.rights.intersection(own), ..new }),
        }
    }
}
