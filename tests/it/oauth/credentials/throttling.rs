//! Limits on attempts, tokens and requests. Each test allows one in a minute, or two.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;

use super::doors::{Clients, DOORS, connections, show_wrong, throttled};
use crate::support::app::{Caller, TestApp, read, within};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::person::Person;

#[actix_web::test]
async fn failures_under_one_name_are_slowed_and_lock_nobody_out() {
    let app = fixture::limited("failures_per_name = 1").await;
    let Caller { name, secret } = &app.writer;
    // A name that exists and one that does not are answered alike, before and after.
    for name in [name.as_str(), "nobody@example.com"] {
        let first = connections(&app, name, "wrong").await;
        assert_eq!(first.status(), 401, "{name}");
        let second = connections(&app, &name.to_uppercase(), "wrong again").await;
        assert_eq!(second.status(), 429, "{name}");
        throttled(second.headers(), "failures-by-name");
        assert!(!second.headers().contains_key("www-authenticate"));
        assert_eq!(read(second).await.1["error"]["code"], 1600);
    }
    assert_eq!(connections(&app, name, secret).await.status(), 200, "who has the secret is let in");
    assert_eq!(connections(&app, &app.reader.name, &app.reader.secret).await.status(), 200);
    assert_eq!(connections(&app, &app.reader.name, "wrong").await.status(), 401, "each name has its own");
}

/// Signs in with a password, through a trusted proxy that tells of `address`.
async fn sign_in(app: &TestApp, address: &str, email: &str, password: &str) -> (u16, bool) {
    let person = Person::new(app);
    let csrf = person.get("/sign-in").await.hidden("csrf");
    let form = [("csrf", csrf.as_str()), ("email", email), ("secret", password)];
    let request = person.request(Method::POST, "/sign-in").header("x-forwarded-for", address);
    let page = person.take(request.header("sec-fetch-site", "same-origin").form(&form).send().await.unwrap()).await;
    (page.status, page.headers.contains_key("retry-after"))
}

#[actix_web::test]
async fn strangers_who_guess_a_password_lock_nobody_out() {
    let service = Configuration::new().server("trusted_proxies = [\"127.0.0.1\"]").sqlite("shop", "");
    let app = service.with("[limits]\nfailures_per_name = 5").start().await;
    let (email, password) = (app.writer.name.clone(), "correct horse battery");
    app.store().change_password(&email, Some(&password.into())).unwrap();
    assert_eq!(sign_in(&app, "198.51.100.1", &email, password).await.0, 303);
    // One place is bounded, for a name that exists and for one that does not.
    for name in [email.as_str(), "nobody@example.com"] {
        let from = if name == email { "192.0.2.1" } else { "192.0.2.2" };
        for _ in 0..5 {
            assert_eq!(sign_in(&app, from, name, "wrong").await.0, 401, "{name}");
        }
        assert_eq!(sign_in(&app, from, name, "wrong").await, (429, true), "{name}");
    }
    // Now the name is being guessed: at home it opens at once, and elsewhere it waits for its turn, and opens.
    let begun = Instant::now();
    assert_eq!(sign_in(&app, "198.51.100.1", &email, password).await.0, 303);
    assert!(begun.elapsed() < Duration::from_secs(30), "strangers kept it waiting");
    let elsewhere = within("a turn of its own", sign_in(&app, "198.51.100.2", &email, password)).await;
    assert_eq!(elsewhere.0, 303);
    let other = &app.reader.name;
    app.store().change_password(other, Some(&password.into())).unwrap();
    assert_eq!(sign_in(&app, "198.51.100.2", other, password).await.0, 303, "another name is not concerned");
    // Without the proxy's word it is one address, and what it has used up is used up.
    for _ in 0..5 {
        sign_in(&app, "203.0.113.1", "eve@example.com", "wrong").await;
    }
    let mut last = (0, false);
    for _ in 0..3 {
        last = sign_in(&app, "203.0.113.1", "eve@example.com", "wrong").await;
    }
    assert_eq!(last, (429, true));
}

#[actix_web::test]
async fn headers_of_a_proxy_that_is_not_trusted_change_nothing() {
    let app = fixture::limited("failures_per_address = 2").await;
    let failed = async |header: &str, value: String| {
        let request = app.http.get(format!("{}/api/connections", app.url)).header(header, value);
        request.basic_auth("x@example.com", Some("wrong")).send().await.unwrap().status().as_u16()
    };
    assert_eq!(failed("x-forwarded-for", "192.0.2.1".to_owned()).await, 401);
    assert_eq!(failed("forwarded", "for=192.0.2.2".to_owned()).await, 401);
    for number in 3..6 {
        assert_eq!(failed("x-forwarded-for", format!("192.0.2.{number}")).await, 429);
        assert_eq!(failed("forwarded", format!("for=192.0.2.{number}")).await, 429);
    }
}

#[actix_web::test]
async fn only_the_header_that_the_proxy_writes_is_believed() {
    for (written, own) in [("x-forwarded-for", "forwarded"), ("forwarded", "x-forwarded-for")] {
        let server = format!("trusted_proxies = [\"127.0.0.1\"]\nforwarded_header = \"{written}\"");
        let service = Configuration::new().server(&server).sqlite("shop", "");
        let app = service.with("[limits]\nfailures_per_address = 2").start().await;
        let value = |header: &str, address: String| match header {
            "forwarded" => format!("for={address}"),
            _ => address,
        };
        let failed = async |address: &str, number: usize| {
            let request = app.http.get(format!("{}/api/connections", app.url));
            let request = request.header(written, value(written, address.to_owned()));
            let request = request.header(own, value(own, format!("203.0.113.{number}")));
            request.basic_auth("x@example.com", Some("wrong")).send().await.unwrap().status().as_u16()
        };
        let mut seen = Vec::new();
        for number in 1..5 {
            seen.push(failed("192.0.2.1", number).await);
        }
        assert_eq!(seen, [401, 401, 429, 429], "the client's own {own} undid the limit");
        assert_eq!(failed("192.0.2.2", 1).await, 401, "another client has its own");
    }
}

#[actix_web::test]
async fn clients_register_themselves_at_a_rate() {
    let app = fixture::limited("registrations_per_address = 2\n[oauth]\ndynamic_registration = true").await;
    let register = || {
        let body = json!({"redirect_uris": ["https://client.example/cb"], "client_name": "x"});
        app.http.post(format!("{}/oauth/register", app.url)).json(&body).send()
    };
    assert_eq!(register().await.unwrap().status(), 201);
    assert_eq!(register().await.unwrap().status(), 201);
    let third = register().await.unwrap();
    assert_eq!(third.status(), 429);
    throttled(third.headers(), "registrations");
    assert_eq!(read(third).await.1["error"], "temporarily_unavailable");
}

#[actix_web::test]
async fn failures_from_one_address_are_slowed_at_every_endpoint() {
    let app = fixture::limited("failures_per_address = 2").await;
    let bearer = |token: &str| app.mcp_request().bearer_auth(token).body("{}").send();
    assert_eq!(bearer("a.b.c").await.unwrap().status(), 401);
    assert_eq!(connections(&app, "one@example.com", "wrong").await.status(), 401);
    let third = bearer("d.e.f").await.unwrap();
    assert_eq!(third.status(), 429);
    throttled(third.headers(), "failures-by-address");
    let client = [("grant_type", "client_credentials"), ("client_id", "x"), ("client_secret", "y")];
    let fourth = app.http.post(format!("{}/oauth/token", app.url)).form(&client).send().await.unwrap();
    assert_eq!(fourth.status(), 429);
    throttled(fourth.headers(), "failures-by-address");
    assert_eq!(read(fourth).await.1["error"], "temporarily_unavailable");
    let nobody = app.mcp_request().body("{}").send().await.unwrap();
    assert_eq!(nobody.status(), 401, "who shows nothing is no attempt, and is told how to begin");
    let good = app.token().await;
    assert_eq!(bearer(&good).await.unwrap().status(), 400, "a good token is let in, and the body is judged");
}

#[actix_web::test]
async fn tokens_and_requests_have_limits_of_their_own() {
    let app = fixture::limited("tokens_per_client = 1\nrequests_per_principal = 2").await;
    let token = app.token().await;
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", app.agent.name.as_str()),
        ("client_secret", &app.agent.secret),
    ];
    let second = app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap();
    assert_eq!(second.status(), 429);
    throttled(second.headers(), "tokens");
    let ask =
        || app.http.post(format!("{}/api/query", app.url)).bearer_auth(&token).json(&json!({"query": "SELECT 1"}));
    let first = ask().header("idempotency-key", "one").send().await.unwrap();
    assert_eq!(
        (first.status().as_u16(), first.headers()["ratelimit-policy"].as_bytes()),
        (200, &b"\"requests\";q=2;w=60"[..])
    );
    assert!(first.headers()["ratelimit"].to_str().unwrap().starts_with("\"requests\";r=1;t="), "one request is one");
    assert_eq!(ask().send().await.unwrap().status(), 200);
    let third = ask().send().await.unwrap();
    assert_eq!(third.status(), 429);
    throttled(third.headers(), "requests");
    assert_eq!(connections(&app, &app.writer.name, &app.writer.secret).await.status(), 200, "another caller goes on");
}

#[actix_web::test]
async fn what_is_wrong_does_not_wait_for_whoever_writes() {
    let app = fixture::limited("failures_per_address = 3").await;
    let clients = Clients::new(&app);
    let writer = rusqlite::Connection::open(app.config.with_file_name("portico.db")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    for door in DOORS {
        for _ in 0..2 {
            let status = within(door, show_wrong(&app, &clients, door)).await;
            assert!(matches!(status, 200 | 400 | 401 | 429), "{door}: {status}");
        }
    }
    writer.execute_batch("ROLLBACK").unwrap();
}

#[actix_web::test]
async fn a_name_longer_than_any_address_is_refused_before_anything_is_done_with_it() {
    let app = fixture::limited("failures_per_address = 3").await;
    let longest = format!("{}@example.com", "a".repeat(242));
    for (name, status, page) in [(longest.clone(), 401, 401), (format!("b{longest}"), 401, 400)] {
        assert_eq!(connections(&app, &name, "wrong").await.status(), status, "{}", name.len());
        assert_eq!(Person::new(&app).sign_in(&name, "wrong").await.status, page, "{}", name.len());
    }
}
