//! `portico doctor`, `health` and what packages carry.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use portico_actors::auth::records::{NewPat, NewUser};
use portico_actors::auth::store::Store;
use portico_actors::principal::{Rights, Scope};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{OTHER, awaited, callers};
use crate::support::configuration::{Configuration, configure, connection};
use crate::support::fixture;
use crate::support::process::portico;
use crate::support::tls::{Authority, TLS};

/// Whether it exits well, and the findings that are not.
fn doctor(folder: &Path) -> (bool, Vec<(String, String, String)>) {
    let output = portico(folder, &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| {
        panic!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    });
    assert_eq!(report["ok"], json!(output.status.success()));
    let text = |finding: &Value, member: &str| finding[member].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap();
    let bad = findings.iter().filter(|finding| finding["grade"] != "ok");
    let bad = bad.map(|finding| {
        assert!(!text(finding, "remedy").is_empty(), "{finding} says not what to do");
        (text(finding, "grade"), text(finding, "subject"), text(finding, "message"))
    });
    (output.status.success(), bad.collect())
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[actix_web::test]
async fn the_doctor_finds_nothing_wrong_with_a_service_that_is_well() {
    let mut service = Configuration::new().sqlite("shop", "").serve().await;
    let folder = service.folder.path();
    let (well, findings) = doctor(folder);
    // How many descriptors the machine of a test allows is not the test's to say.
    let findings: Vec<_> = findings.into_iter().filter(|(_, subject, _)| subject != "descriptors").collect();
    assert!(well && findings.is_empty(), "{findings:?}");
    let health = portico(folder, &["health"]);
    let words = String::from_utf8(health.stdout).unwrap();
    assert!(health.status.success() && words == "1 of 1 connections up\n", "{words}");
    service.signal("TERM");
    assert!(service.ended().await.success());
    let health = portico(service.folder.path(), &["health", "--json"]);
    assert!(!health.status.success() && String::from_utf8(health.stdout).unwrap().contains("no running service"));
}

#[actix_web::test]
async fn health_and_the_doctor_say_why_no_call_would_be_taken() {
    let service = Configuration::new().sqlite("shop", "").with("[audit]\nfile = \"audit.jsonl\"");
    std::os::unix::fs::symlink("/dev/full", service.path().join("audit.jsonl")).unwrap();
    let service = service.serve().await;
    let folder = service.folder.path();
    // The trail tells of the start, and finds that it cannot.
    let health = awaited("the service to tell of it", async || {
        Some(portico(folder, &["health", "--json"])).filter(|health| !health.status.success())
    })
    .await;
    let answer: Value = serde_json::from_slice(&health.stdout).unwrap();
    assert!(answer["ok"] == false && answer["message"].as_str().unwrap().contains("audit trail"), "{answer}");
    let (well, findings) = doctor(folder);
    let service_s = findings.iter().find(|(_, subject, _)| subject == "service");
    assert!(!well && service_s.is_some_and(|(_, _, message)| message.contains("audit trail")), "{findings:?}");
}

#[test]
fn the_doctor_finds_what_cannot_be_written_and_looks_on_beside_what_is_wrong() {
    let folder = TempDir::new().unwrap();
    let url = fixture::sqlite(&folder, "shop.db");
    let tables =
        |more: &str| format!("[audit]\nfile = \"nowhere/audit.jsonl\"\n{more}{}", connection(OTHER, "shop", &url, ""));
    configure(folder.path(), None, "", &tables(""));
    let missing = |findings: &[(String, String, String)]| {
        findings.iter().any(|(_, subject, message)| subject == "files" && message.starts_with("audit.file: "))
    };
    let (well, findings) = doctor(folder.path());
    assert!(!well && missing(&findings), "{findings:?}");
    // A credential that the service manager alone hands over.
    let issuer = "[store]\nkey_file = \"store.key\"\n[[issuers]]\nissuer = \"${credential:none}\"\n";
    configure(folder.path(), None, "", &tables(issuer));
    let (well, findings) = doctor(folder.path());
    assert!(!well && findings.iter().any(|(_, subject, _)| subject == "configuration"), "{findings:?}");
}

#[actix_web::test]
async fn the_doctor_asks_other_issuers_for_their_keys() {
    let other = fixture::on_sqlite().await;
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let issuers = [
        ("https://up.example.org", format!("{}/.well-known/jwks.json", other.url)),
        ("https://away.example.org", format!("http://{nobody}/jwks")),
        ("https://none.example.org", format!("{}/healthz", other.url)),
    ];
    let issuers = issuers.map(|(issuer, url)| {
        format!("[[issuers]]\nissuer = \"{issuer}\"\naudience = \"portico\"\njwks_url = \"{url}\"\n")
    });
    let folder = Configuration::new().sqlite("shop", "").with(&issuers.concat()).write();
    let path = folder.path().to_owned();
    let (well, findings) = tokio::task::spawn_blocking(move || doctor(&path)).await.unwrap();
    let told: Vec<_> = findings.iter().filter(|(_, subject, _)| subject == "issuer").collect();
    let [(_, _, away), (_, _, none)] = told.as_slice() else { panic!("{findings:?}") };
    assert!(!well && away.starts_with("https://away.example.org: its keys cannot be had: "), "{away}");
    assert!(
        none.starts_with("https://none.example.org: its keys cannot be had: the answer is not a JWK set"),
        "{none}"
    );
}

#[actix_web::test]
async fn a_certificate_that_clients_would_refuse_is_told_of() {
    let service = Configuration::new().server(TLS).sqlite("shop", "");
    Authority::new("own").sign(service.path(), "server");
    let mut service = service.serve().await;
    let folder = service.folder.path().to_owned();
    for (names, begin, end, complaint) in [
        (["localhost", "127.0.0.1"], 2020, 2021, "ended at 2021-01-01"),
        (["localhost", "127.0.0.1"], 2090, 2091, "is not valid before 2090-01-01"),
        (["other.example", "192.0.2.1"], 2020, 2090, "is not for "),
    ] {
        let mut parameters = CertificateParams::new(names.map(str::to_owned)).unwrap();
        parameters.not_before = rcgen::date_time_ymd(begin, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(end, 1, 1);
        let key = KeyPair::generate().unwrap();
        std::fs::write(folder.join("server.pem"), parameters.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(folder.join("server.key"), key.serialize_pem()).unwrap();
        let (done, said) = service.reload().await;
        assert!(done && said["report"]["warnings"][0].as_str().is_some_and(|it| it.contains(complaint)), "{said}");
        service.line(complaint).await;
        let (_, findings) = doctor(&folder);
        let found = findings.iter().any(|(_, subject, message)| subject == "tls" && message.contains(complaint));
        assert!(found, "{complaint}: {findings:?}");
    }
}

#[actix_web::test]
async fn health_waits_for_no_process_that_does_not_answer() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    service.signal("STOP");
    let health = portico(service.folder.path(), &["health", "--json"]);
    let answer: Value = serde_json::from_slice(&health.stdout).unwrap();
    assert!(!health.status.success() && answer["ok"] == false, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("within 2 s"), "{answer}");
    service.signal("CONT");
}

#[actix_web::test]
async fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("listen = \"{}\"\npublic_url = \"http://data.example.org\"", taken.local_addr().unwrap());
    let service = Configuration::new().server(&server);
    let url = "postgres://app:hunter2@127.0.0.1:1/none";
    let folder = service.connection("shop", url, "connect_timeout = 1").write();
    let path = folder.path();
    let config = path.join("config.toml");
    chmod(&config, 0o644);
    let (well, findings) = doctor(path);
    let found = |subject: &str, part: &str| {
        findings.iter().any(|(_, found, message)| found == subject && message.contains(part))
    };
    assert!(!well);
    assert!(found("permissions", "holds a password"), "{findings:?}");
    assert!(found("store", "is not there"), "{findings:?}");
    assert!(found("listener", "cannot be listened on"), "{findings:?}");
    assert!(found("tls", "in the clear"), "{findings:?}");
    assert!(found("source", "shop: down"), "{findings:?}");
    assert!(findings.iter().all(|(.., message)| !message.contains("hunter2")), "{findings:?}");
    assert!(!path.join("portico.db").exists(), "the doctor changed something");
    // The store of a service that many may read.
    callers(path.join("portico.db"));
    chmod(&path.join("portico.db"), 0o644);
    chmod(&config, 0o666);
    let (_, findings) = doctor(path);
    let found = |subject: &str, part: &str| {
        findings.iter().any(|(_, found, message)| found == subject && message.contains(part))
    };
    assert!(found("store", "open to others") && found("permissions", "written by others"), "{findings:?}");
    // As it can be in a store from before names were compared in any spelling.
    let twins = "UPDATE users SET email = upper(email) WHERE email_key = 'reader@example.com';
                 UPDATE users SET email = 'READER\u{200b}@example.com' WHERE email_key = 'writer@example.com'";
    rusqlite::Connection::open(path.join("portico.db")).unwrap().execute_batch(twins).unwrap();
    let (_, findings) = doctor(path);
    let told =
        "these users have one name in several spellings: [\"READER@EXAMPLE.COM\", \"READER\\u{200b}@example.com\"]";
    assert!(findings.iter().any(|(_, found, message)| found == "names" && message == told), "{findings:?}");
    // Only root can give a folder away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
        let (_, findings) = doctor(path);
        assert!(findings.iter().any(|(.., message)| message.contains("its folder to user 65534")), "{findings:?}");
    }
    configure(path, None, "listen = \"nowhere\"", "");
    let (well, findings) = doctor(path);
    let placed = findings.iter().any(|(.., message)| message.starts_with("config.toml:3:10: server.listen: "));
    assert!(!well && placed, "{findings:?}");
}

#[test]
fn the_doctor_lists_what_an_older_program_made_without_a_note_of_its_origin() {
    let folder = Configuration::new().sqlite("shop", "").write();
    let path = folder.path();
    let mut store = Store::open(path.join("portico.db")).unwrap();
    let local = NewUser { email: "local@example.com".to_owned(), rights: Rights::only([OTHER], Scope::Admin) };
    store.add_user(local).unwrap();
    callers(path.join("portico.db"));
    let (second, _) = store.create_pat("writer@example.com", NewPat::default()).unwrap();
    let origins = |path: &Path| -> Vec<String> {
        let (_, findings) = doctor(path);
        findings.into_iter().filter(|(_, subject, _)| subject == "origin").map(|(.., message)| message).collect()
    };
    assert!(origins(path).is_empty());
    // As after an upgrade.
    let raw = rusqlite::Connection::open(path.join("portico.db")).unwrap();
    let older = "UPDATE personal_access_tokens SET parent_known = 0; UPDATE users SET judged = 0;
                 UPDATE service_accounts SET judged = 0;";
    raw.execute_batch(older).unwrap();
    let listed = origins(path);
    let found = |part: &str| listed.iter().any(|message| message.contains(part));
    assert!(found(&format!("({}) opens write on all", second.id)), "{listed:?}");
    assert!(found("writer@example.com has write on all") && found("reader@example.com has read on all"), "{listed:?}");
    assert!(found("\"agent\" opens write on shop") && !found("local@example.com"), "{listed:?}");
    // The commands that it names settle it.
    let mut store = Store::open(path.join("portico.db")).unwrap();
    for token in store.pats(None).unwrap() {
        store.revoke_pat(&token.id.to_string()).unwrap();
    }
    store.rotate_service_account("agent").unwrap();
    for email in ["writer@example.com", "reader@example.com"] {
        store.change_user(NewUser { email: email.to_owned(), rights: Rights::all(Scope::Read) }).unwrap();
    }
    assert_eq!(origins(path), Vec::<String>::new());
}

#[test]
fn packages_carry_a_page_and_a_completion_for_every_command() {
    let folder = TempDir::new().unwrap();
    for what in ["man", "completions"] {
        assert!(portico(folder.path(), &["generate", what, what]).status.success());
    }
    let page = |name: &str| std::fs::read_to_string(folder.path().join("man").join(name)).unwrap();
    assert!(page("portico.1").contains("portico\\-reload"));
    assert!(page("portico-user-add.1").contains("read\\-only"));
    assert!(!folder.path().join("man/portico-generate.1").exists());
    let written = |name: &str| std::fs::read_to_string(folder.path().join("completions").join(name)).unwrap();
    for name in ["portico.bash", "portico.fish", "_portico"] {
        assert!(written(name).contains("service-account"), "{name}");
    }
}
