//! A person at a browser without JavaScript, as small as it can be: cookies, forms, no redirects
//! followed; and a client that waits for its answer.

use std::cell::RefCell;
use std::collections::BTreeMap;

use portico_actors::auth::oauth::client::{Client, NewClient};
use reqwest::{RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde_json::Value;

use super::app::{Caller, TestApp, builder, read};

/// The example of RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// Where the test's client waits.
pub(crate) const REDIRECT: &str = "https://client.example/cb";

/// A status, a place to go on to, and a page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) location: String,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) html: String,
}

impl Page {
    /// The value of the first hidden field of that name.
    pub(crate) fn hidden(&self, name: &str) -> String {
        let start = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
        let (_, rest) = self.html.split_once(&start).unwrap_or_else(|| panic!("no {name} in {}", self.html));
        let value = rest.split('"').next().unwrap();
        value
            .replace("&#38;", "&")
            .replace("&#34;", "\"")
            .replace("&#39;", "'")
            .replace("&#60;", "<")
            .replace("&#62;", ">")
    }

    /// A parameter of the place to go on to.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.location.split_once('?')?.1;
        let mut all = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
        let first = all.next().map(|(_, value)| value.into_owned());
        assert!(all.next().is_none(), "{name} twice in {}", self.location);
        first
    }
}

/// A browser.
pub(crate) struct Person<'a> {
    pub(crate) app: &'a TestApp,
    http: reqwest::Client,
    pub(crate) cookies: RefCell<BTreeMap<String, String>>,
}

impl<'a> Person<'a> {
    pub(crate) fn new(app: &'a TestApp) -> Self {
        let http = builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { app, http, cookies: RefCell::default() }
    }

    /// A person who signed in with a token.
    pub(crate) async fn signed_in(app: &'a TestApp, by: &Caller) -> Self {
        let person = Self::new(app);
        let page = person.sign_in(&by.name, &by.secret).await;
        assert_eq!((page.status, page.location.as_str()), (303, "/account"), "{}", page.html);
        person
    }

    pub(crate) async fn sign_in(&self, email: &str, secret: &str) -> Page {
        let csrf = self.get("/sign-in").await.hidden("csrf");
        self.post("/sign-in", &[("csrf", &csrf), ("email", email), ("secret", secret)]).await
    }

    pub(crate) fn request(&self, method: reqwest::Method, path: &str) -> RequestBuilder {
        let cookies: Vec<String> =
            self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self.http.request(method, format!("{}{path}", self.app.url));
        if cookies.is_empty() { request } else { request.header("cookie", cookies.join("; ")) }
    }

    pub(crate) async fn take(&self, response: Response) -> Page {
        for cookie in response.headers().get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.contains("Max-Age=0") {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        let headers = response.headers().clone();
        let location = headers.get("location").map_or("", |it| it.to_str().unwrap()).to_owned();
        Page { status: response.status().as_u16(), location, headers, html: response.text().await.unwrap() }
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        self.take(self.request(reqwest::Method::GET, path).send().await.unwrap()).await
    }

    /// Sends a form as the browser would that has the page before it.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Page {
        let request = self.request(reqwest::Method::POST, path).header("origin", "null");
        self.take(request.header("sec-fetch-site", "same-origin").form(form).send().await.unwrap()).await
    }

    /// Sends a form with the token of the account page.
    pub(crate) async fn act(&self, path: &str, form: &[(&str, &str)]) -> Page {
        let csrf = self.get("/account").await.hidden("csrf");
        self.post(path, &[&[("csrf", csrf.as_str())], form].concat()).await
    }

    /// Asks for consent with these parameters, besides the usual ones; an empty value leaves one out.
    pub(crate) async fn authorize(&self, client: &str, more: &[(&str, &str)]) -> Page {
        self.get(&authorize_path(client, more)).await
    }

    /// Allows what the page asks for, with that scope and those connections.
    pub(crate) async fn allow(&self, page: &Page, scope: &str, connections: &[&str]) -> Page {
        let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
        let mut form = vec![("csrf", csrf.as_str()), ("request", &request), ("decision", "allow"), ("scope", scope)];
        form.extend(connections.iter().map(|id| ("connection", *id)));
        self.post("/authorize/decision", &form).await
    }

    /// A code for everything that the usual request asks for, on the first connection.
    pub(crate) async fn code(&self, client: &str) -> String {
        let page = self.authorize(client, &[]).await;
        let answer = self.allow(&page, "read", &[&super::app::CONNECTION.to_string()]).await;
        answer.parameter("code").unwrap_or_else(|| panic!("{answer:?}"))
    }
}

/// The path of a usual request, with these parameters; an empty value leaves one out.
pub(crate) fn authorize_path(client: &str, more: &[(&str, &str)]) -> String {
    let usual = [
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "s t&a=te"),
        ("scope", "read write"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let kept = usual.iter().filter(|(name, _)| !more.iter().any(|(other, _)| other == name));
    let all = kept.chain(more).filter(|(_, value)| !value.is_empty());
    format!("/authorize?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish())
}

/// Registers a client as the command line does.
pub(crate) fn client(app: &TestApp, name: &str, confidential: bool) -> (Client, String) {
    let new = NewClient { name: name.to_owned(), redirect_uris: vec![REDIRECT.to_owned()], confidential };
    let (client, secret) = app.store().add_client(&new).unwrap();
    (client, secret.map(|secret| secret.expose_secret().to_owned()).unwrap_or_default())
}

/// The form that redeems a code.
pub(crate) fn redemption<'f>(client: &'f str, code: &'f str) -> Vec<(&'f str, &'f str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]
}

/// `POST /oauth/token`.
pub(crate) async fn token(app: &TestApp, form: &[(&str, &str)]) -> (u16, Value) {
    read(app.http.post(format!("{}/oauth/token", app.url)).form(form).send().await.unwrap()).await
}

/// `POST /oauth/token` with a refresh token.
pub(crate) async fn refresh(app: &TestApp, client: &str, token_: &str, more: &[(&str, &str)]) -> (u16, Value) {
    let form = [&[("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token_)], more].concat();
    token(app, &form).await
}

/// The status that the list of connections answers to an access token.
pub(crate) async fn opens(app: &TestApp, access: &Value) -> u16 {
    let request = app.http.get(format!("{}/api/connections", app.url)).bearer_auth(access.as_str().unwrap());
    request.send().await.unwrap().status().as_u16()
}
