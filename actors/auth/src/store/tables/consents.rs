//! Lists and ends consents of people to clients: by the person, by an administrator, and together with their
//! origin.

use rusqlite::named_params;
use uuid::Uuid;

use crate::clock::Now;
use crate::oauth::authorization::Consent;
use crate::oauth::client::ClientPolicy;
use crate::secret::Digest;
use crate::store::connection::StoreConnection;
use crate::store::open::Store;
use crate::store::rows::consents::{end, end_those, in_force};
use crate::store::rows::{sessions, users};
use portico_core::error::{Error, Result};

impl Store {
    /// Returns the consents in force of one user or of all, the newest first.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) for an unknown user.
    pub fn consents(&self, email: Option<&str>) -> Result<Vec<Consent>> {
        let (now, authority) = (self.clock.now(), self.authority()?);
        let mut consents = match email {
            None => in_force(&self.connection, "", named_params! { ":ended": now.ended() })?,
            Some(email) => {
                let (id, _) = users::find(&self.connection, &authority, email)?;
                of_user(&self.connection, id, now)?
            }
        };
        consents.retain(|consent| authority.sees(&consent.rights));
        Ok(consents)
    }

    /// Returns the number of grants without effect, because clients of their kind are not admitted.
    pub fn ineffective_grants(&self, admission: ClientPolicy) -> Result<usize> {
        let consents = in_force(&self.connection, "", named_params! { ":ended": self.clock.now().ended() })?;
        Ok(consents.iter().filter(|consent| !admission.takes(consent.client_kind)).count())
    }

    /// Ends a person's consent to a client.
    ///
    /// # Errors
    /// [`Kind::NotFound`](portico_core::error::Kind::NotFound) if there is no such grant.
    pub fn revoke_consent(&mut self, grant: Uuid) -> Result<()> {
        self.administer(|connection, now, authority| {
            let values = named_params! { ":ended": now.ended(), ":grant": grant.to_string() };
            let found = in_force(connection, "AND g.id = :grant", values)?.pop();
            match found.filter(|consent| authority.sees(&consent.rights)) {
                None => Err(Error::not_found("there is no such consent, or it has ended")
                    .hint("`portico consent list` shows what there is")),
                Some(_) => Ok(((), end(connection, grant)?)),
            }
        })
    }

    /// The grants in force of the session's person that open no more than the session, the newest first.
    pub(crate) fn grants(&self, session: &Digest) -> Result<Vec<Consent>> {
        let now = self.clock.now();
        let session = sessions::require(&self.connection, session, now)?;
        let mut grants = of_user(&self.connection, session.user_id, now)?;
        grants.retain(|grant| session.rights.contains(&grant.rights));
        Ok(grants)
    }

    /// Ends a grant of the session's person. Another person's grant is left alone.
    pub(crate) fn revoke_own_consent(&mut self, session: &Digest, grant: Uuid) -> Result<()> {
        self.change(|connection, now| {
            let session = sessions::require(connection, session, now)?;
            session.must_be_whole()?;
            let own = "SELECT id FROM grants WHERE id = :grant AND user_id = :user";
            let values = named_params! { ":grant": grant.to_string(), ":user": session.user_id };
            let ended = end_those(connection, own, values)?;
            if ended.is_empty() { Err(Error::not_found("there is no such application")) } else { Ok(((), ended)) }
        })
    }
}

/// Returns the consents of one user.
fn of_user(connection: &StoreConnection, user: i64, now: Now) -> Result<Vec<Consent>> {
    in_force(connection, "AND g.user_id = :user", named_params! { ":ended": now.ended(), ":user": user })
}
