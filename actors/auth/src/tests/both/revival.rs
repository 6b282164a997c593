//! Tests of the actor's death: reported, and recovered from.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Handler, Message};
use secrecy::SecretString;

use super::support::{House, SALES, STOCK, basic, user};
use crate::oauth::client::ClientPolicy;
use crate::records::NewPat;
use crate::tests::attacks::signed;
use crate::tests::issuers::{Publisher, claims, header, key};
use crate::verify::request::VerifyCredential;
use crate::{Algorithm, Auth, AuthActor, AuthSettings, Authenticate, IssueToken, Reconfigure, TokenSpec};
use portico_core::error::Kind;
use portico_core::event::Event;
use portico_core::principal::{Credential, Endpoint, Rights, Scope};

/// Makes a handler panic.
#[derive(Message)]
#[rtype(result = "()")]
struct Panic;

impl Handler<Panic> for AuthActor {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Self::Context) {
        panic!("as the test wants");
    }
}

#[actix::test]
async fn an_actor_that_panics_is_replaced() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user("ann@example.com")).unwrap();
    let (_, token) = store.create_pat("ann@example.com", NewPat::default()).unwrap();
    let deaths = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&deaths);
    let observer = Arc::new(move |event: &Event| {
        if let Event::AuthDied { panicked, .. } = event {
            heard.lock().unwrap().push(*panicked);
        }
    });
    let auth = Auth::start(AuthSettings { observer, ..house.settings() }).await.unwrap();
    let credential = basic("ann@example.com", &token);
    let ask = async || {
        let asked = Authenticate { credential: credential.clone(), endpoint: Endpoint::Api, from: None };
        auth.send(VerifyCredential::from(asked)).await
    };
    let begun = ask().await.unwrap().unwrap();
    for death in 1..=2 {
        assert_eq!(ask().await.unwrap().unwrap().subject, "ann@example.com");
        let error = auth.send(Panic).await.unwrap_err();
        assert_eq!((error.kind, error.get_retry_after()), (Kind::Unavailable, Some(Duration::from_secs(1))));
        let mut pace = super::support::pace();
        while ask().await.is_err() {
            pace.tick().await;
        }
        assert_eq!(*deaths.lock().unwrap(), vec![true; death]);
    }
    // It reads its state from the store, and takes over running work from its predecessor.
    assert!(!begun.validity.is_lost());
    store.remove_user("ann@example.com").unwrap();
    let mut pace = super::support::pace();
    while !begun.validity.is_lost() {
        pace.tick().await;
    }
    auth.sync().await;
    assert_eq!(ask().await.unwrap().unwrap_err().kind, Kind::Unauthenticated);
}

#[actix::test]
async fn settings_that_were_read_anew_outlive_the_actor() {
    let house = House::new();
    house.store().add_user(user("ann@example.com")).unwrap();
    let settings = AuthSettings { connections: [SALES].into(), ..house.settings() };
    let auth = Auth::start(settings).await.unwrap();
    let issued = async || {
        let spec = TokenSpec {
            subject: "ann@example.com".to_owned(),
            client_id: "reports".to_owned(),
            scope: None,
            rights: Rights::all(Scope::Read),
            resource: None,
            grant: None,
        };
        let token = auth.send(IssueToken(spec)).await.unwrap().unwrap();
        let credential = Credential::Bearer(token.token.clone());
        let by = auth.authenticate(Authenticate { credential, endpoint: Endpoint::Api, from: None }).await.unwrap();
        (token.expires_in, by.rights.covers(SALES), by.rights.covers(STOCK))
    };
    assert_eq!(issued().await, (Duration::from_hours(1), true, false));
    let change = Reconfigure {
        token_lifetime: Duration::from_mins(2),
        connections: [STOCK].into(),
        reaches: Vec::new(),
        admission: ClientPolicy::default(),
    };
    auth.reconfigure(change).await;
    assert_eq!(issued().await, (Duration::from_mins(2), false, true));
    let before = auth.address();
    auth.send(Panic).await.unwrap_err();
    let mut pace = super::support::pace();
    while auth.address() == before {
        pace.tick().await;
    }
    assert_eq!(issued().await, (Duration::from_mins(2), false, true));
}

#[actix::test]
async fn what_goes_on_under_another_issuers_token_outlives_the_actor_until_its_key_is_withdrawn() {
    let house = House::new();
    let pair = key(Algorithm::EdDsa);
    let publisher = Publisher::start(&[&pair.verifying]).await;
    let auth = Auth::start(AuthSettings { issuers: vec![publisher.issuer()], ..house.settings() }).await.unwrap();
    let authenticate = || {
        let credential = Credential::Bearer(SecretString::from(signed(&header(&pair), &claims(), &pair)));
        auth.authenticate(Authenticate { credential, endpoint: Endpoint::Mcp, from: None })
    };
    let by = authenticate().await.unwrap();
    let before = auth.address();
    auth.send(Panic).await.unwrap_err();
    let mut pace = super::support::pace();
    while auth.address() == before {
        pace.tick().await;
    }
    // The successor has fetched no keys yet, and looks at everything anew with each change of the store.
    house.store().add_user(user("ann@example.com")).unwrap();
    auth.sync().await;
    assert!(!by.validity.is_lost());
    publisher.publish(&[]);
    assert_eq!(authenticate().await.unwrap_err().kind, Kind::Unauthenticated);
    assert!(by.validity.is_lost());
}
