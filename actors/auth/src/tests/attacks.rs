//! Tests of access tokens: issued tokens are accepted as intended, and everything else is refused for a reason of
//! its own.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::EncodingKey;
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Value, json};
use uuid::Uuid;

use super::support::{ISSUER, SALES, STOCK, only};
use crate::clock::{CLOCK_SKEW, Timestamp};
use crate::keys::key::{Algorithm, NewKey, PublicKey, SigningKey, VerifyingKey};
use crate::verify::jws::Signed;
use crate::verify::refusal::Refusal;
use crate::verify::token::{AccessTokenClaims, Tokens, Verified};
use crate::{TOKEN_LIFETIME, secret};
use portico_core::principal::{Endpoint, Rights, Scope, WorkspaceGrant};

const NOW: i64 = 1_800_000_000;
const TIME: Timestamp = Timestamp::from_seconds(NOW);

pub(super) struct Pair {
    pub(super) signing: SigningKey,
    pub(super) verifying: VerifyingKey,
}

pub(super) fn pair(key: NewKey) -> Pair {
    let verifying = VerifyingKey::new(key.kid.clone(), key.public, None).unwrap();
    Pair { signing: SigningKey::new(key.kid, key.algorithm, &key.private), verifying }
}

/// One key of each kind. Making an RSA key takes a while, so that one is stored; it was made for these tests and is
/// used for nothing else.
fn every_algorithm() -> [Pair; 3] {
    let rsa = SecretSlice::from(include_bytes!("keys/rs256.rsa.der").to_vec());
    [
        pair(NewKey::generate_for(Algorithm::EdDsa).unwrap()),
        pair(NewKey::generate_for(Algorithm::Es256).unwrap()),
        pair(NewKey::from_private(Algorithm::Rs256, rsa).unwrap()),
    ]
}

fn issue(rights: &Rights) -> AccessTokenClaims<'_> {
    AccessTokenClaims { subject: "ptc_ci_x", client_id: "ptc_ci_x", rights, audience: None, grant: None }
}

fn tokens() -> Tokens {
    Tokens::new(ISSUER, TOKEN_LIFETIME, CLOCK_SKEW)
}

fn verify(token: &str, keys: &[&VerifyingKey], now: Timestamp) -> Result<Verified, Refusal> {
    tokens().verify(token, now, |kid| keys.iter().copied().find(|key| key.kid == kid))
}

fn header(key: &VerifyingKey) -> Value {
    json!({"typ": "at+jwt", "alg": key.algorithm.as_str(), "kid": key.kid})
}

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "ptc_ci_x", "aud": ISSUER, "iat": NOW, "exp": NOW + 3_600, "jti": Uuid::new_v4(),
           "client_id": "ptc_ci_x", "scope": "read write", "connection_ids": [SALES]})
}

pub(super) fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

pub(super) fn without(mut object: Value, name: &str) -> Value {
    object.as_object_mut().unwrap().remove(name).unwrap();
    object
}

fn part(json: &Value) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

/// A token with these very texts and a genuine signature.
pub(super) fn signed_texts(header: &str, claims: &str, pair: &Pair) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let algorithm = pair.signing.algorithm.jwt();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &pair.signing.encoding, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// A token with exactly these contents and a genuine signature.
pub(super) fn forge(header: &Value, claims: &Value, key: &EncodingKey, algorithm: jsonwebtoken::Algorithm) -> String {
    let message = format!("{}.{}", part(header), part(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

pub(super) fn signed(header: &Value, claims: &Value, pair: &Pair) -> String {
    forge(header, claims, &pair.signing.encoding, pair.signing.algorithm.jwt())
}

#[test]
fn what_is_issued_is_accepted_with_every_algorithm() {
    let rights = Rights::each([(SALES, Scope::Write), (STOCK, Scope::Read)]);
    let issue = issue(&rights);
    for pair in every_algorithm() {
        let token = tokens().issue(&pair.signing, TIME, &issue).unwrap();
        let verified = verify(token.expose_secret(), &[&pair.verifying], TIME).unwrap();
        assert_eq!(
            verified,
            Verified {
                subject: "ptc_ci_x".to_owned(),
                client_id: "ptc_ci_x".to_owned(),
                jti: verified.jti,
                rights: rights.clone(),
                audiences: vec![ISSUER.to_owned()],
                issued_at: TIME,
                expires_at: Timestamp::from_seconds(NOW + 3_600),
                grant: None,
                until: Timestamp::from_seconds(NOW + 3_630),
            },
            "{:?}",
            pair.signing.algorithm
        );
    }
}

#[test]
fn an_issued_token_says_what_rfc_9068_wants() {
    let pair = pair(NewKey::generate().unwrap());
    let rights = Rights::only([SALES], Scope::Write);
    let issue = issue(&rights);
    let token = tokens().issue(&pair.signing, TIME, &issue).unwrap();
    let parts: Vec<Value> = token
        .expose_secret()
        .split('.')
        .take(2)
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!(parts[0], json!({"typ": "at+jwt", "alg": "EdDSA", "kid": pair.verifying.kid}));
    let jti = parts[1]["jti"].clone();
    assert!(Uuid::try_parse(jti.as_str().unwrap()).is_ok());
    assert_eq!(
        parts[1],
        json!({"iss": ISSUER, "sub": "ptc_ci_x", "aud": ISSUER, "iat": NOW, "exp": NOW + 3_600, "jti": jti,
               "client_id": "ptc_ci_x", "scope": "read write", "connection_ids": [SALES]})
    );
    let again = tokens().issue(&pair.signing, TIME, &issue).unwrap();
    assert_ne!(again.expose_secret(), token.expose_secret(), "each token has a jti of its own");
}

/// A point in time with a fraction (RFC 7519 §2).
fn half_past(second: i64) -> Value {
    serde_json::from_str(&format!("{second}.5")).unwrap()
}

#[test]
fn claims_that_do_not_hold_are_refused_although_the_signature_does() {
    let pair = pair(NewKey::generate().unwrap());
    let table: &[(&str, Value, Refusal)] = &[
        ("expired", with(claims(), "exp", json!(NOW - 30)), Refusal::Expired),
        ("issued in the future", with(claims(), "iat", json!(NOW + 31)), Refusal::NotYetValid),
        ("not yet valid", with(claims(), "nbf", json!(NOW + 31)), Refusal::NotYetValid),
        ("no end", without(claims(), "exp"), Refusal::Malformed),
        ("an end that is text", with(claims(), "exp", json!("2099")), Refusal::Malformed),
        ("an end beyond numbers", with(claims(), "exp", json!(u64::MAX)), Refusal::Malformed),
        ("an end beyond all fractions", with(claims(), "exp", json!(1e300)), Refusal::Malformed),
        ("expired by a fraction", with(claims(), "exp", half_past(NOW - 30)), Refusal::Expired),
        ("another issuer", with(claims(), "iss", json!("https://elsewhere.example")), Refusal::WrongIssuer),
        ("an issuer within ours", with(claims(), "iss", json!(format!("{ISSUER}/"))), Refusal::WrongIssuer),
        ("no issuer", without(claims(), "iss"), Refusal::Malformed),
        ("another audience", with(claims(), "aud", json!("https://elsewhere.example")), Refusal::WrongAudience),
        ("a longer host", with(claims(), "aud", json!(format!("{ISSUER}.evil.example"))), Refusal::WrongAudience),
        ("another port", with(claims(), "aud", json!(format!("{ISSUER}0/mcp"))), Refusal::WrongAudience),
        ("no audience in a list", with(claims(), "aud", json!([])), Refusal::WrongAudience),
        ("no audience", without(claims(), "aud"), Refusal::Malformed),
        ("no subject", without(claims(), "sub"), Refusal::Malformed),
        ("no scope", without(claims(), "scope"), Refusal::NoScope),
        ("an unknown scope", with(claims(), "scope", json!("root")), Refusal::NoScope),
        ("no object", json!(["iss"]), Refusal::Malformed),
    ];
    for (what, claims, refusal) in table {
        let token = signed(&header(&pair.verifying), claims, &pair);
        assert_eq!(verify(&token, &[&pair.verifying], TIME), Err(*refusal), "{what}");
    }
}

#[test]
fn clocks_may_be_half_a_minute_apart() {
    let pair = pair(NewKey::generate().unwrap());
    for claims in [
        with(claims(), "exp", json!(NOW - 29)),
        with(claims(), "iat", json!(NOW + 30)),
        with(claims(), "nbf", json!(NOW + 30)),
        with(claims(), "exp", json!(i64::MAX)),
        with(claims(), "exp", half_past(NOW - 29)),
        with(with(claims(), "iat", half_past(NOW)), "nbf", half_past(NOW + 30)),
    ] {
        let token = signed(&header(&pair.verifying), &claims, &pair);
        assert!(verify(&token, &[&pair.verifying], TIME).is_ok(), "{claims}");
    }
}

#[test]
fn headers_cannot_choose_the_key_or_the_algorithm() {
    let pairs = every_algorithm();
    let attacker = pair(NewKey::generate().unwrap());
    for ours in &pairs {
        let keys: Vec<&VerifyingKey> = pairs.iter().map(|pair| &pair.verifying).collect();
        let refusal = |token: &str| verify(token, &keys, TIME).unwrap_err();
        let genuine = header(&ours.verifying);
        let unsigned = format!("{}.{}.", part(&with(genuine.clone(), "alg", json!("none"))), part(&claims()));
        assert_eq!(refusal(&unsigned), Refusal::WrongAlgorithm, "alg none");

        let public = match &ours.verifying.public {
            PublicKey::Edwards { x, .. } | PublicKey::Elliptic { x, .. } => x.clone(),
            PublicKey::Rsa { n, .. } => n.clone(),
        };
        for hmac in [URL_SAFE_NO_PAD.decode(&public).unwrap(), public.into_bytes()] {
            let hmac = EncodingKey::from_secret(&hmac);
            let head = with(genuine.clone(), "alg", json!("HS256"));
            let token = forge(&head, &claims(), &hmac, jsonwebtoken::Algorithm::HS256);
            assert_eq!(refusal(&token), Refusal::WrongAlgorithm, "HMAC keyed with the public key");
        }

        for other in pairs.iter().filter(|other| other.verifying.kid != ours.verifying.kid) {
            let head = with(header(&other.verifying), "kid", json!(ours.verifying.kid));
            assert_eq!(refusal(&signed(&head, &claims(), other)), Refusal::WrongAlgorithm, "another key's algorithm");
            let head = header(&other.verifying);
            let token = forge(&head, &claims(), &ours.signing.encoding, ours.signing.algorithm.jwt());
            assert_eq!(refusal(&token), Refusal::WrongSignature, "another key's kid");
        }

        let jwk = serde_json::to_value(attacker.verifying.jwk()).unwrap();
        let theirs = header(&attacker.verifying);
        let embedded = with(with(theirs.clone(), "jwk", jwk.clone()), "jku", json!("https://evil.example/jwks"));
        assert_eq!(refusal(&signed(&theirs, &claims(), &attacker)), Refusal::UnknownKey, "unknown kid");
        assert_eq!(refusal(&signed(&embedded, &claims(), &attacker)), Refusal::UnknownKey, "embedded jwk");
        assert_eq!(refusal(&signed(&without(genuine.clone(), "kid"), &claims(), ours)), Refusal::UnknownKey, "no kid");
        let critical = with(genuine.clone(), "crit", json!(["b64"]));
        assert_eq!(refusal(&signed(&critical, &claims(), ours)), Refusal::CriticalHeader, "critical header");
        let disguised = with(with(genuine, "jwk", jwk), "alg", json!(attacker.signing.algorithm.as_str()));
        let answer = refusal(&signed(&disguised, &claims(), &attacker));
        let expected =
            if ours.signing.algorithm == Algorithm::EdDsa { Refusal::WrongSignature } else { Refusal::WrongAlgorithm };
        assert_eq!(answer, expected, "our kid, an embedded jwk");
    }
}

#[test]
fn a_retired_key_ends_even_tokens_that_would_last_longer() {
    let mut pair = pair(NewKey::generate().unwrap());
    let token = signed(&header(&pair.verifying), &with(claims(), "exp", json!(NOW + 1_000_000)), &pair);
    pair.verifying.retired_at = Some(TIME);
    let end = Timestamp::from_seconds(NOW + 3_630);
    let last = Timestamp::from_seconds(NOW + 3_629);
    assert_eq!(verify(&token, &[&pair.verifying], last).unwrap().until, end);
    assert_eq!(verify(&token, &[&pair.verifying], end), Err(Refusal::UnknownKey));
}

#[test]
fn edited_tokens_are_refused() {
    let pair = pair(NewKey::generate().unwrap());
    let token = signed(&header(&pair.verifying), &claims(), &pair);
    let parts: Vec<&str> = token.split('.').collect();
    let admin = part(&with(claims(), "scope", json!("admin")));
    let edited = format!("{}.{admin}.{}", parts[0], parts[2]);
    assert_eq!(verify(&edited, &[&pair.verifying], TIME), Err(Refusal::WrongSignature));
    let cut = &token[..token.len() - 2];
    let long = "a".repeat(100_000);
    for garbage in ["", ".", "..", "a.b.c", "é.ü.ß", &token[1..], &format!("{token}.x"), &long, parts[0]] {
        assert_eq!(verify(garbage, &[&pair.verifying], TIME), Err(Refusal::Malformed), "{garbage:.40}");
    }
    assert!(verify(cut, &[&pair.verifying], TIME).is_err());
    assert!(verify(&token, &[&pair.verifying], TIME).is_ok(), "the token itself was good");
}

#[test]
fn only_a_list_of_ids_opens_connections() {
    let pair = pair(NewKey::generate().unwrap());
    let reach = |claims: &Value| {
        verify(&signed(&header(&pair.verifying), claims, &pair), &[&pair.verifying], TIME).unwrap().rights
    };
    assert_eq!(reach(&claims()), only(&[SALES], Scope::Write));
    assert_eq!(reach(&without(claims(), "connection_ids")), only(&[], Scope::Write));
    for claim in [json!(format!("[\"{SALES}\"]")), json!(SALES), json!({"0": SALES}), json!(null), json!(true)] {
        assert_eq!(reach(&with(claims(), "connection_ids", claim.clone())), only(&[], Scope::Write), "{claim}");
    }
    let mixed = json!([SALES, 7, null, [STOCK], "*", "all", ""]);
    assert_eq!(reach(&with(claims(), "connection_ids", mixed)), only(&[SALES], Scope::Write));
}

#[test]
fn a_token_opens_the_workspaces_that_it_names_and_no_others() {
    let pair = pair(NewKey::generate().unwrap());
    let given = |name: &str, scope| (Arc::from(name), WorkspaceGrant::Given(scope));
    let alone = only(&[], Scope::Read).with_workspaces([given("revenue", Scope::Write)]);
    let mixed = only(&[SALES], Scope::Write).with_workspaces([given("revenue", Scope::Read)]);
    let through = only(&[SALES, STOCK], Scope::Read).intersection(&alone);
    let beside = mixed.intersection(&only(&[SALES, STOCK], Scope::Admin));
    for (rights, ids, names) in [
        (&alone, json!([]), Some(json!(["revenue"]))),
        (&mixed, json!([SALES]), Some(json!(["revenue"]))),
        (&through, json!([]), Some(json!(["revenue"]))),
        (&beside, json!([SALES]), Some(json!(["revenue"]))),
        (&only(&[SALES], Scope::Write), json!([SALES]), None),
    ] {
        let token = tokens().issue(&pair.signing, TIME, &issue(rights)).unwrap();
        let token = token.expose_secret();
        let claims = Signed::read(token).unwrap().verified(&pair.verifying).unwrap();
        assert_eq!((claims.get("connection_ids"), claims.get("workspaces")), (Some(&ids), names.as_ref()));
        assert_eq!(&verify(token, &[&pair.verifying], TIME).unwrap().rights, rights);
    }
    let reach = |claims: &Value| {
        verify(&signed(&header(&pair.verifying), claims, &pair), &[&pair.verifying], TIME).unwrap().rights
    };
    for claim in
        [json!("revenue"), json!("[\"revenue\"]"), json!({"0": "revenue"}), json!(null), json!([7, null, ["revenue"]])]
    {
        assert_eq!(reach(&with(claims(), "workspaces", claim.clone())), only(&[SALES], Scope::Write), "{claim}");
    }
    // An invalid scope does not grant what the connections would allow either.
    let named = with(claims(), "workspaces", json!(["revenue"]));
    for (name, claim) in [
        ("workspace_scopes", json!({"revenue": "much"})),
        ("workspace_connections", json!({"revenue": {SALES.to_string(): "much"}})),
    ] {
        let rights = reach(&with(named.clone(), name, claim));
        assert_eq!((rights.scope_in("revenue", [SALES]), rights.scope_at(SALES)), (None, Some(Scope::Write)), "{name}");
    }
}

#[test]
fn an_audience_that_names_a_connection_reaches_no_other() {
    let pair = pair(NewKey::generate().unwrap());
    let both = with(claims(), "connection_ids", json!([SALES, STOCK]));
    let mcp = |id: Uuid| format!("{ISSUER}/mcp/connections/{id}");
    let table: &[(Value, Rights)] = &[
        (json!(ISSUER), only(&[SALES, STOCK], Scope::Write)),
        (json!(format!("{ISSUER}/mcp")), only(&[SALES, STOCK], Scope::Write)),
        (json!(mcp(STOCK)), only(&[STOCK], Scope::Write)),
        (json!(format!("{}/?tools=sql", mcp(STOCK))), only(&[STOCK], Scope::Write)),
        (json!([mcp(STOCK), "https://elsewhere.example"]), only(&[STOCK], Scope::Write)),
        (json!([mcp(STOCK), ISSUER]), only(&[SALES, STOCK], Scope::Write)),
        (json!(mcp(Uuid::nil())), only(&[], Scope::Write)),
    ];
    for (audience, reach) in table {
        let token = signed(&header(&pair.verifying), &with(both.clone(), "aud", audience.clone()), &pair);
        let verified = verify(&token, &[&pair.verifying], TIME).unwrap();
        let opened = tokens().reach_of(&verified.audiences, Endpoint::Mcp).unwrap();
        assert_eq!(verified.rights.intersection(&opened), *reach, "{audience}");
    }
    let one = [mcp(STOCK)];
    assert_eq!(tokens().reach_of(&one, Endpoint::Api), Err(Refusal::WrongAudience), "it is for an MCP endpoint");
    let api = [format!("{ISSUER}/api")];
    assert_eq!(tokens().reach_of(&api, Endpoint::Mcp), Err(Refusal::WrongAudience), "it is for the SQL API");
}

#[test]
fn debug_output_holds_no_key() {
    let key = NewKey::ed25519(&[7; 32]).unwrap();
    let private = format!("{:?}", key.private);
    let signing = SigningKey::new(key.kid, key.algorithm, &key.private);
    let (secret, _) = secret::mint("x").unwrap();
    for shown in [private, format!("{:?}", signing.encoding), format!("{secret:?}")] {
        assert!(shown.to_lowercase().contains("redacted") && !shown.contains("7, 7"), "{shown}");
    }
}

#[test]
fn members_that_stand_twice_and_tokens_bound_to_a_key_are_refused() {
    let pair = pair(NewKey::generate().unwrap());
    let (header, claims) = (header(&pair.verifying).to_string(), claims().to_string());
    let refusal = |header: &str, claims: &str| {
        verify(&signed_texts(header, claims, &pair), &[&pair.verifying], TIME).map(|verified| verified.subject)
    };
    let and = |object: &str, more: &str| format!("{},{more}}}", object.trim_end_matches('}'));
    assert_eq!(refusal(&header, &claims).unwrap(), "ptc_ci_x");
    assert_eq!(refusal(&header, &and(&claims, r#""sub":"boss@example.org""#)), Err(Refusal::Malformed));
    assert_eq!(refusal(&header, &and(&claims, r#""s\u0075b":"boss@example.org""#)), Err(Refusal::Malformed));
    assert_eq!(refusal(&header, &and(&claims, r#""act":{"a":[{"b":1,"b":1}]}"#)), Err(Refusal::Malformed), "within");
    assert_eq!(refusal(&and(&header, r#""typ":"at+jwt""#), &claims), Err(Refusal::Malformed));
    assert_eq!(refusal(&and(&header, r#""x":{"y":1,"y":2}"#), &claims), Err(Refusal::Malformed));
    assert_eq!(refusal(&and(&header, r#""crit":null"#), &claims), Err(Refusal::CriticalHeader));
    assert_eq!(refusal(&header, &and(&claims, r#""cnf":{"jkt":"x"}"#)), Err(Refusal::BoundToKey));
}
