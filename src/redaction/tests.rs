//! Tests of what is a secret and what is not; and that the search misses none.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const BODY: &str = "Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9";

#[test]
fn secrets_are_known_by_their_forms() {
    for (text, clean) in [
        (format!("ptc_pat_{BODY}"), "[redacted]"),
        (format!("a PTC_CS_{BODY}, and more"), "a [redacted], and more"),
        (format!("/x/ptc%5fpat%5F{BODY}/y"), "/x/[redacted]/y"),
        (format!("next=%252Fa%253Fb%253Dptc_rt_{BODY}%2526c"), "next=%252Fa%253Fb%253D[redacted]%2526c"),
        (format!("xptc_new_{BODY}"), "x[redacted]"),
        (format!("was ptc_se_{}", &BODY[..6]), "was [redacted]"),
        ("Bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln".to_owned(), "Bearer [redacted]"),
        ("agent/eyJhbGciOiJFUzI1NiJ9.eyJpc3Mi".to_owned(), "agent/[redacted]"),
        ("ewogICJhbGciOiAiUlMyNTYiCn0.eyJpc3M.c2ln".to_owned(), "[redacted]"),
        ("basic dXNlcjpwYXNzd29yZA==".to_owned(), "basic [redacted]"),
        ("postgres://ann:s3cr3t@db/x".to_owned(), "postgres://ann:[redacted]@db/x"),
        ("postgres://ann:s3/cr@3t@db/x".to_owned(), "postgres://ann:[redacted]@db/x"),
        ("at postgres://ann:s3cr".to_owned(), "at postgres://ann:[redacted]"),
        ("curl/8 YW5uQGV4YW1wbGUub3JnOmh1bnRlcjI= x".to_owned(), "curl/8 [redacted] x"),
        ("client_secret=abc&x=1".to_owned(), "client_secret=[redacted]&x=1"),
        ("host=db password='a b' user=x".to_owned(), "host=db password='[redacted]' user=x"),
        ("{\"refresh_token\": \"abc\"}".to_owned(), "{\"refresh_token\": \"[redacted]\"}"),
        ("is $argon2id$v=19$m=19456$c2FsdA$aGFzaA".to_owned(), "is [redacted]"),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC".to_owned(), "[redacted]-----END EC"),
    ] {
        assert_eq!(redact(&text), clean, "{text}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "",
        "ann@example.org",
        "ptc_ci_Zm9vYmFyZm9vYmFyZm9v",
        "ptc_app_Zm9vYmFyZm9vYmFyZm9v",
        "a name must not begin with ptc_, as ids and secrets do (ptc_pat_…)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",
        "/mcp/connections/6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11",
        "https://data.example.org:8443/a/b@c?d=e:f@g",
        "http://[::1]:8080/x@y",
        "the personal access token is unknown: the token: belongs to another user",
        "Basic authentication failed; send Bearer <token> or Basic base64(email:token)",
        "SELECT password FROM users WHERE token = :token",
        "WHERE token=$1 AND secret='***' AND password=?",
        "key-layouts-of-keyboards-everywhere",
        "100% of 5%zz é%C3%A9",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}: {}", redact(text));
    }
}

#[test]
fn a_secret_is_found_in_base64_wherever_it_begins() {
    for name in ["a:", "ab:", "abc:", "", "ann@example.org:", "/?>:"] {
        for text in
            [STANDARD.encode(format!("{name}ptc_pat_{BODY}")), URL_SAFE_NO_PAD.encode(format!("{name}ptc_rt_{BODY}"))]
        {
            assert_eq!(redact(&format!("agent ({text})")), "agent ([redacted])", "{name}");
        }
    }
}

proptest! {
    /// What is skipped for speed starts no secret.
    #[test]
    fn every_place_is_looked_at(pieces in prop::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let octets = text.as_bytes();
        let begins_run = |at: usize| is_base64(octets[at]) && (at == 0 || !is_base64(octets[at - 1]));
        let is_long = |at: usize| run(octets, at, is_base64) - at >= SHORTEST_PASTED;
        let first = (0..octets.len()).find(|at| secret_at(octets, *at, begins_run(*at) && is_long(*at)).is_some());
        let mut places = Places::new(octets);
        let found = std::iter::from_fn(|| places.next()).find(|(place, run)| secret_at(octets, *place, *run).is_some());
        prop_assert_eq!(found.map(|(place, _)| place), first, "{}", text);
    }
}

fn piece() -> impl Strategy<Value = String> {
    let encoded = |text: &str| STANDARD.encode(text);
    prop_oneof![
        "[a-zA-Z0-9+/=_:;,. \"'%$-]{1,20}",
        prop::sample::select(vec![
            "ptc_pat_".to_owned(),
            "Bearer ".to_owned(),
            "basic ".to_owned(),
            "://".to_owned(),
            "ann:s3cr3t@db".to_owned(),
            "password=".to_owned(),
            "\"token\": \"".to_owned(),
            "$argon2id$v=19".to_owned(),
            "-----BEGIN PRIVATE KEY-----".to_owned(),
            "eyJhbGciOiJFUzI1NiJ9.".to_owned(),
            BODY.to_owned(),
            encoded("ann@example.org:hunter2"),
            encoded("x ptc_pat_Zm9vYmFyZm9v y"),
        ]),
    ]
}
