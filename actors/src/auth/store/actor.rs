//! On whose behalf the store is worked with, and the one rule of what they may give, change and see:
//! nothing that reaches beyond themselves. Whatever the door, it is judged here, in the transaction of
//! the change.

use uuid::Uuid;

use super::connection::Connection;
use super::{Store, sessions};
use crate::auth::clock::Now;
use crate::auth::people::session::Session;
use crate::auth::records::NewPat;
use crate::auth::secret::Digest;
use crate::error::{Error, Result};
use crate::principal::Rights;

/// On whose behalf the store is worked with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Actor {
    /// The operator of the machine: the command line.
    Operator,
    /// Nobody: what is open to people and clients asks for no authority.
    Nobody,
    /// The administrator in this session.
    Session(Digest),
}

/// What an actor may do at one moment.
pub(super) struct Authority {
    /// Where one administers: what is only read or written there is not among them.
    rights: Rights,
    /// The administrator's session; none for the operator.
    session: Option<Session>,
}

impl Actor {
    /// What this one may do now.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden) for who is no administrator, in a whole session.
    pub(super) fn authority(self, connection: &Connection, now: Now) -> Result<Authority> {
        match self {
            Self::Operator => Ok(Authority { rights: Rights::ALL, session: None }),
            Self::Nobody => Err(Error::forbidden("this is for administrators")),
            Self::Session(digest) => {
                let session = sessions::require(connection, &digest, now)?;
                session.must_administer()?;
                Ok(Authority { rights: session.rights.administered(), session: Some(session) })
            }
        }
    }
}

impl Authority {
    /// Whether something that opens `target` may be seen. What may not, does not exist for them. What opens
    /// nothing lies nowhere: it is for those who reach all.
    pub(super) fn sees(&self, target: &Rights) -> bool {
        self.rights.contains(target) && (!target.is_empty() || self.reaches_all())
    }

    /// Whether they act for the whole service.
    pub(super) fn reaches_all(&self) -> bool {
        self.rights == Rights::ALL
    }

    /// Refuses what concerns the whole service to who administers a part of it.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden).
    pub(super) fn must_reach_all(&self) -> Result<()> {
        self.within(&Rights::ALL)
    }

    /// Refuses to give what opens `target`, unless all of it lies within the actor's own rights.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](crate::error::Kind::Forbidden).
    pub(super) fn within(&self, target: &Rights) -> Result<()> {
        if self.sees(target) {
            return Ok(());
        }
        Err(Error::forbidden("this reaches further than you do")
            .hint("give no more than your own connections and scopes, or ask an administrator of the whole service"))
    }

    /// Refuses to take their own access from administrators.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::error::Kind::Invalid).
    pub(super) fn not_oneself(&self, user: i64) -> Result<()> {
        if self.session.as_ref().is_some_and(|session| session.user_id == user) {
            return Err(Error::invalid("you cannot shut yourself out; another administrator can, or the command line"));
        }
        Ok(())
    }

    /// What a secret opens at most that these have seen.
    pub(super) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// The token that began the session: a secret that is made in it ends with that one.
    pub(super) fn token(&self) -> Option<Uuid> {
        self.session.as_ref()?.token_id
    }

    /// A token for a person who has `own`. An administrator who hands it over has seen it: it opens nothing
    /// that the person is given later.
    pub(super) fn handed_over(&self, new: NewPat, own: &Rights) -> NewPat {
        match &self.session {
            None => new,
            Some(session) => session.bound(NewPat { rights: new.rights.and(own), ..new }),
        }
    }
}

impl Store {
    /// The same store, which changes nothing that is for administrators until one is named.
    pub(crate) fn of_nobody(mut self) -> Self {
        self.actor = Actor::Nobody;
        self
    }

    /// Does `work` on behalf of the administrator in `session`.
    ///
    /// # Errors
    /// What `work` says; [`Kind::Unauthenticated`](crate::error::Kind::Unauthenticated) when the session
    /// has ended, [`Kind::Forbidden`](crate::error::Kind::Forbidden) when it does not administer.
    pub(crate) fn acting<T>(&mut self, session: &Digest, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.actor, Actor::Session(*session));
        let done = self.authority().and_then(|_| work(self));
        self.actor = before;
        done
    }

    /// What may be done now on behalf of whom the store is worked with.
    pub(super) fn authority(&self) -> Result<Authority> {
        self.actor.authority(&self.connection, self.clock.now())
    }
}
