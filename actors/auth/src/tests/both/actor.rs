//! Credentials judged by the actor, as they are and as time passes.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::support::{House, SALES, STOCK, account, ask, basic, bearer, exchange, only, user};
use crate::records::{NewPat, NewUser};
use crate::sync::lookup::SyncStore;
use crate::{Algorithm, Authenticate, Jwks};
use portico_core::error::Kind;
use portico_core::principal::{Credential, Endpoint, Principal, Rights, Scope, Validity, WorkspaceGrant};

const ANN: &str = "Ann@example.com";

#[actix::test]
async fn a_personal_access_token_opens_what_user_and_token_share() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(NewUser { rights: only(&[SALES, STOCK], Scope::Write), ..user(ANN) }).unwrap();
    store.add_user(NewUser { rights: Rights::ALL, ..user("root@example.com") }).unwrap();
    store.add_user(NewUser { rights: Rights::all(Scope::Read), ..user("eve@example.com") }).unwrap();
    let (_, whole) = store.create_pat(ANN, NewPat::default()).unwrap();
    let narrow = NewPat { rights: only(&[STOCK], Scope::Read), ..NewPat::default() };
    let (_, narrow) = store.create_pat(ANN, narrow).unwrap();
    let (_, root) = store.create_pat("root@example.com", NewPat::default()).unwrap();
    let (_, eve) = store.create_pat("eve@example.com", NewPat::default()).unwrap();
    let actor = house.actor().await;
    for (email, token, subject, rights) in [
        (ANN, &whole, ANN, only(&[SALES, STOCK], Scope::Write)),
        ("ANN@EXAMPLE.COM", &narrow, ANN, only(&[STOCK], Scope::Read)),
        ("root@example.com", &root, "root@example.com", Rights::ALL),
        ("eve@example.com", &eve, "eve@example.com", Rights::all(Scope::Read)),
    ] {
        let principal = ask(&actor, basic(email, token)).await.unwrap();
        let claims = principal.claims.clone();
        let id = store
            .pats(Some(subject))
            .unwrap()
            .iter()
            .any(|pat| principal.credential.as_deref() == Some(&pat.id.to_string()));
        assert!(id, "{:?}", principal.credential);
        let credential = principal.credential.clone();
        let (subject, validity) = (subject.to_owned(), Validity::default());
        assert_eq!(*principal, Principal { subject, rights, claims, credential, validity });
    }
}

#[actix::test]
async fn a_token_for_a_workspace_opens_no_more_than_its_user_reaches_underneath() {
    let house = House::new();
    let mut store = house.store();
    let workspace = |scope| only(&[], scope).with_workspaces([("revenue".into(), WorkspaceGrant::Given(scope))]);
    for (email, rights) in [
        (ANN, Rights::each([(SALES, Scope::Write), (STOCK, Scope::Read)])),
        ("bob@example.com", workspace(Scope::Read)),
        ("root@example.com", Rights::all(Scope::Write)),
    ] {
        store.add_user(NewUser { rights: rights.clone(), ..user(email) }).unwrap();
        let (_, whole) = store.create_pat(email, NewPat::default()).unwrap();
        let new = NewPat { rights: workspace(Scope::Admin).up_to(rights.widest()), ..NewPat::default() };
        let (listed, narrow) = store.create_pat(email, new).unwrap();
        let actor = house.actor().await;
        assert_eq!(ask(&actor, basic(email, &whole)).await.unwrap().rights, rights, "{email}");
        let narrow = ask(&actor, basic(email, &narrow)).await.unwrap();
        assert_eq!(narrow.rights, listed.rights, "{email}");
        let over = |rights: &Rights, underneath: &[_]| rights.scope_in("revenue", underneath.iter().copied());
        for underneath in [&[SALES][..], &[SALES, STOCK], &[Uuid::nil()]] {
            assert_eq!(over(&narrow.rights, underneath), over(&rights, underneath), "{email}");
        }
        assert!(!narrow.rights.covers(SALES), "{email}");
    }
    let new = NewPat { rights: only(&[SALES], Scope::Read), ..NewPat::default() };
    let refused = store.create_pat("bob@example.com", new).unwrap_err();
    assert!(refused.message.contains("does not reach every connection"), "{refused}");
    let stores = only(&[], Scope::Read).with_workspaces([("stores".into(), WorkspaceGrant::Given(Scope::Read))]);
    let refused = store.create_pat("bob@example.com", NewPat { rights: stores, ..NewPat::default() }).unwrap_err();
    assert!(refused.message.contains("does not reach the workspace stores"), "{refused}");
}

#[actix::test]
async fn every_wrong_credential_is_told_alike() {
    let house = House::new();
    let mut store = house.store();
    store.add_user(user(ANN)).unwrap();
    store.add_user(user("bob@example.com")).unwrap();
    let end = house.now().after(Duration::from_mins(1));
    let (_, token) = store.create_pat(ANN, NewPat { expires_at: Some(end), ..NewPat::default() }).unwrap();
    let (revoked, gone) = store.create_pat(ANN, NewPat::default()).unwrap();
    store.revoke_pat(&revoked.id.to_string()).unwrap();
    let actor = house.actor().await;
    house.pass(59);
    assert!(ask(&actor, basic(ANN, &token)).await.is_ok());
    let by = ask(&actor, Credential::Bearer(token.clone())).await.unwrap();
    assert_eq!(by, ask(&actor, basic(ANN, &token)).await.unwrap(), "it names its user by itself");
    let wrong = SecretString::from("ptc_pat_wrong");
    let empty = SecretString::from("");
    let mut answers = Vec::new();
    for credential in [
        basic(ANN, &wrong),
        basic(ANN, &empty),
        basic(ANN, &gone),
        basic("bob@example.com", &token),
        basic("nobody@example.com", &token),
        basic("", &token),
        Credential::Bearer(gone.clone()),
        Credential::Bearer(wrong.clone()),
        Credential::Bearer(empty),
    ] {
        answers.push(ask(&actor, credential).await.unwrap_err());
    }
    house.pass_beyond(1);
    answers.push(ask(&actor, basic(ANN, &token)).await.unwrap_err());
    answers.push(ask(&actor, Credential::Bearer(token.clone())).await.unwrap_err());
    for answer in answers {
        assert_eq!(answer.kind, Kind::Unauthenticated);
        assert_eq!(answer.message, "the credential is not valid, or it has expired");
        assert_eq!((answer.get_hint(), answer.get_detail(), answer.get_needs()), (None, None, None));
        assert!(!format!("{answer:?}").contains(token.expose_secret()), "{answer:?}");
    }
}

#[actix::test]
async fn an_access_token_ends_on_time_also_from_the_cache() {
    let house = House::new();
    let (nightly, secret) = house.store().create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = house.actor().await;
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    let first = bearer(&actor, &token).await.unwrap();
    let again = bearer(&actor, &token).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again), "the second answer comes from the cache");
    house.pass(3_600 + 29);
    assert!(bearer(&actor, &token).await.is_ok());
    house.pass(1);
    assert_eq!(bearer(&actor, &token).await.unwrap_err().kind, Kind::Unauthenticated);
}

#[actix::test]
async fn a_rotated_key_verifies_until_its_last_token_has_ended() {
    let house = House::new();
    let mut store = house.store();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = house.actor().await;
    let old_kid = store.keys().unwrap()[0].kid.clone();
    let kids = async || {
        actor.send(SyncStore).await.unwrap();
        let jwks = actor.send(Jwks).await.unwrap().unwrap();
        let keys = jwks["keys"].as_array().unwrap().clone();
        keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kids().await, std::slice::from_ref(&old_kid));
    house.pass(100);
    let old = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    let new_kid = store.rotate_key(Algorithm::Rs256).unwrap().kid;
    assert_eq!(kids().await, [new_kid.clone(), old_kid]);
    assert!(bearer(&actor, &old).await.is_ok());
    house.pass(3_629);
    let new = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert!(bearer(&actor, &old).await.is_ok());
    assert!(bearer(&actor, &new).await.is_ok());
    house.pass(1);
    assert!(bearer(&actor, &old).await.is_err());
    assert_eq!(kids().await, [new_kid]);
    assert!(bearer(&actor, &new).await.is_ok());
}

#[actix::test]
async fn the_key_set_is_that_of_rfc_8037() {
    let house = House::new();
    let actor = house.actor().await;
    let jwks = actor.send(Jwks).await.unwrap().unwrap();
    let key = &jwks["keys"][0];
    let (kid, x) = (key["kid"].as_str().unwrap(), key["x"].as_str().unwrap());
    assert_eq!(
        jwks,
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": "EdDSA", "use": "sig"}]})
    );
    assert_eq!((x.len(), kid.len()), (43, 43), "32 octets each");
}

#[actix::test]
async fn no_message_shows_a_secret() {
    let token = SecretString::from("ptc_pat_shown");
    let show = |credential| format!("{:?}", Authenticate { credential, endpoint: Endpoint::Mcp, from: None });
    let shown = show(basic(ANN, &token)) + &show(Credential::Bearer(token.clone()));
    assert!(shown.contains(ANN) && !shown.contains("shown"), "{shown}");
}

#[test]
fn the_actor_needs_a_running_system() {
    let house = House::new();
    let settings = crate::AuthSettings::new(house.place(), "http://localhost", std::sync::Arc::new(|_| ()));
    let shown = format!("{settings:?}");
    assert!(shown.contains("http://localhost"), "{shown}");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(crate::AuthActor::start(settings)).unwrap_err();
    assert_eq!(error.kind, Kind::Internal);
}
