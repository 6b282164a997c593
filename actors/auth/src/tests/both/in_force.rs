//! Tests that changes by the command line are in force, also for tokens already issued.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::support::{House, SALES, STOCK, account, ask, basic, bearer, exchange, only, user};
use crate::records::{NewPat, NewUser};
use crate::store::Store;
use crate::{Algorithm, Jwks};
use portico_core::error::Kind;
use portico_core::principal::Scope;

const ANN: &str = "ann@example.com";

#[actix::test]
async fn a_token_opens_at_once_and_is_refused_at_once() {
    let house = House::new();
    let actor = house.actor().await;
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (record, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let (_, other) = store.create_pat(ANN, NewPat::default()).unwrap();
    assert_eq!(ask(&actor, basic(ANN, &token)).await.unwrap().scope(), Scope::Write);
    store.change_user(NewUser { rights: only(&[SALES], Scope::Read), ..user(ANN) }).unwrap();
    let narrowed = ask(&actor, basic(ANN, &token)).await.unwrap();
    assert_eq!(narrowed.rights, only(&[SALES], Scope::Read));
    store.revoke_pat(&record.id.to_string()).unwrap();
    assert_eq!(ask(&actor, basic(ANN, &token)).await.unwrap_err().kind, Kind::Unauthenticated);
    assert!(ask(&actor, basic(ANN, &other)).await.is_ok());
    store.remove_user(ANN).unwrap();
    assert_eq!(ask(&actor, basic(ANN, &other)).await.unwrap_err().kind, Kind::Unauthenticated);
}

#[actix::test]
async fn an_access_token_opens_no_more_than_its_account_does_now() {
    let house = House::new();
    let actor = house.actor().await;
    let mut store = house.store();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES, STOCK], Scope::Write)).unwrap();
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert_eq!(bearer(&actor, &token).await.unwrap().scope(), Scope::Write);
    store.change_service_account(account("nightly", &[STOCK], Scope::Read)).unwrap();
    let narrowed = bearer(&actor, &token).await.unwrap();
    assert_eq!(narrowed.rights, only(&[STOCK], Scope::Read));
    let narrow = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    store.change_service_account(account("nightly", &[SALES, STOCK], Scope::Write)).unwrap();
    assert_eq!(bearer(&actor, &narrow).await.unwrap().scope(), Scope::Read, "a token never grows");
    assert_eq!(bearer(&actor, &narrow).await.unwrap().rights, only(&[STOCK], Scope::Read));

    store.disable_service_account("nightly").unwrap();
    assert!(bearer(&actor, &token).await.is_err());
    assert_eq!(exchange(&actor, &nightly, &secret, None, None).await.unwrap_err().code, "invalid_client");
    store.enable_service_account("nightly").unwrap();
    assert!(bearer(&actor, &token).await.is_err(), "enabling revives nothing");
    house.pass(1);
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert!(bearer(&actor, &token).await.is_ok());
    let (_, newer) = store.rotate_service_account("nightly").unwrap();
    assert_eq!(exchange(&actor, &nightly, &secret, None, None).await.unwrap_err().code, "invalid_client");
    assert!(exchange(&actor, &nightly, &newer, None, None).await.is_ok());
    store.remove_service_account("nightly").unwrap();
    assert!(bearer(&actor, &token).await.is_err());
}

#[actix::test]
async fn without_a_key_no_token_is_issued_and_the_rest_goes_on() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, token) = store.create_pat(ANN, NewPat::default()).unwrap();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = house.actor().await;
    house.execute("DELETE FROM signing_keys");
    let error = exchange(&actor, &nightly, &secret, None, None).await.unwrap_err();
    assert_eq!(error.code, "server_error");
    assert!(house.outages()[0].contains("portico key rotate"), "{:?}", house.outages());
    assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
    assert_eq!(actor.send(Jwks).await.unwrap().unwrap(), serde_json::json!({"keys": []}));
    store.rotate_key(Algorithm::Es256).unwrap();
    assert!(exchange(&actor, &nightly, &secret, None, None).await.is_ok());
}

#[actix::test]
async fn no_token_is_dated_later_than_clocks_may_be_apart() {
    let (house, ahead) = (House::new(), Arc::<AtomicI64>::default());
    let mut store = Store::open_with(house.place(), house.clock_ahead(&ahead)).unwrap();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = house.actor().await;
    let before = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    ahead.store(7_200, Ordering::SeqCst);
    store.disable_service_account("nightly").unwrap();
    store.enable_service_account("nightly").unwrap();
    ahead.store(0, Ordering::SeqCst);
    let refused = exchange(&actor, &nightly, &secret, None, None).await.unwrap_err();
    assert_eq!(refused.code, "server_error");
    assert!(refused.description.contains("the clock is wrong"), "{refused}");
    assert!(bearer(&actor, &before).await.is_err(), "enabling revives nothing");
    // The account begins in the second after it was disabled, and the clocks may be half a minute apart.
    house.pass(7_170);
    assert!(exchange(&actor, &nightly, &secret, None, None).await.is_err());
    house.pass(1);
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert!(bearer(&actor, &token).await.is_ok(), "what is issued is good at once");
}
