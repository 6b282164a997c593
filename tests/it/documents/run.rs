//! Runs the commands of each page in a folder with a running service, sends its JSON there, and reads its TOML.

use std::path::Path;
use std::process::{Command, Stdio};

use portico::config::Config;
use serde_json::Value;
use tempfile::TempDir;

use super::fences::{Fence, fences};
use super::{pages, text};
use crate::support::app::{client, read};
use crate::support::configuration::Configuration;
use crate::support::postgres::{TestPostgres, connect};
use crate::support::process::{Running, finished, json_of, output, program, run};
use crate::support::service::Service;

/// Where the pages say that the service is.
const ADDRESS: &str = "localhost:8787";

/// The database of the connection `sales`.
const SALES: &str = "
CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, region text);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers, amount numeric(10, 2) NOT NULL,
    status text NOT NULL DEFAULT 'open', placed date);
CREATE TABLE items (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_id integer NOT NULL REFERENCES orders,
    name text NOT NULL, price numeric(10, 2) NOT NULL);
CREATE FUNCTION order_total(id integer) RETURNS numeric STABLE LANGUAGE sql
    AS 'SELECT amount FROM orders WHERE orders.id = $1';
CREATE PROCEDURE close_month(month date) LANGUAGE sql AS 'UPDATE orders SET status = ''closed'' WHERE placed < month';
INSERT INTO customers VALUES (1, 'Ann', 'north'), (2, 'Bob', 'south');
INSERT INTO orders VALUES (1, 1, 10.5, 'open', '2026-02-01'), (2, 2, 99, 'paid', '2025-12-01');
";

/// The database of the connection `crm`, and one that no connection leads to yet.
const CRM: &str = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
    INSERT INTO people VALUES (1, 'Ann', 'north'), (2, 'Bob', 'south');";

const REVENUE: &str = r#"
[[workspaces]]
name = "revenue"
description = "Orders with their customers' regions"
assets = [{ table = "sales.public.orders" }, { table = "crm.main.people", alias = "customers", folder = "people" }]
"#;

/// Commands that are still being made. Once the program has them they are run as all others are.
const COMING: [&str; 5] = ["stdio", "init", "connection", "workspace", "connect"];

/// What `portico` says of the command `words`.
fn help(words: &[&str]) -> String {
    let said = finished(program().args(words).arg("--help"));
    format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
}

/// The lines of a block without comments, each with those that go on behind a backslash.
fn commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// A command without what is said of it.
fn uncommented(line: &str) -> &str {
    line.split(" #").next().unwrap().trim_end()
}

/// Whether the program has every command of a block.
fn is_there(block: &str) -> bool {
    let all = help(&[]);
    let known: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    commands(block).iter().all(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(&"portico"), Some(command)) = (words.first(), words.get(1)) else { return true };
        let is_new = COMING.contains(command) && !known.contains(command);
        let lacks_url = *command == "serve" && words.contains(&"--url") && !help(&["serve"]).contains("--url");
        !is_new && !lacks_url
    })
}

/// What the commands of a page have around them.
struct World {
    folder: std::path::PathBuf,
    /// `127.0.0.1:PORT`
    address: String,
    variables: Vec<(&'static str, String)>,
}

impl World {
    /// Runs a script as people type it, in one shell: each command has to succeed, and curl says what was answered.
    /// Gives what failed.
    fn shell(&self, place: &str, script: &str) -> Option<String> {
        let path = Path::new(env!("CARGO_BIN_EXE_portico")).parent().unwrap().to_str().unwrap();
        let path = format!("{path}:{}", std::env::var("PATH").unwrap());
        let script = format!(
            "set -euo pipefail\ncurl() {{ command curl --fail-with-body \"$@\"; }}\n{}",
            script.replace(ADDRESS, &self.address)
        );
        let mut bash = Command::new("bash");
        bash.arg("-c").arg(script).current_dir(&self.folder).env("PATH", path);
        bash.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let done = output(bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let failed = !done.status.success() || ["\"isError\":true", "\"error\":{"].iter().any(|it| said.contains(it));
        failed.then(|| format!("{place}: {said}"))
    }

    /// Runs what a page has to run, and tells all that failed at once.
    fn commands(&self, page: &str, fences: &[Fence]) -> usize {
        let (mut ran, mut failed) = (0, Vec::new());
        for fence in fences.iter().filter(|fence| fence.info.starts_with("sh") && is_there(&fence.text)) {
            match fence.info.as_str() {
                "sh" => {
                    let lines = commands(&fence.text);
                    assert!(!lines.is_empty(), "{}: there is no command", fence.place);
                    failed.extend(self.shell(&fence.place, &fence.text));
                    ran += lines.len();
                }
                // The command line is read in order: what is wrong in front of `--help` is found. In a clone cargo builds the
                // program and runs it.
                "sh,serves" => {
                    let asked: Vec<String> = commands(&fence.text)
                        .iter()
                        .map(|line| uncommented(line).replace("cargo run --release -- ", "portico "))
                        .map(|line| format!("{line} --help >help.txt"))
                        .collect();
                    assert!(asked.iter().all(|line| line.starts_with("portico ")), "{page}: these are of the program");
                    failed.extend(self.shell(&fence.place, &asked.join("\n")));
                    ran += asked.len();
                }
                _ => {}
            }
        }
        assert!(failed.is_empty(), "{}", failed.join("\n"));
        ran
    }
}

/// A service with what the pages speak of, and a person who may call it.
async fn service() -> (Service, World) {
    let url = TestPostgres::shared().database("docs").await;
    connect(&url).await.batch_execute(SALES).await.unwrap();
    let configuration = Configuration::new();
    for name in ["crm.db", "stock.db"] {
        rusqlite::Connection::open(configuration.path().join(name)).unwrap().execute_batch(CRM).unwrap();
    }
    let configuration = configuration.connection("sales", &url, "access = \"read-write\"");
    let service = configuration
        .connection("crm", "sqlite:crm.db", "access = \"read-write\"")
        .with(REVENUE)
        .with("[audit]\nfile = \"audit.jsonl\"")
        .serve()
        .await;
    let folder = service.folder.path().to_owned();
    run(&["user", "add", "ann@example.org"], &folder);
    let pat = run(&["pat", "create", "ann@example.org", "--name", "docs"], &folder);
    let account = run(&["service-account", "create", "docs", "--connection", "sales"], &folder);
    let word = |of: &Value, member: &str| of[member].as_str().unwrap().to_owned();
    let variables = vec![
        ("PAT", word(&pat, "pat")),
        ("PORTICO_TOKEN", word(&pat, "pat")),
        ("CLIENT_ID", word(&account, "clientId")),
        ("CLIENT_SECRET", word(&account, "clientSecret")),
    ];
    let address = service.url.trim_start_matches("http://").to_owned();
    (service, World { folder, address, variables })
}

/// Sends the JSON of a page where its block says.
async fn send(world: &World, fence: &Fence) {
    let path = match fence.info.as_str() {
        "json,mcp" => "/mcp".to_owned(),
        info => format!("/api/{}", info.trim_start_matches("json,")),
    };
    let pat = &world.variables[0].1;
    let request = client().post(format!("http://{}{path}", world.address)).bearer_auth(pat);
    let sent = request.header("content-type", "application/json").body(fence.text.clone()).send().await.unwrap();
    let (status, answer) = read(sent).await;
    assert_eq!(status, 200, "{}: {answer}", fence.place);
    let fails = answer.get("error").is_some() || answer["result"]["isError"] == true;
    assert!(!fails, "{}: {answer}", fence.place);
}

#[actix_web::test]
async fn the_commands_and_the_json_of_each_page_do_what_they_say() {
    let (mut ran, mut sent) = (0, 0);
    for page in pages() {
        // Those have a demo instead of a service.
        if page == "docs/quickstart.md" {
            continue;
        }
        let fences = fences(&page, &text(&page));
        let is_run =
            |fence: &&Fence| ["sh", "sh,serves"].contains(&fence.info.as_str()) || fence.info.starts_with("json,");
        if fences.iter().filter(is_run).count() == 0 {
            continue;
        }
        let (_service, world) = service().await;
        ran += world.commands(&page, &fences);
        for fence in fences.iter().filter(|fence| fence.info.starts_with("json,")) {
            send(&world, fence).await;
            sent += 1;
        }
    }
    assert!(ran > 25 && sent >= 5, "{ran} commands were run, and {sent} texts were sent");
}

#[actix_web::test]
async fn the_quickstart_and_the_readme_work_beside_a_demo() {
    for page in ["docs/quickstart.md", "README.md"] {
        let folder = TempDir::new().unwrap();
        let mut demo = program();
        demo.args(["demo", "--listen", "127.0.0.1:0", "--data-dir", "portico-demo", "--json"])
            .current_dir(folder.path());
        let mut demo = Running::begin(demo.stdout(Stdio::piped()).stderr(Stdio::null()));
        let credentials: Value = serde_json::from_str(&demo.line("{").await).unwrap();
        let word = |member: &str| credentials[member].as_str().unwrap().to_owned();
        let address = word("baseUrl").replace("http://localhost", "127.0.0.1");
        let variables = vec![("PAT", word("pat"))];
        let world = World { folder: folder.path().to_owned(), address, variables };
        let ran = world.commands(page, &fences(page, &text(page)));
        assert!(ran >= 2, "{page}: {ran} commands were run");
    }
}

#[test]
fn every_json_is_json_and_every_toml_a_configuration() {
    let (mut json, mut toml) = (0, 0);
    for page in pages().iter().map(String::as_str).chain(["README.md"]) {
        for fence in fences(page, &text(page)) {
            if fence.info.starts_with("json") {
                let read: Result<Value, _> = serde_json::from_str(&fence.text);
                read.unwrap_or_else(|error| panic!("{}: {error}", fence.place));
                json += 1;
            } else if fence.info == "toml" {
                let url = |name: &str| format!("sqlite:{name}.db");
                let others = ["sales", "crm"].iter().enumerate().map(|(number, name)| {
                    let id = uuid::Uuid::from_u128(number as u128);
                    format!("[[connections]]\nid = \"{id}\"\nname = \"{name}\"\nurl = \"{}\"\n", url(name))
                });
                let whole = fence.text.clone() + &others.collect::<String>();
                // Of OpenTelemetry's own, any word is not a setting.
                let is_read = |name: &str| name != "PORTICO_STORE_KEY" && !name.starts_with("OTEL_");
                let environment = |name: &str| is_read(name).then(|| "secret".to_owned());
                let read = Config::parse(&whole, Path::new("/etc/portico"), &environment);
                read.unwrap_or_else(|problems| panic!("{}: {problems}", fence.place));
                toml += 1;
            }
        }
    }
    assert!(json >= 10 && toml > 4, "{json} texts of JSON and {toml} of TOML were read");
}

#[test]
fn what_the_runner_says_of_a_page_is_so() {
    let block = "portico serve --bogus";
    assert_eq!(commands("a \\\n  b\n# c\n\nd\n"), ["a    b", "d"]);
    assert!(is_there(block) && is_there("curl x") && is_there("portico check"));
    let folder = TempDir::new().unwrap();
    let said = finished(program().args(["serve", "--bogus", "--help"]).current_dir(folder.path()));
    assert!(!said.status.success(), "an option that is not there is found although `--help` follows");
    let listed = finished(program().args(["check", "--json"]).current_dir(folder.path()));
    assert_eq!(json_of(&listed)["ok"], false);
}
