//! Tokens: how a form and its headers spell a grant, and what discovery says.

use serde_json::{Value, json};

use super::fixture;
use crate::support::app::{CONNECTION, OTHER, TestApp, read};

async fn token(app: &TestApp, form: &[(&str, &str)]) -> (u16, Value) {
    read(app.http.post(format!("{}/oauth/token", app.url)).form(form).send().await.unwrap()).await
}

#[actix_web::test]
async fn a_service_account_gets_a_token_that_opens_its_connection() {
    let app = fixture::on_sqlite().await;
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let response = app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let (status, body) = read(response).await;
    assert_eq!((status, &body["token_type"], &body["expires_in"]), (200, &json!("Bearer"), &json!(3600)));
    assert_eq!(body["scope"], "read write");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let token = body["access_token"].as_str().unwrap();
    let (status, tools) = read(app.mcp_request().bearer_auth(token).body(list).send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(tools["result"]["tools"].as_array().unwrap().len() >= 12);
    // The same by HTTP Basic, narrowed.
    let narrowed = app.http.post(format!("{}/oauth/token", app.url)).basic_auth(id, Some(secret));
    let narrowed = narrowed.form(&[("grant_type", "client_credentials"), ("scope", "read")]).send().await.unwrap();
    let (status, body) = read(narrowed).await;
    assert_eq!((status, &body["scope"]), (200, &json!("read")));
}

#[actix_web::test]
async fn each_wrong_token_request_has_its_error() {
    let app = fixture::on_sqlite().await;
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let grant = ("grant_type", "client_credentials");
    let good = [grant, ("client_id", id), ("client_secret", secret)];
    let with = |more: (&'static str, &'static str)| [&good[..], &[more]].concat();
    let cases: Vec<(Vec<(&str, &str)>, u16, &str)> = vec![
        (vec![("client_id", id), ("client_secret", secret)], 400, "invalid_request"),
        (vec![("grant_type", "password"), ("client_id", id), ("client_secret", secret)], 400, "unsupported_grant_type"),
        (vec![grant, ("client_id", id), ("client_secret", "wrong")], 401, "invalid_client"),
        (vec![grant, ("client_id", "nobody"), ("client_secret", secret)], 401, "invalid_client"),
        (vec![grant, ("client_id", id)], 401, "invalid_client"),
        (with(("client_id", "again")), 400, "invalid_request"),
        (with(("scope", "admin")), 400, "invalid_scope"),
        (with(("scope", "nonsense")), 400, "invalid_scope"),
        (with(("resource", "https://elsewhere.example")), 400, "invalid_target"),
    ];
    for (form, status, error) in cases {
        let (got, body) = token(&app, &form).await;
        assert_eq!((got, &body["error"]), (status, &json!(error)), "{form:?}: {body}");
        assert!(body["error_description"].is_string() && !body.to_string().contains(secret), "{body}");
    }
    let json = app.http.post(format!("{}/oauth/token", app.url)).json(&json!({"grant_type": "client_credentials"}));
    assert_eq!(read(json.send().await.unwrap()).await.1["error"], "invalid_request");
    let challenged = app.http.post(format!("{}/oauth/token", app.url)).basic_auth(id, Some("wrong")).form(&[grant]);
    let challenged = challenged.send().await.unwrap();
    assert_eq!(challenged.status(), 401);
    assert!(challenged.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic "));
}

#[actix_web::test]
async fn discovery_describes_server_keys_and_resources() {
    let app = fixture::on_sqlite().await;
    let document = async |path: &str| {
        let response = app.http.get(format!("{}/.well-known/{path}", app.url)).send().await.unwrap();
        assert_eq!(response.headers()["access-control-allow-origin"], "*", "{path}");
        read(response).await.1
    };
    let server = document("oauth-authorization-server").await;
    assert_eq!(server["issuer"], app.url);
    assert_eq!(server["token_endpoint"], format!("{}/oauth/token", app.url));
    let keys = document("jwks.json").await;
    assert_eq!((&keys["keys"][0]["kty"], &keys["keys"][0]["crv"]), (&json!("OKP"), &json!("Ed25519")));
    assert!(keys["keys"][0].get("d").is_none(), "the private part stays here");
    let resource = document(&format!("oauth-protected-resource/mcp/connections/{CONNECTION}")).await;
    assert_eq!(resource["resource"], format!("{}/mcp/connections/{CONNECTION}", app.url));
    assert_eq!(resource["authorization_servers"], json!([app.url]));
    assert_eq!(document("oauth-protected-resource").await["resource"], app.url);
}

#[actix_web::test]
async fn a_token_for_elsewhere_is_told_from_one_that_is_not_valid() {
    let app = fixture::two_connections().await;
    let mcp = format!("{}/mcp/connections/{CONNECTION}", app.url);
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", &app.agent.name),
        ("client_secret", &app.agent.secret),
        ("resource", &mcp),
    ];
    let (status, body) = token(&app, &form).await;
    assert_eq!(status, 200, "{body}");
    let token = body["access_token"].as_str().unwrap();
    let api = app.http.get(format!("{}/api/connections", app.url));
    let elsewhere = api.try_clone().unwrap().bearer_auth(token).send().await.unwrap();
    assert!(elsewhere.headers()["www-authenticate"].to_str().unwrap().contains("invalid_token"));
    let (status, body) = read(elsewhere).await;
    assert_eq!((status, &body["error"]["code"]), (401, &json!(1100)));
    // Why it was refused is in the log and the trail: the answer is that to a token that is not genuine.
    assert_eq!(body["error"]["message"], "the credential is not valid, or it has expired");
    let forged = format!("{}A", &token[..token.len() - 1]);
    let forged = if forged == token { format!("{}B", &token[..token.len() - 1]) } else { forged };
    let (_, body) = read(api.bearer_auth(forged).send().await.unwrap()).await;
    assert_eq!(body["error"]["message"], "the credential is not valid, or it has expired");
    // Nor is it sent where it is not taken.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let other = app.http.post(format!("{}/mcp/connections/{OTHER}", app.url)).bearer_auth(token).json(&list);
    let (status, body) = read(other.send().await.unwrap()).await;
    assert_eq!(status, 403);
    assert!(body["error"]["message"].as_str().unwrap().contains("any credential that opens the SQL API"), "{body}");
}
