//! A change that cannot be recorded is not made, also where its own record is the first that fails.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::principal::Rights;
use rustix::fs::OFlags;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::operations::audit::trail::{records, service, trail};
use crate::support::app::{CONNECTION, Caller, OTHER, TestApp, eventually, read};
use crate::support::configuration::{Configuration, configure, connection, shop};
use crate::support::fixture::sqlite;
use crate::support::person::Person;
use crate::support::process::portico;

/// Leaves no room for another record.
fn fill(trail: &Path) {
    std::fs::rename(trail, trail.with_extension("kept")).unwrap();
    symlink("/dev/full", trail).unwrap();
}

/// Makes room.
fn empty(trail: &Path) {
    std::fs::remove_file(trail).unwrap();
    std::fs::rename(trail.with_extension("kept"), trail).unwrap();
}

/// Who may do what.
fn held(app: &TestApp) -> String {
    let store = app.store();
    let (users, tokens, accounts) = (store.users(), store.pats(None), store.service_accounts());
    format!("{users:?} {tokens:?} {accounts:?} {:?} {:?}", store.clients(), store.consents(None))
}

async fn is_ready(app: &TestApp) {
    let url = format!("{}/readyz", app.url);
    eventually("the service to be ready", async || read(app.http.get(&url).send().await.unwrap()).await.0 == 200).await;
}

#[actix_web::test]
async fn a_file_that_takes_nothing_does_not_keep_the_service_from_its_end() {
    let service = Configuration::new().sqlite("shop", "").with("[audit]\nfile = \"audit.fifo\"");
    let path = service.path().join("audit.fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut pipe = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path).unwrap();
    let mut service = service.serve().await;
    while pipe.write(b"\n").is_ok() {}
    service.signal("TERM");
    assert!(service.ended().await.success());
}

#[actix_web::test]
async fn a_change_by_a_page_or_an_endpoint_whose_record_fails_is_not_made() {
    let app = service(TempDir::new().unwrap(), "file = \"audit.jsonl\"\n[oauth]\ndynamic_registration = true").await;
    let email = "root@example.com".to_owned();
    app.store().add_user(NewUser { email: email.clone(), rights: Rights::ALL }).unwrap();
    let (own, secret) = app.store().create_pat(&email, NewPat::default()).unwrap();
    let root = Caller { name: email.clone(), secret: secret.expose_secret().to_owned() };
    let person = Person::signed_in(&app, &root).await;
    let csrf = person.get("/account").await.hidden("csrf");
    let (connection, own) = (CONNECTION.to_string(), own.id.to_string());
    let account = app.store().service_accounts().unwrap().remove(0).client_id;
    let pages: [(&str, &[(&str, &str)]); 6] = [
        ("/account/tokens", &[("name", "laptop"), ("scope", "read"), ("expires", "30"), ("reach", "all")]),
        ("/account/tokens/revoke", &[("id", &own)]),
        ("/users/accounts", &[("name", "nightly"), ("scope", "read"), ("connection", &connection)]),
        ("/users/people", &[("email", "new@example.com"), ("scope", "write"), ("reach", "all")]),
        ("/users/accounts/change", &[("id", &account), ("action", "disable")]),
        ("/users/people/change", &[("id", &app.writer.name), ("action", "remove")]),
    ];
    let trail = trail(&app);
    let mut tried = 0;
    let mut refused = async |what: &str, status: u16, before: &str| {
        assert_eq!((status, held(&app).as_str()), (503, before), "{what}");
        empty(&trail);
        // What was tried is there when there is room again, and that it was not done.
        let told =
            || records(&trail).iter().filter(|it| it["event"] == "change" && it["outcome"] == "unavailable").count();
        eventually("the record of what was tried", async || told() > tried).await;
        tried = told();
        is_ready(&app).await;
    };
    for (path, fields) in pages {
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        let before = held(&app);
        fill(&trail);
        let page = person.post(path, &fields).await;
        refused(path, page.status, &before).await;
    }
    let before = held(&app);
    fill(&trail);
    let request =
        app.http.post(format!("{}/oauth/register", app.url)).json(&json!({"redirect_uris": ["http://localhost/x"]}));
    let status = read(request.send().await.unwrap()).await.0;
    refused("/oauth/register", status, &before).await;
    // A token is no change, and is not given either.
    fill(&trail);
    let (id, secret) = (app.agent.name.as_str(), app.agent.secret.as_str());
    let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    let (status, answer) =
        read(app.http.post(format!("{}/oauth/token", app.url)).form(&form).send().await.unwrap()).await;
    assert!(status == 503 && answer.get("access_token").is_none(), "{status} {answer}");
    empty(&trail);
    is_ready(&app).await;
    // Nor is a session.
    let stranger = Person::new(&app);
    let fresh = stranger.get("/sign-in").await.hidden("csrf");
    fill(&trail);
    let page = stranger.post("/sign-in", &[("csrf", &fresh), ("email", &root.name), ("secret", &root.secret)]).await;
    assert!(page.status == 503 && !page.headers.contains_key("set-cookie"), "{} {:?}", page.status, page.headers);
    empty(&trail);
    is_ready(&app).await;
    // With room it is made.
    assert_eq!(person.act("/account/tokens/revoke", &[("id", &own)]).await.status, 303);
    assert_ne!(held(&app), before);
}

#[test]
fn a_command_whose_record_fails_changes_nothing() {
    let folder = TempDir::new().unwrap();
    sqlite(&folder, "shop.db");
    let written = |on_failure: &str| {
        let audit = format!("[audit]\nfile = \"audit.jsonl\"\non_failure = \"{on_failure}\"\n");
        configure(folder.path(), None, "", &(shop("") + &audit));
    };
    written("refuse");
    let run = |command: &str| portico(folder.path(), &command.split(' ').collect::<Vec<_>>());
    for command in [
        "key ensure",
        "user add ann@example.org",
        "pat create ann@example.org --name laptop",
        "service-account create nightly --connection shop",
    ] {
        let output = run(command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let lists = ["user list", "pat list", "service-account list", "client list", "key list"];
    let held = || lists.map(|list| String::from_utf8(run(&format!("{list} --json")).stdout).unwrap());
    let (before, trail) = (held(), folder.path().join("audit.jsonl"));
    assert!(before[1].contains("laptop"), "{before:?}");
    fill(&trail);
    for command in [
        "user add bob@example.org",
        "user disable ann@example.org",
        "user sign-out ann@example.org",
        "user remove ann@example.org",
        "pat create ann@example.org",
        "pat revoke laptop",
        "service-account create other --connection shop",
        "service-account rotate nightly",
        "service-account disable nightly",
        "service-account remove nightly",
        "key rotate",
        "key rotate --compromised",
    ] {
        let output = run(&format!("{command} --json"));
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(!output.status.success() && said["ok"] == false, "{command}: {said}");
        assert!(said["message"].as_str().unwrap().contains("nothing was changed"), "{command}: {said}");
        assert_eq!(held(), before, "{command}");
    }
    // Where changes go on without a record, this one does, and the command says so.
    written("continue");
    let output = run("user add bob@example.org");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("could not be recorded"), "{said}");
    assert!(held()[0].contains("bob@example.org"));
    empty(&trail);
    assert_eq!(records(&trail).len(), 3);
}

#[actix_web::test]
async fn a_reload_whose_record_fails_changes_nothing() {
    let audit = "[audit]\nfile = \"audit.jsonl\"\n";
    let service = Configuration::new().sqlite("shop", "").with(audit).serve().await;
    let trail = service.folder.path().join("audit.jsonl");
    let archive = connection(OTHER, "archive", &sqlite(&service.folder, "archive.db"), "");
    service.configure("", &(shop("") + &archive + audit));
    let connections = async || {
        let (status, listed) = read(service.get("/api/connections").send().await.unwrap()).await;
        (status, listed["connections"].as_array().map(Vec::len))
    };
    fill(&trail);
    let (done, said) = service.reload().await;
    assert!(!done && said["problems"][0]["message"].as_str().unwrap().contains("audit trail"), "{said}");
    empty(&trail);
    eventually("the trail to be written again", async || connections().await.0 == 200).await;
    assert_eq!(connections().await, (200, Some(1)));
    assert!(service.reload().await.0);
    assert_eq!(connections().await, (200, Some(2)));
    let all = records(&trail);
    let reloads: Vec<_> = all.iter().filter(|it| it["action"] == "reload").map(|it| it["outcome"].clone()).collect();
    assert_eq!(reloads, ["ok", "unavailable", "ok"], "the first is taken back by the second");
}

#[test]
fn a_service_is_told_by_commands_that_change_something_and_by_no_others() {
    let folder = Configuration::new().sqlite("shop", "").write();
    assert!(portico(folder.path(), &["key", "ensure"]).status.success());
    let control = UnixListener::bind(folder.path().join("portico.control")).unwrap();
    control.set_nonblocking(true).unwrap();
    for (command, tells) in [
        ("user list", false),
        ("user add ann@example.org", true),
        ("user add ann@example.org", false),
        ("pat list", false),
        ("pat create ann@example.org --name laptop", true),
        ("pat revoke laptop", true),
        ("key list", false),
    ] {
        portico(folder.path(), &command.split(' ').collect::<Vec<_>>());
        assert_eq!(control.accept().is_ok(), tells, "{command}");
    }
}
