//! What pages of other sites can have a browser do here: nothing that changes something, and no way to send
//! people on to where nobody vouches for.

use reqwest::Method;
use serde_json::json;

use crate::support::app::{TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::person::{Person, REDIRECT, authorize_path, client, redemption, token};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
/// Everything that changes something, and what it reads.
const CHANGING: [(&str, &str); 17] = [
    ("/mcp/connections/11111111-1111-4111-8111-111111111111", JSON),
    ("/api/query", JSON),
    ("/api/batch", JSON),
    ("/api/exec", JSON),
    ("/oauth/token", FORM),
    ("/oauth/revoke", FORM),
    ("/oauth/introspect", FORM),
    ("/oauth/register", JSON),
    ("/authorize/decision", FORM),
    ("/sign-in", FORM),
    ("/account/tokens", FORM),
    ("/account/tokens/revoke", FORM),
    ("/account/applications/revoke", FORM),
    ("/users/accounts", FORM),
    ("/users/people", FORM),
    ("/users/people/change", FORM),
    // Ends the session of the others.
    ("/sign-out", FORM),
];

async fn registering(server: &str) -> TestApp {
    let service = Configuration::new().server(server).sqlite("shop", "");
    service.with("[oauth]\ndynamic_registration = true").start().await
}

/// What is good for `path` but for where it is sent from.
async fn sent(person: &Person<'_>, path: &str, media: Option<&str>, origin: Option<&str>) -> (u16, Option<String>) {
    let csrf = person.get("/account").await.hidden("csrf");
    let body = match CHANGING.iter().find(|(known, _)| *known == path) {
        Some((_, JSON)) => json!({"query": "SELECT 1", "redirect_uris": [REDIRECT], "jsonrpc": "2.0"}).to_string(),
        _ => form_urlencoded::Serializer::new(String::new())
            .append_pair("csrf", &csrf)
            .append_pair("request", "x")
            .finish(),
    };
    let mut request = person.request(Method::POST, path).body(body);
    if path.starts_with("/api") || path.starts_with("/mcp") {
        request = request.basic_auth(&person.app.writer.name, Some(&person.app.writer.secret));
    }
    if let Some(media) = media {
        request = request.header("content-type", media);
    }
    if let Some(origin) = origin {
        request = request.header("origin", origin);
    }
    let answer = request.send().await.unwrap();
    let taken = answer.headers().get("accept").map(|accept| accept.to_str().unwrap().to_owned());
    (answer.status().as_u16(), taken)
}

#[actix_web::test]
async fn what_changes_something_takes_its_media_type_alone_and_no_foreign_page() {
    let app = registering("").await;
    let person = Person::signed_in(&app, &app.writer).await;
    for (path, media) in CHANGING {
        for other in
            [Some("text/plain"), Some("multipart/form-data; boundary=x"), Some(""), Some(JSON), Some(FORM), None]
        {
            let is_open = other.is_none() && path.starts_with("/api");
            if other == Some(media) || is_open {
                continue;
            }
            let (status, taken) = sent(&person, path, other, None).await;
            let refused = if path.starts_with("/oauth") { 400 } else { 415 };
            assert_eq!(status, refused, "{path}: {other:?}");
            assert!(path.starts_with("/mcp") || taken.as_deref() == Some(media), "{path}: {taken:?}");
        }
        for origin in ["https://evil.example", "http://evil.example:8787", "https://localhost.evil.example"] {
            let (status, _) = sent(&person, path, Some(media), Some(origin)).await;
            assert_eq!(status, 403, "{path} from {origin}");
        }
        let (status, _) = sent(&person, path, Some(&format!("{media}; charset=utf-8")), None).await;
        // People's pages have reasons of their own.
        let refuses = path.starts_with("/users") || path == "/sign-in";
        assert!(status != 415 && (status != 403 || refuses), "{path}: {status}");
    }
    let clients = app.store().clients().unwrap();
    assert!(clients.len() == 1, "only the last request of each path was taken: {clients:?}");
}

#[actix_web::test]
async fn a_loopback_listener_answers_to_its_own_names_alone() {
    let app = registering("allowed_hosts = [\"portico.test\"]").await;
    let port = app.url.rsplit_once(':').unwrap().1.to_owned();
    let asked = async |host: &str, path: &str| {
        let request = app.http.get(format!("http://127.0.0.1:{port}{path}")).header("host", host);
        request.send().await.unwrap()
    };
    for path in ["/healthz", "/oauth/register", "/api/connections", "/sign-in", "/.well-known/jwks.json"] {
        for host in
            ["localhost", "localhost.", "LocalHost:1", "127.0.0.1", "[::1]:80", "portico.test", "Portico.Test:8"]
        {
            let answer = asked(host, path).await;
            assert_ne!(answer.status(), 421, "{host} {path}");
        }
        for host in
            ["evil.example", "evil.example:8787", "localhost.evil.example", "portico.test.evil.example", "0.0.0.0"]
        {
            let answer = asked(host, path).await;
            assert_eq!(answer.status(), 421, "{host} {path}");
            let told = read(answer).await.1["error"].to_string();
            assert!(told.contains("server.allowed_hosts") && !told.contains("portico.test"), "{told}");
        }
    }
    // The host of the public address is ours, whatever it is.
    let behind = fixture::with_server("public_url = \"https://data.example.org\"", "").await;
    let health = |host: &'static str| behind.http.get(format!("{}/healthz", behind.url)).header("host", host).send();
    assert_eq!(health("data.example.org").await.unwrap().status(), 200);
    assert_eq!(health("example.org").await.unwrap().status(), 421);
}

/// Requests that are not in order, each in another way.
const WRONG: [(&str, &str); 8] = [
    ("response_type", "token"),
    ("response_mode", "form_post"),
    ("scope", "everything"),
    ("resource", "https://elsewhere.example"),
    ("code_challenge", "short"),
    ("code_challenge_method", "plain"),
    ("prompt", "none"),
    ("request_uri", "https://elsewhere.example"),
];

#[actix_web::test]
async fn nobody_is_sent_on_to_an_application_that_nobody_vouches_for() {
    let app = registering("").await;
    let metadata = json!({"redirect_uris": [REDIRECT], "client_name": "Own", "token_endpoint_auth_method": "none"});
    let registered = app.http.post(format!("{}/oauth/register", app.url)).json(&metadata).send().await.unwrap();
    let own = read(registered).await.1["client_id"].as_str().unwrap().to_owned();
    let (known, _) = client(&app, "Known", false);
    let stranger = Person::new(&app);
    let person = Person::signed_in(&app, &app.writer).await;
    let other = Person::signed_in(&app, &app.reader).await;
    let decline = async |person: &Person<'_>, client: &str| {
        let page = person.authorize(client, &[]).await;
        let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
        person.post("/authorize/decision", &[("csrf", &csrf), ("request", &request), ("decision", "deny")]).await
    };
    for visitor in [&stranger, &person] {
        for wrong in WRONG {
            let page = visitor.authorize(&own, &[wrong]).await;
            assert_eq!((page.status, page.location.as_str()), (400, ""), "{wrong:?}: {}", page.html);
            assert!(page.html.contains("client.example") && !page.html.contains("http-equiv"), "{}", page.html);
            let answered = visitor.authorize(&known.client_id, &[wrong]).await;
            assert_eq!(answered.status, 303, "an administrator registered it: {wrong:?}");
        }
    }
    let page = decline(&person, &own).await;
    assert_eq!((page.status, page.location.as_str()), (403, ""), "{}", page.html);
    assert!(page.html.contains("error=access_denied"), "the person may go on: {}", page.html);
    assert_eq!(decline(&person, &known.client_id).await.parameter("error").as_deref(), Some("access_denied"));
    // Whoever has given it access knows it, and nobody else does.
    let code = person.code(&own).await;
    assert_eq!(token(&app, &redemption(&own, &code)).await.0, 200);
    for wrong in WRONG {
        let answered = person.get(&authorize_path(&own, &[wrong])).await;
        assert_eq!(answered.status, 303, "{wrong:?}");
        assert!(answered.location.starts_with(REDIRECT), "{}", answered.location);
        for visitor in [&stranger, &other] {
            assert_eq!(visitor.authorize(&own, &[wrong]).await.location, "", "{wrong:?}");
        }
    }
    assert_eq!(decline(&person, &own).await.status, 303);
}

#[actix_web::test]
async fn cookies_of_plain_http_are_sent_to_the_paths_that_need_them() {
    let app = registering("").await;
    let person = Person::new(&app);
    let csrf = person.get("/sign-in").await.hidden("csrf");
    let (name, secret) = (&app.writer.name, &app.writer.secret);
    let page = person.post("/sign-in", &[("csrf", &csrf), ("email", name), ("secret", secret)]).await;
    let cookies: Vec<&str> = page.headers.get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap()).collect();
    let begun: Vec<&&str> = cookies.iter().filter(|cookie| cookie.contains("ptc_se_")).collect();
    assert_eq!(begun.len(), 5, "{cookies:?}");
    for cookie in begun {
        assert!(!cookie.contains("Path=/;") && cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
    }
    assert!(cookies.iter().any(|cookie| cookie.starts_with("portico=; Path=/; Max-Age=0")), "{cookies:?}");
}
