//! The operations of the administration page: service accounts and users. The store checks with every change that
//! it is within the administrator's rights.

use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::oauth::authorization::Consent;
use crate::records::{NewPat, NewServiceAccount, NewUser, ServiceAccount, User};
use crate::secret::Digest;
use crate::store::Store;
use portico_core::error::Result;

/// Everything that an administrator's page shows.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Every user within the administrator's own rights.
    pub users: Vec<User>,
    /// Every service account within them.
    pub accounts: Vec<ServiceAccount>,
}

/// The operations of an administrator, besides creating something.
#[derive(Clone, Debug)]
pub enum AdminAction {
    /// A service account, by its client id.
    DisableAccount(String),
    /// Takes that back.
    EnableAccount(String),
    /// For ever.
    RemoveAccount(String),
    /// A user, by address: tokens and sessions are refused until it is taken back.
    DisableUser(String),
    /// Takes that back.
    EnableUser(String),
    /// For ever.
    RemoveUser(String),
}

/// Makes work at the store on behalf of the session's person.
fn acting<T, W: FnOnce(&mut Store) -> Result<T>>(
    session: &SecretString,
    work: W,
) -> impl FnOnce(&mut Store) -> Result<T> + use<T, W> {
    let digest = Digest::new(session.expose_secret());
    move |store| store.acting(&digest, work)
}

impl Accounts {
    /// Every user and service account within an administrator's own rights.
    pub async fn directory(&self, session: &SecretString) -> Result<Directory> {
        self.store(acting(session, |store| {
            Ok(Directory { users: store.users()?, accounts: store.service_accounts()? })
        }))
        .await
    }

    /// Makes a service account.
    pub async fn create_account(
        &self,
        session: &SecretString,
        new: NewServiceAccount,
    ) -> Result<(ServiceAccount, SecretString)> {
        self.store(acting(session, move |store| store.create_service_account(new))).await
    }

    /// Replaces the secret of a service account.
    pub async fn rotate_account(
        &self,
        session: &SecretString,
        which: String,
    ) -> Result<(ServiceAccount, SecretString)> {
        self.changing(acting(session, move |store| store.rotate_service_account(&which))).await
    }

    /// Adds a user, with a first token to sign in with.
    pub async fn add_user(&self, session: &SecretString, new: NewUser, first: NewPat) -> Result<(User, SecretString)> {
        self.store(acting(session, move |store| store.add_user_with_token(&new, first))).await
    }

    /// Returns the consents that people gave to applications, within an administrator's own rights.
    pub async fn consents(&self, session: &SecretString) -> Result<Vec<Consent>> {
        self.store(acting(session, move |store| store.consents(None))).await
    }

    /// Revokes a person's consent to an application.
    pub async fn revoke_consent(&self, session: &SecretString, grant: Uuid) -> Result<()> {
        self.changing(acting(session, move |store| store.revoke_consent(grant))).await
    }

    /// Changes a user or a service account. Administrators cannot shut themselves out.
    pub async fn change(&self, session: &SecretString, change: AdminAction) -> Result<()> {
        self.changing(acting(session, move |store| match change {
            AdminAction::DisableAccount(id) => store.disable_service_account(&id).map(drop),
            AdminAction::EnableAccount(id) => store.enable_service_account(&id).map(drop),
            AdminAction::RemoveAccount(id) => store.remove_service_account(&id).map(drop),
            AdminAction::DisableUser(email) => store.disable_user(&email).map(drop),
            AdminAction::EnableUser(email) => store.enable_user(&email).map(drop),
            AdminAction::RemoveUser(email) => store.remove_user(&email).map(drop),
        }))
        .await
    }
}
