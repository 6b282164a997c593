//! Pages of other origins, as a browser lets them call: what it asks first, and what it lets them read.

use reqwest::Method;
use serde_json::json;

use crate::support::app::{CONNECTION, TestApp};
use crate::support::fixture;

const PAGE: &str = "https://app.example.org";

/// What a browser asks before it sends a call with a token from a page of `origin`.
async fn preflight(app: &TestApp, origin: &str, path: &str) -> reqwest::Response {
    let asked = app.http.request(Method::OPTIONS, format!("{}{path}", app.url)).header("origin", origin);
    let asked = asked.header("access-control-request-method", "POST");
    asked.header("access-control-request-headers", "authorization,content-type,mcp-param-city").send().await.unwrap()
}

fn header(response: &reqwest::Response, name: &str) -> Option<String> {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
}

#[actix_web::test]
async fn a_page_of_an_allowed_origin_may_call_and_read() {
    let app = fixture::with_server(&format!("allowed_origins = [\"{PAGE}\"]"), "access = \"read-write\"").await;
    let mcp = format!("/mcp/connections/{CONNECTION}");
    for origin in [PAGE, "http://localhost:3000", app.url.as_str()] {
        for path in [mcp.as_str(), "/api/query", "/oauth/token"] {
            let told = preflight(&app, origin, path).await;
            assert_eq!(told.status(), 204, "{origin} {path}");
            assert_eq!(header(&told, "access-control-allow-origin").as_deref(), Some(origin));
            assert_eq!(
                header(&told, "access-control-allow-headers").as_deref(),
                Some("authorization,content-type,mcp-param-city")
            );
            assert!(header(&told, "access-control-allow-methods").unwrap().contains("POST"));
            assert!(header(&told, "access-control-allow-credentials").is_none(), "no cookies");
        }
    }
    // What it may read of answers, refusals among them.
    let query = json!({"query": "SELECT 1 AS n"});
    let answered = app.post("/api/query").header("origin", PAGE).json(&query).send().await.unwrap();
    let refused = app.http.post(format!("{}{mcp}", app.url)).header("origin", PAGE).json(&query).send().await.unwrap();
    assert_eq!((answered.status().as_u16(), refused.status().as_u16()), (200, 401));
    for answer in [answered, refused] {
        assert_eq!(header(&answer, "access-control-allow-origin").as_deref(), Some(PAGE));
        let exposed = header(&answer, "access-control-expose-headers").unwrap();
        for name in
            ["Mcp-Session-Id", "WWW-Authenticate", "X-Request-Id", "Retry-After", "RateLimit", "RateLimit-Policy"]
        {
            assert!(exposed.split(", ").any(|each| each == name), "{name}: {exposed}");
        }
        let vary: Vec<_> = answer.headers().get_all("vary").iter().map(|vary| vary.to_str().unwrap()).collect();
        assert!(vary.contains(&"origin"), "{vary:?}");
    }
}

#[actix_web::test]
async fn no_other_page_is_told_that_it_may() {
    let app = fixture::with_server(&format!("allowed_origins = [\"{PAGE}\"]"), "").await;
    for path in ["/api/query", &format!("/mcp/connections/{CONNECTION}")] {
        for origin in ["https://evil.example", "null", "https://app.example.org.evil.example"] {
            let told = preflight(&app, origin, path).await;
            assert_eq!((told.status().as_u16(), header(&told, "access-control-allow-origin")), (403, None), "{origin}");
        }
    }
    // People's own pages are for nobody else's scripts.
    for path in ["/sign-in", "/account", "/authorize"] {
        let told = preflight(&app, PAGE, path).await;
        assert_eq!((told.status().as_u16(), header(&told, "access-control-allow-origin")), (405, None), "{path}");
    }
    // Without a page there is no preflight.
    let options = app.http.request(Method::OPTIONS, format!("{}/api/query", app.url)).send().await.unwrap();
    assert_eq!((options.status().as_u16(), header(&options, "access-control-allow-origin")), (405, None));
}
