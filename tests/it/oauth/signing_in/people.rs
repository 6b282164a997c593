//! People's own pages, and what administrators do there.

use portico_actors::auth::oauth::client::NewClient;
use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::Rights;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::fixture;
use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, read};
use crate::support::person::Person;

/// The secret that a page shows once.
fn shown(html: &str, prefix: &str) -> String {
    let (_, rest) = html.split_once(&format!("<code>{prefix}")).unwrap_or_else(|| panic!("no {prefix} in {html}"));
    format!("{prefix}{}", rest.split('<').next().unwrap())
}

async fn connections(app: &TestApp, name: &str, secret: &str) -> (u16, usize) {
    let request = app.http.get(format!("{}/api/connections", app.url)).basic_auth(name, Some(secret));
    let (status, body) = read(request.send().await.unwrap()).await;
    (status, body["connections"].as_array().map_or(0, Vec::len))
}

#[actix_web::test]
async fn a_person_makes_uses_and_revokes_a_token() {
    let app = fixture::two_connections().await;
    let person = Person::signed_in(&app, &app.writer).await;
    let id = OTHER.to_string();
    let form =
        [("name", "laptop"), ("scope", "read"), ("expires", "30"), ("reach", "only"), ("connection", id.as_str())];
    let page = person.act("/account/tokens", &form).await;
    let token = shown(&page.html, "ptc_pat_");
    assert_eq!(connections(&app, &app.writer.name, &token).await, (200, 1));
    let write = app.http.post(format!("{}/api/query", app.url)).basic_auth(&app.writer.name, Some(&token));
    let write = write.json(&json!({"query": "DELETE FROM archive.main.orders"})).send().await.unwrap();
    assert_eq!(write.status(), 403);
    let page = person.get("/account").await;
    assert!(!page.html.contains(&token), "it is shown once");
    let row = page.html.split("<tr>").find(|row| row.contains(">laptop<")).unwrap();
    assert!(row.contains("archive") && !row.contains(">never<"), "last used and expiry are there: {row}");
    let pat = app.store().pats(Some(&app.writer.name)).unwrap().into_iter().find(|pat| pat.name == "laptop").unwrap();
    assert!(pat.last_used_at.is_some() && pat.expires_at.is_some());
    let answer = person.act("/account/tokens/revoke", &[("id", &pat.id.to_string())]).await;
    assert_eq!(answer.status, 303);
    assert_eq!(connections(&app, &app.writer.name, &token).await.0, 401);
    for wrong in [
        [("name", ""), ("scope", "read"), ("expires", "30"), ("reach", "all")],
        [("name", "x"), ("scope", "admin"), ("expires", "30"), ("reach", "all")],
        [("name", "x"), ("scope", "read"), ("expires", "1000"), ("reach", "all")],
        [("name", "x"), ("scope", "read"), ("expires", "30"), ("reach", "only")],
    ] {
        assert_eq!(person.act("/account/tokens", &wrong).await.status, 400, "{wrong:?}");
    }
}

#[actix_web::test]
async fn a_password_signs_in_and_failures_are_counted() {
    let app = fixture::on_sqlite().await;
    let password = SecretString::from("correct horse battery");
    app.store().change_password(&app.writer.name, Some(&password)).unwrap();
    let person = Person::new(&app);
    assert_eq!(person.sign_in(&app.writer.name.to_uppercase(), "correct horse battery").await.status, 303);
    // A new password ends every session.
    app.store().change_password(&app.writer.name, Some(&password)).unwrap();
    assert_eq!(person.get("/account").await.status, 303);
    let person = Person::new(&app);
    for (email, secret) in [
        (app.reader.name.as_str(), "correct horse battery"),
        ("nobody@example.com", "correct horse battery"),
        (&app.writer.name, "wrong horse battery"),
        (&app.writer.name, &app.reader.secret),
        (&app.writer.name, ""),
    ] {
        let page = person.sign_in(email, secret).await;
        assert_eq!(page.status, 401, "{email}");
        assert!(page.html.contains("do not belong together") && !page.html.contains("correct horse"), "{}", page.html);
    }
    for _ in 0..3 {
        assert_eq!(person.sign_in(&app.writer.name, "wrong horse battery").await.status, 401);
    }
    let page = person.sign_in(&app.writer.name, "correct horse battery").await;
    assert_eq!(page.status, 429, "even the right one waits now");
    assert!(page.headers.contains_key("retry-after"));
    // A token cannot be guessed and does not wait.
    assert_eq!(person.sign_in(&app.writer.name, &app.writer.secret).await.status, 303);
}

#[actix_web::test]
async fn signing_out_everywhere_ends_every_session() {
    let app = fixture::on_sqlite().await;
    let (one, two) = (Person::signed_in(&app, &app.writer).await, Person::signed_in(&app, &app.writer).await);
    let other = Person::signed_in(&app, &app.reader).await;
    let secret = one.cookies.borrow()["portico"].clone();
    assert_eq!(one.act("/sign-out", &[]).await.location, "/sign-in");
    one.cookies.borrow_mut().insert("portico".to_owned(), secret);
    assert_eq!(one.get("/account").await.status, 303, "the session has ended, not only its cookie");
    let three = Person::signed_in(&app, &app.writer).await;
    assert_eq!(two.act("/sign-out", &[("everywhere", "1")]).await.status, 303);
    assert_eq!((three.get("/account").await.status, other.get("/account").await.status), (303, 200));
}

fn administrator(app: &TestApp) -> Caller {
    let email = "root@example.com".to_owned();
    let new = NewUser { email: email.clone(), rights: Rights::ALL };
    app.store().add_user(new).unwrap();
    let (_, secret) = app.store().create_pat(&email, NewPat::default()).unwrap();
    Caller { name: email, secret: secret.expose_secret().to_owned() }
}

#[actix_web::test]
async fn an_administrator_looks_after_service_accounts() {
    let app = fixture::on_sqlite().await;
    let person = Person::signed_in(&app, &administrator(&app)).await;
    let id = CONNECTION.to_string();
    let form = [("name", "nightly"), ("scope", "read"), ("connection", id.as_str())];
    let page = person.act("/users/accounts", &form).await;
    let (client, secret) = (shown(&page.html, "ptc_ci_"), shown(&page.html, "ptc_cs_"));
    let exchange = async |secret: &str| {
        let form = [("grant_type", "client_credentials"), ("client_id", client.as_str()), ("client_secret", secret)];
        app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap().status().as_u16()
    };
    assert_eq!(exchange(&secret).await, 200);
    let change =
        async |action: &str| person.act("/users/accounts/change", &[("id", &client), ("action", action)]).await;
    let rotated = shown(&change("rotate").await.html, "ptc_cs_");
    assert_eq!((exchange(&secret).await, exchange(&rotated).await), (401, 200));
    assert_eq!(change("disable").await.location, "/users");
    assert_eq!(exchange(&rotated).await, 401);
    assert!(person.get("/users").await.html.contains("disabled"));
    change("enable").await;
    assert_eq!(exchange(&rotated).await, 200);
    change("remove").await;
    assert_eq!(exchange(&rotated).await, 401);
    assert_eq!(change("remove").await.status, 404);
    assert_eq!(change("nonsense").await.status, 400);
}

#[actix_web::test]
async fn an_administrator_looks_after_users() {
    let app = fixture::on_sqlite().await;
    let root = administrator(&app);
    let person = Person::signed_in(&app, &root).await;
    let page = person.act("/users/people", &[("email", "new@example.com"), ("scope", "write"), ("reach", "all")]).await;
    let token = shown(&page.html, "ptc_pat_");
    let fresh = Caller { name: "new@example.com".to_owned(), secret: token.clone() };
    let newcomer = Person::signed_in(&app, &fresh).await;
    // A token made with the first one ends with it.
    let page = newcomer
        .act("/account/tokens", &[("name", "mine"), ("scope", "write"), ("expires", "never"), ("reach", "all")])
        .await;
    assert_eq!(page.status, 200);
    let pats = app.store().pats(Some(&fresh.name)).unwrap();
    assert_eq!(pats[0].expires_at, pats[1].expires_at);
    let change = async |email: &str, action: &str| {
        person.act("/users/people/change", &[("id", email), ("action", action)]).await.status
    };
    assert_eq!(change(&fresh.name, "disable").await, 303);
    assert_eq!((connections(&app, &fresh.name, &token).await.0, newcomer.get("/account").await.status), (401, 303));
    assert_eq!(newcomer.sign_in(&fresh.name, &token).await.status, 401);
    change(&fresh.name, "enable").await;
    assert_eq!(connections(&app, &fresh.name, &token).await.0, 200);
    assert_eq!(change(&fresh.name, "remove").await, 303);
    assert_eq!(connections(&app, &fresh.name, &token).await.0, 401);
    for action in ["disable", "remove"] {
        assert_eq!(change(&root.name, action).await, 400, "nobody shuts themselves out");
    }
}

#[actix_web::test]
async fn what_is_registered_on_the_command_line_is_checked_there() {
    let app = fixture::on_sqlite().await;
    let new = |uri: &str| NewClient { name: "x".to_owned(), redirect_uris: vec![uri.to_owned()], confidential: false };
    for wrong in ["http://client.example/cb", "javascript:alert(1)", "https://client.example/#x"] {
        assert!(app.store().add_client(&new(wrong)).is_err(), "{wrong}");
    }
    let (client, _) = app.store().add_client(&new("com.example.app:/cb")).unwrap();
    assert!(app.store().add_client(&new("https://client.example")).unwrap_err().message.contains("already a client"));
    assert_eq!(app.store().remove_client("x").unwrap().client_id, client.client_id);
    assert!(app.store().clients().unwrap().is_empty());
}
