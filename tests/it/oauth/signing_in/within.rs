//! Nobody gives, changes or sees what reaches beyond themselves: consents of a narrowed token, and
//! administrators who are confined to a connection.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, read};
use crate::support::fixture;
use crate::support::person::{Person, client, redemption, token};

/// What an access token gets for a statement that writes there.
async fn writes(app: &TestApp, access: &str, connection: &str) -> (u16, i64) {
    let body = json!({"query": format!("DELETE FROM {connection}.main.orders WHERE id = 0")});
    let sent = app.http.post(format!("{}/api/query", app.url)).bearer_auth(access).json(&body).send().await.unwrap();
    let (status, answer) = read(sent).await;
    (status, answer["error"]["code"].as_i64().unwrap_or_default())
}

#[actix_web::test]
async fn a_consent_goes_no_further_than_the_token_that_was_signed_in_with() {
    let app = fixture::two_writable_connections().await;
    let root = NewUser { email: "root@example.com".to_owned(), rights: Rights::ALL };
    app.store().add_user(root).unwrap();
    let rights = Rights::each([(CONNECTION, Scope::Read), (OTHER, Scope::Write)]);
    let new = NewPat { rights, ..NewPat::default() };
    let (client, _) = client(&app, "C", false);
    for email in [app.writer.name.as_str(), "root@example.com"] {
        let (_, secret) = app.store().create_pat(email, new.clone()).unwrap();
        let person = Person::new(&app);
        assert_eq!(person.sign_in(email, secret.expose_secret()).await.status, 303);
        let page = person.authorize(&client.client_id, &[("scope", "admin")]).await;
        assert!(page.html.contains("shop <small>read at most</small>"), "{}", page.html);
        let both = [CONNECTION.to_string(), OTHER.to_string()];
        let both: Vec<&str> = both.iter().map(String::as_str).collect();
        assert_eq!(person.allow(&page, "admin", &both).await.status, 400);
        let code = person.allow(&page, "write", &both).await.parameter("code").unwrap();
        let (_, issued) = token(&app, &redemption(&client.client_id, &code)).await;
        let access = issued["access_token"].as_str().unwrap();
        assert_eq!(writes(&app, access, "shop").await, (403, 1200), "{email}");
        assert_eq!(writes(&app, access, "archive").await, (200, 0), "{email}");
        let account = person.get("/account").await;
        let cells = "<td data-label=\"Scope\">write</td><td data-label=\"Connections\">shop:read, archive</td>";
        assert!(account.html.contains(cells), "{}", account.html);
    }
}

#[actix_web::test]
async fn an_administrator_of_one_connection_stays_within_it() {
    let app = fixture::two_writable_connections().await;
    let email = "local@example.com".to_owned();
    let rights = Rights::only([OTHER], Scope::Admin);
    app.store().add_user(NewUser { email: email.clone(), rights }).unwrap();
    let (_, secret) = app.store().create_pat(&email, NewPat::default()).unwrap();
    let local = Caller { name: email.clone(), secret: secret.expose_secret().to_owned() };
    let person = Person::signed_in(&app, &local).await;

    // What lies beyond does not exist for them.
    let (accounts, people) = (person.get("/users").await.html, person.get("/users?tab=people").await.html);
    assert!(!accounts.contains("agent") && !people.contains(&app.writer.name), "{accounts}{people}");
    assert!(people.contains(&email) && !people.contains("value=\"all\""), "{people}");
    for action in ["rotate", "disable", "enable", "remove"] {
        for which in ["agent", app.agent.name.as_str()] {
            let form = [("id", which), ("action", action)];
            let refused = person.act("/users/accounts/change", &form).await;
            assert_eq!(refused.status, 404, "{action} {which}");
            assert!(!refused.html.contains("did you mean"), "{}", refused.html);
        }
    }
    for action in ["disable", "enable", "remove"] {
        let form = [("id", app.writer.name.as_str()), ("action", action)];
        assert_eq!(person.act("/users/people/change", &form).await.status, 404, "{action}");
    }
    app.token().await;

    // Nor can it be made.
    let (here, there) = (OTHER.to_string(), CONNECTION.to_string());
    let add = async |reach: &str, connection: &str| {
        let form = [("email", "new@example.com"), ("scope", "read"), ("reach", reach), ("connection", connection)];
        person.act("/users/people", &form).await.status
    };
    assert_eq!((add("all", &here).await, add("only", &there).await), (403, 400));
    let form = [("name", "mine"), ("scope", "read"), ("connection", there.as_str())];
    assert_eq!(person.act("/users/accounts", &form).await.status, 400);
    assert!(app.store().users().unwrap().iter().all(|user| user.email != "new@example.com"));
    let metrics = app.http.get(format!("{}/metrics", app.url)).basic_auth(&local.name, Some(&local.secret));
    assert_eq!(metrics.send().await.unwrap().status(), 403, "they tell of every connection");

    // What lies within is theirs to look after.
    assert_eq!(add("only", &here).await, 200);
    let made = app.store().users().unwrap().into_iter().find(|user| user.email == "new@example.com").unwrap();
    assert_eq!(made.rights, Rights::only([OTHER], Scope::Read));
    let form = [("name", "mine"), ("scope", "admin"), ("connection", here.as_str())];
    assert_eq!(person.act("/users/accounts", &form).await.status, 200);
    let rotated = person.act("/users/accounts/change", &[("id", "mine"), ("action", "rotate")]).await;
    assert!(rotated.html.contains("ptc_cs_") && rotated.html.contains("it ends with your token"), "{}", rotated.html);
    let form = [("id", "new@example.com"), ("action", "disable")];
    assert_eq!(person.act("/users/people/change", &form).await.status, 303);
}
