//! Revocation and introspection, and rights that are narrowed while tokens are out.

use portico_actors::auth::records::NewServiceAccount;
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, OTHER, TestApp, eventually, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;

impl TestApp {
    /// A form sent to `path`, with the answer's status and text.
    async fn form(&self, path: &str, form: &[(&str, &str)]) -> (u16, String) {
        let response = self.http.post(format!("{}{path}", self.url)).form(form).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn introspect(&self, id: &str, secret: &str, token: &str) -> Value {
        let form = [("client_id", id), ("client_secret", secret), ("token", token)];
        let (status, text) = self.form("/oauth/introspect", &form).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn status(&self, token: &str) -> u16 {
        let request = self.http.get(format!("{}/api/connections", self.url)).bearer_auth(token);
        request.send().await.unwrap().status().as_u16()
    }
}

#[actix_web::test]
async fn a_client_revokes_its_own_token_and_no_other() {
    let app = fixture::on_sqlite().await;
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let (other, other_secret) = second_client(&app);
    let (token, kept) = (app.token().await, app.token().await);
    // Another client is told the same, and nothing happens.
    let stranger = [("client_id", other.as_str()), ("client_secret", &other_secret), ("token", &token)];
    assert_eq!(app.form("/oauth/revoke", &stranger).await, (200, String::new()));
    assert_eq!(app.introspect(&other, &other_secret, &token).await, json!({"active": false}));
    assert_eq!(app.status(&token).await, 200);
    let told = app.introspect(id, secret, &token).await;
    assert_eq!(
        (&told["active"], &told["scope"], &told["client_id"], &told["iss"], &told["connection_ids"]),
        (&json!(true), &json!("read write"), &json!(id), &json!(app.url), &json!([CONNECTION]))
    );
    assert_eq!(told["exp"].as_i64().unwrap() - told["iat"].as_i64().unwrap(), 3_600);

    let own = [("client_id", id), ("client_secret", secret), ("token", &token), ("token_type_hint", "refresh_token")];
    assert_eq!(app.form("/oauth/revoke", &own).await, (200, String::new()));
    assert_eq!(app.status(&token).await, 401, "in force with the next request");
    assert_eq!(app.form("/oauth/revoke", &own).await.0, 200, "twice changes nothing");
    assert_eq!(app.introspect(id, secret, &token).await, json!({"active": false}));
    assert_eq!(app.status(&kept).await, 200, "each token is revoked on its own");
    assert_eq!(app.introspect(id, secret, "a.b.c").await, json!({"active": false}));
    for garbage in ["", "nonsense", &"x".repeat(10_000)] {
        let form = [("client_id", id), ("client_secret", secret), ("token", garbage)];
        let expected = if garbage.is_empty() { 400 } else { 200 };
        assert_eq!(app.form("/oauth/revoke", &form).await.0, expected, "{garbage:.20}");
    }
}

#[actix_web::test]
async fn both_endpoints_ask_who_the_client_is() {
    let app = fixture::on_sqlite().await;
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let token = app.token().await;
    for path in ["/oauth/revoke", "/oauth/introspect"] {
        let url = format!("{}{path}", app.url);
        let (status, body) = read(app.http.post(&url).form(&[("token", &token)]).send().await.unwrap()).await;
        assert_eq!((status, &body["error"]), (401, &json!("invalid_client")), "{path}");
        let wrong = app.http.post(&url).basic_auth(id, Some("wrong")).form(&[("token", &token)]).send().await.unwrap();
        assert!(wrong.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic "), "{path}");
        assert_eq!(wrong.status(), 401);
        let twice = app.http.post(&url).basic_auth(id, Some(secret)).header("authorization", "Bearer x");
        assert_eq!(twice.form(&[("token", &token)]).send().await.unwrap().status(), 400, "{path}: two headers");
        assert_eq!(app.http.get(&url).send().await.unwrap().status(), 405);
    }
    assert_eq!(app.status(&token).await, 200, "nobody revoked it");
    let url = format!("{}/oauth/introspect", app.url);
    let basic = app.http.post(url).basic_auth(id, Some(secret)).form(&[("token", &token)]).send().await.unwrap();
    assert_eq!(basic.headers()["cache-control"], "no-store");
    assert_eq!(read(basic).await.1["active"], true);
    let server = format!("{}/.well-known/oauth-authorization-server", app.url);
    let (_, server) = read(app.http.get(server).send().await.unwrap()).await;
    assert_eq!(server["revocation_endpoint"], format!("{}/oauth/revoke", app.url));
    assert_eq!(server["introspection_endpoint"], format!("{}/oauth/introspect", app.url));
}

#[actix_web::test]
async fn a_token_for_one_endpoint_opens_no_other() {
    let app = fixture::on_sqlite().await;
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let token = async |resource: &str| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", id),
            ("client_secret", secret),
            ("resource", resource),
        ];
        let (status, text) = app.form("/oauth/token", &form).await;
        assert_eq!(status, 200, "{resource}: {text}");
        serde_json::from_str::<Value>(&text).unwrap()["access_token"].as_str().unwrap().to_owned()
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let mcp = async |token: &str| {
        app.mcp_request().bearer_auth(token).body(ping.clone()).send().await.unwrap().status().as_u16()
    };
    let for_mcp = token(&format!("{}/mcp/connections/{CONNECTION}", app.url)).await;
    assert_eq!((mcp(&for_mcp).await, app.status(&for_mcp).await), (200, 401));
    let for_api = token(&format!("{}/api", app.url)).await;
    assert_eq!((mcp(&for_api).await, app.status(&for_api).await), (401, 200));
}

#[actix_web::test]
async fn one_caller_may_write_here_and_only_read_there() {
    let app = fixture::two_writable_connections().await;
    let run = async |arguments: &[&str]| app.run(arguments).await;
    run(&["user", "add", "mia@example.org", "--connection", "shop:read", "--connection", "archive"]).await;
    let pat = run(&["pat", "create", "mia@example.org"]).await["pat"].as_str().unwrap().to_owned();
    let account =
        run(&["service-account", "create", "half", "--connection", "shop:write", "--connection", "archive:read"]).await;
    let (client, secret) = (account["clientId"].as_str().unwrap(), account["clientSecret"].as_str().unwrap());
    let form = [("grant_type", "client_credentials"), ("client_id", client), ("client_secret", secret)];
    let (_, text) = app.form("/oauth/token", &form).await;
    let issued: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(issued["scope"], "read write", "the widest of its connections");
    let token = issued["access_token"].as_str().unwrap().to_owned();
    let write = |name: &str| json!({"query": format!("UPDATE {name}.main.customers SET city = 'Here' WHERE id = 1")});
    let statuses = async |request: &dyn Fn() -> reqwest::RequestBuilder| {
        let mut statuses = Vec::new();
        for name in ["shop", "archive"] {
            statuses.push(request().json(&write(name)).send().await.unwrap().status().as_u16());
        }
        statuses
    };
    let url = format!("{}/api/query", app.url);
    let by_user = || app.http.post(&url).basic_auth("mia@example.org", Some(&pat));
    let by_client = || app.http.post(&url).bearer_auth(&token);
    assert_eq!(statuses(&by_user).await, [403, 200]);
    assert_eq!(statuses(&by_client).await, [200, 403]);
    // The challenge at the MCP endpoint names all that the step needs.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "execute_update", "arguments": {"query": "UPDATE customers SET city = 'There'"}}});
    let request = app.http.post(format!("{}/mcp/connections/{OTHER}", app.url)).bearer_auth(&token).json(&call);
    let refused = request.send().await.unwrap();
    assert_eq!(refused.status(), 403);
    let challenge = refused.headers()["www-authenticate"].to_str().unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"read write\""), "{challenge}");
    // The reverse, also for the token that is out; what it was not issued for it does not gain.
    run(&["service-account", "change", "half", "--connection", "shop:read", "--connection", "archive:write"]).await;
    assert_eq!(statuses(&by_client).await, [403, 403]);
    run(&["user", "change", "mia@example.org", "--connection", "shop"]).await;
    assert_eq!(statuses(&by_user).await, [200, 404]);
    run(&["user", "disable", "mia@example.org"]).await;
    run(&["service-account", "disable", "half"]).await;
    assert_eq!((statuses(&by_user).await, app.status(&token).await), (vec![401, 401], 401));
    run(&["user", "enable", "mia@example.org"]).await;
    run(&["service-account", "enable", "half"]).await;
    assert_eq!((statuses(&by_user).await, app.status(&token).await), (vec![200, 404], 401), "it has ended for good");
    // A token of the same second would have been one from before.
    eventually("a token of the next second", async || {
        let (_, text) = app.form("/oauth/token", &form).await;
        let issued: Value = serde_json::from_str(&text).unwrap();
        app.status(issued["access_token"].as_str().unwrap()).await == 200
    })
    .await;
}

#[actix_web::test]
async fn what_the_command_line_takes_away_is_refused_when_it_ends() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    let run = |arguments: &[&str]| crate::support::process::run(arguments, service.folder.path());
    let url = format!("{}/api/connections", service.url);
    let status = async |token: &str| service.http.get(&url).bearer_auth(token).send().await.unwrap().status().as_u16();
    for round in 0..10 {
        let made = run(&["pat", "create", &service.writer.name, "--name", &round.to_string()]);
        let token = made["pat"].as_str().unwrap();
        assert_eq!((status(token).await, status(token).await), (200, 200), "the second answer is from memory");
        run(&["pat", "revoke", &round.to_string()]);
        assert_eq!(status(token).await, 401, "round {round}");
    }
}

/// A service account that may read the first connection.
fn second_client(app: &TestApp) -> (String, String) {
    let new = NewServiceAccount { name: "other".to_owned(), rights: Rights::only([CONNECTION], Scope::Read) };
    let (account, secret) = app.store().create_service_account(new).unwrap();
    (account.client_id, secret.expose_secret().to_owned())
}
