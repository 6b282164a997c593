//! Tests of other issuers' tokens: which are access tokens, and which of their claims are used here.

use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use serde_json::{Value, json};

use super::attacks::{Pair, signed, signed_texts, with, without};
use super::issuers::{NOW, Publisher, THEIRS, ask, claims, ed25519_pem, header, issuer, key};
use super::support::House;
use crate::keys::key::Algorithm;
use crate::{AuthActor, IssuerIdentity, IssuerKey, IssuerKeys, TrustedIssuer};
use portico_core::identity::{Mapping, Pattern, RoleClaim};
use portico_core::principal::{Principal, Scope};

/// An issuer with one key, its key pair, and an actor that trusts it.
struct Their {
    pair: Pair,
    actor: Addr<AuthActor>,
}

impl Their {
    async fn new(house: &House, change: impl FnOnce(TrustedIssuer) -> TrustedIssuer) -> Self {
        let pair = key(Algorithm::EdDsa);
        let fixed = IssuerKeys::Fixed(IssuerKey::from_pem(&ed25519_pem(&pair)).unwrap());
        let actor = house.trusting(vec![change(issuer(fixed))]).await;
        Self { pair, actor }
    }

    async fn opens(&self, header: &Value, claims: &Value) -> Option<Arc<Principal>> {
        ask(&self.actor, signed(header, claims, &self.pair)).await
    }

    async fn claims(&self, claims: &Value) -> Option<Arc<Principal>> {
        self.opens(&header(&self.pair), claims).await
    }
}

#[actix::test]
async fn only_access_tokens_open_something_whatever_their_type_says() {
    let their = Their::new(&House::new(), |issuer| issuer).await;
    let typed = |typ: &str| with(header(&their.pair), "typ", json!(typ));
    let untyped = without(header(&their.pair), "typ");
    for header in [typed("at+jwt"), typed("AT+JWT"), typed("application/at+jwt"), typed("jwt"), untyped.clone()] {
        assert!(their.opens(&header, &claims()).await.is_some(), "{header}");
    }
    for typ in ["logout+jwt", "secevent+jwt", "id_token+jwt", "dpop+jwt", "JOSE", "", "text/at+jwt"] {
        assert!(their.opens(&typed(typ), &claims()).await.is_none(), "{typ}");
    }
    let logout = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
    for (what, claims) in [
        ("a logout token", with(claims(), "events", logout)),
        ("an ID token with a hash", with(claims(), "at_hash", json!("x"))),
        ("an ID token of the hybrid flow", with(claims(), "c_hash", json!("x"))),
        ("an ID token that says so", with(claims(), "token_use", json!("id"))),
        ("one of Keycloak's", with(claims(), "typ", json!("ID"))),
        ("a refresh token", with(claims(), "typ", json!("Refresh"))),
        ("a token bound to a key", with(claims(), "cnf", json!({"x5t#S256": "x"}))),
    ] {
        for header in [typed("JWT"), typed("at+jwt"), untyped.clone()] {
            assert!(their.opens(&header, &claims).await.is_none(), "{what}, {header}");
        }
    }
    for claims in [
        with(claims(), "nonce", json!("x")),
        with(claims(), "token_use", json!("access")),
        with(claims(), "typ", json!("Bearer")),
    ] {
        assert!(their.claims(&claims).await.is_some(), "{claims}");
    }
    let scope = Some(Scope::Read);
    let lenient = Their::new(&House::new(), |issuer| TrustedIssuer { scope, ..issuer }).await;
    let without_scope = without(claims(), "scope");
    assert!(lenient.claims(&without_scope).await.is_some());
    assert!(lenient.claims(&with(without_scope, "nonce", json!("x"))).await.is_none(), "an ID token");
    for (types, header, opens) in [
        (vec!["at+jwt"], json!("JWT"), false),
        (vec!["at+jwt"], Value::Null, false),
        (vec!["application/AT+jwt"], json!("at+jwt"), true),
        (vec!["access"], json!("access"), true),
        (vec![], json!("at+jwt"), false),
    ] {
        let types = types.into_iter().map(str::to_owned).collect();
        let their = Their::new(&House::new(), |issuer| TrustedIssuer { types, ..issuer }).await;
        let header = with(super::issuers::header(&their.pair), "typ", header);
        assert_eq!(their.opens(&header, &claims()).await.is_some(), opens, "{header}");
    }
}

#[actix::test]
async fn a_token_lasts_no_longer_than_allowed() {
    let their = Their::new(&House::new(), |issuer| issuer).await;
    let day = 86_400;
    for (iat, exp, opens) in [
        (json!(NOW), NOW + day, true),
        (json!(NOW - 60), NOW + day, false),
        (json!(NOW - 7 * day), NOW + 60, false),
        (Value::Null, NOW + day + 30, true),
        (Value::Null, NOW + day + 31, false),
        (Value::Null, i64::MAX, false),
        (json!(i64::MIN), NOW + 60, false),
    ] {
        let claims = with(with(claims(), "exp", json!(exp)), "iat", iat.clone());
        assert_eq!(their.claims(&claims).await.is_some(), opens, "{iat} to {exp}");
    }
    let week = Duration::from_hours(7 * 24);
    let their = Their::new(&House::new(), |issuer| TrustedIssuer { max_age: week, ..issuer }).await;
    assert!(their.claims(&with(claims(), "exp", json!(NOW + 7 * day))).await.is_some());
}

#[actix::test]
async fn members_that_stand_twice_are_refused_also_within_others() {
    let their = Their::new(&House::new(), |issuer| issuer).await;
    let (head, claims) = (header(&their.pair).to_string(), claims().to_string());
    let and = |object: &str, more: &str| format!("{},{more}}}", object.strip_suffix('}').unwrap());
    let opens =
        async |head: &str, claims: &str| ask(&their.actor, signed_texts(head, claims, &their.pair)).await.is_some();
    assert!(opens(&head, &and(&claims, r#""a":{"b":1}"#)).await);
    assert!(!opens(&head, &and(&claims, r#""a":{"b":1,"b":1}"#)).await);
    assert!(!opens(&head, &and(&claims, r#""sub":"boss""#)).await);
    assert!(!opens(&head, &and(&claims, &format!(r#""iss":"{THEIRS}""#))).await);
    assert!(!opens(&and(&head, r#""alg":"EdDSA""#), &claims).await);
}

#[actix::test]
async fn texts_that_would_be_shown_as_others_are_refused() {
    let identity = IssuerIdentity { claims: vec!["tenant".to_owned()], claim: None };
    let their = Their::new(&House::new(), |issuer| TrustedIssuer { identity: Some(identity), ..issuer }).await;
    for hidden in ['\0', '\n', '\u{7f}', '\u{85}', '\u{202e}', '\u{2066}', '\u{2028}', '\u{200f}', '\u{61c}'] {
        let text = json!(format!("a{hidden}b"));
        for (claim, value) in [
            ("sub", text.clone()),
            ("jti", text.clone()),
            ("tenant", text.clone()),
            ("tenant", json!([{"x": ["y", text]}])),
            ("tenant", json!({format!("a{hidden}b"): 1})),
        ] {
            assert!(their.claims(&with(claims(), claim, value)).await.is_none(), "{claim} {:x}", u32::from(hidden));
        }
        assert!(their.claims(&with(claims(), "unused", text)).await.is_some(), "{:x}", u32::from(hidden));
    }
    assert!(
        their.claims(&with(claims(), "sub", json!("rob\u{200b}ot"))).await.is_none(),
        "two subjects that look alike"
    );
    let joined = with(claims(), "tenant", json!("\u{645}\u{646}\u{200c}\u{645}"));
    assert!(their.claims(&joined).await.is_some(), "letters that are joined in Persian");
}

/// Claims by which a caller could be taken for another person, an account or a role of ours.
fn tempting() -> Value {
    let claims = with(with(claims(), "email", json!("ann@example.org")), "role", json!("postgres"));
    let claims = with(with(claims, "client_id", json!(format!("{THEIRS}#robot"))), "name", json!("reporting"));
    with(with(claims, "groups", json!(["emea", "apac"])), "tenant", json!("t1"))
}

#[actix::test]
async fn of_an_issuers_claims_only_those_count_that_its_own_table_names() {
    let mapping = |claim: Option<&str>, pattern: Option<&str>| Mapping {
        principals: [("ann@example.org", "north"), ("reporting", "reports")]
            .map(|(name, role)| (name.to_owned(), role.to_owned()))
            .into(),
        claim: claim.map(|name| RoleClaim { name: name.to_owned(), roles: None }),
        pattern: pattern.map(|pattern| Pattern::parse(pattern).unwrap()),
    };
    let rules = || {
        ["email", "role", "client_id", "name", "groups", "tenant"].into_iter().flat_map(move |claim| {
            let pattern = format!("app_{{{claim}}}");
            [(claim, mapping(Some(claim), None)), (claim, mapping(None, Some(&pattern)))]
        })
    };
    for identity in [None, Some(IssuerIdentity::default())] {
        let their = Their::new(&House::new(), |issuer| TrustedIssuer { identity, ..issuer }).await;
        let robot = their.claims(&tempting()).await.unwrap();
        assert!(robot.claims.all().is_empty() && robot.account().is_none(), "{robot:?}");
        for (claim, rule) in rules() {
            assert!(rule.role("shop", &robot).is_err(), "{claim}: {:?}", rule.role("shop", &robot));
        }
    }

    let roles = |pairs: &[(&str, &str)]| Some(pairs.iter().map(|(v, r)| ((*v).to_owned(), (*r).to_owned())).collect());
    let identity = IssuerIdentity {
        claims: vec!["tenant".to_owned(), "email".to_owned()],
        claim: Some(RoleClaim { name: "groups".to_owned(), roles: roles(&[("apac", "their_apac")]) }),
    };
    let their = Their::new(&House::new(), |issuer| TrustedIssuer { identity: Some(identity), ..issuer }).await;
    let robot = their.claims(&tempting()).await.unwrap();
    assert_eq!(Value::Object(robot.claims.all().clone()), json!({"tenant": "t1"}), "nobody verified the address");
    for (claim, rule) in rules() {
        assert_eq!(rule.role("shop", &robot).unwrap(), "their_apac", "{claim}");
    }
    let robot =
        their.claims(&with(with(tempting(), "groups", json!([])), "email_verified", json!(true))).await.unwrap();
    assert_eq!(robot.claims.all()["email"], "ann@example.org");
    for (claim, rule) in rules() {
        assert_eq!(rule.role("shop", &robot).is_ok(), ["tenant", "email"].contains(&claim), "{claim}");
    }
    for verified in [json!(false), json!("true"), json!(1), Value::Null] {
        let robot = their.claims(&with(tempting(), "email_verified", verified.clone())).await.unwrap();
        assert!(!robot.claims.all().contains_key("email"), "{verified}");
    }
}

#[actix::test]
async fn keys_that_cannot_be_fetched_anew_are_used_for_a_day() {
    let (house, pair) = (House::new(), key(Algorithm::EdDsa));
    let publisher = Publisher::start(&[&pair.verifying]).await;
    let actor = house.trusting(vec![publisher.issuer()]).await;
    let opens = async || {
        let claims = with(claims(), "exp", json!(house.now().seconds() + 600));
        ask(&actor, signed(&header(&pair), &claims, &pair)).await.is_some()
    };
    assert!(opens().await);
    publisher.answer_with("503 Service Unavailable", "");
    house.pass(86_400 - 300);
    assert!(opens().await, "known keys outlive an outage");
    house.until_told(1).await;
    let before_the_end = with(claims(), "exp", json!(house.now().seconds() + 900));
    let remembered = signed(&header(&pair), &before_the_end, &pair);
    assert!(ask(&actor, remembered.clone()).await.is_some());
    house.pass(301);
    assert!(!opens().await);
    assert!(ask(&actor, remembered).await.is_none(), "what was remembered ends with them");
    house.until_told(2).await;
    let told = house.outages();
    assert!(told.last().unwrap().contains("tokens are refused until newer keys are fetched"), "{told:?}");
    publisher.publish(&[&pair.verifying]);
    house.pass(10);
    assert!(opens().await, "asked again, they are there");
}
