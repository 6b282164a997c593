//! `--write`: what it leaves of a file, and when it leaves it alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{connect, refused, server, shapes, told};

const LAPTOP: [&str; 2] = ["--server", "https://data.example.org"];

/// A file of a home folder, with this text.
fn file(folder: &Path, path: &str, text: &str) -> PathBuf {
    let path = folder.join("home").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_file_that_is_not_there_is_made_for_its_owner_alone() {
    for (client, path) in [
        ("claude-code", ".claude.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let folder = TempDir::new().unwrap();
        let told = told(folder.path(), &[&[client, "--write", "--connection", "shop"], &LAPTOP[..]].concat());
        let path = folder.path().join("home").join(path);
        assert_eq!(told["written"], json!({"file": path, "copy": null}), "{client}");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(mode(&path), 0o600, "{client}");
        let printed = told["file"]["text"].as_str().unwrap();
        if client == "codex" {
            shapes::codex(&text);
            assert_eq!(text.trim_end(), printed);
        } else {
            let [text, printed]: [Value; 2] = [&text, printed].map(|text| serde_json::from_str(text).unwrap());
            shapes::holds(client, &text);
            assert_eq!(text, printed, "{client}");
        }
    }
}

#[test]
fn nothing_else_in_a_file_is_touched_and_a_copy_is_kept() {
    let folder = TempDir::new().unwrap();
    let before = "{\n    // of my own\n    \"servers\": {\n        \"other\": {\"type\": \"stdio\", \"command\": \"x\"}, // keep\n        \
        \"shop\": {\"type\": \"http\", \"url\": \"https://data.example.org/mcp\"},\n    },\n    \"inputs\": [ ],\n}\n";
    let path = file(folder.path(), ".config/Code/User/mcp.json", before);
    let write = ["vscode", "--write", "--connection", "shop"];
    let told = told(folder.path(), &[&write[..], &LAPTOP].concat());
    let after = fs::read_to_string(&path).unwrap();
    let entry = "\"shop\": {\"type\": \"http\", \"url\": \"https://data.example.org/mcp\"}";
    let (head, tail) = before.split_once(entry).unwrap();
    assert!(after.starts_with(head) && after.ends_with(tail), "{after}");
    assert!(after.contains("https://data.example.org/mcp/connections/shop"), "{after}");
    let copy = PathBuf::from(told["written"]["copy"].as_str().unwrap());
    assert_eq!(copy, path.with_file_name("mcp.json.before-portico"));
    assert_eq!(fs::read_to_string(&copy).unwrap(), before);
    // Once more: the first copy stays, and the file is what it was.
    let output = connect(folder.path(), &[&write[..], &LAPTOP].concat());
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(&path).unwrap(), after);
    assert_eq!(fs::read_to_string(&copy).unwrap(), before);
    assert!(path.with_file_name("mcp.json.before-portico-2").exists());
}

#[test]
fn a_file_of_toml_keeps_its_comments_and_its_order() {
    let folder = TempDir::new().unwrap();
    let before =
        "# mine\nmodel = \"x\" # the model\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[tui]\ntheme = \"dark\" # keep\n";
    let path = file(folder.path(), ".codex/config.toml", before);
    told(folder.path(), &[&["codex", "--write"], &LAPTOP[..]].concat());
    let after = fs::read_to_string(&path).unwrap();
    for line in before.lines() {
        assert!(after.lines().any(|kept| kept == line), "{line:?} in {after}");
    }
    let read: toml::Table = after.parse().unwrap();
    assert_eq!(read["mcp_servers"]["portico"]["url"].as_str(), Some("https://data.example.org/mcp"));
    assert_eq!(read["mcp_servers"]["other"]["command"].as_str(), Some("y"));
    assert_eq!(read["tui"]["theme"].as_str(), Some("dark"));
}

#[test]
fn a_token_is_for_its_owners_eyes_and_a_link_stays_one() {
    let (folder, person) = server();
    let path = file(folder.path(), "dotfiles/claude.json", "{\"numStartups\": 3, \"mcpServers\": {}}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let link = folder.path().join("home/.claude.json");
    symlink(&path, &link).unwrap();
    told(folder.path(), &["claude-code", "--write", "--user", &person]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written["numStartups"], 3);
    let header = written["mcpServers"]["portico"]["headers"]["Authorization"].as_str().unwrap();
    assert!(header.starts_with("Bearer ptc_pat_"), "{header}");
    assert_eq!(mode(&path), 0o600);
    // Without a token the permissions are what they were.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    told(folder.path(), &["claude-code", "--write"]);
    assert_eq!(mode(&path), 0o644);
}

#[test]
fn what_cannot_be_read_or_is_somebody_elses_is_left_alone() {
    let folder = TempDir::new().unwrap();
    for (client, path, text, expected) in [
        ("gemini", ".gemini/settings.json", "{\"mcpServers\": ", "on line 1 column"),
        ("gemini", ".gemini/settings.json", "[]", "it holds no object"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": 5}", "\"mcpServers\" is not an object"),
        ("claude-code", ".claude.json", "{} // a comment", "at line 1 column 4"),
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"portico\": {\"url\": \"https://data.example.org.evil.example/mcp\"}}}",
            "another server named \"portico\"",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.portico]\nurl = \"https://other.example/mcp\"",
            "another server named \"portico\"",
        ),
        ("codex", ".codex/config.toml", "mcp_servers = 5", "\"mcp_servers\" is not a table"),
        ("codex", ".codex/config.toml", "a = ", "config.toml: "),
    ] {
        let path = file(folder.path(), path, text);
        let words = refused(folder.path(), &[&[client, "--write"], &LAPTOP[..]].concat());
        assert!(words.contains(expected) && words.contains("leave out --write"), "{client}: {words}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        let beside = fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name());
        let left: Vec<_> = beside.filter(|name| name.to_string_lossy().contains("portico")).collect();
        assert!(left.is_empty(), "{client}: {left:?}");
    }
}
