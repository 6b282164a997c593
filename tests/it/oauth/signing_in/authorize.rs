//! A person signs in, narrows what a client asks for, and the client gets exactly that.

use reqwest::Url;
use serde_json::{Value, json};

use super::fixture;
use crate::support::app::{CONNECTION, OTHER, TestApp, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::person::{Person, REDIRECT, VERIFIER, authorize_path, client, opens, redemption, refresh, token};

#[actix_web::test]
async fn a_client_gets_what_the_person_agreed_to_and_no_more() {
    let app = fixture::two_connections().await;
    let (client, _) = client(&app, "Reporter", false);
    let person = Person::new(&app);
    // Nobody is signed in: the page for that comes first, and leads back.
    let page = person.authorize(&client.client_id, &[]).await;
    assert!(page.html.contains("Sign in") && page.html.contains("Reporter"), "{}", page.html);
    let (csrf, next) = (page.hidden("csrf"), page.hidden("next"));
    let form = [("csrf", csrf.as_str()), ("next", &next), ("email", &app.writer.name), ("secret", &app.writer.secret)];
    let page = person.post("/sign-in", &form).await;
    assert_eq!((page.status, &page.location), (303, &next));
    let page = person.get(&next).await;
    for shown in ["Reporter", "client.example", "shop", "archive", &app.writer.name] {
        assert!(page.html.contains(shown), "{shown}: {}", page.html);
    }
    // Both are asked for; the person gives one, to be read.
    let answer = person.allow(&page, "read", &[&OTHER.to_string()]).await;
    assert_eq!(answer.status, 303);
    assert!(answer.location.starts_with(&format!("{REDIRECT}?")), "{}", answer.location);
    assert_eq!(answer.parameter("state").as_deref(), Some("s t&a=te"));
    assert_eq!(answer.parameter("iss"), Some(app.url.clone()));
    let code = answer.parameter("code").unwrap();
    let (status, issued) = token(&app, &redemption(&client.client_id, &code)).await;
    assert_eq!((status, &issued["scope"], &issued["token_type"]), (200, &json!("read"), &json!("Bearer")), "{issued}");
    let access = issued["access_token"].as_str().unwrap();
    let (_, listed) =
        read(app.http.get(format!("{}/api/connections", app.url)).bearer_auth(access).send().await.unwrap()).await;
    let names: Vec<&Value> = listed["connections"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["archive"]);
    let shop = app.mcp_request().bearer_auth(access).body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(shop.send().await.unwrap().status(), 403, "the other connection was not given");
    let write = app.http.post(format!("{}/api/query", app.url)).bearer_auth(access);
    let write = write.json(&json!({"query": "DELETE FROM archive.main.orders"})).send().await.unwrap();
    assert_eq!(write.status(), 403);
    // What the person may do less of, the client may too.
    app.store().remove_user(&app.writer.name).unwrap();
    // A store in a database tells a moment later.
    eventually("the end of a removed user's token", async || opens(&app, &issued["access_token"]).await == 401).await;
}

#[actix_web::test]
async fn a_resource_is_the_audience_and_offers_its_connection_alone() {
    let app = fixture::two_connections().await;
    let (client, _) = client(&app, "Agent", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let resource = format!("{}/mcp/connections/{CONNECTION}", app.url);
    let page = person.authorize(&client.client_id, &[("resource", &resource)]).await;
    assert!(page.html.contains("shop") && !page.html.contains("archive"), "{}", page.html);
    assert_eq!(person.allow(&page, "read", &[&OTHER.to_string()]).await.status, 400, "it was not offered");
    let answer = person.allow(&page, "write", &[&CONNECTION.to_string()]).await;
    let code = answer.parameter("code").unwrap();
    let mut form = redemption(&client.client_id, &code);
    form.push(("resource", &resource));
    let (_, issued) = token(&app, &form).await;
    let claims = claims(&issued["access_token"]);
    assert_eq!((&claims["aud"], &claims["connection_ids"]), (&json!(resource), &json!([CONNECTION])));
    assert_eq!((&claims["sub"], &claims["client_id"]), (&json!(app.writer.name), &json!(client.client_id)));
    let ping = app.mcp_request().bearer_auth(issued["access_token"].as_str().unwrap());
    assert_eq!(ping.body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).send().await.unwrap().status(), 200);
    // A refresh cannot reach further than the grant.
    let wider = [("resource", app.url.as_str())];
    let refused = refresh(&app, &client.client_id, issued["refresh_token"].as_str().unwrap(), &wider).await;
    assert_eq!((refused.0, &refused.1["error"]), (400, &json!("invalid_target")));
}

fn claims(token: &Value) -> Value {
    use base64::Engine as _;
    let claims = token.as_str().unwrap().split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

#[actix_web::test]
async fn a_refresh_token_is_good_once_and_its_second_use_ends_the_family() {
    let app = fixture::on_sqlite().await;
    let (own, _) = client(&app, "One", false);
    let (other, _) = client(&app, "Other", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let page = person.authorize(&own.client_id, &[]).await;
    let answer = person.allow(&page, "write", &[&CONNECTION.to_string()]).await;
    let (_, first) = token(&app, &redemption(&own.client_id, &answer.parameter("code").unwrap())).await;
    let first_refresh = first["refresh_token"].as_str().unwrap();
    // Another client neither uses nor ends it.
    let (status, refused) = refresh(&app, &other.client_id, first_refresh, &[]).await;
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_grant")));
    let (status, second) = refresh(&app, &own.client_id, first_refresh, &[("scope", "read")]).await;
    assert_eq!((status, &second["scope"]), (200, &json!("read")), "{second}");
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    // The grant stays what it was, and grows by nothing.
    let second_refresh = second["refresh_token"].as_str().unwrap();
    let (status, third) = refresh(&app, &own.client_id, second_refresh, &[]).await;
    assert_eq!((status, &third["scope"]), (200, &json!("read write")));
    let (status, refused) =
        refresh(&app, &own.client_id, third["refresh_token"].as_str().unwrap(), &[("scope", "admin")]).await;
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_scope")));
    let (status, fourth) = refresh(&app, &own.client_id, third["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(status, 200, "what was refused spent nothing: {fourth}");
    assert_eq!(opens(&app, &third["access_token"]).await, 200);
    let (status, refused) = refresh(&app, &own.client_id, first_refresh, &[]).await;
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_grant")));
    for token in [&first, &second, &third] {
        assert_eq!(opens(&app, &token["access_token"]).await, 401, "the whole family ends");
    }
}

#[actix_web::test]
async fn a_confidential_client_needs_its_secret() {
    let app = fixture::on_sqlite().await;
    let (own, secret) = client(&app, "Server", true);
    let person = Person::signed_in(&app, &app.writer).await;
    let code = person.code(&own.client_id).await;
    let form = redemption(&own.client_id, &code);
    for wrong in [vec![], vec![("client_secret", "wrong")], vec![("client_secret", &app.agent.secret)]] {
        let (status, refused) = token(&app, &[&form[..], &wrong].concat()).await;
        assert_eq!((status, &refused["error"]), (401, &json!("invalid_client")));
    }
    let basic = app.http.post(format!("{}/oauth/token", app.url)).basic_auth(&own.client_id, Some(&secret));
    let (status, issued) = read(basic.form(&form).send().await.unwrap()).await;
    assert_eq!(status, 200, "an unknown client did not spend the code: {issued}");
    let (status, _) = refresh(&app, &own.client_id, issued["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(status, 401);
    let more = [("client_secret", secret.as_str())];
    let (status, _) = refresh(&app, &own.client_id, issued["refresh_token"].as_str().unwrap(), &more).await;
    assert_eq!(status, 200);
    // A public client has no secret to show.
    let (public, _) = client(&app, "Public", false);
    let code = person.code(&public.client_id).await;
    let form = [&redemption(&public.client_id, &code)[..], &[("client_secret", "x")]].concat();
    assert_eq!(token(&app, &form).await.0, 401);
}

#[actix_web::test]
async fn a_request_by_post_asks_the_same() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "Poster", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let path = authorize_path(&client.client_id, &[]);
    let url = Url::parse(&format!("{}{path}", app.url)).unwrap();
    let form: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let response = person.request(reqwest::Method::POST, "/authorize").form(&form).send().await.unwrap();
    let page = person.take(response).await;
    assert_eq!((page.status, &page.location), (303, &path));
    assert!(person.get(&page.location).await.html.contains("Poster"));
}

#[actix_web::test]
async fn a_person_may_refuse_and_take_back() {
    let app = fixture::on_sqlite().await;
    let (client, _) = client(&app, "Nosy", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let page = person.authorize(&client.client_id, &[]).await;
    let form = [("csrf", page.hidden("csrf")), ("request", page.hidden("request")), ("decision", "deny".to_owned())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = person.post("/authorize/decision", &form).await;
    assert_eq!(answer.parameter("error").as_deref(), Some("access_denied"));
    assert_eq!((answer.parameter("iss"), answer.parameter("code")), (Some(app.url.clone()), None));
    let code = person.code(&client.client_id).await;
    let (_, issued) = token(&app, &redemption(&client.client_id, &code)).await;
    assert_eq!(opens(&app, &issued["access_token"]).await, 200);
    let account = person.get("/account").await;
    let (_, applications) = account.html.split_once("id=\"applications\"").unwrap();
    assert!(applications.contains("Nosy"));
    let id = applications.split("name=\"id\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let answer = person.act("/account/applications/revoke", &[("id", id)]).await;
    assert_eq!((answer.status, answer.location.as_str()), (303, "/account"));
    assert_eq!(opens(&app, &issued["access_token"]).await, 401);
    let (status, _) = refresh(&app, &client.client_id, issued["refresh_token"].as_str().unwrap(), &[]).await;
    assert_eq!(status, 400);
}

#[actix_web::test]
async fn clients_register_themselves_only_where_that_is_switched_on() {
    let off = Configuration::new().sqlite("shop", "").with("[oauth]\ndynamic_registration = false").start().await;
    let body = json!({"client_name": "Self-made", "redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
    let post = |app: &TestApp, body: &Value| app.http.post(format!("{}/oauth/register", app.url)).json(body).send();
    assert_eq!(post(&off, &body).await.unwrap().status(), 404);
    let metadata = |app: &TestApp| app.http.get(format!("{}/.well-known/oauth-authorization-server", app.url)).send();
    let (_, document) = read(metadata(&off).await.unwrap()).await;
    assert!(document.get("registration_endpoint").is_none());
    for (member, value) in [
        ("authorization_endpoint", json!(format!("{}/authorize", off.url))),
        ("response_types_supported", json!(["code"])),
        ("grant_types_supported", json!(["authorization_code", "refresh_token", "client_credentials"])),
        ("code_challenge_methods_supported", json!(["S256"])),
        ("authorization_response_iss_parameter_supported", json!(true)),
        ("client_id_metadata_document_supported", json!(true)),
    ] {
        assert_eq!(document[member], value, "{member}");
    }
    let app = Configuration::new().sqlite("shop", "").with("[oauth]\ndynamic_registration = true").start().await;
    let (_, document) = read(metadata(&app).await.unwrap()).await;
    assert_eq!(document["registration_endpoint"], format!("{}/oauth/register", app.url));
    let (status, client) = read(post(&app, &body).await.unwrap()).await;
    assert_eq!((status, &client["token_endpoint_auth_method"]), (201, &json!("none")), "{client}");
    assert!(client.get("client_secret").is_none());
    // Its port is its own choice each time.
    let id = client["client_id"].as_str().unwrap();
    let person = Person::signed_in(&app, &app.reader).await;
    let local = "http://127.0.0.1:49152/cb";
    let page = person.authorize(id, &[("redirect_uri", local)]).await;
    assert!(page.html.contains("Self-made") && page.html.contains("127.0.0.1:49152"), "{}", page.html);
    assert!(!page.html.contains("value=\"write\""), "a reader cannot give what they do not have");
    let answer = person.allow(&page, "read", &[&CONNECTION.to_string()]).await;
    let code = answer.parameter("code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", id),
        ("code", &code),
        ("redirect_uri", local),
        ("code_verifier", VERIFIER),
    ];
    assert_eq!(token(&app, &form).await.0, 200);
    let mut secret = body.clone();
    secret["token_endpoint_auth_method"] = json!("client_secret_post");
    let (_, client) = read(post(&app, &secret).await.unwrap()).await;
    assert!(client["client_secret"].as_str().unwrap().starts_with("ptc_cs_"));
    for (member, value, error) in [
        ("redirect_uris", json!(["http://evil.example/cb"]), "invalid_redirect_uri"),
        ("redirect_uris", json!(["javascript:alert(1)"]), "invalid_redirect_uri"),
        ("redirect_uris", json!([]), "invalid_redirect_uri"),
        ("redirect_uris", json!("https://a.example"), "invalid_client_metadata"),
        ("grant_types", json!(["password"]), "invalid_client_metadata"),
        ("response_types", json!(["token"]), "invalid_client_metadata"),
        ("token_endpoint_auth_method", json!("private_key_jwt"), "invalid_client_metadata"),
    ] {
        let mut wrong = body.clone();
        wrong[member] = value;
        let (status, refused) = read(post(&app, &wrong).await.unwrap()).await;
        assert_eq!((status, &refused["error"]), (400, &json!(error)), "{wrong}: {refused}");
    }
}
