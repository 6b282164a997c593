//! What published clients send to register themselves, and which of it is admitted where `oauth.dynamic_registration`
//! is "known", as it is on a loopback listener.

use serde_json::{Value, json};

use crate::support::app::{CONNECTION, TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::person::{Person, VERIFIER, token};

/// The bodies, but for numbers of ports. Those of Claude Code, Codex, the Inspector and mcp-remote are what these programs
/// sent to this service on 2026-11-25, each in the version that stands there; of the others it says what was read that day.
fn bodies() -> Vec<(&'static str, Value)> {
    let grants = json!(["authorization_code", "refresh_token"]);
    vec![
        // microsoft/vscode at 05f882b0, src/vs/base/common/oauth.ts, fetchDynamicRegistration: the grants are those of our
        // metadata that it knows.
        (
            "VS Code",
            json!({
                "client_name": "Visual Studio Code", "client_uri": "https://code.visualstudio.com",
                "grant_types": grants, "response_types": ["code"],
                "redirect_uris": ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect",
                    "http://127.0.0.1/", "http://127.0.0.1:33418/"],
                "scope": "read write", "token_endpoint_auth_method": "none", "application_type": "native"
            }),
        ),
        // The same where it is not told which grants there are.
        (
            "VS Code, all of its grants",
            json!({
                "client_name": "Visual Studio Code", "response_types": ["code"],
                "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
                "redirect_uris": ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect",
                    "http://127.0.0.1/", "http://127.0.0.1:33418/"],
                "token_endpoint_auth_method": "none", "application_type": "native"
            }),
        ),
        // Its addresses as cursor.com/docs/mcp has them, read in excerpts; the rest is likely, and was not seen.
        (
            "Cursor",
            json!({
                "client_name": "Cursor", "grant_types": grants, "response_types": ["code"],
                "redirect_uris": ["cursor://anysphere.cursor-mcp/oauth/callback",
                    "https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"],
                "token_endpoint_auth_method": "none"
            }),
        ),
        // 2.1.331, `claude mcp login`. It registers where no descriptions of clients are read.
        (
            "Claude Code",
            json!({
                "client_name": "Claude Code (crm)", "redirect_uris": ["http://localhost:55146/callback"],
                "grant_types": grants, "response_types": ["code"], "token_endpoint_auth_method": "none",
                "application_type": "native", "scope": "read write"
            }),
        ),
        // support.claude.com, "Building custom connectors", read in excerpts: name and address. The rest is likely.
        (
            "Claude's connectors",
            json!({
                "client_name": "Claude", "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
                "grant_types": grants, "response_types": ["code"], "token_endpoint_auth_method": "none"
            }),
        ),
        // 0.169.0, `codex mcp add`. It registers where no descriptions of clients are read.
        (
            "Codex",
            json!({
                "client_name": "Codex", "redirect_uris": ["http://127.0.0.1:44745/callback"], "grant_types": grants,
                "token_endpoint_auth_method": "none", "response_types": ["code"], "scope": "read",
                "application_type": "native"
            }),
        ),
        // npm @google/gemini-cli 0.61.0, MCPOAuthProvider.registerClient; the port is a free one.
        (
            "Gemini CLI",
            json!({
                "client_name": "Gemini CLI MCP Client", "redirect_uris": ["http://localhost:41987/oauth/callback"],
                "grant_types": grants, "response_types": ["code"], "token_endpoint_auth_method": "none", "scope": ""
            }),
        ),
        // Its page, whose registration was not seen.
        (
            "Inspector",
            json!({
                "redirect_uris": ["http://localhost:6274/oauth/callback"], "token_endpoint_auth_method": "none",
                "grant_types": grants, "response_types": ["code"], "client_name": "MCP Inspector",
                "client_uri": "https://github.com/modelcontextprotocol/inspector", "scope": "read write"
            }),
        ),
        // 2.12.0 with --cli; tests/clients/run.sh signs in with it.
        (
            "Inspector's command line",
            json!({
                "redirect_uris": ["http://127.0.0.1:6276/oauth/callback"], "token_endpoint_auth_method": "none",
                "grant_types": grants, "response_types": ["code"], "client_name": "MCP Inspector",
                "client_uri": "https://github.com/modelcontextprotocol/inspector", "scope": "read write",
                "application_type": "native"
            }),
        ),
        // 0.15.1; tests/clients/run.sh signs in with it.
        (
            "mcp-remote",
            json!({
                "redirect_uris": ["http://localhost:5901/oauth/callback"], "token_endpoint_auth_method": "none",
                "grant_types": grants, "response_types": ["code"], "client_name": "MCP CLI Proxy",
                "client_uri": "https://github.com/modelcontextprotocol/mcp-cli",
                "software_id": "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d", "software_version": "0.15.1", "scope": "read",
                "application_type": "native"
            }),
        ),
    ]
}

async fn register(app: &TestApp, body: &Value) -> (u16, Value) {
    read(app.http.post(format!("{}/oauth/register", app.url)).json(body).send().await.unwrap()).await
}

/// Signs a person in at the client and redeems the code, with an address of the client's.
async fn signs_in(app: &TestApp, client: &str, redirect: &str) {
    let person = Person::signed_in(app, &app.writer).await;
    let resource = format!("{}/mcp/connections/{CONNECTION}", app.url);
    let page = person.authorize(client, &[("redirect_uri", redirect), ("resource", &resource)]).await;
    assert_eq!(page.status, 200, "{redirect}: {}", page.html);
    assert!(page.html.contains("the connection <strong>shop</strong>"), "{}", page.html);
    let answer = person.allow(&page, "read", &[&CONNECTION.to_string()]).await;
    assert!(answer.location.starts_with(redirect), "{}", answer.location);
    // Browsers hold a form's redirects against the policy of its page.
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    let (scheme, rest) = redirect.split_once("://").unwrap();
    let source = if scheme == "cursor" {
        "cursor:".to_owned()
    } else {
        format!("{scheme}://{}", rest.split('/').next().unwrap())
    };
    assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
    let code = answer.parameter("code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", &code),
        ("redirect_uri", redirect),
        ("code_verifier", VERIFIER),
    ];
    let (status, issued) = token(app, &form).await;
    assert_eq!(status, 200, "{issued}");
}

#[actix_web::test]
async fn published_clients_register_and_sign_in_with_what_they_send() {
    let app = Configuration::new().sqlite("shop", "").with("[limits]\nregistrations_per_address = 0").start().await;
    for (name, body) in bodies() {
        let (status, client) = register(&app, &body).await;
        assert_eq!(status, 201, "{name}: {client}");
        assert_eq!(client["redirect_uris"], body["redirect_uris"], "{name}");
        assert_eq!(client["grant_types"], json!(["authorization_code", "refresh_token"]), "{name}");
        for redirect in body["redirect_uris"].as_array().unwrap() {
            signs_in(&app, client["client_id"].as_str().unwrap(), redirect.as_str().unwrap()).await;
        }
    }
}

#[actix_web::test]
async fn one_address_that_is_not_known_ends_a_registration_and_the_setting_is_named() {
    let app = Configuration::new().sqlite("shop", "").with("[limits]\nregistrations_per_address = 0").start().await;
    for uri in [
        "https://evil.example/cb",
        "https://vscode.dev/redirect/",
        "https://vscode.dev/redirect?url=https://evil.example",
        "https://vscode.dev.evil.example/redirect",
        "cursor://anysphere.cursor-mcp/oauth/callback/../x",
        "cursor://evil/oauth/callback",
        "vscode://evil/redirect",
        "http://127.0.0.1.evil.example/cb",
        "http://10.0.0.1/cb",
        "javascript:alert(1)",
    ] {
        for uris in [json!([uri]), json!(["http://127.0.0.1/cb", uri])] {
            let body = json!({"client_name": "x", "redirect_uris": uris, "token_endpoint_auth_method": "none"});
            let (status, refused) = register(&app, &body).await;
            assert_eq!((status, &refused["error"]), (400, &json!("invalid_redirect_uri")), "{uri}: {refused}");
            let words = refused["error_description"].as_str().unwrap();
            assert!(words.contains("oauth.dynamic_registration") && words.contains(uri), "{words}");
        }
    }
    assert!(app.store().clients().unwrap().is_empty());
}

#[actix_web::test]
async fn who_may_register_is_what_the_file_says_and_known_on_loopback_alone() {
    let other = json!({"redirect_uris": ["https://client.example/cb"], "token_endpoint_auth_method": "none"});
    let local = json!({"redirect_uris": ["http://127.0.0.1/cb"], "token_endpoint_auth_method": "none"});
    for (setting, of_other, of_local) in [
        ("", 400, 201),
        ("[oauth]\ndynamic_registration = \"known\"", 400, 201),
        ("[oauth]\ndynamic_registration = true", 201, 201),
        ("[oauth]\ndynamic_registration = false", 404, 404),
    ] {
        let app = Configuration::new().sqlite("shop", "").with(setting).start().await;
        let found = (register(&app, &other).await.0, register(&app, &local).await.0);
        assert_eq!(found, (of_other, of_local), "{setting:?}");
        let metadata = app.http.get(format!("{}/.well-known/oauth-authorization-server", app.url)).send();
        let (_, metadata) = read(metadata.await.unwrap()).await;
        assert_eq!(metadata.get("registration_endpoint").is_some(), of_local == 201, "{setting:?}");
    }
}

#[actix_web::test]
async fn an_address_that_narrows_the_tools_is_a_resource_of_its_own() {
    let app = Configuration::new().sqlite("shop", "").sqlite("archive", "").start().await;
    let (_, client) = register(&app, &bodies()[0].1).await;
    let query = "?ops=get_instructions,get_columns,execute_select";
    for path in [format!("/mcp/connections/shop{query}"), format!("/mcp{query}")] {
        let address = format!("{}{path}", app.url);
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let ask = || app.http.post(&address).header("content-type", "application/json").body(list);
        let refused = ask().send().await.unwrap();
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let place = challenge.split("resource_metadata=\"").nth(1).unwrap().split('"').next().unwrap();
        // VS Code compares all of the address with what it was given.
        let (_, metadata) = read(app.http.get(place).send().await.unwrap()).await;
        assert_eq!(metadata["resource"], address, "{place}");
        let person = Person::signed_in(&app, &app.writer).await;
        let (id, redirect) = (client["client_id"].as_str().unwrap(), "http://127.0.0.1:1/");
        let page = person.authorize(id, &[("redirect_uri", redirect), ("resource", &address)]).await;
        let names_shop = page.html.contains("the connection <strong>shop</strong>");
        assert_eq!(names_shop, path.contains("shop"), "{}", page.html);
        let code = person.allow(&page, "read", &[&CONNECTION.to_string()]).await.parameter("code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", id),
            ("code", &code),
            ("redirect_uri", redirect),
            ("code_verifier", VERIFIER),
            ("resource", &address),
        ];
        let (status, issued) = token(&app, &form).await;
        assert_eq!(status, 200, "{issued}");
        let access = issued["access_token"].as_str().unwrap();
        let (status, listed) = read(ask().bearer_auth(access).send().await.unwrap()).await;
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        assert_eq!((status, tools.len()), (200, 3), "{listed}");
    }
}

#[actix_web::test]
async fn a_resource_that_names_a_workspace_offers_that_alone() {
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.main.orders\" }]";
    let app = Configuration::new().sqlite("shop", "").with(workspace).start().await;
    let (_, client) = register(&app, &bodies()[0].1).await;
    let person = Person::signed_in(&app, &app.writer).await;
    let resource = format!("{}/mcp/workspaces/store", app.url);
    let asked = [("redirect_uri", "http://127.0.0.1:1/"), ("resource", resource.as_str())];
    let page = person.authorize(client["client_id"].as_str().unwrap(), &asked).await;
    assert!(page.html.contains("the workspace <strong>store</strong>"), "{}", page.html);
    assert!(!page.html.contains("name=\"connection\""), "{}", page.html);
    assert_eq!(person.allow(&page, "read", &[&CONNECTION.to_string()]).await.status, 400, "it was not offered");
    let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
    let form = [
        ("csrf", csrf.as_str()),
        ("request", &request),
        ("decision", "allow"),
        ("scope", "read"),
        ("workspace", "store"),
    ];
    assert!(person.post("/authorize/decision", &form).await.parameter("code").is_some());
}
