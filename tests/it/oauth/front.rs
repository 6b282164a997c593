//! `/`: a page for people, whoever they are, and the addresses for programs.

use reqwest::Response;
use serde_json::json;

use crate::support::app::{CONNECTION, TestApp, read};
use crate::support::browser::Browser;
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::person::Person;

const HTML: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn get(app: &TestApp, accept: &str, cookie: &str) -> Response {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    http.get(format!("{}/", app.url)).header("accept", accept).header("cookie", cookie).send().await.unwrap()
}

#[actix_web::test]
async fn programs_get_the_addresses_and_each_of_them_is_there() {
    let app = fixture::on_sqlite().await;
    let answer = get(&app, "application/json", "").await;
    assert!(answer.headers()["vary"].to_str().unwrap().contains("accept"));
    let (status, addresses) = read(answer).await;
    assert_eq!((status, &addresses["name"]), (200, &json!("Portico")));
    let at = |name: &str| addresses[name].as_str().unwrap().to_owned();
    assert_eq!(at("mcp"), format!("{}/mcp", app.url));
    assert_eq!(at("api"), format!("{}/api", app.url));
    for (name, statuses) in [
        ("mcp", [401, 405]),
        ("token", [405, 405]),
        ("authorize", [400, 400]),
        ("revoke", [405, 405]),
        ("introspect", [405, 405]),
        ("register", [405, 405]),
        ("authorizationServer", [200, 200]),
        ("protectedResource", [200, 200]),
        ("jwks", [200, 200]),
        ("openapi", [200, 200]),
        ("docs", [200, 200]),
        ("health", [200, 200]),
        ("ready", [200, 200]),
        ("account", [200, 200]),
    ] {
        let found = app.http.get(at(name)).send().await.unwrap().status().as_u16();
        assert!(statuses.contains(&found), "{name}: {found}");
    }
    let closed = Configuration::new().sqlite("shop", "").with("[oauth]\ndynamic_registration = false").start().await;
    let (_, addresses) = read(get(&closed, "application/json", "").await).await;
    assert!(addresses.get("register").is_none(), "{addresses}");
}

#[actix_web::test]
async fn a_stranger_is_told_what_this_is_and_whether_it_is_well() {
    let app = fixture::on_sqlite().await;
    for accept in [HTML, "*/*", ""] {
        let answer = get(&app, accept, "").await;
        assert_eq!(answer.status(), 200, "{accept}");
        let policy = answer.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("script"), "{policy}");
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
        let html = answer.text().await.unwrap();
        for shown in ["Sign in", "takes calls", &format!("{}/mcp", app.url), "width=device-width"] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        assert!(!html.contains("shop") && !html.contains("<script"), "{html}");
    }
}

#[actix_web::test]
async fn whoever_is_signed_in_sees_what_they_may_use_and_how() {
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.main.orders\" }]";
    let app = Configuration::new().sqlite("shop", "").sqlite("archive", "").with(workspace).start().await;
    let person = Person::signed_in(&app, &app.writer).await;
    let home = person.get("/").await;
    assert_eq!(home.status, 200);
    for shown in [
        "shop",
        "archive",
        "store",
        "SQLite",
        "workspace",
        "Personal access tokens",
        "claude mcp add",
        &app.writer.name,
    ] {
        assert!(home.html.contains(shown), "{shown}: {}", home.html);
    }
    assert!(home.html.contains(&format!("{}/mcp/connections/shop", app.url)), "{}", home.html);
    let chosen = person.get("/account?workspace=store").await;
    assert!(chosen.html.contains("Connect a client to store"), "{}", chosen.html);
    assert!(chosen.html.contains(&format!("--scope user store {}/mcp/workspaces/store", app.url)), "{}", chosen.html);
    // What one does not reach is not there to choose.
    let unknown = person.get("/account?connection=nothing").await;
    assert!(unknown.html.contains("Connect a client</h2>"), "{}", unknown.html);
    let narrow = app.run(&["pat", "create", &app.writer.name, "--connection", "archive", "--scope", "read"]).await;
    app.look().await;
    let narrowed = Person::new(&app);
    assert_eq!(narrowed.sign_in(&app.writer.name, narrow["pat"].as_str().unwrap()).await.status, 303);
    let home = narrowed.get("/").await;
    assert!(home.html.contains("archive") && !home.html.contains("connections/shop"), "{}", home.html);
    assert!(!home.html.contains(&CONNECTION.to_string()), "{}", home.html);
}

#[actix_web::test]
async fn a_browser_that_is_signed_in_is_led_on_without_its_secret() {
    let app = fixture::on_sqlite().await;
    let person = Person::signed_in(&app, &app.reader).await;
    let mark = "portico-signed-in";
    assert_eq!(person.cookies.borrow().get(mark).map(String::as_str), Some("1"));
    // Over plain http the cookie of the session is not sent here, the mark alone.
    let led = get(&app, HTML, "portico-signed-in=1").await;
    assert_eq!((led.status().as_u16(), led.headers()["location"].to_str().unwrap()), (303, "/account"));
    assert_eq!(get(&app, HTML, "portico-signed-in=2").await.status(), 200, "another's cookie");
    assert_eq!(person.act("/sign-out", &[]).await.status, 303);
    assert!(!person.cookies.borrow().contains_key(mark), "it goes with the session");
}

#[actix_web::test]
async fn the_page_is_good_in_a_browser_and_on_a_phone() {
    let Some(browser) = Browser::start(true).await else { return };
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.main.orders\" }]";
    let app = Configuration::new().sqlite("shop", "").with(workspace).start().await;
    let windows = [("wide", 1100), ("phone", 390)];
    for (name, width) in windows {
        browser.resize(width, 844).await;
        browser.go(&app.url).await;
        browser.shows("h1", "Your databases").await;
        assert_eq!(browser.spoken("a.button").await, ("link".to_owned(), "Sign in".to_owned()));
        browser.fits(name).await;
        browser.picture(&format!("front-{name}")).await;
    }
    browser.click("a.button").await;
    browser.shows("h1", "Sign in").await;
    browser.write("#email", &app.writer.name).await;
    browser.write("#secret", &app.writer.secret).await;
    browser.click("button.primary").await;
    browser.shows("h1", "Your access").await;
    for (name, width) in windows {
        browser.resize(width, 844).await;
        browser.go(&app.url).await;
        browser.shows("h2#places", "Connections and workspaces").await;
        browser.click("section[aria-labelledby=connect] details summary").await;
        browser.shows("section[aria-labelledby=connect] pre", "claude mcp add").await;
        browser.fits(name).await;
        browser.picture(&format!("home-{name}")).await;
    }
}
