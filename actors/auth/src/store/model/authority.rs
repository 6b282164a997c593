//! On whose behalf the store is worked with, and the one rule of what they may give, change and see:
//! nothing that reaches beyond themselves. Wherever it is asked for, it is judged here, in the transaction of
//! the change.

use uuid::Uuid;

use crate::accounts::session::Session;
use crate::records::NewPat;
use crate::secret::Digest;
use portico_core::error::{Error, Result};
use portico_core::principal::Rights;

/// On whose behalf the store is worked with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Actor {
    /// The operator of the machine: the command line.
    Operator,
    /// Nobody: what is open to people and clients asks for no authority.
    Nobody,
    /// The administrator in this session.
    Session(Digest),
}

/// What an actor may do at one moment.
pub(crate) struct Authority {
    /// Where one administers: what is only read or written there is not among them.
    rights: Rights,
    /// The administrator's session; none for the operator.
    session: Option<Session>,
}

impl Authority {
    /// The operator's.
    pub(crate) fn of_operator() -> Self {
        Self { rights: Rights::ALL, session: None }
    }

    /// That of the administrator in `session`.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden) for who is no administrator, in a whole session.
    pub(crate) fn of_session(session: Session) -> Result<Self> {
        session.must_administer()?;
        Ok(Self { rights: session.rights.administered(), session: Some(session) })
    }

    /// Whether something that opens `target` may be seen. What may not, does not exist for them. What opens
    /// nothing lies nowhere: it is for those who reach all.
    pub(crate) fn sees(&self, target: &Rights) -> bool {
        self.rights.contains(target) && (!target.is_empty() || self.reaches_all())
    }

    /// Whether they act for the whole service.
    pub(crate) fn reaches_all(&self) -> bool {
        self.rights == Rights::ALL
    }

    /// Refuses what concerns the whole service to who administers a part of it.
    ///
    /// # Errors
    /// [`Kind::Forbidden`](portico_core::error::Kind::Forbidden).
    pub(crate) fn must_reach_all(&self) -> Result<()> {
        self.within(&Rights::ALL)
    }

    /// Refuses to give what opens `target`, unless all of it lies within the actor's own rights.
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

    /// What a secret opens at most that these have seen.
    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// The token that began the session: a secret that is made in it ends with that one.
    pub(crate) fn token(&self) -> Option<Uuid> {
        self.session.as_ref()?.token_id
    }

    /// A token for a person who has `own`. An administrator who hands it over has seen it: it opens nothing
    /// that the person is given later.
    pub(crate) fn handed_over(&self, new: NewPat, own: &Rights) -> NewPat {
        match &self.session {
            None => new,
            Some(session) => session.bound(NewPat { rights: new.rights.intersection(own), ..new }),
        }
    }
}
