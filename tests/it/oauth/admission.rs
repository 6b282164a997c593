//! Who gets in, and in which order the others are refused.

use portico_actors::error::Kind;
use portico_actors::event::Event;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, eventually, read};
use crate::support::fixture;

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

fn challenges(headers: &HeaderMap) -> Vec<String> {
    headers.get_all(WWW_AUTHENTICATE).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

/// Status and body of a ping at `id` by `caller`.
async fn ping(app: &TestApp, id: &str, caller: Option<&Caller>, headers: &[(&str, &str)]) -> (u16, Value, Vec<String>) {
    let mut request =
        app.http.post(format!("{}/mcp/connections/{id}", app.url)).header("content-type", "application/json");
    if let Some(caller) = caller {
        request = request.basic_auth(&caller.name, Some(&caller.secret));
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.body(PING).send().await.unwrap();
    let challenges = challenges(response.headers());
    let (status, body) = read(response).await;
    (status, body, challenges)
}

#[actix_web::test]
async fn refusals_come_in_their_order() {
    let app = fixture::two_connections().await;
    let evil = [("origin", "http://evil.example")];
    let (nobody, wrong) = (None, Caller { name: "writer@example.com".to_owned(), secret: "wrong".to_owned() });
    // Origin before credential, credential before the id's form, form before reach, reach before existence.
    let (status, body, _) = ping(&app, "nonsense", nobody, &evil).await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (403, &json!(1200), &Value::Null));
    let (status, body, challenge) = ping(&app, "nonsense", nobody, &[]).await;
    assert_eq!((status, &body["error"]["code"], &body["id"]), (401, &json!(1100), &Value::Null));
    assert!(challenge[0].starts_with("Bearer resource_metadata="), "{challenge:?}");
    let (status, _, challenge) = ping(&app, &CONNECTION.to_string(), Some(&wrong), &[]).await;
    assert_eq!(status, 401);
    assert!(challenge[0].contains("invalid_token") && challenge[0].contains(&CONNECTION.to_string()), "{challenge:?}");
    let (status, body, _) = ping(&app, "nonsense", Some(&app.writer), &[]).await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!(1000)));
    let unknown = Uuid::from_u128(9).to_string();
    let (status, ..) = ping(&app, &unknown, Some(&app.writer), &[]).await;
    assert_eq!(status, 404, "this user reaches all connections, so an unknown one is unknown");
    // The agent's token opens the first connection alone; it cannot tell the second from none.
    let token = app.token().await;
    let bearer = format!("Bearer {token}");
    for id in [OTHER.to_string(), unknown] {
        let (status, body, _) = ping(&app, &id, None, &[("authorization", &bearer)]).await;
        assert_eq!((status, &body["error"]["code"]), (403, &json!(1200)), "{id}");
    }
    let (status, body, _) = ping(&app, &CONNECTION.to_string(), None, &[("authorization", &bearer)]).await;
    assert_eq!((status, body), (200, json!({"jsonrpc": "2.0", "id": 7, "result": {}})));
}

#[actix_web::test]
async fn pages_of_this_machine_and_of_the_service_itself_may_call() {
    let app = fixture::on_sqlite().await;
    for origin in ["http://localhost:3000", "http://127.0.0.1:1", app.url.as_str()] {
        let (status, ..) = ping(&app, &CONNECTION.to_string(), Some(&app.reader), &[("origin", origin)]).await;
        assert_eq!(status, 200, "{origin}");
    }
    let request = app.post("/api/query").header("origin", "null").json(&json!({"query": "SELECT 1"}));
    let (status, body) = read(request.send().await.unwrap()).await;
    assert_eq!((status, &body["error"]["code"]), (403, &json!(1200)));
}

#[actix_web::test]
async fn the_sql_api_takes_both_schemes_and_says_so() {
    let app = fixture::on_sqlite().await;
    let bare = app.http.post(format!("{}/api/query", app.url)).send().await.unwrap();
    let challenge = challenges(bare.headers());
    assert!(
        challenge.iter().any(|it| it.starts_with("Bearer ")) && challenge.iter().any(|it| it.starts_with("Basic "))
    );
    let (status, body) = read(bare).await;
    assert_eq!((status, &body["error"]["code"]), (401, &json!(1100)));
    let token = app.token().await;
    let request = app.http.post(format!("{}/api/query", app.url)).bearer_auth(&token);
    let (status, _) = read(request.json(&json!({"query": "SELECT 1"})).send().await.unwrap()).await;
    assert_eq!(status, 200);
    for header in ["Bearer", "Bearer ", "Basic", "Basic !!!", "Basic YQ==", "Digest x", "", "Bearer a.b.c"] {
        let request = app.http.post(format!("{}/api/query", app.url)).header("authorization", header);
        let (status, body) = read(request.send().await.unwrap()).await;
        assert_eq!((status, &body["error"]["code"]), (401, &json!(1100)), "{header:?}");
    }
    let twice = app.post("/api/query").header("authorization", "Bearer x").send().await.unwrap();
    assert_eq!(twice.status(), 401, "two headers could be read in two ways");
}

#[actix_web::test]
async fn a_change_by_the_command_line_is_in_force_at_the_next_request() {
    let app = fixture::on_sqlite().await;
    let token = app.token().await;
    let list = || async {
        app.http.get(format!("{}/api/connections", app.url)).bearer_auth(&token).send().await.unwrap().status()
    };
    assert_eq!(list().await, 200);
    assert_eq!(app.get("/api/connections").send().await.unwrap().status(), 200);
    let mut store = app.store();
    store.remove_service_account("agent").unwrap();
    app.look().await;
    assert_eq!(list().await, 401, "a token outlived its account");
    store.remove_user("writer@example.com").unwrap();
    app.look().await;
    assert_eq!(app.get("/api/connections").send().await.unwrap().status(), 401);
}

#[actix_web::test]
async fn connections_are_listed_for_those_who_reach_them() {
    let app = fixture::two_connections().await;
    let (status, body) = read(app.get("/api/connections").send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert_eq!(
        body,
        json!({"connections": [
            {"connectionId": OTHER, "name": "archive", "source": "sqlite",
             "mcpUrl": format!("{}/mcp/connections/{OTHER}", app.url), "status": "up"},
            {"connectionId": CONNECTION, "name": "shop", "source": "sqlite",
             "mcpUrl": format!("{}/mcp/connections/{CONNECTION}", app.url), "status": "up"},
        ]})
    );
    let token = app.token().await;
    let own = app.http.get(format!("{}/api/connections", app.url)).bearer_auth(token).send().await.unwrap();
    assert_eq!(read(own).await.1["connections"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn every_answer_has_a_request_id() {
    let app = fixture::on_sqlite().await;
    for path in ["/healthz", "/nothing", "/api/query", "/mcp/connections/x"] {
        let response = app.http.get(format!("{}{path}", app.url)).send().await.unwrap();
        let id = response.headers().get("x-request-id").unwrap_or_else(|| panic!("{path}")).to_str().unwrap();
        assert!(Uuid::try_parse(id).is_ok(), "{path}: {id}");
    }
    for own in ["00000000-0000-0000-0000-000000000005", "0af7651916cd43dd", "web:7/Kq+w==", &"x".repeat(128)] {
        let response = app.post("/api/query").header("x-request-id", own).body("{").send().await.unwrap();
        assert_eq!(response.headers()["x-request-id"], own);
        assert_eq!(read(response).await.1["error"]["requestId"], own);
        let logged = |event: &Event| matches!(event, Event::CallEnded(call) if call.id.as_str() == own);
        eventually("the event of the call", async || app.told(logged)).await;
    }
    for unfit in ["", "a b", "a\"b", "a\tb", "{}", &"x".repeat(129)] {
        let response = app.get("/api/connections").header("x-request-id", unfit).send().await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap();
        assert!(Uuid::try_parse(id).is_ok(), "{unfit:?}: {id}");
    }
    let twice = app.get("/api/connections").header("x-request-id", "one").header("x-request-id", "two");
    let response = twice.send().await.unwrap();
    assert!(Uuid::try_parse(response.headers()["x-request-id"].to_str().unwrap()).is_ok());
}

/// A client of OAuth reads `error` as a text (RFC 6749 §5.2), whoever refuses it.
#[actix_web::test]
async fn an_oauth_client_is_refused_in_its_own_form() {
    let app = fixture::on_sqlite().await;
    let token = format!("{}/oauth/token", app.url);
    let foreign = app.http.post(&token).header("origin", "https://evil.example");
    let foreign = foreign.form(&[("grant_type", "client_credentials")]);
    for (request, status, code) in [(foreign, 403, "access_denied"), (app.http.get(&token), 405, "invalid_request")] {
        let (told, body) = read(request.send().await.unwrap()).await;
        assert_eq!((told, &body["error"]), (status, &json!(code)), "{body}");
        assert!(body["error_description"].is_string(), "{body}");
    }
}

#[actix_web::test]
async fn methods_and_paths_that_do_not_exist_say_so() {
    let app = fixture::on_sqlite().await;
    let get = app.get("/api/query").send().await.unwrap();
    assert_eq!((get.status().as_u16(), get.headers()["allow"].to_str().unwrap()), (405, "POST"));
    let post = app.post("/healthz").send().await.unwrap();
    assert_eq!((post.status().as_u16(), post.headers()["allow"].to_str().unwrap()), (405, "GET, HEAD"));
    let (status, body) = read(app.get("/api/nothing").send().await.unwrap()).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!(1300)));
    let put = app.http.put(format!("{}/mcp/connections/{CONNECTION}", app.url));
    let put = put.basic_auth(&app.writer.name, Some(&app.writer.secret)).send().await.unwrap();
    assert_eq!((put.status().as_u16(), put.headers()["allow"].to_str().unwrap()), (405, "GET, POST, DELETE"));
    let unknown = app.http.get(format!("{}/mcp/connections/{CONNECTION}", app.url)).send().await.unwrap();
    assert_eq!(unknown.status(), 401, "the method is no secret, but who asks comes first");
}

#[actix_web::test]
async fn what_is_nobodys_call_is_in_the_log_too() {
    let app = fixture::on_sqlite().await;
    let evil = ("origin", "https://evil.example");
    let mcp = format!("/mcp/connections/{CONNECTION}");
    for (id, method, path, header, status, failure) in [
        ("n1", "GET", "/nothing", None, 404, Kind::NotFound),
        ("n2", "GET", "/api/nothing", None, 404, Kind::NotFound),
        ("n3", "GET", "/api/query", None, 405, Kind::Invalid),
        ("n4", "GET", "/oauth/token", None, 405, Kind::Invalid),
        ("n5", "GET", "/api/tables", Some(evil), 403, Kind::Forbidden),
        ("n6", "POST", mcp.as_str(), Some(evil), 403, Kind::Forbidden),
    ] {
        let request = app.http.request(method.parse().unwrap(), format!("{}{path}", app.url));
        let request = request.header("x-request-id", id);
        let request = header.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        assert_eq!(request.send().await.unwrap().status(), status, "{path}");
        let told = || {
            let events = app.events.lock().unwrap();
            let calls = events.iter().filter_map(|event| match event {
                Event::CallEnded(call) if call.id.as_str() == id => Some((call.what.clone(), call.failure)),
                _ => None,
            });
            calls.collect::<Vec<_>>()
        };
        eventually("the event of the refusal", async || !told().is_empty()).await;
        assert_eq!(told(), [(path.to_owned(), Some(failure))], "once");
    }
}
