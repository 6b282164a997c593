//! `portico connect`: what it prints for each client, against what that client documents, and what it leaves of a file
//! that it merges into.

mod files;
mod shapes;

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::app::{CONNECTION, callers, read};
use crate::support::configuration::Configuration;
use crate::support::process::{finished, json_of, program};

const JSON_CLIENTS: [&str; 5] = ["claude-code", "claude-desktop", "cursor", "vscode", "gemini"];

/// `portico connect` in `folder`, whose folder `home` is where clients have their files.
fn connect(folder: &Path, arguments: &[&str]) -> Output {
    let home = folder.join("home");
    let mut command = program();
    for variable in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
        command.env_remove(variable);
    }
    finished(command.arg("connect").args(arguments).current_dir(folder).env("HOME", home))
}

/// What it prints for programs.
fn told(folder: &Path, arguments: &[&str]) -> Value {
    let output = connect(folder, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", json_of(&output));
    json_of(&output)
}

/// Why it fails.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = connect(folder, &[arguments, &["--json"]].concat());
    assert!(!output.status.success(), "{arguments:?}: {}", json_of(&output));
    let told = json_of(&output);
    format!("{}; {}", told["message"].as_str().unwrap(), told["hint"].as_str().unwrap_or_default())
}

/// A server's folder, and who may call it: a writer and a reader.
fn server() -> (TempDir, String) {
    let workspace = "[[workspaces]]\nname = \"store\"\nassets = [{ table = \"shop.main.orders\" }]";
    let configuration = Configuration::new().server("public_url = \"http://localhost:8787\"").sqlite("shop", "");
    let folder = configuration.with(workspace).write();
    let (writer, ..) = callers(folder.path().join("portico.db"));
    (folder, writer.name)
}

#[test]
fn what_is_printed_is_what_each_client_documents() {
    let (folder, person) = server();
    let laptop = TempDir::new().unwrap();
    for client in JSON_CLIENTS {
        for (folder, more, auth) in [
            (folder.path(), vec!["--user", &person], "token"),
            (folder.path(), vec![], "oauth"),
            (laptop.path(), vec!["--server", "https://data.example.org"], "oauth"),
        ] {
            for part in [vec![], vec!["--connection", "shop"], vec!["--workspace", "store"]] {
                let told = told(folder, &[&[client], more.as_slice(), &part].concat());
                assert_eq!(told["auth"], auth, "{client} {more:?}");
                let text: Value = serde_json::from_str(told["file"]["text"].as_str().unwrap()).unwrap();
                shapes::holds(client, &text);
                let name = if part.is_empty() { "portico" } else { part[1] };
                let entry = text.as_object().unwrap().values().next().unwrap()[name].to_string();
                assert_eq!(entry.contains("ptc_pat_"), auth == "token", "{client}: {entry}");
                let server =
                    if more.contains(&"--server") { "https://data.example.org" } else { "http://localhost:8787" };
                assert!(entry.contains(server) && told["url"].as_str().unwrap().starts_with(server), "{entry}");
            }
        }
    }
    let told = told(laptop.path(), &["codex", "--server", "https://data.example.org", "--connection", "shop"]);
    shapes::codex(told["file"]["text"].as_str().unwrap());
    assert_eq!(told["commands"], json!(["codex mcp login shop"]));
}

#[test]
fn codex_looks_for_its_token_in_the_environment() {
    let (folder, person) = server();
    let told = told(folder.path(), &["codex", "--workspace", "store", "--user", &person]);
    let text = told["file"]["text"].as_str().unwrap();
    shapes::codex(text);
    assert!(text.contains("bearer_token_env_var = \"PORTICO_TOKEN_STORE\"") && !text.contains("ptc_pat_"), "{text}");
    let command = told["commands"][0].as_str().unwrap();
    assert!(command.starts_with("export PORTICO_TOKEN_STORE=ptc_pat_"), "{command}");
}

#[test]
fn claude_desktop_launches_this_program() {
    let (folder, person) = server();
    let of = |more: &[&str]| {
        let told = told(folder.path(), &[&["claude-desktop", "--connection", "shop"], more].concat());
        let text: Value = serde_json::from_str(told["file"]["text"].as_str().unwrap()).unwrap();
        text["mcpServers"]["shop"].clone()
    };
    let entry = of(&["--user", &person]);
    let command = entry["command"].as_str().unwrap();
    assert!(Path::new(command).is_absolute() && command.ends_with("/portico"), "{command}");
    let expected = ["stdio", "--server", "http://localhost:8787", "--connection", "shop"];
    assert_eq!(entry["args"], json!(expected));
    assert!(entry["env"]["PORTICO_TOKEN"].as_str().unwrap().starts_with("ptc_pat_"));
    // It signs in by itself.
    assert!(of(&[]).get("env").is_none());
    assert_eq!(of(&["--lean"])["args"], json!([expected.as_slice(), &["--lean"]].concat()));
}

#[test]
fn cursor_launches_this_program_where_the_server_has_the_port_that_cursor_listens_on() {
    let (folder, person) = server();
    let entry = |more: &[&str]| {
        let told = told(folder.path(), &[&["cursor", "--connection", "shop"], more].concat());
        let text: Value = serde_json::from_str(told["file"]["text"].as_str().unwrap()).unwrap();
        shapes::holds("cursor", &text);
        text["mcpServers"]["shop"].clone()
    };
    let launched = entry(&["--user", &person]);
    assert_eq!(launched["args"], json!(["stdio", "--server", "http://localhost:8787", "--connection", "shop"]));
    assert!(launched["env"]["PORTICO_TOKEN"].as_str().unwrap().starts_with("ptc_pat_"));
    assert!(entry(&[]).get("env").is_none(), "the program signs in");
    for free in ["http://localhost:8788", "https://data.example.org", "https://data.example.org:8787"] {
        assert_eq!(entry(&["--server", free]), json!({"url": format!("{free}/mcp/connections/shop")}));
    }
}

#[test]
fn the_only_person_gets_a_token_and_one_of_several_is_not_guessed() {
    let folder = Configuration::new().sqlite("shop", "").write();
    let run = |arguments: &[&str]| crate::support::process::run(arguments, folder.path());
    // Nobody is there yet, nor a store.
    assert_eq!(told(folder.path(), &["curl"])["auth"], "placeholder");
    run(&["user", "add", "ann@example.org"]);
    for (client, auth) in
        [("claude-code", "token"), ("curl", "token"), ("gemini", "token"), ("cursor", "oauth"), ("codex", "oauth")]
    {
        assert_eq!(told(folder.path(), &[client, "--connection", "shop"])["auth"], auth, "{client}");
    }
    assert_eq!(told(folder.path(), &["cursor", "--user", "ann@example.org"])["auth"], "token");
    let tokens = run(&["pat", "list"]);
    let tokens = tokens.as_array().unwrap();
    assert_eq!(tokens.len(), 4, "{tokens:?}");
    for token in tokens {
        assert!(token["expiresAt"].is_string() || token["expiresAt"].is_number(), "each has an end: {token}");
    }
    run(&["user", "add", "bob@example.org"]);
    assert_eq!(told(folder.path(), &["claude-code"])["auth"], "oauth");
    assert_eq!(told(folder.path(), &["curl"])["auth"], "placeholder");
    // Who cannot call is nobody to guess either.
    run(&["user", "disable", "bob@example.org"]);
    assert_eq!(told(folder.path(), &["curl"])["auth"], "token");
    assert_eq!(run(&["pat", "list"]).as_array().unwrap().len(), 5);
    let text = std::fs::read_to_string(folder.path().join("config.toml")).unwrap();
    let closed = format!("{text}\n[oauth]\ndynamic_registration = false\nclient_documents = false\n");
    std::fs::write(folder.path().join("config.toml"), closed).unwrap();
    run(&["user", "enable", "bob@example.org"]);
    let told = told(folder.path(), &["gemini"]);
    assert_eq!(told["auth"], "placeholder", "nobody can sign in");
    assert!(told["file"]["text"].as_str().unwrap().contains("Bearer <token>"), "{told}");
    let words = refused(folder.path(), &["gemini", "--write"]);
    assert!(words.contains("there is no token to write; --user EMAIL"), "{words}");
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let (folder, person) = server();
    let laptop = TempDir::new().unwrap();
    let (here, there) = (folder.path(), laptop.path());
    for (folder, arguments, expected) in [
        (there, vec!["cursor"], "config.toml is not there, so no server is known; give the server's configuration"),
        (
            there,
            vec!["cursor", "--server", "https://x.example", "--user", "a@b.c"],
            "tokens are made on the server's machine",
        ),
        (there, vec!["cursor", "--server", "x.example"], "--server: \"x.example\" is not an address; write scheme"),
        (there, vec!["cursor", "--server", "https://x.example/mcp"], "is more than the address of a server"),
        (
            there,
            vec!["cursor", "--server", "https://x.example", "--connection", "a/b"],
            "is not the name of a connection",
        ),
        (here, vec!["cursor", "--connection", "shpo"], "there is no connection \"shpo\"; did you mean shop?"),
        (here, vec!["cursor", "--workspace", "shop"], "there is no workspace \"shop\"; workspaces: store"),
        (here, vec!["cursor", "--user", "nobody@example.org"], "nobody@example.org"),
        (here, vec!["curl", "--write", "--user", &person], "--write: curl has no file of its own; leave it out"),
    ] {
        let words = refused(folder, &arguments);
        assert!(words.contains(expected), "{arguments:?}: {words}");
    }
    let both = connect(here, &["cursor", "--connection", "shop", "--workspace", "store"]);
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"), "{both:?}");
    let unknown = connect(here, &["curser"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("cursor"), "{unknown:?}");
}

#[test]
fn people_see_what_to_paste_alone_on_standard_output() {
    let (folder, person) = server();
    let output = connect(folder.path(), &["claude-code", "--connection", "shop", "--user", &person]);
    let (pasted, beside) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let begin = "claude mcp add --transport http --scope user shop http://localhost:8787/mcp/connections/shop --header \
                 \"Authorization: Bearer ptc_pat_";
    assert!(pasted.starts_with(begin) && pasted.lines().count() == 1, "{pasted}");
    assert!(beside.contains("is not shown again") && beside.contains("portico pat revoke "), "{beside}");
    let lean = connect(folder.path(), &["claude-code", "--lean"]);
    let lean = String::from_utf8(lean.stdout).unwrap();
    assert!(
        lean.contains("portico 'http://localhost:8787/mcp?ops=get_instructions,get_columns,execute_select'"),
        "{lean}"
    );
    let cursor = connect(folder.path(), &["cursor"]);
    let pasted: Value = serde_json::from_slice(&cursor.stdout).unwrap();
    shapes::holds("cursor", &pasted);
    let url = "http://localhost:8787/mcp/connections/shop";
    for (client, more, expected) in [
        ("gemini", vec![], format!("gemini mcp add --transport http --scope user shop {url}\n")),
        ("gemini", vec!["--user", &person], format!("ptc_pat_*\" shop {url}\n")),
        ("codex", vec![], format!("codex mcp add shop --url {url}\n")),
        (
            "codex",
            vec!["--user", &person],
            format!("codex mcp add shop --url {url} --bearer-token-env-var PORTICO_TOKEN_SHOP\n"),
        ),
    ] {
        let output = connect(folder.path(), &[&[client, "--connection", "shop"], more.as_slice()].concat());
        let pasted = String::from_utf8(output.stdout).unwrap();
        match expected.split_once('*') {
            Some((begin, end)) => assert!(pasted.contains(begin) && pasted.ends_with(end), "{pasted}"),
            None => assert_eq!(pasted, expected),
        }
    }
}

#[actix_web::test]
async fn a_token_opens_the_place_that_it_was_made_for_and_no_other() {
    let app = Configuration::new().sqlite("shop", "").sqlite("archive", "").start().await;
    let folder = app.config.parent().unwrap().to_owned();
    let person = app.writer.name.clone();
    let made = tokio::task::spawn_blocking(move || {
        told(&folder, &["curl", "--connection", "shop", "--user", &person, "--lean"])
    });
    let made = made.await.unwrap();
    app.look().await;
    let paste = made["paste"].as_str().unwrap();
    let token = paste.split("export PORTICO_TOKEN=").nth(1).unwrap().lines().next().unwrap().trim_matches('\'');
    let ask = async |path: &str| {
        let request = app.http.post(format!("{}{path}", app.url)).bearer_auth(token);
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        read(request.header("content-type", "application/json").body(body).send().await.unwrap()).await
    };
    let address = made["url"].as_str().unwrap().strip_prefix(&app.url).unwrap();
    let (status, listed) = ask(address).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!((status, names), (200, vec!["get_instructions", "get_columns", "execute_select"]), "{listed}");
    assert_eq!(ask(&format!("/mcp/connections/{CONNECTION}")).await.0, 200);
    assert_eq!(ask("/mcp/connections/archive").await.0, 400, "a name that it does not open is none");
}
