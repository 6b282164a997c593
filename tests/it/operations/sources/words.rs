//! What a new user reads where something does not work: what happened, why, and what to do. The words are those of
//! `docs/troubleshooting.md`.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::support::app::{TestApp, awaited};
use crate::support::cluster::Cluster;
use crate::support::configuration::{Configuration, configure, connection, shop};
use crate::support::fixture;
use crate::support::postgres::connect;
use crate::support::process::{json_of, portico, run};

/// What `portico check` says of a connection to each of these URLs: nothing of one that is up.
fn checked(folder: &Path, urls: &[String]) -> Vec<String> {
    let tables = urls.iter().enumerate().map(|(number, url)| {
        let id = Uuid::from_u128(number as u128 + 1);
        connection(id, &format!("c{number}"), url, "access = \"read-write\"\n")
    });
    configure(folder, None, "", &tables.collect::<String>());
    let checked = json_of(&portico(folder, &["check", "--json"]));
    let list = checked["connections"].as_array().unwrap_or_else(|| panic!("{checked}"));
    assert_eq!(list.len(), urls.len(), "{checked}");
    list.iter().map(|each| each["error"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A server that lets `app` into `sales` with a password, and `guest` into all databases without.
async fn cluster() -> Cluster {
    let cluster = Cluster::new();
    cluster.write(
        "pg_hba.conf",
        "local all all trust\nhost sales app 127.0.0.1/32 scram-sha-256\nhost all guest 127.0.0.1/32 trust\n",
    );
    cluster.obey("start");
    let home = cluster.home.to_str().unwrap().replace('/', "%2F");
    let admin = connect(&format!("postgres://postgres@{home}:{}/postgres", cluster.port)).await;
    for sql in [
        "CREATE ROLE app LOGIN PASSWORD 'p@ss/word'",
        "CREATE ROLE guest LOGIN",
        "CREATE DATABASE sales",
        "CREATE DATABASE closed",
        "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
    ] {
        admin.batch_execute(sql).await.unwrap();
    }
    cluster
}

#[actix_web::test]
async fn each_fault_of_a_postgresql_server_is_told_with_its_remedy() {
    let cluster = cluster().await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, silent_port) = (cluster.port, silent.local_addr().unwrap().port());
    let at = |who: &str, rest: &str| format!("postgres://{who}@127.0.0.1:{port}/{rest}");
    let cases = [
        (at("app:wrong", "sales"), "refused the user or the password", "correct the user or the password"),
        (at("app", "sales"), "asks for a password", "password_file"),
        (at("app:p@ss/word", "other"), "does not admit this connection's user", "pg_hba.conf"),
        (at("guest", "sale"), "no database of the name", "behind the last / of url"),
        (at("guest", "closed"), "does not let this connection's user in", "GRANT CONNECT"),
        (at("guest", "sales?sslmode=require"), "asks for TLS, and the database has none", "turn ssl on"),
        ("postgres://guest@no-such-host.invalid/sales".to_owned(), "host cannot be found", "correct the host in url"),
        (
            "postgres://guest@localhost:1/sales".to_owned(),
            "nothing listens",
            "in a container localhost is the container",
        ),
        (
            format!("postgres://guest@127.0.0.1:{silent_port}/sales?connect_timeout=1"),
            "host does not answer",
            "open the firewall",
        ),
        // A password may have an @ and a slash in it, as they are or escaped.
        (at("app:p@ss/word", "sales"), "", ""),
        (at("app:p%40ss%2Fword", "sales"), "", ""),
    ];
    let folder = TempDir::new().unwrap();
    let urls = cases.iter().map(|(url, ..)| url.clone()).collect::<Vec<_>>();
    let told = checked(folder.path(), &urls);
    for ((url, what, remedy), told) in cases.iter().zip(told) {
        assert!(told.contains(what) && told.contains(remedy) && (told.is_empty() == what.is_empty()), "{url}: {told}");
        assert!(!told.contains("p@ss") && !told.contains("wrong@"), "a password is told: {told}");
    }
    // A question mark ends the address: the text says so before anything is connected.
    configure(folder.path(), None, "", &connection(Uuid::from_u128(1), "c", "postgres://app:what?@h/sales", ""));
    let told = json_of(&portico(folder.path(), &["check", "--json"]));
    assert!(told["problems"][0]["remedy"].as_str().unwrap().contains("%3F"), "{told}");
}

#[actix_web::test]
async fn callers_are_told_the_fault_without_its_place() {
    let cluster = cluster().await;
    let url = format!("postgres://app:wrong@127.0.0.1:{}/sales", cluster.port);
    let app = Configuration::new().connection("shop", &url, "").start().await;
    let (status, answer) = app.query(json!({"query": "SELECT 1"})).await;
    let error = &answer["error"];
    assert_eq!((status, &error["code"]), (503, &json!(1700)), "{answer}");
    let expected = "connection shop is not available: the database refused the user or the password of this connection";
    assert_eq!(error["message"], expected);
    assert!(error["hint"].as_str().unwrap().contains("comes back by itself once that is done"), "{answer}");
    for place in ["127.0.0.1", &cluster.port.to_string(), "\"app\"", "wrong"] {
        assert!(!answer.to_string().contains(place), "{place}: {answer}");
    }
    assert!(agent(&app).await.contains(expected));
}

async fn agent(app: &TestApp) -> String {
    app.tool_error("execute_select", json!({"query": "SELECT 1"})).await
}

#[test]
fn each_fault_of_a_sqlite_file_is_told_with_its_remedy() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    std::fs::create_dir(folder.path().join("folder.db")).unwrap();
    std::fs::write(folder.path().join("notes.db"), "no database\n".repeat(100)).unwrap();
    let cases = [
        ("shpo.db", "the database file does not exist", "did you mean shop.db?"),
        ("there/shop.db", "the database file does not exist", "and neither is its folder"),
        ("folder.db", "there is a folder in the place of the database file", "name the file itself"),
        ("notes.db", "the file is not a SQLite database", "of another kind, encrypted or damaged"),
        ("shop.db", "", ""),
    ];
    let urls = cases.map(|(path, ..)| format!("sqlite:{path}"));
    for ((path, what, remedy), told) in cases.iter().zip(checked(folder.path(), &urls)) {
        assert!(told.contains(what) && told.contains(remedy) && (told.is_empty() == what.is_empty()), "{path}: {told}");
    }
    // The doctor gives what to do a line of its own.
    configure(folder.path(), None, "", &shop("").replace("shop.db", "shpo.db"));
    let doctor = json_of(&portico(folder.path(), &["doctor", "--json"]));
    let source = doctor["findings"].as_array().unwrap().iter().find(|finding| finding["subject"] == "source").unwrap();
    assert!(source["remedy"].as_str().unwrap().contains("correct the path in url"), "{source}");
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_service_that_cannot_start_says_why_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let says = |folder: &Path, arguments: &[&str], parts: &[&str]| {
        let output = portico(folder, arguments);
        let said = words(&output);
        assert!(!output.status.success() && parts.iter().all(|part| said.contains(part)), "{arguments:?}: {said}");
    };
    let in_use = [address.as_str(), "cannot be listened on", "ss -ltnp", "choose another address"];
    let folder = Configuration::new().server(&format!("listen = \"{address}\"")).sqlite("shop", "").write();
    says(folder.path(), &["serve"], &in_use);
    says(folder.path(), &["demo", "--listen", &address], &in_use);
    // An address of documentation (RFC 5737) is of no machine.
    says(
        folder.path(),
        &["demo", "--listen", "192.0.2.1:8787"],
        &["cannot be listened on", "an address of this machine"],
    );
    // Nobody, not even root, makes a folder there.
    says(folder.path(), &["demo", "--data-dir", "/proc/portico"], &["data directory", "--data-dir"]);
    let nowhere = Configuration::new().sqlite("shop", "").write();
    let text = std::fs::read_to_string(nowhere.path().join("config.toml")).unwrap();
    std::fs::write(nowhere.path().join("config.toml"), text.replace("sqlite:portico.db", "sqlite:/proc/portico/p.db"))
        .unwrap();
    says(
        nowhere.path(),
        &["user", "add", "ann@example.org"],
        &["the store of users and tokens cannot be opened", "/proc"],
    );
    let empty = TempDir::new().unwrap();
    says(empty.path(), &["serve"], &["config.toml cannot be read", "--config", "portico init"]);
    says(empty.path(), &["user", "list"], &["config.toml cannot be read", "portico init"]);
}

#[test]
fn problems_of_the_file_have_a_place_that_editors_take() {
    let folder = TempDir::new().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("config.toml"), text).unwrap();
    let said = || words(&portico(folder.path(), &["check"]));
    write(&(shop("acess = \"read-write\"\n  pool = 0\n") + "[[workspaces]]\nname = \"w\"\nassets = []\nview = []\n"));
    let told = said();
    for line in [
        "config.toml:5:1: connections[0].acess: there is no such key; did you mean access?",
        "config.toml:6:10: connections[0].pool: this value is not allowed; write a whole number from 1 to 1000",
        "config.toml:11:1: workspaces[0].view: there is no such key; did you mean views?",
    ] {
        assert!(told.lines().any(|told| told == line), "{told}");
    }
    write(&format!("[server]\nlisten = 5\n{}", shop("")));
    let number =
        "config.toml:2:10: server.listen: this must be a text in quotes, or a list of them; change the value's type";
    assert!(said().lines().any(|told| told == number), "{}", said());
    write("[server]\nlisten = nowhere\n");
    assert!(said().contains("config.toml:2:10: "), "{}", said());
    let json = json_of(&portico(folder.path(), &["check", "--json"]));
    let problem = &json["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["line"], &problem["column"]),
        (&json!("config.toml"), &json!(2), &json!(10))
    );
}

#[test]
fn a_clock_that_is_behind_is_told() {
    let folder = Configuration::new().sqlite("shop", "").write();
    let file = std::fs::File::options().write(true).open(folder.path().join("config.toml")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(24)).unwrap();
    let doctor = json_of(&portico(folder.path(), &["doctor", "--json"]));
    let clock = doctor["findings"].as_array().unwrap().iter().find(|finding| finding["subject"] == "clock").unwrap();
    assert_eq!(clock["grade"], "problem");
    assert!(clock["message"].as_str().unwrap().contains("the clock says"), "{clock}");
    assert!(clock["remedy"].as_str().unwrap().contains("set the clock"), "{clock}");
}

#[actix_web::test]
async fn tokens_end_unless_somebody_says_that_they_do_not() {
    let folder = Configuration::new().sqlite("shop", "").with("[tokens]\nclock_skew = 0").write();
    let run = |arguments: &[&str]| run(arguments, folder.path());
    run(&["user", "add", "ann@example.org"]);
    let create =
        |name: &str, more: &[&str]| run(&[&["pat", "create", "ann@example.org", "--name", name][..], more].concat());
    let (usual, endless) = (create("usual", &[]), create("endless", &["--expires", "never"]));
    create("short", &["--expires", "1s"]);
    let days = |from: &Value, to: &Value| (date(to) - date(from)) / 86_400;
    assert_eq!(days(&usual["createdAt"], &usual["expiresAt"]), 90, "{usual}");
    assert_eq!(endless["expiresAt"], Value::Null);
    run(&["pat", "revoke", "usual"]);
    let states = || -> Vec<(String, String)> {
        let list = run(&["pat", "list"]);
        let word = |token: &Value, member: &str| token[member].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(|token| (word(token, "name"), word(token, "state"))).collect()
    };
    let expected = [("usual", "revoked"), ("endless", "valid"), ("short", "expired")];
    let expected = expected.map(|(name, state)| (name.to_owned(), state.to_owned()));
    awaited("the end of the short one", async || Some(states()).filter(|states| *states == expected)).await;
    let listed = words(&portico(folder.path(), &["pat", "list"]));
    assert!(listed.contains("expired") && listed.contains("STATE"), "{listed}");
    // A name that is mistyped has its near ones.
    for arguments in
        [["pat", "create", "ann@exmaple.org"], ["pat", "list", "an@example.org"], ["user", "remove", "ann@example"]]
    {
        let output = portico(folder.path(), &arguments);
        let said = words(&output);
        assert!(!output.status.success() && said.contains("did you mean ann@example.org?"), "{arguments:?}: {said}");
    }
}

/// Seconds of a timestamp as the command line prints them.
fn date(at: &Value) -> i64 {
    let text = at.as_str().unwrap();
    let date: Vec<i64> = text[..10].split('-').map(|part| part.parse().unwrap()).collect();
    let time: Vec<i64> = text[11..19].split(':').map(|part| part.parse().unwrap()).collect();
    // Days from 1970-01-01 (the civil calendar, with March as the first month).
    let (year, month) = if date[1] <= 2 { (date[0] - 1, date[1] + 9) } else { (date[0], date[1] - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + date[2] - 1 - 719_468;
    days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
}
