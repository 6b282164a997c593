//! Commands that only look, what programs are told of failures, and a store that is taken away.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::eventually;
use crate::support::configuration::Configuration;
use crate::support::process::portico;

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // The source's own files beside it are its driver's.
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("shop.db")).collect();
    names.sort();
    names
}

/// Whether a command changes what a store has.
fn is_change(command: &str) -> bool {
    [" disable", " remove", " create", " revoke"].iter().any(|verb| command.contains(verb))
}

/// Nor do those that change what is there: an empty store in the place of one that is away would let nobody in.
#[test]
fn commands_that_look_make_nothing() {
    for audit in ["", "[audit]\nfile = \"audit.jsonl\"\n", "[audit]\nstore = true\n"] {
        let folder = Configuration::new().sqlite("shop", "").with(audit).write();
        let before = names(folder.path());
        for command in [
            "user list",
            "pat list",
            "service-account list",
            "client list",
            "consent list",
            "key list",
            "check",
            "doctor",
            "health",
            "audit search",
            "audit tail",
            "user disable ann@example.org",
            "user remove ann@example.org",
            "pat create ann@example.org",
            "service-account remove 0b54f0c5-26b4-4a1c-9d1c-3b6b4a6e2f10",
            "client remove 0b54f0c5-26b4-4a1c-9d1c-3b6b4a6e2f10",
            "consent revoke 0b54f0c5-26b4-4a1c-9d1c-3b6b4a6e2f10",
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let output = portico(folder.path(), &words);
            assert_eq!(names(folder.path()), before, "{command}");
            if command.ends_with("list") || is_change(command) {
                let said = String::from_utf8(output.stderr).unwrap();
                assert!(!output.status.success() && said.contains("there is no store yet"), "{command}: {said}");
            }
        }
        assert!(portico(folder.path(), &["key", "ensure"]).status.success());
        assert!(names(folder.path()).contains(&"portico.db".to_owned()));
        let output = portico(folder.path(), &["key", "list", "--json"]);
        let keys: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(keys.as_array().unwrap().len(), 1, "{keys}");
    }
}

/// Who upgrades may change what the store has before the service has begun anew: it is brought up to date.
#[test]
fn commands_that_change_bring_an_older_store_up_to_date() {
    let folder = Configuration::new().sqlite("shop", "").write();
    assert!(portico(folder.path(), &["user", "add", "mia@example.org"]).status.success());
    let store = rusqlite::Connection::open(folder.path().join("portico.db")).unwrap();
    // As the seventh format had it.
    for column in ["secret_parent", "secret_parent_known", "secret_scope", "secret_reach", "named"] {
        store.execute_batch(&format!("ALTER TABLE service_accounts DROP COLUMN {column}")).unwrap();
    }
    store.pragma_update(None, "user_version", 7).unwrap();
    drop(store);
    assert!(!portico(folder.path(), &["user", "list"]).status.success(), "who only looks changes nothing");
    let changed = portico(folder.path(), &["user", "disable", "mia@example.org"]);
    assert!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
    assert!(portico(folder.path(), &["user", "list"]).status.success());
}

#[test]
fn programs_are_told_of_failures_in_json() {
    let folder = Configuration::new().sqlite("shop", "").write();
    let (empty, broken) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(broken.path().join("config.toml"), "nonsense = 1\n").unwrap();
    for (folder, command, code) in [
        (&folder, "user list", 1),
        (&folder, "user remove nobody@example.com", 1),
        (&folder, "user add nonsense", 1),
        (&folder, "health", 1),
        (&folder, "reload", 1),
        (&folder, "audit search", 1),
        (&folder, "grants nothing", 1),
        (&folder, "pat create", 2),
        (&folder, "nothing", 2),
        (&empty, "user list", 1),
        (&empty, "serve", 1),
        (&empty, "check", 1),
        (&broken, "user list", 1),
        (&broken, "serve", 1),
        (&broken, "check", 1),
        (&broken, "doctor", 1),
    ] {
        let words: Vec<&str> = command.split(' ').chain(["--json"]).collect();
        let output = portico(folder.path(), &words);
        let text = String::from_utf8(output.stdout).unwrap();
        let told: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{command}: no JSON: {text:?}"));
        assert_eq!((output.status.code(), &told["ok"]), (Some(code), &json!(false)), "{command}: {told}");
    }
    // Whoever asks how it is used is told as ever.
    assert!(portico(folder.path(), &["user", "--help", "--json"]).status.success());
}

#[actix_web::test]
async fn a_store_that_is_taken_away_is_an_outage_and_no_empty_one() {
    let more = "[oauth]\ndynamic_registration = true\n[limits]\nregistrations_per_address = 1000\n\
                [audit]\nstore = true\non_failure = \"continue\"\n";
    let service = Configuration::new().sqlite("shop", "").with(more).serve().await;
    let register = async || {
        let body = json!({"redirect_uris": ["http://localhost/x"]});
        let request = service.http.post(format!("{}/oauth/register", service.url)).json(&body);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(register().await, 201);
    let (folder, away) = (service.folder.path(), service.folder.path().join("away"));
    std::fs::create_dir(&away).unwrap();
    let files = ["portico.db", "portico.db-wal", "portico.db-shm"];
    // The last two may be gone by themselves.
    for file in files {
        drop(std::fs::rename(folder.join(file), away.join(file)));
    }
    assert_eq!(register().await, 503);
    assert_eq!(service.query("SELECT count(*) FROM orders").await.0, 200, "who is known stays known");
    assert_eq!(register().await, 503);
    let added = service.run(&["user", "add", "new@example.org"]);
    let said = String::from_utf8(added.stderr).unwrap();
    assert!(!added.status.success() && said.contains("the store is away"), "{said}");
    assert!(!folder.join("portico.db").exists(), "{:?}", names(folder));
    for file in files {
        drop(std::fs::rename(away.join(file), folder.join(file)));
    }
    eventually("a client to be registered", async || register().await == 201).await;
    let clients = service.run(&["client", "list", "--json"]);
    let clients: Value = serde_json::from_slice(&clients.stdout).unwrap();
    assert!(clients.as_array().unwrap().len() >= 2, "the one from before and the one from after: {clients}");
}
