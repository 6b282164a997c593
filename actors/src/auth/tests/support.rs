//! A store in a directory of its own, a clock that is set by hand, and an actor on them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use actix::Addr;
use secrecy::SecretString;
use tempfile::TempDir;
use uuid::Uuid;

use crate::auth::clock::{Clock, Timestamp};
use crate::auth::records::{NewServiceAccount, NewUser, ServiceAccount};
use crate::auth::store::Store;
use crate::auth::{
    AccessToken, AuthActor, AuthSettings, Authenticate, ClientProof, Exchange, Grant, GrantError, TrustedIssuer,
};
use crate::error::Result;
use crate::event::Event;
use crate::principal::{Credential, Endpoint, Principal, Reach, Scope};

pub(super) const ISSUER: &str = "http://localhost:8787";
pub(super) const SALES: Uuid = Uuid::from_u128(0x6f0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b11);
pub(super) const STOCK: Uuid = Uuid::from_u128(0x7a0b_1a52_8d0e_4c57_9d1b_6a7f_3f0c_2b22);

pub(super) struct House {
    directory: TempDir,
    seconds: Arc<AtomicU64>,
    outages: Arc<Mutex<Vec<String>>>,
}

impl House {
    pub(super) fn new() -> Self {
        let seconds = Arc::new(AtomicU64::new(1_800_000_000));
        Self { directory: TempDir::new().unwrap(), seconds, outages: Arc::default() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("portico.db")
    }

    pub(super) fn clock(&self) -> Clock {
        let seconds = Arc::clone(&self.seconds);
        Clock::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock().now()
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    /// A handle as another process would have one.
    pub(super) fn store(&self) -> Store {
        Store::open_with(self.path(), self.clock()).unwrap()
    }

    pub(super) async fn actor(&self) -> Addr<AuthActor> {
        AuthActor::start(self.settings()).await.unwrap()
    }

    /// The same with trusted issuers.
    pub(super) async fn trusting(&self, issuers: Vec<TrustedIssuer>) -> Addr<AuthActor> {
        AuthActor::start(AuthSettings { issuers, ..self.settings() }).await.unwrap()
    }

    pub(super) fn settings(&self) -> AuthSettings {
        let outages = Arc::clone(&self.outages);
        let observer = Arc::new(move |event: &Event| {
            if let Event::StoreFailed { cause } | Event::IssuerFailed { cause, .. } = event {
                outages.lock().unwrap().push(cause.clone());
            }
        });
        AuthSettings { clock: self.clock(), ..AuthSettings::new(self.path(), ISSUER, observer) }
    }

    /// Waits until the observer has heard so often.
    pub(super) async fn until_told(&self, times: usize) {
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        while self.outages.lock().unwrap().len() < times {
            pace.tick().await;
        }
    }

    /// What the observer heard of the store, and of issuers.
    pub(super) fn outages(&self) -> Vec<String> {
        self.outages.lock().unwrap().clone()
    }
}

pub(super) fn user(email: &str) -> NewUser {
    NewUser { email: email.to_owned(), admin: false, reach: Reach::All, scope: Scope::Write }
}

pub(super) fn account(name: &str, connections: &[Uuid], scope: Scope) -> NewServiceAccount {
    NewServiceAccount { name: name.to_owned(), reach: only(connections), scope }
}

pub(super) fn only(connections: &[Uuid]) -> Reach {
    Reach::Only(connections.into())
}

pub(super) fn basic(email: &str, token: &SecretString) -> Credential {
    Credential::Basic { email: email.to_owned(), token: token.clone() }
}

pub(super) fn proof(client_id: &str, secret: &SecretString) -> ClientProof {
    ClientProof { client_id: client_id.to_owned(), client_secret: secret.clone(), from: None }
}

pub(super) async fn ask(actor: &Addr<AuthActor>, credential: Credential) -> Result<Arc<Principal>> {
    actor.send(Authenticate { credential, endpoint: Endpoint::Api, from: None }).await.unwrap()
}

pub(super) async fn bearer(actor: &Addr<AuthActor>, token: &AccessToken) -> Result<Arc<Principal>> {
    ask(actor, Credential::Bearer(token.token.clone())).await
}

pub(super) async fn exchange(
    actor: &Addr<AuthActor>,
    account: &ServiceAccount,
    secret: &SecretString,
    scope: Option<&str>,
    resource: Option<&str>,
) -> Result<AccessToken, GrantError> {
    let grant = Grant::ClientCredentials {
        client: proof(&account.client_id, secret),
        scope: scope.map(str::to_owned),
        resource: resource.map(str::to_owned),
    };
    actor.send(Exchange(grant)).await.unwrap()
}
