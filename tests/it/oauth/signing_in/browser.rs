//! What people do, in a real browser, with scripts and without: the pages need none.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::Rights;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, OTHER, read};
use crate::support::browser::{Browser, Callback};
use crate::support::fixture;
use crate::support::person::{VERIFIER, authorize_path, token};

async fn consent(scripts: bool) {
    let Some(browser) = Browser::start(scripts).await else { return };
    let app = fixture::two_connections().await;
    let callback = Callback::open();
    let new = portico_actors::auth::oauth::client::NewClient {
        name: "Quarterly Reports".to_owned(),
        redirect_uris: vec!["http://127.0.0.1/callback".to_owned()],
        confidential: false,
    };
    let (client, _) = app.store().add_client(&new).unwrap();
    browser
        .go(&format!("{}{}", app.url, authorize_path(&client.client_id, &[("redirect_uri", &callback.address)])))
        .await;
    browser.shows("h1", "Sign in").await;
    assert_eq!(browser.spoken("#secret").await.1, "Password or personal access token");
    browser.picture("sign-in").await;
    browser.write("#email", &app.writer.name).await;
    browser.write("#secret", "wrong wrong wrong").await;
    browser.click("button.primary").await;
    browser.shows("[role=alert]", "do not belong together").await;
    browser.picture("sign-in-failed").await;
    browser.write("#secret", &app.writer.secret).await;
    browser.click("button.primary").await;
    browser.shows("h1", "Quarterly Reports asks for access").await;
    browser.picture("consent").await;
    // Narrowed: one connection less, and only to be read.
    let archive = format!("input[value='{OTHER}']");
    assert_eq!(browser.spoken(&archive).await, ("checkbox".to_owned(), "archive".to_owned()));
    browser.click(&archive).await;
    browser.click("input[value='read']").await;
    browser.click("button[value='allow']").await;
    browser.shows("h1", "Back at the client").await;
    let query = callback.query.lock().unwrap().clone().unwrap();
    let answer: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let parameter = |name: &str| answer.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!((parameter("iss"), parameter("state")), (app.url.clone(), "s t&a=te".to_owned()));
    let (client_id, code) = (client.client_id, parameter("code"));
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", &client_id),
        ("code", &code),
        ("redirect_uri", &callback.address),
        ("code_verifier", VERIFIER),
    ];
    let (status, issued) = token(&app, &form).await;
    assert_eq!((status, &issued["scope"]), (200, &json!("read")), "{issued}");
    let access = issued["access_token"].as_str().unwrap();
    let (_, listed) =
        read(app.http.get(format!("{}/api/connections", app.url)).bearer_auth(access).send().await.unwrap()).await;
    let ids: Vec<&Value> = listed["connections"].as_array().unwrap().iter().map(|it| &it["connectionId"]).collect();
    assert_eq!(ids, [&json!(CONNECTION)]);
    browser.go(&format!("{}/account", app.url)).await;
    browser.shows("main", "Quarterly Reports").await;
}

#[actix_web::test]
async fn a_person_signs_in_and_narrows_what_a_client_gets() {
    consent(true).await;
}

#[actix_web::test]
async fn consent_works_without_scripts() {
    consent(false).await;
}

async fn tokens(scripts: bool) {
    let Some(browser) = Browser::start(scripts).await else { return };
    let app = fixture::two_connections().await;
    let email = "root@example.com";
    let root = NewUser { email: email.to_owned(), rights: Rights::ALL };
    app.store().add_user(root).unwrap();
    let first = NewPat { name: Some("first".to_owned()), ..NewPat::default() };
    let (_, secret) = app.store().create_pat(email, first).unwrap();
    browser.go(&format!("{}/account", app.url)).await;
    browser.write("#email", email).await;
    browser.write("#secret", secret.expose_secret()).await;
    browser.click("button.primary").await;
    browser.shows("h1", "Your access").await;
    browser.write("#name", "notebook").await;
    browser.click(".panel input[value='read']").await;
    browser.click(".panel button.primary").await;
    let token = browser.text(".fresh code").await;
    browser.picture("account-token-made").await;
    let status = async || {
        let request = app.http.get(format!("{}/api/connections", app.url)).basic_auth(email, Some(&token));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 200);
    browser.go(&format!("{}/account", app.url)).await;
    browser.shows("section[aria-labelledby=tokens] tbody tr:first-child .name", "notebook").await;
    assert_eq!(browser.count(".fresh").await, 0, "the token is shown once");
    browser.click("section[aria-labelledby=tokens] tbody tr:first-child summary").await;
    assert_eq!(
        browser.spoken("section[aria-labelledby=tokens] tbody tr:first-child button").await.1,
        "Revoke the token notebook"
    );
    browser.click("section[aria-labelledby=tokens] tbody tr:first-child button").await;
    browser.shows("section[aria-labelledby=tokens] tbody tr:first-child .name", "first").await;
    assert_eq!(status().await, 401);
    // The same hands look after service accounts.
    browser.click("a[href='/users']").await;
    browser.shows("h1", "Users").await;
    browser.write("#name", "nightly").await;
    browser.click(&format!(".panel input[value='{CONNECTION}']")).await;
    browser.click(".panel button.primary").await;
    browser.shows(".fresh", "ptc_cs_").await;
    browser.picture("users-account-made").await;
    browser.click("a[href='/users?tab=people']").await;
    browser.shows("h2#list + div", &app.reader.name).await;
    browser.picture("users-people").await;
    browser.click("header button:not([name])").await;
    browser.shows("h1", "Sign in").await;
    browser.go(&format!("{}/users", app.url)).await;
    assert!(browser.address().await.contains("/sign-in"));
}

#[actix_web::test]
async fn a_person_makes_and_revokes_a_token() {
    tokens(true).await;
}

#[actix_web::test]
async fn tokens_are_managed_without_scripts() {
    tokens(false).await;
}
