//! Tests of trusted issuers' keys: which may be meant by a token, and what fetching them costs and tells others.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::attacks::{Pair, signed, with, without};
use super::issuers::{NOW, Publisher, ask, claims, header, key, verdict};
use super::support::House;
use crate::keys::key::Algorithm;
use portico_core::error::Kind;

fn jwk(pair: &Pair) -> Value {
    serde_json::to_value(pair.verifying.jwk()).unwrap()
}

/// A token that is signed by `pair` and names another key, or none that there is.
fn naming(kid: &str, pair: &Pair) -> String {
    signed(&with(header(pair), "kid", json!(kid)), &claims(), pair)
}

#[actix::test]
async fn a_key_without_a_name_may_be_meant_by_every_name_that_no_key_has() {
    let house = House::new();
    let [unnamed, named, newer] = [key(Algorithm::EdDsa), key(Algorithm::EdDsa), key(Algorithm::Es256)];
    let publisher = Publisher::start(&[]).await;
    let publish = |keys: Vec<Value>| publisher.answer_with("200 OK", &json!({"keys": keys}).to_string());
    publish(vec![without(jwk(&unnamed), "kid"), jwk(&named)]);
    let actor = house.trusting(vec![publisher.issuer()]).await;
    for kid in ["any", "another", ""] {
        assert!(ask(&actor, naming(kid, &unnamed)).await.is_some(), "{kid:?}");
    }
    let name = named.verifying.kid.as_str();
    assert!(ask(&actor, naming(name, &named)).await.is_some());
    assert!(ask(&actor, naming(name, &unnamed)).await.is_none(), "another key has this name");
    assert!(ask(&actor, naming("any", &named)).await.is_none(), "it has a name of its own");
    assert!(ask(&actor, naming("any", &newer)).await.is_none());
    assert_eq!(publisher.asked(), 1);
    publish(vec![without(jwk(&newer), "kid")]);
    house.pass(30);
    assert!(ask(&actor, naming("any", &newer)).await.is_some(), "a new key without a name is looked for");
    assert!(ask(&actor, naming("any", &unnamed)).await.is_none());
}

#[actix::test]
async fn keys_that_are_the_same_as_before_leave_what_is_cached() {
    let house = House::new();
    let [known, newer] = [key(Algorithm::EdDsa), key(Algorithm::Es256)];
    let publisher = Publisher::start(&[&known.verifying]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    let shown = signed(&header(&known), &claims(), &known);
    let first = ask(&actor, shown.clone()).await.unwrap();
    house.pass(30);
    assert!(ask(&actor, naming("unknown", &newer)).await.is_none());
    assert_eq!(publisher.asked(), 2);
    assert!(Arc::ptr_eq(&first, &ask(&actor, shown.clone()).await.unwrap()), "it was judged anew");
    // The same name for another key is a change.
    publisher
        .answer_with("200 OK", &json!({"keys": [with(jwk(&newer), "kid", json!(known.verifying.kid))]}).to_string());
    house.pass(30);
    assert!(ask(&actor, naming("unknown", &newer)).await.is_none());
    assert!(first.validity.is_lost() && ask(&actor, shown).await.is_none());
}

#[actix::test]
async fn keys_that_are_too_old_to_be_trusted_make_no_token_a_wrong_one() {
    let house = House::new();
    let known = key(Algorithm::EdDsa);
    let publisher = Publisher::start(&[&known.verifying]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    assert!(ask(&actor, signed(&header(&known), &claims(), &known)).await.is_some());
    publisher.answer_with("503 Service Unavailable", "");
    house.pass_beyond(86_400);
    let later = signed(&header(&known), &with(claims(), "exp", json!(NOW + 86_400 + 3_600)), &known);
    let refused = verdict(&actor, later.clone()).await.unwrap_err();
    assert_eq!((refused.kind, refused.get_retry_after()), (Kind::Unavailable, Some(Duration::from_secs(5))));
    assert!(refused.cause().unwrap().contains("for a day"), "{refused:?}");
    let guessed = signed(&header(&known), &claims(), &key(Algorithm::EdDsa));
    assert_eq!(verdict(&actor, guessed).await.unwrap_err().kind, Kind::Unauthenticated, "a forged one stays wrong");
    publisher.publish(&[&known.verifying]);
    house.pass(5);
    assert!(ask(&actor, later).await.is_some());
}
