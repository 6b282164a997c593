//! Every door where something secret is shown: what is wrong is counted at each, and at all of them together.

use reqwest::Response;
use reqwest::header::HeaderMap;

use super::fixture;
use crate::support::app::TestApp;
use crate::support::person::{Person, VERIFIER, client, redemption, refresh, token};

/// The three headers of an answer that went beyond the limit `policy`.
pub(crate) fn throttled(headers: &HeaderMap, policy: &str) {
    let header = |name: &str| headers.get(name).unwrap_or_else(|| panic!("{name}")).to_str().unwrap();
    let seconds: u64 = header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(header("ratelimit").starts_with(&format!("\"{policy}\";r=0;t=")), "{}", header("ratelimit"));
    assert!(header("ratelimit-policy").starts_with(&format!("\"{policy}\";q=")), "{}", header("ratelimit-policy"));
}

pub(crate) async fn connections(app: &TestApp, name: &str, secret: &str) -> Response {
    app.http.get(format!("{}/api/connections", app.url)).basic_auth(name, Some(secret)).send().await.unwrap()
}

/// Every door where something secret is shown, and what is wrong there.
pub(crate) const DOORS: [&str; 14] = [
    "a personal access token",
    "an access token",
    "a service account's secret",
    "a code",
    "a code's client secret",
    "a refresh token",
    "a refresh token's client secret",
    "a token at the sign-in",
    "a secret at introspection",
    "a token at introspection",
    "a secret at revocation",
    "a token at revocation",
    "a refresh token at revocation",
    "a session's cookie",
];

/// An application without a secret, and one with.
pub(crate) struct Clients {
    public: String,
    confidential: String,
}

impl Clients {
    pub(crate) fn new(app: &TestApp) -> Self {
        let id = |name, confidential| client(app, name, confidential).0.client_id;
        Self { public: id("Public", false), confidential: id("Confidential", true) }
    }
}

/// Shows something wrong at a door: the status of the answer.
pub(crate) async fn show_wrong(app: &TestApp, clients: &Clients, door: &str) -> u16 {
    let Clients { public, confidential } = clients;
    let (refresh, code) = (format!("ptc_rt_{}", "a".repeat(43)), format!("ptc_ac_{}", "a".repeat(43)));
    let agent = [("client_id", app.agent.name.as_str()), ("client_secret", app.agent.secret.as_str())];
    let wrong = |name| [("client_id", name), ("client_secret", "ptc_cs_wrong")];
    let redeem = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", "https://client.example/cb"),
        ("code_verifier", VERIFIER),
    ];
    let renew = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
    let oauth = async |path: &str, form: Vec<(&str, &str)>| {
        let answer = app.http.post(format!("{}/oauth/{path}", app.url)).form(&form).send().await.unwrap();
        let status = answer.status().as_u16();
        if status == 429 {
            throttled(answer.headers(), "failures-by-address");
        }
        status
    };
    match door {
        "a personal access token" => connections(app, "x@example.com", "ptc_pat_wrong").await.status().as_u16(),
        "an access token" => app.mcp_request().bearer_auth("a.b.c").body("{}").send().await.unwrap().status().as_u16(),
        "a service account's secret" => {
            oauth("token", [&[("grant_type", "client_credentials")], &wrong(&app.agent.name)[..]].concat()).await
        }
        "a code" => oauth("token", [&redeem[..], &[("client_id", public)]].concat()).await,
        "a code's client secret" => oauth("token", [&redeem[..], &wrong(confidential)].concat()).await,
        "a refresh token" => oauth("token", [&renew[..], &[("client_id", public)]].concat()).await,
        "a refresh token's client secret" => oauth("token", [&renew[..], &wrong(confidential)].concat()).await,
        "a token at the sign-in" => {
            let wrong = format!("ptc_pat_{}", "a".repeat(43));
            let page = Person::new(app).sign_in(&app.writer.name, &wrong).await;
            page.status
        }
        "a secret at introspection" => {
            oauth("introspect", [&[("token", "x")], &wrong(&app.agent.name)[..]].concat()).await
        }
        "a token at introspection" => oauth("introspect", [&[("token", "a.b.c")], &agent[..]].concat()).await,
        "a secret at revocation" => oauth("revoke", [&[("token", "x")], &wrong(confidential)[..]].concat()).await,
        "a token at revocation" => oauth("revoke", vec![("token", "a.b.c"), ("client_id", public)]).await,
        "a refresh token at revocation" => oauth("revoke", vec![("token", &refresh), ("client_id", public)]).await,
        "a session's cookie" => {
            let cookie = format!("portico=ptc_se_{}", "a".repeat(43));
            let page = app.http.get(format!("{}/sign-in", app.url)).header("cookie", cookie);
            page.send().await.unwrap().status().as_u16()
        }
        other => panic!("{other}"),
    }
}

#[actix_web::test]
async fn every_door_counts_what_is_wrong_and_they_count_together() {
    for (number, door) in DOORS.into_iter().enumerate() {
        let app = fixture::limited("failures_per_address = 3").await;
        let clients = Clients::new(&app);
        let person = Person::signed_in(&app, &app.writer).await;
        let code = person.code(&clients.public).await;
        let issued = token(&app, &redemption(&clients.public, &code)).await.1;
        let later = person.code(&clients.public).await;
        for attempt in 0..3 {
            let status = show_wrong(&app, &clients, door).await;
            assert!(matches!(status, 200 | 400 | 401), "{door}, attempt {attempt}: {status}");
        }
        assert_eq!(show_wrong(&app, &clients, door).await, 429, "{door}");
        let next = DOORS[(number + 1) % DOORS.len()];
        assert_eq!(show_wrong(&app, &clients, next).await, 429, "{next} behind {door}");
        // What is right opens all the same.
        assert_eq!(token(&app, &redemption(&clients.public, &later)).await.0, 200, "{door}");
        let current = issued["refresh_token"].as_str().unwrap();
        assert_eq!(refresh(&app, &clients.public, current, &[]).await.0, 200, "{door}");
        assert_eq!(connections(&app, &app.writer.name, &app.writer.secret).await.status(), 200, "{door}");
        assert_eq!(Person::new(&app).sign_in(&app.writer.name, &app.writer.secret).await.status, 303, "{door}");
    }
}

#[actix_web::test]
async fn a_browser_is_told_to_forget_a_session_that_is_over() {
    let app = fixture::limited("failures_per_address = 2").await;
    let shown = |cookie: &str| app.http.get(format!("{}/sign-in", app.url)).header("cookie", cookie.to_owned()).send();
    let unknown = format!("portico=ptc_se_{}", "a".repeat(43));
    for status in [200, 200, 429] {
        let answer = shown(&unknown).await.unwrap();
        assert_eq!(answer.status(), status);
        let cookies: Vec<_> = answer.headers().get_all("set-cookie").iter().map(|it| it.to_str().unwrap()).collect();
        assert!(cookies.iter().any(|it| it.starts_with("portico=; ") && it.contains("Max-Age=0")), "{cookies:?}");
    }
    // Without it the page is there again, and a session opens what it opens.
    assert_eq!(shown("other=1").await.unwrap().status(), 200);
    let person = Person::signed_in(&app, &app.reader).await;
    for _ in 0..4 {
        assert_eq!(person.get("/account").await.status, 200);
    }
    app.store().disable_user(&app.reader.name).unwrap();
    assert_eq!(person.get("/account").await.status, 429, "it is nobody's any more");
    assert!(!person.cookies.borrow().contains_key("portico"));
}
