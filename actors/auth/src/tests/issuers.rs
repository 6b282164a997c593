//! Tests of trusted issuers' tokens: which are accepted, and what happens while their keys change or cannot be
//! fetched.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::Addr;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::attacks::{Pair, forge, pair, signed, with, without};
use super::support::{House, ISSUER, SALES, STOCK, only, pace};
use crate::keys::key::{Algorithm, NewKey, VerifyingKey};
use crate::throttle::Rate;
use crate::verify::request::VerifyCredential;
use crate::{AuthActor, AuthLimits, AuthSettings, Authenticate, IssuerKey, IssuerKeys, Reconfigure, TrustedIssuer};
use portico_core::error::{Kind, Result};
use portico_core::principal::{Credential, Endpoint, Principal, Rights, Scope, WorkspaceGrant};

pub(super) const THEIRS: &str = "https://id.example.org";
pub(super) const NOW: i64 = 1_800_000_000;

/// A web server with one document, which counts the requests.
pub(super) struct Publisher {
    address: SocketAddr,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Publisher {
    pub(super) async fn start(keys: &[&VerifyingKey]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let publisher = Self { address: listener.local_addr().unwrap(), answer: Arc::default(), asked: Arc::default() };
        publisher.publish(keys);
        let (answer, asked) = (Arc::clone(&publisher.answer), Arc::clone(&publisher.asked));
        actix::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                asked.fetch_add(1, Ordering::SeqCst);
                let answer = answer.lock().unwrap().clone();
                // A client that has read enough may have left.
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        publisher
    }

    pub(super) fn publish(&self, keys: &[&VerifyingKey]) {
        let jwks = json!({"keys": keys.iter().map(|key| serde_json::to_value(key.jwk()).unwrap()).collect::<Vec<_>>()});
        self.answer_with("200 OK", &jwks.to_string());
    }

    pub(super) fn answer_with(&self, status: &str, body: &str) {
        let length = body.len();
        *self.answer.lock().unwrap() =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    }

    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(super) fn issuer(&self) -> TrustedIssuer {
        issuer(IssuerKeys::Url(format!("http://{}/jwks.json", self.address)))
    }
}

pub(super) fn issuer(keys: IssuerKeys) -> TrustedIssuer {
    TrustedIssuer {
        issuer: THEIRS.to_owned(),
        keys,
        audience: Some("portico".to_owned()),
        connections_claim: "connection_ids".to_owned(),
        workspaces_claim: "workspaces".to_owned(),
        scope_claim: "scope".to_owned(),
        subject_claim: "sub".to_owned(),
        reach: Rights::ALL,
        scope: None,
        types: TrustedIssuer::DEFAULT_TYPES.map(str::to_owned).to_vec(),
        max_age: TrustedIssuer::DEFAULT_MAX_AGE,
        identity: None,
    }
}

pub(super) fn key(algorithm: Algorithm) -> Pair {
    pair(NewKey::generate_for(algorithm).unwrap())
}

/// A header as other issuers write it: without our `typ`.
pub(super) fn header(pair: &Pair) -> Value {
    json!({"alg": pair.verifying.algorithm.as_str(), "kid": pair.verifying.kid, "typ": "JWT"})
}

pub(super) fn claims() -> Value {
    json!({"iss": THEIRS, "sub": "robot", "aud": ["portico", "others"], "exp": NOW + 3_600,
           "scope": "openid read write", "connection_ids": [SALES]})
}

pub(super) async fn ask(actor: &Addr<AuthActor>, token: String) -> Option<Arc<Principal>> {
    verdict(actor, token).await.ok()
}

pub(super) async fn verdict(actor: &Addr<AuthActor>, token: String) -> Result<Arc<Principal>> {
    let credential = Credential::Bearer(SecretString::from(token));
    let asked = Authenticate { credential, endpoint: Endpoint::Mcp, from: None };
    actor.send(VerifyCredential::from(asked)).await.unwrap()
}

/// The PEM of a key, from the part before its bits and its bits.
fn pem(head: &[u8], key: &[u8]) -> String {
    use base64::Engine;
    let body = base64::engine::general_purpose::STANDARD.encode([head, key].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
}

pub(super) fn ed25519_pem(pair: &Pair) -> String {
    use base64::Engine;
    let crate::keys::key::PublicKey::Edwards { x, .. } = &pair.verifying.public else { panic!("an Ed25519 key") };
    let x = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(x).unwrap();
    pem(&[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00], &x)
}

#[actix::test]
async fn a_fixed_key_opens_what_the_claims_say_and_the_ceilings_leave() {
    let theirs = key(Algorithm::EdDsa);
    let fixed = || IssuerKeys::Fixed(IssuerKey::from_pem(&ed25519_pem(&theirs)).unwrap());
    let house = House::new();
    let token = |claims: &Value| signed(&header(&theirs), claims, &theirs);
    let actor = house.trusting(vec![issuer(fixed())]).await;
    let robot = ask(&actor, token(&claims())).await.unwrap();
    assert_eq!(robot.rights, only(&[SALES], Scope::Write));
    assert_eq!(robot.subject, format!("{THEIRS}#robot"), "never taken for one of our own");
    assert_eq!(ask(&actor, token(&with(claims(), "scope", json!(["read", "x"])))).await.unwrap().scope(), Scope::Read);
    // A list in a string grants nothing, and neither does a missing one.
    let text = with(claims(), "connection_ids", json!(format!("[\"{SALES}\"]")));
    assert_eq!(ask(&actor, token(&text)).await.unwrap().rights, only(&[], Scope::Write));
    assert_eq!(ask(&actor, token(&without(claims(), "connection_ids"))).await.unwrap().rights, only(&[], Scope::Write));
    let workspace = Rights::each([]).with_workspaces([("revenue".into(), WorkspaceGrant::Given(Scope::Write))]);
    let named = with(without(claims(), "connection_ids"), "workspaces", json!(["revenue"]));
    assert_eq!(ask(&actor, token(&named)).await.unwrap().rights, workspace);
    let text = with(named.clone(), "workspaces", json!("revenue"));
    assert_eq!(ask(&actor, token(&text)).await.unwrap().rights, only(&[], Scope::Write));
    for (what, claims) in [
        ("another audience", with(claims(), "aud", json!("others"))),
        ("our own issuer", with(claims(), "iss", json!(ISSUER))),
        ("an unknown issuer", with(claims(), "iss", json!("https://evil.example"))),
        ("expired", with(claims(), "exp", json!(NOW - 30))),
        ("not yet valid", with(claims(), "nbf", json!(NOW + 31))),
        ("issued in the future", with(claims(), "iat", json!(NOW + 31))),
        ("no end", without(claims(), "exp")),
        ("no subject", without(claims(), "sub")),
        ("a subject with a line break", with(claims(), "sub", json!("a\nb"))),
        ("a number for a subject", with(claims(), "sub", json!(7))),
        ("no scope", without(claims(), "scope")),
        ("no scope of ours", with(claims(), "scope", json!("openid"))),
    ] {
        assert!(ask(&actor, token(&claims)).await.is_none(), "{what}");
    }
    // A refused one is reported under its name as if accepted, and its id is not one of ours.
    let foreign = with(with(claims(), "scope", json!("openid")), "jti", json!(Uuid::nil()));
    let credential = Credential::Bearer(SecretString::from(token(&foreign)));
    let asked = Authenticate { credential, endpoint: Endpoint::Api, from: None };
    let refused = actor.send(VerifyCredential::from(asked)).await.unwrap().unwrap_err();
    assert_eq!((refused.get_claimed(), refused.get_credential()), (Some(format!("{THEIRS}#robot").as_str()), None));

    let reach = Rights::each([(SALES, Scope::Read), (STOCK, Scope::Write)]);
    let mapped = TrustedIssuer {
        connections_claim: "dbs".to_owned(),
        workspaces_claim: "spaces".to_owned(),
        scope_claim: "scp".to_owned(),
        subject_claim: "email".to_owned(),
        reach,
        scope: Some(Scope::Read),
        ..issuer(fixed())
    };
    let actor = House::new().trusting(vec![mapped]).await;
    let claims = with(with(claims(), "dbs", json!([SALES])), "email", json!("x@example.org"));
    assert!(ask(&actor, token(&claims)).await.is_none(), "nobody has verified the address");
    let mut claims = with(claims, "email_verified", json!(true));
    let robot = ask(&actor, token(&claims)).await.unwrap();
    assert_eq!((robot.scope(), robot.subject.ends_with("#x@example.org")), (Scope::Read, true), "the fixed scope");
    assert_eq!(robot.rights, only(&[SALES], Scope::Read));
    claims["spaces"] = json!(["revenue"]);
    let robot = ask(&actor, token(&claims)).await.unwrap();
    let over = |underneath: &[Uuid]| robot.rights.scope_in("revenue", underneath.iter().copied());
    assert_eq!(
        (over(&[SALES, STOCK]), over(&[Uuid::nil()])),
        (Some(Scope::Read), None),
        "within what the issuer reaches"
    );
    claims["scp"] = json!("read write admin");
    assert_eq!(ask(&actor, token(&claims)).await.unwrap().scope(), Scope::Read, "a ceiling");
}

#[actix::test]
async fn a_ceiling_follows_its_connection_when_the_configuration_is_read_again() {
    let theirs = key(Algorithm::EdDsa);
    let fixed = IssuerKeys::Fixed(IssuerKey::from_pem(&ed25519_pem(&theirs)).unwrap());
    let house = House::new();
    let actor = house.trusting(vec![TrustedIssuer { reach: only(&[SALES], Scope::Admin), ..issuer(fixed) }]).await;
    let both = signed(&header(&theirs), &with(claims(), "connection_ids", json!([SALES, STOCK])), &theirs);
    assert_eq!(ask(&actor, both.clone()).await.unwrap().rights, only(&[SALES], Scope::Write));
    // The name in the issuer's table is another connection's now.
    let change = Reconfigure {
        token_lifetime: crate::TOKEN_LIFETIME,
        connections: [STOCK].into(),
        reaches: vec![(THEIRS.to_owned(), only(&[STOCK], Scope::Admin))],
        admission: crate::oauth::client::ClientPolicy::default(),
    };
    actor.send(change).await.unwrap();
    assert_eq!(
        ask(&actor, both).await.unwrap().rights,
        only(&[STOCK], Scope::Write),
        "what was remembered is judged anew"
    );
}

#[actix::test]
async fn a_subject_of_another_issuer_can_be_refused_and_what_goes_on_under_it_ends() {
    let house = House::new();
    let theirs = key(Algorithm::EdDsa);
    let fixed = IssuerKeys::Fixed(IssuerKey::from_pem(&ed25519_pem(&theirs)).unwrap());
    let actor = house.trusting(vec![issuer(fixed)]).await;
    let shown = || signed(&header(&theirs), &claims(), &theirs);
    let by = ask(&actor, shown()).await.unwrap();
    let mut store = house.store();
    store.disable_subject(&by.subject).unwrap();
    let mut pace = pace();
    while !by.validity.is_lost() {
        pace.tick().await;
    }
    assert!(ask(&actor, shown()).await.is_none());
    assert_eq!(store.refused_subjects().unwrap()[0].subject, by.subject);
    store.enable_subject(&by.subject).unwrap();
    assert!(!ask(&actor, shown()).await.unwrap().validity.is_lost());
    assert_eq!(store.enable_subject(&by.subject).unwrap_err().kind, portico_core::error::Kind::NotFound);
    assert_eq!(store.disable_subject("ann@example.com").unwrap_err().kind, portico_core::error::Kind::Invalid);
}

#[actix::test]
async fn without_an_audience_of_its_own_an_issuer_names_our_endpoints() {
    let theirs = key(Algorithm::EdDsa);
    let fixed = IssuerKeys::Fixed(IssuerKey::from_pem(&ed25519_pem(&theirs)).unwrap());
    let actor = House::new().trusting(vec![TrustedIssuer { audience: None, ..issuer(fixed) }]).await;
    let both = with(claims(), "connection_ids", json!([SALES, STOCK]));
    let opened = async |audience: Value| {
        let token = signed(&header(&theirs), &with(both.clone(), "aud", audience), &theirs);
        ask(&actor, token).await.map(|principal| principal.rights.clone())
    };
    assert_eq!(opened(json!(ISSUER)).await, Some(only(&[SALES, STOCK], Scope::Write)));
    assert_eq!(opened(json!(format!("{ISSUER}/mcp/connections/{STOCK}"))).await, Some(only(&[STOCK], Scope::Write)));
    assert_eq!(opened(json!(format!("{ISSUER}/api"))).await, None);
    assert_eq!(opened(json!("portico")).await, None);
}

#[actix::test]
async fn the_key_decides_on_the_algorithm_for_every_issuer() {
    let (ours, theirs) = (House::new(), [key(Algorithm::EdDsa), key(Algorithm::Es256)]);
    let publisher = Publisher::start(&[&theirs[0].verifying, &theirs[1].verifying]).await;
    let actor = ours.trusting(vec![publisher.issuer()]).await;
    for pair in &theirs {
        assert!(ask(&actor, signed(&header(pair), &claims(), pair)).await.is_some(), "{:?}", pair.verifying.algorithm);
    }
    let [ed, ec] = &theirs;
    let attacker = key(Algorithm::EdDsa);
    let jwk = serde_json::to_value(attacker.verifying.jwk()).unwrap();
    let public = serde_json::to_value(ed.verifying.jwk()).unwrap()["x"].as_str().unwrap().to_owned();
    let hmac = jsonwebtoken::EncodingKey::from_secret(public.as_bytes());
    let evil = |name: &str, value: Value| with(header(ed), name, value);
    for (what, token) in [
        ("another key under its name", signed(&header(ed), &claims(), &attacker)),
        ("its name and another algorithm", signed(&with(header(ec), "kid", json!(ed.verifying.kid)), &claims(), ec)),
        ("an embedded key", signed(&evil("jwk", jwk), &claims(), &attacker)),
        ("keys elsewhere", signed(&evil("jku", json!("https://evil.example/jwks")), &claims(), &attacker)),
        ("a critical header", signed(&evil("crit", json!(["x"])), &claims(), ed)),
        (
            "HMAC with the public key",
            forge(&evil("alg", json!("HS256")), &claims(), &hmac, jsonwebtoken::Algorithm::HS256),
        ),
        ("none", signed(&evil("alg", json!("none")), &claims(), ed)),
    ] {
        assert!(ask(&actor, token).await.is_none(), "{what}");
    }
    // Our key is not one of theirs, and theirs are not ours.
    let forged = with(with(claims(), "iss", json!(ISSUER)), "aud", json!(ISSUER));
    let forged = with(with(forged, "jti", json!(uuid::Uuid::new_v4())), "iat", json!(NOW));
    assert!(ask(&actor, signed(&header(ed), &with(forged, "client_id", json!("x")), ed)).await.is_none());
    for kid in ["../../etc/passwd", "' OR 1=1 --", "", "\u{0}", &"k".repeat(10_000)] {
        let token = signed(&with(header(ed), "kid", json!(kid)), &claims(), ed);
        assert!(ask(&actor, token).await.is_none(), "{kid:.20}");
    }
    assert_eq!(publisher.asked(), 1, "an unknown name is no reason to ask again so soon");
}

#[actix::test]
async fn new_keys_are_found_and_lost_ones_are_refused() {
    let house = House::new();
    let (old, new) = (key(Algorithm::EdDsa), key(Algorithm::Es256));
    let publisher = Publisher::start(&[&old.verifying]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    let (by_old, by_new) = (signed(&header(&old), &claims(), &old), signed(&header(&new), &claims(), &new));
    let asks = (0..20).map(|_| ask(&actor, by_old.clone()));
    let answers = futures_util::future::join_all(asks).await;
    assert!(answers.iter().all(Option::is_some), "all wait for the same answer");
    assert_eq!(publisher.asked(), 1);
    publisher.publish(&[&new.verifying]);
    assert!(ask(&actor, by_new.clone()).await.is_none(), "not asked again within half a minute");
    house.pass(30);
    assert!(ask(&actor, by_new.clone()).await.is_some());
    assert!(ask(&actor, by_old).await.is_none(), "its key is gone, and it is not remembered either");
    assert_eq!(publisher.asked(), 2);

    publisher.answer_with("503 Service Unavailable", "");
    house.pass(700);
    assert!(ask(&actor, by_new.clone()).await.is_some(), "known keys outlive an outage");
    house.until_told(1).await;
    assert_eq!(publisher.asked(), 3, "they were old, so they were asked for");
    house.pass(600);
    publisher.answer_with("200 OK", &" ".repeat(300 * 1024));
    assert!(ask(&actor, by_new.clone()).await.is_some());
    house.until_told(2).await;
    publisher.answer_with("302 Found\r\nlocation: http://127.0.0.1:1/", "");
    house.pass(601);
    assert!(ask(&actor, by_new).await.is_some());
    house.until_told(3).await;
    let told = house.outages();
    assert!(told[0].contains("503") && told[1].contains("more than") && told[2].contains("302"), "{told:?}");
}

/// Neither a set nor a token need name keys, and several keys may have one name (RFC 7517 §4.5).
#[actix::test]
async fn keys_without_a_name_or_of_one_name_verify_beside_each_other() {
    let house = House::new();
    let pairs = [key(Algorithm::EdDsa), key(Algorithm::Es256), key(Algorithm::EdDsa)];
    let publisher = Publisher::start(&[]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    let named = |object: Value, kid: Option<&str>| match kid {
        Some(kid) => with(object, "kid", json!(kid)),
        None => without(object, "kid"),
    };
    let publish = |pairs: &[Pair], kid: Option<&str>| {
        let jwk = |pair: &Pair| named(serde_json::to_value(pair.verifying.jwk()).unwrap(), kid);
        let keys: Vec<Value> = pairs.iter().map(jwk).collect();
        publisher.answer_with("200 OK", &json!({"keys": keys}).to_string());
    };
    let opens = async |kid: Option<&str>, name: &Pair, pair: &Pair| {
        ask(&actor, signed(&named(header(name), kid), &claims(), pair)).await.is_some()
    };
    for kid in [None, Some("shared")] {
        publish(&pairs, kid);
        house.pass(30);
        for (number, pair) in pairs.iter().enumerate() {
            assert!(opens(kid, pair, pair).await, "{kid:?}, key {number}");
            assert!(opens(None, pair, pair).await, "a token without a name, key {number}");
        }
        assert!(!opens(kid, &pairs[1], &pairs[0]).await, "the key decides on the algorithm");
        assert!(!opens(kid, &pairs[0], &key(Algorithm::EdDsa)).await, "{kid:?}: another key");
    }
    let newer = [key(Algorithm::EdDsa)];
    publish(&newer, None);
    house.pass(30);
    assert!(opens(None, &newer[0], &newer[0]).await, "a new key without a name is looked for");
    assert!(!opens(None, &pairs[0], &pairs[0]).await);
}

#[actix::test]
async fn keys_are_fetched_anew_after_the_clock_was_set_back() {
    for is_unknown in [false, true] {
        let (house, ahead) = (House::new(), Arc::new(AtomicI64::new(7_200)));
        let (old, new) = (key(Algorithm::EdDsa), key(Algorithm::Es256));
        let publisher = Publisher::start(&[&old.verifying]).await;
        let (issuers, clock) = (vec![publisher.issuer()], house.clock_ahead(&ahead));
        let actor = AuthActor::start(AuthSettings { issuers, clock, ..house.settings() }).await.unwrap();
        let claims = with(claims(), "exp", json!(NOW + 10_000));
        let (by_old, by_new) = (signed(&header(&old), &claims, &old), signed(&header(&new), &claims, &new));
        assert!(ask(&actor, by_old.clone()).await.is_some());
        publisher.publish(&[&new.verifying]);
        ahead.store(0, Ordering::SeqCst);
        if !is_unknown {
            let mut pace = pace();
            while ask(&actor, by_old.clone()).await.is_some() {
                pace.tick().await;
            }
        }
        assert!(ask(&actor, by_new).await.is_some());
        assert!(ask(&actor, by_old).await.is_none(), "its key was withdrawn");
        assert_eq!(publisher.asked(), 2);
    }
}

#[actix::test]
async fn a_token_is_no_guess_while_its_issuers_keys_cannot_be_fetched() {
    let house = House::new();
    let (known, next) = (key(Algorithm::EdDsa), key(Algorithm::EdDsa));
    let publisher = Publisher::start(&[]).await;
    let fails = || publisher.answer_with("500 Internal Server Error", "");
    let limits = AuthLimits { failures_per_address: Rate::per_minute(1), ..AuthLimits::default() };
    let settings = AuthSettings { issuers: vec![publisher.issuer()], limits, ..house.settings() };
    let actor = AuthActor::start(settings).await.unwrap();
    let (by_known, by_next) = (signed(&header(&known), &claims(), &known), signed(&header(&next), &claims(), &next));
    fails();
    for _ in 0..3 {
        let refused = verdict(&actor, by_known.clone()).await.unwrap_err();
        assert_eq!((refused.kind, refused.get_retry_after()), (Kind::Unavailable, Some(Duration::from_secs(5))));
        assert!(refused.cause().unwrap().contains("keys could not be fetched"), "{refused:?}");
    }
    publisher.publish(&[&known.verifying]);
    house.pass(5);
    assert!(ask(&actor, by_known.clone()).await.is_some());
    fails();
    house.pass(30);
    assert_eq!(verdict(&actor, by_next.clone()).await.unwrap_err().kind, Kind::Unavailable, "it may be a new key");
    assert!(ask(&actor, by_known.clone()).await.is_some(), "known keys stay in use");
    publisher.publish(&[&known.verifying]);
    house.pass(5);
    assert_eq!(verdict(&actor, by_next.clone()).await.unwrap_err().kind, Kind::Unauthenticated, "now it is none");
    assert_eq!(verdict(&actor, by_next).await.unwrap_err().kind, Kind::Busy, "and counts as a guess");
}

#[actix::test]
async fn what_goes_on_under_a_token_ends_when_its_issuer_withdraws_the_key() {
    let house = House::new();
    let [old, new, unknown] = [key(Algorithm::EdDsa), key(Algorithm::Es256), key(Algorithm::EdDsa)];
    let publisher = Publisher::start(&[&old.verifying, &new.verifying]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    let shown = |pair: &Pair| signed(&header(pair), &claims(), pair);
    let (by_old, by_new) = (ask(&actor, shown(&old)).await.unwrap(), ask(&actor, shown(&new)).await.unwrap());
    publisher.answer_with("503 Service Unavailable", "");
    house.pass(30);
    assert!(ask(&actor, shown(&unknown)).await.is_none());
    assert!(!by_old.validity.is_lost() && !by_new.validity.is_lost(), "an outage of the issuer ends nothing");
    publisher.publish(&[&new.verifying]);
    house.pass(5);
    assert!(ask(&actor, shown(&unknown)).await.is_none());
    assert!(by_old.validity.is_lost() && !by_new.validity.is_lost());
}
