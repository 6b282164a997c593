//! A service with one user, signed in, and a client that they may give access to.

use secrecy::SecretString;
use uuid::Uuid;

use super::support::{House, ISSUER, SALES, only, user};
use crate::accounts::Accounts;
use crate::oauth::authorization::{Approval, ClientCredential, Issued, Redemption, Refresh};
use crate::oauth::client::NewClient;
use crate::records::{NewPat, NewUser};
use crate::{Auth, AuthSettings, GrantError};
use portico_core::principal::Scope;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(super) const REDIRECT: &str = "https://client.example/cb";

/// A service with one user, signed in with a token of theirs, and one public client.
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
        let redirect_uris = vec![REDIRECT.to_owned()];
        let new = NewClient { name: "client".to_owned(), redirect_uris, confidential: false };
        let client = house.store().add_client(&new).unwrap().0.client_id;
        let observer = std::sync::Arc::new(|_: &portico_core::event::Event| {});
        let settings = AuthSettings { clock: house.clock(), ..AuthSettings::new(house.place(), ISSUER, observer) };
        let auth = Auth::start(settings.clone()).await.unwrap();
        let people = Accounts::start(&settings, auth.clone()).await.unwrap();
        let session = people.sign_in(email, token.clone(), None).await.unwrap().0;
        Self { house, people, auth, token, session, client }
    }

    pub(super) fn approval(&self, scope: Scope, connections: &[Uuid]) -> Approval {
        Approval {
            client_id: self.client.clone(),
            client_name: "client".to_owned(),
            redirect_uri: REDIRECT.to_owned(),
            challenge: CHALLENGE.to_owned(),
            rights: only(connections, scope),
            resource: None,
        }
    }

    pub(super) async fn code(&self) -> SecretString {
        self.people.approve(&self.session, self.approval(Scope::Write, &[SALES])).await.unwrap()
    }

    pub(super) async fn redeem(&self, code: SecretString) -> Result<Issued, GrantError> {
        self.redeem_as(&self.client, code).await
    }

    pub(super) async fn redeem_as(&self, client: &str, code: SecretString) -> Result<Issued, GrantError> {
        self.people.redeem(self.redemption(client, code)).await
    }

    pub(super) fn redemption(&self, client: &str, code: SecretString) -> Redemption {
        let client = ClientCredential { from: None, client_id: client.to_owned(), secret: None };
        let (redirect_uri, verifier) = (REDIRECT.to_owned(), VERIFIER.into());
        Redemption { client, code, redirect_uri, verifier, resource: None }
    }

    pub(super) async fn refresh(&self, token: &SecretString) -> Result<Issued, GrantError> {
        self.refresh_as(&self.client, token).await
    }

    pub(super) async fn refresh_as(&self, client: &str, token: &SecretString) -> Result<Issued, GrantError> {
        self.people.refresh(self.refreshing(client, token)).await
    }

    pub(super) fn refreshing(&self, client: &str, token: &SecretString) -> Refresh {
        let client = ClientCredential { from: None, client_id: client.to_owned(), secret: None };
        Refresh { client, token: token.clone(), scope: None, resource: None }
    }
}
