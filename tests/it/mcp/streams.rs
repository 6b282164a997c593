//! Streams that stay open: how many there may be, and that nobody listens who is not let in any more.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, eventually, read};
use crate::support::fixture;
use crate::support::mcp::{at_the_address_of_all, modern};
use crate::support::stream::Events;

async fn app(server: &str) -> TestApp {
    fixture::with_server(server, "").await
}

async fn get(app: &TestApp, by: &Caller) -> reqwest::Response {
    let built = app.http.get(app.mcp_url());
    built.basic_auth(&by.name, Some(&by.secret)).header("accept", "text/event-stream").send().await.unwrap()
}

async fn listen(app: &TestApp, by: &Caller) -> reqwest::Response {
    let params = json!({"notifications": {"toolsListChanged": true}});
    modern(app, by, &json!("s"), "subscriptions/listen", params).send().await.unwrap()
}

#[actix_web::test]
async fn a_principal_has_a_bounded_number_of_open_streams() {
    let app = app("max_streams = 2").await;
    let (first, second) = (get(&app, &app.writer).await, listen(&app, &app.writer).await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    for refused in [get(&app, &app.writer).await, listen(&app, &app.writer).await] {
        assert_eq!(refused.headers()["retry-after"], "15");
        let (status, body) = read(refused).await;
        assert_eq!((status, &body["error"]["code"]), (429, &json!(1600)), "{body}");
        assert!(body["error"]["message"].as_str().unwrap().contains("server.max_streams"), "{body}");
    }
    assert_eq!(get(&app, &app.reader).await.status(), 200, "another's streams do not count");
    // What is not a stream is not counted.
    assert_eq!(app.mcp(&app.writer, "tools/list", json!({})).await.0, 200);
    drop(first);
    eventually("a place for a stream", async || get(&app, &app.writer).await.status() == 200).await;
}

#[actix_web::test]
async fn who_is_not_let_in_any_more_does_not_listen_any_more() {
    let app = app("").await;
    let writers = [get(&app, &app.writer).await, listen(&app, &app.writer).await];
    let readers = get(&app, &app.reader).await;
    let store = &mut app.store();
    let pats = store.pats(Some(&app.writer.name)).unwrap();
    store.revoke_pat(&pats[0].id.to_string()).unwrap();
    let less = NewUser { email: app.reader.name.clone(), rights: Rights::only([], Scope::Read) };
    store.change_user(less).unwrap();
    let [session, stateless] = writers.map(Events::new);
    assert_eq!(session.rest().await.len(), 0, "a revoked token goes on to listen");
    let told = stateless.rest().await;
    assert_eq!(told.last().unwrap()["result"]["resultType"], "complete", "{told:?}");
    assert_eq!(Events::new(readers).rest().await.len(), 0, "who may not reach the connection goes on to listen");
}

#[actix_web::test]
async fn who_may_do_more_than_before_or_elsewhere_goes_on_to_listen() {
    let app = app("").await;
    let name = "mia@example.com".to_owned();
    let rights = Rights::each([(CONNECTION, Scope::Read), (OTHER, Scope::Write)]);
    let store = &mut app.store();
    store.add_user(NewUser { email: name.clone(), rights }).unwrap();
    let secret = store.create_pat(&name, NewPat::default()).unwrap().1.expose_secret().to_owned();
    let mut stream = listen(&app, &Caller { name: name.clone(), secret }).await;
    store.change_user(NewUser { email: name, rights: Rights::all(Scope::Admin) }).unwrap();
    let mut read = String::new();
    // Each heartbeat has two, and with the first the caller is looked at.
    while read.matches(": keep-alive").count() < 2 {
        assert!(!read.contains("\"result\""), "the stream was ended: {read}");
        let chunk = stream.chunk().await.unwrap().expect("the stream has ended");
        read.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

at_the_address_of_all! {
    a_principal_has_a_bounded_number_of_open_streams
    who_is_not_let_in_any_more_does_not_listen_any_more
}
