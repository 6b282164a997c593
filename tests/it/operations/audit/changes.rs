//! What the audit trail says of changes on people's pages, and of sign-ins that failed.

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::event::Event;
use portico_actors::principal::Rights;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::operations::audit::trail::{full_disk, records, service, trail};
use crate::support::app::{CONNECTION, Caller, eventually, read};
use crate::support::person::Person;

#[actix_web::test]
async fn changes_on_pages_are_recorded_with_who_from_where_and_what() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let email = "root@example.com".to_owned();
    let admin = NewUser { email: email.clone(), rights: Rights::ALL };
    app.store().add_user(admin).unwrap();
    let (pat, secret) = app.store().create_pat(&email, NewPat::default()).unwrap();
    let root = Caller { name: email.clone(), secret: secret.expose_secret().to_owned() };
    let person = Person::signed_in(&app, &root).await;
    let id = CONNECTION.to_string();
    let token = [("name", "laptop"), ("scope", "read"), ("expires", "30"), ("reach", "all")];
    assert_eq!(person.act("/account/tokens", &token).await.status, 200);
    let made = app.store().pats(Some(&email)).unwrap().into_iter().find(|pat| pat.name == "laptop").unwrap();
    assert_eq!(person.act("/account/tokens/revoke", &[("id", &made.id.to_string())]).await.status, 303);
    let account = [("name", "nightly"), ("scope", "read"), ("connection", id.as_str())];
    assert_eq!(person.act("/users/accounts", &account).await.status, 200);
    let client = app.store().service_accounts().unwrap().into_iter().find(|it| it.name == "nightly").unwrap().client_id;
    let user = [("email", "new@example.com"), ("scope", "write"), ("reach", "all")];
    assert_eq!(person.act("/users/people", &user).await.status, 200);
    for (path, id, action) in [
        ("/users/accounts/change", client.as_str(), "rotate"),
        ("/users/accounts/change", &client, "disable"),
        ("/users/people/change", "new@example.com", "disable"),
        ("/users/people/change", "new@example.com", "remove"),
    ] {
        let done = person.act(path, &[("id", id), ("action", action)]).await;
        assert!(done.status < 400, "{path} {action}: {done:?}");
    }
    // The answer has come: the records are there.
    let all = records(&trail(&app));
    let changes: Vec<&Value> = all.iter().filter(|record| record["event"] == "change").collect();
    let said: Vec<_> =
        changes.iter().map(|it| (it["action"].as_str().unwrap(), it["path"].as_str().unwrap())).collect();
    assert_eq!(
        said,
        [
            ("pat create", "/account/tokens"),
            ("pat revoke", "/account/tokens/revoke"),
            ("service-account create", "/users/accounts"),
            ("user add", "/users/people"),
            ("pat create", "/users/people"),
            ("service-account rotate", "/users/accounts/change"),
            ("service-account disable", "/users/accounts/change"),
            ("user disable", "/users/people/change"),
            ("user remove", "/users/people/change"),
        ]
    );
    for change in &changes {
        assert_eq!((&change["principal"], &change["address"]), (&json!(email), &json!("127.0.0.1")), "{change}");
        assert!(change["requestId"].is_string() && change["object"].is_object(), "{change}");
        let call = all.iter().find(|it| it["event"] == "call" && it["requestId"] == change["requestId"]).unwrap();
        assert_eq!(call["credential"], json!(pat.id), "the session began with it: {call}");
    }
    // Also where the page refuses it.
    assert_eq!(person.post("/account/tokens", &[("csrf", "wrong")]).await.status, 403);
    let refused = records(&trail(&app)).pop().unwrap();
    assert_eq!(
        (&refused["outcome"], &refused["principal"], &refused["credential"]),
        (&json!("forbidden"), &json!(email), &json!(pat.id))
    );
    assert!(refused["reason"].as_str().unwrap().contains("form"), "{refused}");
    assert!(changes[7]["before"]["disabledAt"].is_null() && changes[7]["after"]["disabledAt"].is_string());
    let text = std::fs::read_to_string(trail(&app)).unwrap();
    assert!(!text.contains("ptc_pat_") && !text.contains("ptc_cs_") && !text.contains(&root.secret));
    assert!(text.contains(&pat.email));
}

#[actix_web::test]
async fn a_failed_sign_in_is_a_failure_and_who_it_claims_to_be_is_no_principal() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"").await;
    let password = "correct horse battery".into();
    app.store().change_password(&app.writer.name, Some(&password)).unwrap();
    let person = Person::new(&app);
    assert_eq!(person.sign_in(&app.writer.name, "wrong horse battery").await.status, 401);
    assert_eq!(person.sign_in("nobody@example.com", "ptc_pat_wrong").await.status, 401);
    // A password in the wrong field, and a name as somebody types it.
    assert_eq!(person.sign_in("Tr0ub4dor@&3", &app.writer.name).await.status, 401);
    assert_eq!(person.sign_in(" WRITER@example.COM ", "wrong horse battery").await.status, 401);
    assert_eq!(person.sign_in("WRITER@example.COM", "correct horse battery").await.status, 303);
    let without_cookie = person.post("/sign-in", &[("email", "eve@example.com"), ("secret", "x")]).await;
    assert_eq!(without_cookie.status, 403);
    let path = trail(&app);
    let all = records(&path);
    let posts: Vec<_> = all
        .iter()
        .filter(|record| {
            record["path"] == "/sign-in" && (!record["claimed"].is_null() || !record["principal"].is_null())
        })
        .map(|it| (it["outcome"].as_str().unwrap(), it["principal"].as_str(), it["claimed"].as_str()))
        .collect();
    assert_eq!(
        posts,
        [
            ("unauthenticated", None, Some(app.writer.name.as_str())),
            ("unauthenticated", None, Some("nobody@example.com")),
            ("unauthenticated", None, Some("WRITER@example.COM")),
            ("ok", Some(app.writer.name.as_str()), None),
            ("forbidden", None, Some("eve@example.com")),
        ]
    );
    assert!(!std::fs::read_to_string(&path).unwrap().contains("Tr0ub4dor"));
    let refused = all.iter().find(|record| record["outcome"] == "unauthenticated").unwrap();
    assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("password")), "{refused}");
    // A revoked token is told from one that never was, in the trail alone.
    let pat = app.store().pats(Some(&app.reader.name)).unwrap().remove(0);
    app.store().revoke_pat(&pat.id.to_string()).unwrap();
    let asked = app.http.get(format!("{}/api/connections", app.url));
    let refused = asked.basic_auth(&app.reader.name, Some(&app.reader.secret)).send().await.unwrap();
    let (status, body) = read(refused).await;
    assert!(status == 401 && !body.to_string().contains("revoked"), "{body}");
    let all = records(&path);
    let last = all.iter().rfind(|record| record["path"] == "/api/connections").unwrap();
    assert_eq!(
        (&last["reason"], &last["credential"], &last["claimed"]),
        (&json!("the personal access token was revoked"), &json!(pat.id), &json!(app.reader.name))
    );
    assert!(last.get("principal").is_none());
}

#[actix_web::test]
async fn a_change_that_cannot_be_recorded_is_not_made() {
    let (folder, path) = full_disk();
    let app = service(folder, "file = \"audit.jsonl\"\n[oauth]\ndynamic_registration = true").await;
    eventually("the trail's failure", async || {
        app.told(|event| matches!(event, Event::AuditFailed { refuses: true, .. }))
    })
    .await;
    let register = async || {
        let body = json!({"redirect_uris": ["http://localhost/x"]});
        read(app.http.post(format!("{}/oauth/register", app.url)).json(&body).send().await.unwrap()).await.0
    };
    assert_eq!((register().await, app.store().clients().unwrap().len()), (503, 0));
    std::fs::remove_file(&path).unwrap();
    eventually("the trail to go on", async || app.told(|event| matches!(event, Event::AuditResumed { .. }))).await;
    assert_eq!((register().await, app.store().clients().unwrap().len()), (201, 1));
}
