//! A service with one user, signed in, and a client that they may give access to.

use secrecy::SecretString;
use uuid::Uuid;

use super::support::{House, SALES, approval, new_client, only, process, redemption, refreshing, user};
use crate::accounts::Accounts;
use crate::oauth::authorization::{Approval, IssuedTokens};
use crate::records::{NewPat, NewUser};
use crate::{Auth, GrantError};
use portico_core::principal::Scope;

/// A service with one user, signed in with a token, and one public client.
pub(super) struct Desk {
    pub(super) house: House,
    pub(super) people: Accounts,
    pub(super) auth: Auth,
    pub(super) token: SecretString,
    pub(super) session: SecretString,
    pub(super) client: String,
}

impl Desk {
    pub(super) async fn open() -> Self {
        Self::with(user("ann@example.com"), NewPat::default()).await
    }

    pub(super) async fn with(new: NewUser, pat: NewPat) -> Self {
        let house = House::new();
        let email = house.store().add_user(new).unwrap().email;
        let (_, token) = house.store().create_pat(&email, pat).unwrap();
        let client = house.store().add_client(&new_client("client")).unwrap().0.client_id;
        let (people, auth) = process(house.settings()).await;
        let session = people.sign_in(email, token.clone(), None).await.unwrap().0;
        Self { house, people, auth, token, session, client }
    }

    pub(super) fn approval(&self, scope: Scope, connections: &[Uuid]) -> Approval {
        approval(&self.client, only(connections, scope))
    }

    pub(super) async fn code(&self) -> SecretString {
        self.people.approve(&self.session, self.approval(Scope::Write, &[SALES])).await.unwrap()
    }

    pub(super) async fn redeem(&self, code: SecretString) -> Result<IssuedTokens, GrantError> {
        self.redeem_as(&self.client, code).await
    }

    pub(super) async fn redeem_as(&self, client: &str, code: SecretString) -> Result<IssuedTokens, GrantError> {
        self.people.redeem(redemption(client, &code)).await
    }

    pub(super) async fn refresh(&self, token: &SecretString) -> Result<IssuedTokens, GrantError> {
        self.refresh_as(&self.client, token).await
    }

    pub(super) async fn refresh_as(&self, client: &str, token: &SecretString) -> Result<IssuedTokens, GrantError> {
        self.people.refresh(refreshing(client, token)).await
    }
}
