//! What a grant for one resource (RFC 8707) gives for another one: every pair, by code and by refresh.

use std::collections::BTreeSet;

use super::fixture;
use crate::support::app::{CONNECTION, OTHER, TestApp};
use crate::support::person::{Person, client, redemption, refresh, token};

/// Each resource as a client spells it, with the doors that it opens.
const RESOURCES: [(&str, &[&str]); 11] = [
    ("", &["/api", "shop", "archive"]),
    ("/", &["/api", "shop", "archive"]),
    ("/api", &["/api"]),
    ("/api/query/?x=/mcp", &["/api"]),
    ("/mcp", &["shop", "archive"]),
    ("/mcp/connections/", &["shop", "archive"]),
    ("/mcp/connections/11111111-1111-4111-8111-111111111111", &["shop"]),
    ("/mcp/connections/shop?tools=sql", &["shop"]),
    ("/mcp/connections/22222222-2222-4222-8222-222222222222/", &["archive"]),
    ("/mcp/connections/archive", &["archive"]),
    ("/mcp/connections/nothing", &["nothing"]),
];

/// The doors that an access token opens.
async fn opened(app: &TestApp, access: &str) -> BTreeSet<&'static str> {
    let doors = [
        ("/api", app.http.get(format!("{}/api/connections", app.url))),
        ("shop", app.http.post(format!("{}/mcp/connections/{CONNECTION}", app.url))),
        ("archive", app.http.post(format!("{}/mcp/connections/{OTHER}", app.url))),
    ];
    let mut opened = BTreeSet::new();
    for (door, request) in doors {
        let ping =
            request.header("content-type", "application/json").body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let status = ping.bearer_auth(access).send().await.unwrap().status().as_u16();
        assert!(matches!(status, 200 | 401 | 403), "{door}: {status}");
        if status == 200 {
            opened.insert(door);
        }
    }
    opened
}

#[actix_web::test]
async fn a_grant_for_one_resource_gives_what_lies_within_it_and_nothing_else() {
    let app = fixture::two_connections().await;
    let (client, _) = client(&app, "Agent", false);
    let person = Person::signed_in(&app, &app.writer).await;
    let both = [CONNECTION.to_string(), OTHER.to_string()];
    let code = async |resource: &str, doors: &[&str]| {
        let resource = format!("{}{resource}", app.url);
        let page = person.authorize(&client.client_id, &[("resource", &resource)]).await;
        let given = [("shop", both[0].as_str()), ("archive", both[1].as_str())];
        let given: Vec<&str> =
            given.iter().filter(|(name, _)| doors == ["/api"] || doors.contains(name)).map(|it| it.1).collect();
        let answer = person.allow(&page, "read", &given).await;
        answer.parameter("code").unwrap_or_else(|| panic!("{resource}: {answer:?}"))
    };
    for (granted, whole) in RESOURCES.into_iter().filter(|(_, doors)| *doors != ["nothing"]) {
        let whole: BTreeSet<&str> = whole.iter().copied().collect();
        let doors: Vec<&str> = whole.iter().copied().collect();
        let first = code(granted, &doors).await;
        let (status, mut issued) = token(&app, &redemption(&client.client_id, &first)).await;
        assert_eq!(status, 200, "{granted}: {issued}");
        assert_eq!(opened(&app, issued["access_token"].as_str().unwrap()).await, whole, "{granted}");
        for (asked, part) in RESOURCES {
            let part: BTreeSet<&str> = part.iter().copied().collect();
            let expected = if part.is_subset(&whole) { 200 } else { 400 };
            let resource = format!("{}{asked}", app.url);
            let current = issued["refresh_token"].as_str().unwrap().to_owned();
            let (status, answer) = refresh(&app, &client.client_id, &current, &[("resource", &resource)]).await;
            assert_eq!(status, expected, "refresh: {granted} asked for {asked}: {answer}");
            if status == 200 {
                assert_eq!(opened(&app, answer["access_token"].as_str().unwrap()).await, part, "{granted}, {asked}");
                issued = answer;
            } else {
                assert_eq!(answer["error"], "invalid_target", "{granted}, {asked}");
            }
            let again = code(granted, &doors).await;
            let mut form = redemption(&client.client_id, &again);
            form.push(("resource", &resource));
            let (status, answer) = token(&app, &form).await;
            assert_eq!(status, expected, "code: {granted} asked for {asked}: {answer}");
            if status == 200 {
                assert_eq!(opened(&app, answer["access_token"].as_str().unwrap()).await, part, "{granted}, {asked}");
            }
        }
    }
}
