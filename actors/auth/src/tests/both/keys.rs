//! Tests of leaked keys: what their holder can still do, and what is kept of them.

use secrecy::ExposeSecret;
use serde_json::json;

use super::support::{House, ISSUER, SALES, account, ask, basic, bearer, exchange, user};
use crate::clock::CLOCK_SKEW;
use crate::keys::key::{NewKey, SigningKey};
use crate::records::NewPat;
use crate::store::Store;
use crate::{AccessToken, Algorithm};
use portico_core::error::Kind;
use portico_core::principal::{Credential, Scope};

const ANN: &str = "ann@example.com";

/// The private part of the key that signs.
fn private(store: &Store) -> Vec<u8> {
    let keys = store.contents().unwrap().keys;
    keys.into_iter().find_map(|key| key.private).unwrap().expose_secret().to_vec()
}

#[actix::test]
async fn what_is_signed_with_a_key_after_it_was_retired_is_refused() {
    let house = House::new();
    let mut store = house.store();
    let first = store.ensure_key().unwrap();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let stolen = NewKey::from_private(Algorithm::EdDsa, private(&store).into()).unwrap();
    assert_eq!(stolen.kid, first.kid);
    let stolen = SigningKey::new(stolen.kid, stolen.algorithm, &stolen.private);
    let actor = house.actor().await;
    let before = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    house.pass(10);
    store.rotate_key(Algorithm::EdDsa).unwrap();
    let retired = house.now();
    house.pass(300);
    let opens = async |issued: i64| {
        let header = json!({"typ": "at+jwt", "alg": "EdDSA", "kid": first.kid});
        let claims = json!({"iss": ISSUER, "sub": nightly.client_id, "aud": ISSUER, "iat": issued, "exp": issued + 3_600,
                            "jti": uuid::Uuid::new_v4(), "client_id": nightly.client_id, "scope": "read",
                            "connection_ids": [SALES]});
        let token = super::super::attacks::forge(&header, &claims, &stolen.encoding, stolen.algorithm.jwt());
        ask(&actor, Credential::Bearer(token.into())).await
    };
    let skew = i64::try_from(CLOCK_SKEW.as_secs()).unwrap();
    assert!(opens(retired.seconds() + skew).await.is_ok(), "another process may not have heard of it at once");
    let refused = opens(retired.seconds() + skew + 1).await.unwrap_err();
    assert!(refused.cause().unwrap().contains("after it was retired"), "{refused:?}");
    assert!(opens(house.now().seconds()).await.is_err());
    assert!(bearer(&actor, &before).await.is_ok(), "what it signed in its time is taken until it ends");
}

#[actix::test]
async fn a_key_that_leaked_ends_with_what_it_signed_and_with_nothing_else() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    let (_, pat) = store.create_pat(ANN, NewPat::default()).unwrap();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let settings = house.settings();
    let shared = settings.shared.clone();
    let actor = crate::AuthActor::start(settings).await.unwrap();
    let issue = async || -> AccessToken { exchange(&actor, &nightly, &secret, None, None).await.unwrap() };
    let oldest = issue().await;
    let retired = store.keys().unwrap()[0].kid.clone();
    store.rotate_key(Algorithm::EdDsa).unwrap();
    let old = issue().await;
    let sealed = shared.key("requests").unwrap();

    let leaked = store.end_key(None, Algorithm::Es256).unwrap();
    assert!(bearer(&actor, &old).await.is_err(), "the leaked key signed it");
    assert!(bearer(&actor, &oldest).await.is_ok(), "another one signed it");
    assert!(ask(&actor, basic(ANN, &pat)).await.is_ok(), "none did");
    let new = issue().await;
    assert!(bearer(&actor, &new).await.is_ok(), "another one signs now");
    assert_ne!(shared.key("requests").unwrap(), sealed, "what is derived from a key goes with it");
    let keys = store.keys().unwrap();
    assert!(keys.iter().all(|key| key.kid != leaked.kid) && keys[0].algorithm == "ES256", "{keys:?}");

    assert_eq!(store.end_key(Some(&retired), Algorithm::EdDsa).unwrap().kid, retired, "one that signed before");
    assert!(bearer(&actor, &oldest).await.is_err());
    assert!(bearer(&actor, &new).await.is_ok(), "the one that signs still does");
    assert_eq!(store.end_key(Some(&retired), Algorithm::EdDsa).unwrap_err().kind, Kind::NotFound);
    assert_eq!(store.keys().unwrap().len(), 1);
}
