//! Workspaces on the pages of people: what is offered, and what is given by it.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::{Rights, Scope};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, read};
use crate::support::configuration::Configuration;
use crate::support::person::{Page, Person, client, redemption, token};

async fn start() -> TestApp {
    let workspace = "[[workspaces]]\nname = \"revenue\"\n\
        assets = [{ table = \"shop.main.orders\" }, { table = \"archive.main.orders\", folder = \"old\" }]\n";
    Configuration::new().sqlite("shop", "").sqlite("archive", "").with(workspace).start().await
}

async fn user(app: &TestApp, name: &str, rights: Rights) -> Caller {
    let email = format!("{name}@example.com");
    app.store().add_user(NewUser { email: email.clone(), rights }).unwrap();
    let (_, secret) = app.store().create_pat(&email, NewPat::default()).unwrap();
    app.look().await;
    Caller { name: email, secret: secret.expose_secret().to_owned() }
}

async fn allow(person: &Person<'_>, page: &Page, more: &[(&str, &str)]) -> Page {
    let (csrf, request) = (page.hidden("csrf"), page.hidden("request"));
    let form = [("csrf", csrf.as_str()), ("request", &request), ("decision", "allow")];
    person.post("/authorize/decision", &[&form, more].concat()).await
}

/// What a bearer is told there.
async fn told(app: &TestApp, access: &Value, path: &str) -> Value {
    let request = app.http.get(format!("{}{path}", app.url)).bearer_auth(access.as_str().unwrap());
    read(request.send().await.unwrap()).await.1
}

#[actix_web::test]
async fn a_person_gives_an_application_a_workspace_instead_of_its_connections() {
    let app = start().await;
    let both = Rights::each([(CONNECTION, Scope::Write), (OTHER, Scope::Read)]);
    let caller = user(&app, "ann", both).await;
    let person = Person::signed_in(&app, &caller).await;
    let (client, _) = client(&app, "C", false);
    let page = person.authorize(&client.client_id, &[]).await;
    assert!(page.html.contains("revenue <small>workspace, read at most</small>"), "{}", page.html);
    assert_eq!(allow(&person, &page, &[("scope", "write")]).await.status, 400, "nothing is chosen");
    assert_eq!(allow(&person, &page, &[("scope", "write"), ("workspace", "turnover")]).await.status, 400);
    let code = allow(&person, &page, &[("scope", "write"), ("workspace", "revenue")]).await.parameter("code").unwrap();
    let (_, issued) = token(&app, &redemption(&client.client_id, &code)).await;
    let access = &issued["access_token"];
    assert_eq!(told(&app, access, "/api/connections").await, json!({"connections": []}));
    assert_eq!(told(&app, access, "/api/workspaces").await["workspaces"][0]["name"], "revenue");
    let account = person.get("/account").await;
    assert!(account.html.contains("workspace revenue"), "{}", account.html);
    // What the person loses underneath is lost here.
    let change = NewUser { email: caller.name.clone(), rights: Rights::only([CONNECTION], Scope::Write) };
    app.store().change_user(change).unwrap();
    app.look().await;
    assert_eq!(told(&app, access, "/api/workspaces").await, json!({"workspaces": []}));
    let page = person.authorize(&client.client_id, &[]).await;
    assert!(!page.html.contains("revenue"), "{}", page.html);
}

#[actix_web::test]
async fn an_administrator_gives_workspaces_within_their_own() {
    let app = start().await;
    let root = Person::signed_in(&app, &user(&app, "root", Rights::ALL).await).await;
    let form = [("name", "nightly"), ("scope", "read"), ("workspace", "revenue")];
    assert_eq!(root.act("/users/accounts", &form).await.status, 200);
    let form = [("email", "eve@example.com"), ("scope", "read"), ("reach", "only"), ("workspace", "revenue")];
    assert_eq!(root.act("/users/people", &form).await.status, 200);
    for (path, name) in [("/users", "nightly"), ("/users?tab=people", "eve@example.com")] {
        let page = root.get(path).await;
        assert!(page.html.contains(name) && page.html.contains("<td>workspace revenue</td>"), "{}", page.html);
    }
    let local = user(&app, "local", Rights::only([OTHER], Scope::Admin)).await;
    let local = Person::signed_in(&app, &local).await;
    let page = local.get("/users").await;
    assert!(!page.html.contains("nightly") && !page.html.contains("revenue"), "{}", page.html);
    let form = [("name", "mine"), ("scope", "read"), ("workspace", "revenue")];
    assert_eq!(local.act("/users/accounts", &form).await.status, 400);
}
