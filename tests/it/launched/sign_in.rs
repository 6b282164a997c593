//! `portico stdio` without a token: the person signs in with a browser, once.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{CONNECTION, TestApp, awaited, eventually};
use crate::support::configuration::Configuration;
use crate::support::launched::Launched;
use crate::support::person::Person;
use crate::support::process::program;

/// A browser that writes down where it is sent.
fn browser(folder: &Path) -> PathBuf {
    let path = folder.join("browser");
    std::fs::write(&path, "#!/bin/sh\nprintf '%s' \"$1\" >\"$0.new\" && mv \"$0.new\" \"$0.address\"\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn launch(app: &TestApp, folder: &Path) -> Launched {
    let mut command = program();
    command.args(["stdio", "--server", &app.url, "--connection", "shop"]).env_remove("PORTICO_TOKEN");
    command.env("XDG_CONFIG_HOME", folder.join("config")).env("BROWSER", browser(folder));
    Launched::begin(&mut command)
}

/// The address that the browser was sent to, without the server's own part.
async fn asked(app: &TestApp, folder: &Path) -> String {
    let file = folder.join("browser.address");
    let address = awaited("the browser to be opened", async || std::fs::read_to_string(&file).ok()).await;
    std::fs::remove_file(&file).unwrap();
    address.strip_prefix(&app.url).unwrap().to_owned()
}

/// What is kept, and its file.
fn kept(folder: &Path) -> (PathBuf, Value) {
    let folder = folder.join("config/portico/sign-ins");
    let mut files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap();
    let kept = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    (file, kept)
}

#[actix_web::test]
async fn a_person_signs_in_once_and_access_is_kept_and_renewed() {
    let registration = "[oauth]\ndynamic_registration = true";
    let app = Configuration::new().sqlite("shop", "").with(registration).start().await;
    let folder = TempDir::new().unwrap();
    let mut client = launch(&app, folder.path());
    client.request(json!(1), "tools/list", crate::support::launched::alone(json!({})));
    let address = asked(&app, folder.path()).await;
    let person = Person::signed_in(&app, &app.writer).await;
    let page = person.get(&address).await;
    assert!(page.html.contains("portico stdio"), "the page names who asks: {}", page.html);
    let answer = person.allow(&page, "read", &[&CONNECTION.to_string()]).await;
    let back = app.http.get(&answer.location).send().await.unwrap();
    assert_eq!(back.status(), 200);
    assert!(back.text().await.unwrap().contains("You are signed in"));
    let listed = client.answer(&json!(1)).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    client.close().await;
    let (file, first) = kept(folder.path());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    // Another run asks nobody.
    let mut client = launch(&app, folder.path());
    client.ask_alone(json!(1), "tools/list", json!({})).await;
    client.close().await;
    assert_eq!(kept(folder.path()).1, first);
    // One that has ended is renewed, and so is one that the server does not take any more.
    for member in ["expiresAt", "accessToken"] {
        let before = kept(folder.path()).1;
        let mut spoilt = before.clone();
        spoilt[member] = if member == "expiresAt" { json!(1) } else { json!("none") };
        std::fs::write(&file, spoilt.to_string()).unwrap();
        let mut client = launch(&app, folder.path());
        let listed = client.ask_alone(json!(1), "tools/list", json!({})).await;
        assert!(listed["result"]["tools"].is_array(), "{member}: {listed}");
        client.close().await;
        let after = kept(folder.path()).1;
        assert_ne!((&after["accessToken"], &after["refreshToken"]), (&before["accessToken"], &before["refreshToken"]));
        assert_eq!(after["clientId"], first["clientId"]);
    }
    assert!(!folder.path().join("browser.address").exists(), "nobody was asked again");
    // A server that has forgotten the client is asked for another one.
    let id = first["clientId"].as_str().unwrap();
    app.store().remove_client(id).unwrap();
    let token = kept(folder.path()).1["accessToken"].clone();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let shown = || app.mcp_request().bearer_auth(token.as_str().unwrap()).json(&list).send();
    eventually("its token to be refused", async || shown().await.unwrap().status() == 401).await;
    let mut client = launch(&app, folder.path());
    client.request(json!(1), "tools/list", crate::support::launched::alone(json!({})));
    let address = asked(&app, folder.path()).await;
    assert!(!address.contains(id) && person.get(&address).await.html.contains("portico stdio"), "{address}");
    client.close().await;
}

#[actix_web::test]
async fn whoever_does_not_agree_is_told_and_a_server_may_want_the_client_registered() {
    let registration = "[oauth]\ndynamic_registration = true";
    let app = Configuration::new().sqlite("shop", "").with(registration).start().await;
    let folder = TempDir::new().unwrap();
    let mut client = launch(&app, folder.path());
    client.request(json!("a"), "tools/list", crate::support::launched::alone(json!({})));
    let address = asked(&app, folder.path()).await;
    let query = address.split_once('?').unwrap().1;
    let parameter = |name: &str| {
        let mut all = form_urlencoded::parse(query.as_bytes());
        all.find(|(known, _)| known == name).unwrap().1.into_owned()
    };
    let (redirect, state) = (parameter("redirect_uri"), parameter("state"));
    let stray = app.http.get(format!("{redirect}?code=x&state=other")).send().await.unwrap();
    assert_eq!(stray.status(), 400, "an answer to another question");
    let denied = app.http.get(format!("{redirect}?error=access_denied&state={state}")).send().await.unwrap();
    assert_eq!(denied.status(), 200);
    let answer = client.answer(&json!("a")).await;
    assert_eq!(answer["error"]["code"], 1100, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("access was not given"), "{answer}");
    client.close().await;
    let registration = "[oauth]\ndynamic_registration = false";
    let app = Configuration::new().sqlite("shop", "").with(registration).start().await;
    let mut client = launch(&app, folder.path());
    let answer = client.ask_alone(json!(1), "tools/list", json!({})).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("portico client add") && message.contains("PORTICO_TOKEN"), "{message}");
    client.close().await;
}
