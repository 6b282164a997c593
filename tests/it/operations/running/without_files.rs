//! Commands that need no file, and those that write the configuration.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{client, read};
use crate::support::configuration::Configuration;
use crate::support::fixture;
use crate::support::process::{Running, finished, json_of, output, portico, program, run};

/// `portico serve --url` in a folder whose configuration it must not read.
fn serve(folder: &Path, arguments: &[&str]) -> Command {
    std::fs::write(folder.join("config.toml"), "[server]\nlisten = 5\n").unwrap();
    let mut command = program();
    command.args(["serve", "--url", "sqlite:shop.db"]).args(arguments).current_dir(folder);
    command.env("XDG_DATA_HOME", folder.join("data")).env_remove("PORTICO_STORE_KEY");
    command
}

async fn begun(command: &mut Command) -> (Running, Value) {
    let mut running = Running::begin(command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::null()));
    let page = running.line("{").await;
    (running, serde_json::from_str(&page).unwrap())
}

async fn query(page: &Value, pat: &Value, query: &str) -> (u16, Value) {
    let request = client().post(page["apiUrl"].as_str().unwrap());
    let request = request.basic_auth(page["user"].as_str().unwrap(), pat.as_str());
    read(request.json(&json!({"query": query})).send().await.unwrap()).await
}

#[actix_web::test]
async fn one_database_is_served_without_a_configuration() {
    let folder = TempDir::new().unwrap();
    let missing = finished(&mut serve(folder.path(), &["--listen", "127.0.0.1:0"]));
    let words = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && words.contains("shop.db does not exist"), "{words}");
    assert!(!folder.path().join("data").exists(), "something was made for a database that is not there");
    fixture::sqlite(&folder, "shop.db");
    let (mut running, page) = begun(&mut serve(folder.path(), &["--listen", "127.0.0.1:0"])).await;
    assert_eq!((&page["connectionName"], &page["access"]), (&json!("shop"), &json!("read-only")), "{page}");
    let pat = page["pat"].clone();
    assert_eq!(
        query(&page, &pat, "SELECT count(*) FROM shop.main.customers").await.1["results"][0]["rows"],
        json!([[3]])
    );
    assert_eq!(query(&page, &pat, "DELETE FROM orders").await.0, 403, "it only reads unless it is told otherwise");
    // As `portico connect` has it: a token where that is enough, else whoever uses the client signs in.
    for (client, has_token) in [
        ("claude-code", true),
        ("claude-desktop", true),
        ("cursor", false),
        ("vscode", false),
        ("codex", false),
        ("gemini", true),
        ("curl", true),
    ] {
        let line = page["clients"][client].as_str().unwrap_or_else(|| panic!("{client}: {page}"));
        assert_eq!(line.contains(pat.as_str().unwrap()), has_token, "{line}");
        let place = if client == "claude-desktop" { page["baseUrl"].as_str() } else { page["mcpUrl"].as_str() };
        assert!(line.contains(place.unwrap()), "{line}");
    }
    // The lines for a shell work as they stand.
    let line = page["clients"]["curl"].as_str().unwrap().to_owned();
    let output = tokio::task::spawn_blocking(move || finished(Command::new("sh").args(["-c", &line]))).await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("execute_select") && said.contains("customers"), "{said}");
    // Signing in works without the internet: published clients are to register, not to name where they are described.
    let metadata =
        client().get(format!("{}/.well-known/oauth-authorization-server", page["baseUrl"].as_str().unwrap()));
    let (_, metadata) = read(metadata.send().await.unwrap()).await;
    assert!(metadata["registration_endpoint"].is_string(), "{metadata}");
    assert_eq!(metadata["client_id_metadata_document_supported"], false, "{metadata}");
    let data = folder.path().join("data/portico/shop");
    assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    running.signal("TERM");
    assert!(running.ended().await.success());
    // What was shown once goes on to be good, and another one can be had.
    let (mut running, again) = begun(&mut serve(folder.path(), &["--listen", "127.0.0.1:0", "--read-write"])).await;
    assert!(again.get("pat").is_none(), "{again}");
    assert_eq!(again["connectionId"], page["connectionId"]);
    assert_eq!(query(&again, &pat, "UPDATE customers SET city = 'x' WHERE id = 1").await.0, 200);
    running.signal("TERM");
    assert!(running.ended().await.success());
    let mut command = serve(folder.path(), &["--listen", "127.0.0.1:0", "--new-token"]);
    let mut running = Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let shown = running.line("token ").await;
    assert!(shown.contains("ptc_") && !shown.contains(pat.as_str().unwrap()), "{shown}");
    running.line("claude mcp add").await;
    running.line("Put this into ~/.cursor/mcp.json").await;
}

#[test]
fn nothing_unencrypted_is_offered_to_other_machines_by_mistake() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let refused = finished(&mut serve(folder.path(), &["--listen", "0.0.0.0:0"]));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && told.contains("--insecure") && told.contains("tls"), "{told}");
    let mixed = finished(serve(folder.path(), &[]).args(["--config", "config.toml"]));
    assert_eq!(mixed.status.code(), Some(2), "{}", String::from_utf8_lossy(&mixed.stderr));
    let wrong = finished(program().args(["serve", "--url", "oracle:x", "--json"]).current_dir(&folder));
    assert_eq!(json_of(&wrong)["problems"][0]["key"], "--url");
}

#[actix_web::test]
async fn who_insists_is_served_beyond_the_machine() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let (_running, page) = begun(&mut serve(folder.path(), &["--listen", "0.0.0.0:0", "--insecure"])).await;
    assert_eq!(query(&page, &page["pat"], "SELECT 1").await.0, 200);
}

fn text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("config.toml")).unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_configuration_is_written_once_and_can_be_served() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let missing = portico(folder.path(), &["init"]);
    assert!(!missing.status.success() && told(&missing).contains("--url is missing"), "nobody is asked in a script");
    let wrong = portico(folder.path(), &["init", "--url", "sqlite:none.db", "--name", "shop"]);
    assert!(!wrong.status.success() && told(&wrong).contains("nothing was written"), "{}", told(&wrong));
    assert!(!folder.path().join("config.toml").exists());
    let made = run(&["init", "--url", "sqlite:shop.db", "--name", "shop"], folder.path());
    assert_eq!((&made["user"], &made["connectionName"]), (&json!("admin@localhost"), &json!("shop")), "{made}");
    assert!(made["pat"].is_string());
    assert_eq!(run(&["check"], folder.path())["ok"], true);
    assert_eq!(run(&["user", "list"], folder.path())[0]["admin"], true);
    let first = text(folder.path());
    assert!(first.contains("# Stands in addresses"), "{first}");
    let again = portico(folder.path(), &["init", "--url", "sqlite:shop.db", "--name", "other"]);
    assert!(!again.status.success() && told(&again).contains("stays as it is"), "{}", told(&again));
    assert_eq!(text(folder.path()), first);
}

/// `portico` with a terminal, at which somebody types `typed`: how it ended, and what it showed.
fn at_a_terminal(folder: &Path, arguments: &str, typed: &str) -> (bool, String) {
    let mut command = Command::new("script");
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_portico"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = output(child);
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn whoever_sits_at_a_terminal_is_asked_for_the_database() {
    let folder = TempDir::new().unwrap();
    fixture::sqlite(&folder, "shop.db");
    let question = "The database, as postgres://user:password@host/database or sqlite:path: ";
    let (done, shown) = at_a_terminal(folder.path(), "init", "\n");
    assert!(!done && shown.contains(question) && shown.contains("--url is missing"), "{shown}");
    assert!(!folder.path().join("config.toml").exists());
    let (done, shown) = at_a_terminal(folder.path(), "init --admin ann@example.org", " sqlite:shop.db \n");
    assert!(done && shown.contains(question), "{shown}");
    for part in
        ["config.toml is written", "shop: SQLite", "ann@example.org", "serve", "claude mcp add", "connect CLIENT"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(run(&["check"], folder.path())["ok"], true);
    // The store is there already, with a token that is good.
    std::fs::remove_file(folder.path().join("config.toml")).unwrap();
    let (done, shown) = at_a_terminal(folder.path(), "init --admin ann@example.org --url sqlite:shop.db", "");
    assert!(done && shown.contains("pat create ann@example.org makes another one"), "{shown}");
    // What is there already stays, and nobody is asked.
    let (done, shown) = at_a_terminal(folder.path(), "init", "sqlite:shop.db\n");
    assert!(!done && shown.contains("stays as it is") && !shown.contains(question), "{shown}");
}

#[test]
fn a_file_with_a_secret_is_for_its_owner_alone() {
    let folder = TempDir::new().unwrap();
    for (file, url, mode) in [
        ("a.toml", "postgres://app:secret@db.example/sales", 0o600),
        ("b.toml", "postgres://app@db.example/sales", 0o644),
    ] {
        let arguments = ["init", "--url", url, "--no-test", "--config", file, "--admin", "ann@example.org"];
        let made = run(&arguments, folder.path());
        assert_eq!((&made["connectionName"], &made["user"]), (&json!("sales"), &json!("ann@example.org")));
        let written = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode() & 0o777;
        // What the umask takes away is taken away.
        assert_eq!(written & !mode, 0, "{file}: {written:o}");
        assert_eq!(written & 0o600, 0o600);
    }
}

const FILE: &str = r#"# Ours, by hand.
[server]
listen = "127.0.0.1:0"   # any
public_url = "http://localhost"

# ---- The databases ----

# The till.
[[connections]]
id = "11111111-1111-4111-8111-111111111111"
name = "shop"   # as it was
url = "sqlite:shop.db"
[connections.hidden]
tables = ["main.secrets"]   # nobody's business

# ---- The rest ----

[limits]
registrations_per_address = 7
"#;

#[actix_web::test]
async fn connections_are_added_and_removed_in_place_and_taken_over() {
    let service = Configuration::new().sqlite("shop", "").serve().await;
    let folder = service.folder.path();
    fixture::sqlite(&service.folder, "crm.db");
    std::fs::set_permissions(folder.join("config.toml"), std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = text(folder);
    let added = run(&["connection", "add", "--url", "sqlite:crm.db", "--read-write"], folder);
    assert_eq!(
        (&added["name"], &added["taken"], &added["access"]),
        (&json!("crm"), &json!(true), &json!("read-write"))
    );
    let listed = read(service.get("/api/connections").send().await.unwrap()).await.1;
    assert_eq!(listed["connections"].as_array().unwrap().len(), 2, "{listed}");
    assert!(text(folder).starts_with(&before), "what was there is as it was");
    assert_eq!(std::fs::metadata(folder.join("config.toml")).unwrap().permissions().mode() & 0o777, 0o640);
    let names = |listed: Value| -> Vec<String> {
        listed.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(run(&["connection", "list"], folder)), ["shop", "crm"]);
    assert_eq!(run(&["connection", "test", "crm"], folder)[0]["status"], "up");
    let kept = text(folder);
    for (arguments, part) in [
        (&["connection", "add", "--url", "sqlite:shop.db", "--name", "CRM"][..], "another connection has this name"),
        (&["connection", "add", "--url", "sqlite:none.db", "--name", "none"], "nothing was written"),
        (
            &["connection", "add", "--url", "oracle:x", "--name", "none"],
            "not the address of a source that Portico knows",
        ),
        (&["connection", "remove", "crn"], "did you mean crm?"),
        (&["workspace", "add", "joined", "--table", "crm.main.customer"], "there is no crm.main.customer"),
        (&["workspace", "add", "joined", "--table", "crn.main.customers"], "there is no connection"),
        (&["workspace", "add", "crm", "--table", "crm.main.customers"], "a connection has this name"),
        (&["workspace", "remove", "joined"], "there is no workspace"),
    ] {
        let refused = portico(folder, arguments);
        assert!(!refused.status.success() && told(&refused).contains(part), "{arguments:?}: {}", told(&refused));
        assert_eq!(text(folder), kept, "{arguments:?}");
    }
    let tables = ["--table", "shop.main.orders", "--table", "crm.main.customers=people.clients"];
    let made = run(&[&["workspace", "add", "joined", "--description", "Both"][..], &tables].concat(), folder);
    assert_eq!((&made["assets"], &made["taken"]), (&json!(2), &json!(true)), "{made}");
    let spaces = read(service.get("/api/workspaces").send().await.unwrap()).await.1;
    assert_eq!(spaces["workspaces"][0]["name"], "joined", "{spaces}");
    assert_eq!(names(run(&["workspace", "list"], folder)), ["joined"]);
    let refused = portico(folder, &["connection", "remove", "crm"]);
    assert!(told(&refused).contains("there is no connection \"crm\""), "a workspace needs it: {}", told(&refused));
    run(&["workspace", "remove", "joined"], folder);
    let removed = run(&["connection", "remove", "CRM"], folder);
    assert_eq!(removed["taken"], true);
    assert_eq!(text(folder), before, "as if nothing had been");
}

#[actix_web::test]
async fn a_configuration_that_is_a_link_is_that_of_its_folder() {
    let service = Configuration::new().sqlite("shop", "");
    let (folder, elsewhere) = (service.path().to_owned(), TempDir::new().unwrap());
    let service = service.serve().await;
    fixture::sqlite(&service.folder, "crm.db");
    let target = elsewhere.path().join("config.toml");
    std::fs::rename(folder.join("config.toml"), &target).unwrap();
    std::os::unix::fs::symlink(&target, folder.join("config.toml")).unwrap();
    let added = run(&["connection", "add", "--url", "sqlite:crm.db"], &folder);
    assert_eq!((&added["name"], &added["taken"]), (&json!("crm"), &json!(true)));
    assert!(folder.join("config.toml").is_symlink() && std::fs::read_to_string(&target).unwrap().contains("crm.db"));
    assert_eq!(run(&["connection", "remove", "crm"], &folder)["taken"], true);
}

#[test]
fn comments_and_order_stay() {
    let folder = TempDir::new().unwrap();
    for name in ["shop.db", "crm.db"] {
        fixture::sqlite(&folder, name);
    }
    std::fs::write(folder.path().join("config.toml"), FILE).unwrap();
    let added = run(&["connection", "add", "--url", "sqlite:crm.db"], folder.path());
    assert_eq!(added["taken"], false, "no service runs");
    let id = added["id"].as_str().unwrap();
    let table =
        format!("\n[[connections]]\nid = \"{id}\"\nname = \"crm\"\nurl = \"sqlite:crm.db\"\naccess = \"read-only\"\n");
    let (above, below) = FILE.split_at(FILE.find("\n# ---- The rest").unwrap());
    assert_eq!(text(folder.path()), format!("{above}{table}{below}"));
    run(&["connection", "remove", "shop"], folder.path());
    let left = text(folder.path());
    assert!(
        left.contains("# ---- The databases ----") && !left.contains("The till") && !left.contains("secrets"),
        "{left}"
    );
    let last = portico(folder.path(), &["connection", "remove", "crm"]);
    assert!(!last.status.success() && told(&last).contains("there is no connection"), "{}", told(&last));
    assert_eq!(text(folder.path()), left);
}
