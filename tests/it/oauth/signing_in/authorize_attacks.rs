//! What somebody may try against sign-in, consent and tokens, each as a test.

use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::json;

use portico_actors::auth::oauth::client::NewClient;
use portico_actors::auth::records::NewPat;
use portico_actors::principal::{Rights, Scope};

use crate::support::app::CONNECTION;
use crate::support::fixture;
use crate::support::person::{Page, Person, authorize_path, client, opens, redemption, refresh, token};

#[actix_web::test]
async fn a_replayed_code_ends_what_it_led_to() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "C", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let code = person.code(&client.client_id).await;
    let (status, issued) = token(&app, &redemption(&client.client_id, &code)).await;
    assert_eq!(status, 200);
    assert_eq!(opens(&app, &issued["access_token"]).await, 200);
    let (status, refused) = token(&app, &redemption(&client.client_id, &code)).await;
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_grant")));
    assert_eq!(opens(&app, &issued["access_token"]).await, 401);
    let (status, _) = refresh(&app, &client.client_id, issued["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(status, 400);
}

#[actix_web::test]
async fn a_code_is_bound_to_client_verifier_and_address() {
    let app = fixture::on_sqlite().await;
    let (own, _) = client(&app, "Own", false);
    let (other, _) = client(&app, "Other", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let other_verifier = "x".repeat(43);
    for (name, value) in [
        ("client_id", other.client_id.as_str()),
        ("code_verifier", &other_verifier),
        ("code_verifier", "short"),
        ("redirect_uri", "https://client.example/other"),
        ("code", "ptc_ac_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
    ] {
        let code = person.code(&own.client_id).await;
        let mut form = redemption(&own.client_id, &code);
        form.retain(|(known, _)| *known != name);
        form.push((name, value));
        let (status, refused) = token(&app, &form).await;
        assert_eq!((status, &refused["error"]), (400, &json!("invalid_grant")), "{name}: {refused}");
        assert!(!refused.to_string().contains(&code));
    }
    let code = person.code(&own.client_id).await;
    for name in ["code", "code_verifier", "redirect_uri"] {
        let mut form = redemption(&own.client_id, &code);
        form.retain(|(known, _)| *known != name);
        let (status, refused) = token(&app, &form).await;
        assert_eq!((status, &refused["error"]), (400, &json!("invalid_request")), "{name}");
    }
    // What is not well-formed spends nothing.
    assert_eq!(token(&app, &redemption(&own.client_id, &code)).await.0, 200);
}

#[actix_web::test]
async fn nobody_is_sent_to_an_address_that_is_not_the_clients() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "C", false);
    let person = Person::signed_in(&app, &app.writer).await;
    for redirect in [
        "https://evil.example/cb",
        "https://client.example/cb/",
        "https://client.example/cb?x=1",
        "https://client.example/CB",
        "https://client.example:443/cb",
        "https://client.example.evil.example/cb",
        "https://client.example@evil.example/cb",
        "http://client.example/cb",
        "https://client.example/cb#x",
        "https://client.example/cb/../cb",
        "//client.example/cb",
        "javascript:alert(1)",
    ] {
        let page = person.authorize(&client.client_id, &[("redirect_uri", redirect), ("response_type", "token")]).await;
        assert_eq!((page.status, page.location.as_str()), (400, ""), "{redirect}");
        assert!(page.html.contains("redirect_uri is not one of the addresses"), "{}", page.html);
    }
    let path = authorize_path(&client.client_id, &[]);
    for path in [
        format!("{path}&redirect_uri=https%3A%2F%2Fevil.example"),
        format!("{path}&client_id=other"),
        "/authorize".to_owned(),
    ] {
        let page = person.get(&path).await;
        assert_eq!((page.status, page.location.as_str()), (400, ""), "{path}");
    }
    let page = person.authorize("nobody", &[]).await;
    assert_eq!((page.status, page.location.as_str()), (400, ""));
}

#[actix_web::test]
async fn a_known_client_hears_what_is_wrong_with_its_request_and_from_whom() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "C", false);
    // Also before anybody has signed in.
    let person = Person::new(&app);
    for (more, error) in [
        ([("response_type", "token")], "unsupported_response_type"),
        ([("response_type", "")], "invalid_request"),
        ([("response_mode", "fragment")], "invalid_request"),
        ([("code_challenge", "")], "invalid_request"),
        ([("code_challenge", "short")], "invalid_request"),
        ([("code_challenge_method", "plain")], "invalid_request"),
        ([("code_challenge_method", "")], "invalid_request"),
        ([("scope", "everything")], "invalid_scope"),
        ([("resource", "https://elsewhere.example")], "invalid_target"),
        ([("prompt", "none")], "interaction_required"),
        ([("request", "x.y.z")], "request_not_supported"),
    ] {
        let page = person.authorize(&client.client_id, &more).await;
        assert_eq!((page.status, page.parameter("error").as_deref()), (303, Some(error)), "{more:?} {}", page.html);
        assert!(page.location.starts_with("https://client.example/cb?"));
        // RFC 9207: a client of several servers can tell which one speaks.
        assert_eq!(page.parameter("iss"), Some(app.url.clone()));
        assert_eq!(page.parameter("state").as_deref(), Some("s t&a=te"));
    }
    let twice = person.get(&format!("{}&state=other", authorize_path(&client.client_id, &[]))).await;
    assert_eq!((twice.parameter("error").as_deref(), twice.parameter("state")), (Some("invalid_request"), None));
}

#[actix_web::test]
async fn a_form_counts_only_from_our_own_page_in_its_own_session() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "C", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let other = Person::signed_in(&app, &app.reader).await;
    let page = person.authorize(&client.client_id, &[]).await;
    let foreign = other.authorize(&client.client_id, &[]).await.hidden("csrf");
    let (csrf, request, id) = (page.hidden("csrf"), page.hidden("request"), CONNECTION.to_string());
    let form = |csrf| {
        [
            ("csrf", csrf),
            ("request", request.as_str()),
            ("decision", "allow"),
            ("scope", "read"),
            ("connection", id.as_str()),
        ]
    };
    for wrong in ["", "x", foreign.as_str()] {
        assert_eq!(person.post("/authorize/decision", &form(wrong)).await.status, 403, "{wrong:?}");
    }
    for headers in [
        vec![("origin", "https://evil.example")],
        vec![("origin", "null"), ("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site")],
        vec![("origin", app.url.as_str()), ("sec-fetch-site", "cross-site")],
        vec![("origin", "https://evil.example"), ("sec-fetch-site", "same-origin")],
    ] {
        for path in ["/authorize/decision", "/account/tokens", "/sign-out", "/sign-in", "/users/people"] {
            let mut post = person.request(Method::POST, path).form(&form(&csrf));
            for (name, value) in &headers {
                post = post.header(*name, *value);
            }
            let page = person.take(post.send().await.unwrap()).await;
            assert_eq!((page.status, page.location.as_str()), (403, ""), "{path} {headers:?}");
        }
    }
    assert_eq!(person.post("/authorize/decision", &form(&csrf)).await.status, 303);
    let nobody = Person::new(&app).post("/authorize/decision", &form(&csrf)).await;
    assert_eq!(nobody.status, 303);
    assert!(nobody.location.starts_with("/sign-in?next=%2Fauthorize%3F"), "{}", nobody.location);
}

#[actix_web::test]
async fn nobody_is_signed_in_by_another_site() {
    let app = fixture::on_sqlite().await;
    let attacker = Person::new(&app);
    let csrf = attacker.get("/sign-in").await.hidden("csrf");
    let form = [("csrf", csrf.as_str()), ("email", &app.reader.name), ("secret", &app.reader.secret)];
    // The victim's browser has no cookie of that visit, or one of its own.
    let victim = Person::new(&app);
    let page = victim.post("/sign-in", &form).await;
    assert_eq!((page.status, victim.cookies.borrow().contains_key("portico")), (403, false));
    victim.get("/sign-in").await;
    assert_eq!(victim.post("/sign-in", &form).await.status, 403);
    assert!(!victim.cookies.borrow().contains_key("portico"));
}

#[actix_web::test]
async fn signing_in_begins_a_fresh_session_and_ends_the_one_before() {
    let app = fixture::on_sqlite().await;
    let person = Person::signed_in(&app, &app.reader).await;
    let before = person.cookies.borrow()["portico"].clone();
    // Somebody put a cookie of their own into the browser.
    let fixed = Person::new(&app);
    fixed.cookies.borrow_mut().insert("portico".to_owned(), "ptc_se_chosen".to_owned());
    assert_eq!(fixed.sign_in(&app.writer.name, &app.writer.secret).await.status, 303);
    assert_ne!(fixed.cookies.borrow()["portico"], "ptc_se_chosen");
    // With a session, the sign-in page leads on; the form itself takes the place of the session.
    person.cookies.borrow_mut().remove("portico");
    let csrf = person.get("/sign-in").await.hidden("csrf");
    person.cookies.borrow_mut().insert("portico".to_owned(), before.clone());
    let form = [("csrf", csrf.as_str()), ("email", &app.writer.name), ("secret", &app.writer.secret)];
    assert_eq!(person.post("/sign-in", &form).await.status, 303);
    let old = Person::new(&app);
    old.cookies.borrow_mut().insert("portico".to_owned(), before);
    assert_eq!(old.get("/account").await.location, "/sign-in?next=/account");
    let cookies = person.get("/account").await;
    assert!(cookies.html.contains(&app.writer.name));
}

#[actix_web::test]
async fn sign_in_leads_nowhere_else() {
    let app = fixture::on_sqlite().await;
    let person = Person::new(&app);
    for next in ["https://evil.example/", "//evil.example", "/\\evil.example", "/sign-out", "javascript:alert(1)"] {
        let csrf = person.get("/sign-in").await.hidden("csrf");
        let form =
            [("csrf", csrf.as_str()), ("next", next), ("email", &app.reader.name), ("secret", &app.reader.secret)];
        assert_eq!(person.post("/sign-in", &form).await.location, "/account", "{next}");
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
        assert_eq!(person.get(&format!("/sign-in?{query}")).await.location, "/account", "{next}");
        person.cookies.borrow_mut().clear();
    }
}

fn check_headers(page: &Page, what: &str) {
    let header = |name: &str| page.headers.get(name).unwrap_or_else(|| panic!("{what}: {name}")).to_str().unwrap();
    let policy = header("content-security-policy");
    for rule in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"] {
        assert!(policy.contains(rule), "{what}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!((header("x-frame-options"), header("referrer-policy")), ("DENY", "no-referrer"), "{what}");
    assert_eq!((header("cache-control"), header("x-content-type-options")), ("no-store", "nosniff"), "{what}");
}

#[actix_web::test]
async fn every_page_is_framed_nowhere_kept_nowhere_and_runs_nothing() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "C", false);
    let person = Person::new(&app);
    let authorize = authorize_path(&client.client_id, &[]);
    for path in [authorize.as_str(), "/sign-in", "/account", "/users", "/authorize"] {
        check_headers(&person.get(path).await, path);
    }
    let person = Person::signed_in(&app, &app.writer).await;
    for path in [authorize.as_str(), "/account", "/users"] {
        let page = person.get(path).await;
        check_headers(&page, path);
        assert!(!page.html.contains("<script") && !page.html.contains("style="), "{path}");
    }
    let consent = person.get(&authorize).await;
    let policy = consent.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("form-action 'self' https://client.example;"), "{policy}");
    let page = Person::new(&app);
    let response = page.request(Method::GET, "/sign-in").send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    for rule in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(rule), "{cookie}");
    }
}

#[actix_web::test]
async fn over_tls_the_cookie_belongs_to_the_host_alone_and_forms_say_where_they_are_from() {
    let app = fixture::with_server("public_url = \"https://data.example\"", "").await;
    let person = Person::signed_in(&app, &app.writer).await;
    assert!(person.cookies.borrow().keys().eq(["__Host-portico"]), "{:?}", person.cookies);
    let visitor = Person::new(&app);
    let page = visitor.get("/sign-in").await;
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-portico-visit=") && cookie.ends_with("; Secure"), "{cookie}");
    assert!(!cookie.contains("Domain") && cookie.contains("Path=/;"), "{cookie}");
    let csrf = person.get("/account").await.hidden("csrf");
    let form = [("csrf", csrf.as_str()), ("name", "x"), ("scope", "read"), ("expires", "7"), ("reach", "all")];
    let post =
        |origin: &'static str| person.request(Method::POST, "/account/tokens").header("origin", origin).form(&form);
    for origin in ["null", "http://data.example", "https://data.example.evil.example", "https://evil.example"] {
        assert_eq!(post(origin).send().await.unwrap().status(), 403, "{origin}");
    }
    assert_eq!(post("https://data.example").send().await.unwrap().status(), 200);
    // Two cookies of the name were not both set here.
    let secret = person.cookies.borrow()["__Host-portico"].clone();
    let twice = Person::new(&app).request(Method::GET, "/account");
    let twice = twice.header("cookie", format!("__Host-portico={secret}; __Host-portico=ptc_se_other"));
    assert_eq!(twice.send().await.unwrap().status(), 303);
}

#[actix_web::test]
async fn names_are_shown_as_text() {
    let app = fixture::on_sqlite().await;
    let evil = r#"<script>alert(1)</script>"'><img src=x onerror=alert(1)>"#;
    let new = NewClient {
        name: evil.to_owned(),
        redirect_uris: vec!["https://client.example/cb".to_owned()],
        confidential: false,
    };
    let (client, _) = app.store().add_client(&new).unwrap();
    let person = Person::new(&app);
    let state = ("state", evil);
    let before = person.authorize(&client.client_id, &[state]).await;
    let refused = person.sign_in("\"><script>alert(1)</script>@x", "wrong wrong wrong").await;
    let person = Person::signed_in(&app, &app.writer).await;
    let consent = person.authorize(&client.client_id, &[state]).await;
    assert_eq!(
        person
            .act("/account/tokens", &[("name", evil), ("scope", "read"), ("expires", "7"), ("reach", "all")])
            .await
            .status,
        200
    );
    let account = person.get("/account").await;
    for page in [before, refused, consent, account] {
        assert!(page.html.contains("&#60;script&#62;"), "{}", page.html);
        assert!(!page.html.contains("<script") && !page.html.contains("<img src=x"), "{}", page.html);
    }
}

#[actix_web::test]
async fn a_narrowed_token_is_no_way_to_a_wider_one() {
    let app = fixture::two_connections().await;
    let (client, _) = client(&app, "C", false);
    let narrow =
        NewPat { name: Some("narrow".to_owned()), rights: Rights::only([CONNECTION], Scope::Read), expires_at: None };
    let (record, secret) = app.store().create_pat(&app.writer.name, narrow).unwrap();
    let person = Person::new(&app);
    assert_eq!(person.sign_in(&app.writer.name, secret.expose_secret()).await.status, 303);
    let make = [("name", "wide"), ("scope", "write"), ("expires", "never"), ("reach", "all")];
    assert_eq!(person.act("/account/tokens", &make).await.status, 403);
    let (pat, _) = app.store().create_pat(&app.writer.name, NewPat::default()).unwrap();
    assert_eq!(person.act("/account/tokens/revoke", &[("id", &pat.id.to_string())]).await.status, 403);
    // Consent stays within it, and ends with it.
    let page = person.authorize(&client.client_id, &[]).await;
    assert!(!page.html.contains("archive") && !page.html.contains("value=\"write\""), "{}", page.html);
    assert_eq!(person.allow(&page, "write", &[&CONNECTION.to_string()]).await.status, 400);
    let code = person.code(&client.client_id).await;
    let (_, issued) = token(&app, &redemption(&client.client_id, &code)).await;
    assert_eq!(opens(&app, &issued["access_token"]).await, 200);
    app.store().revoke_pat(&record.id.to_string()).unwrap();
    app.look().await;
    assert_eq!(opens(&app, &issued["access_token"]).await, 401);
    assert_eq!(person.get("/account").await.location, "/sign-in?next=/account");
}

#[actix_web::test]
async fn another_persons_things_are_left_alone() {
    let app = fixture::on_sqlite().await;
    let person = Person::signed_in(&app, &app.reader).await;
    let theirs = app.store().pats(Some(&app.writer.name)).unwrap().remove(0);
    assert_eq!(person.act("/account/tokens/revoke", &[("id", &theirs.id.to_string())]).await.status, 404);
    assert_eq!(app.get("/api/connections").send().await.unwrap().status(), 200);
    assert_eq!(person.get("/users").await.status, 403);
    for (path, form) in [
        ("/users/people", vec![("email", "x@example.com"), ("scope", "admin"), ("reach", "all")]),
        ("/users/people/change", vec![("id", app.writer.name.as_str()), ("action", "remove")]),
        ("/users/accounts", vec![("name", "x"), ("scope", "admin")]),
        ("/users/accounts/change", vec![("id", "agent"), ("action", "rotate")]),
    ] {
        assert_eq!(person.act(path, &form).await.status, 403, "{path}");
    }
}
