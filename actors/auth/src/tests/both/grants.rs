//! Client credentials exchanged for access tokens.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::support::{House, ISSUER, SALES, STOCK, account, bearer, exchange, only, proof};
use crate::verify::request::VerifyCredential;
use crate::{Authenticate, TokenRequest};
use portico_core::principal::{Credential, Endpoint, Scope};

#[actix::test]
async fn a_client_gets_a_token_for_what_its_account_may_do() {
    let house = House::new();
    let (nightly, secret) =
        house.store().create_service_account(account("nightly", &[SALES, STOCK], Scope::Write)).unwrap();
    let actor = house.actor().await;
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    assert_eq!((token.expires_in, token.scope), (Duration::from_hours(1), "read write"));
    let principal = bearer(&actor, &token).await.unwrap();
    assert_eq!(principal.subject, nightly.client_id);
    assert_eq!(principal.rights, only(&[SALES, STOCK], Scope::Write));
}

#[actix::test]
async fn a_scope_asked_for_narrows_and_never_widens() {
    let house = House::new();
    let (nightly, secret) = house.store().create_service_account(account("nightly", &[SALES], Scope::Write)).unwrap();
    let actor = house.actor().await;
    for (asked, granted) in
        [("read", "read"), ("write", "read write"), ("write read read", "read write"), ("", "read write")]
    {
        let token = exchange(&actor, &nightly, &secret, Some(asked), None).await.unwrap();
        assert_eq!(token.scope, granted, "{asked:?}");
        assert_eq!(bearer(&actor, &token).await.unwrap().scope().list(), granted, "{asked:?}");
    }
    for asked in ["admin", "read admin", "read\twrite", "READ", "openid", "read,write"] {
        let error = exchange(&actor, &nightly, &secret, Some(asked), None).await.unwrap_err();
        assert_eq!((error.code, error.description.as_str()), ("invalid_scope", "this client may ask for: read write"));
    }
}

#[actix::test]
async fn a_resource_must_be_ours_and_opens_its_own_endpoint() {
    let house = House::new();
    let (nightly, secret) =
        house.store().create_service_account(account("nightly", &[SALES, STOCK], Scope::Read)).unwrap();
    let actor = house.actor().await;
    let mcp = |id: Uuid| format!("{ISSUER}/mcp/connections/{id}");
    let both = || Some(only(&[SALES, STOCK], Scope::Read));
    for (resource, at_mcp, at_api) in [
        (String::new(), both(), both()),
        (ISSUER.to_owned(), both(), both()),
        (format!("{ISSUER}/"), both(), both()),
        (format!("{ISSUER}/api"), None, both()),
        (format!("{ISSUER}/mcp"), both(), None),
        (mcp(STOCK), Some(only(&[STOCK], Scope::Read)), None),
    ] {
        let token = exchange(&actor, &nightly, &secret, None, Some(&resource)).await.unwrap();
        // Twice: the second answer comes from the cache, which must not confuse the endpoints.
        for (endpoint, reach) in
            [(Endpoint::Mcp, &at_mcp), (Endpoint::Api, &at_api), (Endpoint::Mcp, &at_mcp), (Endpoint::Api, &at_api)]
        {
            let credential = Credential::Bearer(token.token.clone());
            let answer =
                actor.send(VerifyCredential::from(Authenticate { credential, endpoint, from: None })).await.unwrap();
            assert_eq!(answer.ok().map(|principal| principal.rights.clone()), *reach, "{resource} at {endpoint:?}");
        }
    }
    let long = format!("{ISSUER}/api/{}", "a".repeat(3_000));
    for resource in [
        "https://elsewhere.example",
        "http://localhost:8787.evil.example",
        "http://localhost:87870",
        "/mcp",
        &format!("{ISSUER}/other"),
        &format!("{ISSUER}/#fragment"),
        &format!("{ISSUER}/a b"),
        &format!("{ISSUER}/é"),
        &mcp(Uuid::nil()),
        &long,
    ] {
        let error = exchange(&actor, &nightly, &secret, None, Some(resource)).await.unwrap_err();
        assert_eq!(error.code, "invalid_target", "{resource:.60}");
    }
}

#[actix::test]
async fn a_wrong_client_and_a_wrong_secret_are_told_alike() {
    let house = House::new();
    let mut store = house.store();
    let (nightly, secret) = store.create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let (hourly, other) = store.create_service_account(account("hourly", &[SALES], Scope::Read)).unwrap();
    store.disable_service_account("hourly").unwrap();
    let actor = house.actor().await;
    let ask = async |client_id: &str, secret: &SecretString| {
        let request = TokenRequest { client: proof(client_id, secret), scope: None, resource: None };
        actor.send(request).await.unwrap()
    };
    let empty = SecretString::from("");
    let mut answers = Vec::new();
    for (client_id, secret) in [
        (nightly.client_id.as_str(), &other),
        (nightly.client_id.as_str(), &empty),
        ("ptc_ci_unknown", &secret),
        ("nightly", &secret),
        ("", &empty),
        (hourly.client_id.as_str(), &other),
    ] {
        answers.push(ask(client_id, secret).await.unwrap_err());
    }
    assert!(answers.iter().all(|answer| answer.code == "invalid_client" && *answer == answers[0]), "{answers:?}");
    assert!(ask(&nightly.client_id, &secret).await.is_ok());
}

#[actix::test]
async fn neither_grant_nor_token_shows_a_secret() {
    let house = House::new();
    let (nightly, secret) = house.store().create_service_account(account("nightly", &[SALES], Scope::Read)).unwrap();
    let actor = house.actor().await;
    let token = exchange(&actor, &nightly, &secret, None, None).await.unwrap();
    let shown = format!("{token:?}");
    assert!(shown.contains("REDACTED") && !shown.contains(token.token.expose_secret()), "{shown}");
    let client = proof(&nightly.client_id, &secret);
    let shown = format!("{:?}", TokenRequest { client, scope: None, resource: None });
    assert!(shown.contains(&nightly.client_id) && !shown.contains(secret.expose_secret()), "{shown}");
}
