//! The direction rules of the house: who may name what. Reads the sources as text, without their
//! comments, and so sees every mention.

mod circles;
mod documents;
mod imports;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each source file with its code, without line comments; tests at a file's end are left out.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![root.join("src"), root.join("actors/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                if name.contains("/tests") {
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
                let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                files.insert(name, code.join("\n"));
            }
        }
    }
    assert!(files.len() > 40, "the sources were not found");
    files
}

/// Asserts that `word` occurs only in files that begin with one of `places`.
fn only_in(sources: &BTreeMap<String, String>, word: &str, places: &[&str]) {
    let mut found = false;
    for (file, code) in sources {
        if code.contains(word) {
            found = true;
            assert!(places.iter().any(|place| file.starts_with(place)), "{file} names {word}");
        }
    }
    assert!(found, "nothing names {word}: the rule has lost its subject");
}

#[test]
fn each_library_has_its_room() {
    let sources = sources();
    // The configuration names it once more, to quieten its log.
    only_in(&sources, "tokio_postgres", &["actors/src/source/postgres/", "src/config/seeing.rs"]);
    only_in(&sources, "squawk_", &["actors/src/sql/"]);
    only_in(&sources, "jsonwebtoken", &["actors/src/auth/"]);
    only_in(&sources, "rusqlite", &["actors/src/source/sqlite/", "actors/src/auth/", "src/sample/"]);
    only_in(&sources, "actix_web", &["src/http/", "src/lib.rs"]);
    only_in(&sources, "askama", &["src/http/pages/", "src/http/public/description/"]);
    only_in(&sources, "reqwest", &["actors/src/auth/", "src/client_document.rs"]);
    only_in(&sources, "argon2", &["actors/src/auth/"]);
    only_in(&sources, "actix_http", &["src/http/listening.rs", "src/config/seeing.rs"]);
    only_in(&sources, "actix_server", &["src/http/listening.rs", "src/config/seeing.rs"]);
    only_in(&sources, "rustls::", &["src/edge/", "src/config/tls.rs", "actors/src/source/postgres/"]);
    only_in(&sources, "prometheus_client", &["src/observe/"]);
    only_in(&sources, "opentelemetry", &["src/observe/"]);
    only_in(&sources, "clap", &["src/cli/", "src/main.rs"]);
    only_in(&sources, "println!", &["src/cli/"]);
}

#[test]
fn a_driver_is_a_folder_and_a_line() {
    let sources = sources();
    // The store has a session of its own with PostgreSQL, and the demo a file.
    let store = ["actors/src/auth/", "src/config/address.rs", "src/config/store.rs"];
    only_in(&sources, "source::postgres", &[&["actors/src/source/postgres/"][..], &store].concat());
    only_in(&sources, "source::sqlite", &["actors/src/source/sqlite/", "src/cli/demo/", "src/sample/tests.rs"]);
    // Who opens a connection takes its driver from there, and no driver knows the others.
    only_in(&sources, "source::drivers", &["src/"]);
}

#[test]
fn numbers_and_files_have_their_places() {
    let sources = sources();
    only_in(&sources, "StatusCode::", &["src/http/error.rs"]);
    only_in(&sources, "-32", &["src/mcp/envelope.rs"]);
    only_in(&sources, "std::env", &["src/config/", "src/cli/"]);
    only_in(
        &sources,
        "fs::",
        &[
            "src/config/",
            "src/cli/",
            "src/audit/",
            "src/sample/",
            "src/edge/listener.rs",
            // The kernel's own files, which are on no disk.
            "src/observe/process.rs",
            "actors/src/auth/",
            "actors/src/source/postgres/connect/",
            "actors/src/source/sqlite/connect/open.rs",
        ],
    );
    for (file, code) in &sources {
        if file.starts_with("src/http/") || file.starts_with("src/mcp/") {
            assert!(!code.contains("error!("), "{file}: emit an Event, it is logged once");
            assert!(!code.lines().any(|line| line.contains("Op::") && line.contains("=>")), "{file} matches on Op");
        }
        if file.starts_with("src/mcp/") {
            assert!(!code.contains("Cell") && !code.contains("Batch"), "{file} touches rows");
        }
        if file.starts_with("src/") && !file.starts_with("src/http/") && file != "src/lib.rs" {
            assert!(!code.contains("crate::http"), "{file} looks up at the routes");
        }
    }
}

/// The floors behind the mailbox, the lowest first.
const FLOORS: [&[&str]; 6] = [
    &[
        "error",
        "principal",
        "request",
        "backoff",
        "beat",
        "budget",
        "calendar",
        "name",
        "near",
        "pattern",
        "queue",
        "shares",
        "trace",
    ],
    &["call", "reply", "identity"],
    &["event", "sql", "source"],
    &["source/postgres", "source/sqlite", "source/drivers"],
    &["connection", "auth"],
    &["directory"],
];

/// Rooms of the source that stand above it.
const DRIVERS: [&str; 3] = ["postgres", "sqlite", "drivers"];

fn floor(room: &str) -> usize {
    FLOORS.iter().position(|rooms| rooms.contains(&room)).unwrap_or_else(|| panic!("{room} is on no floor"))
}

#[test]
fn behind_the_mailbox_nothing_looks_up() {
    for (file, code) in sources() {
        let Some(path) = file.strip_prefix("actors/src/").filter(|path| *path != "lib.rs") else { continue };
        let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let pieces: Vec<&str> = path.split('/').collect();
        let driver = pieces.len() > 1 && pieces[0] == "source" && DRIVERS.contains(&pieces[1]);
        let own = if driver { format!("source/{}", pieces[1]) } else { pieces[0].to_owned() };
        for mention in code.split("crate::").skip(1) {
            let room: String =
                mention.chars().take_while(|each| each.is_ascii_alphanumeric() || *each == '_').collect();
            if room.is_empty() || room == own || own.starts_with(&format!("{room}/")) {
                continue;
            }
            assert!(floor(&room) <= floor(&own), "{file} looks up at {room}");
            assert!(own != "error", "error.rs imports {room}, and it imports nothing of ours");
        }
    }
}

/// A row may be of a process whose clock is ahead or behind: `auth::clock::Now` judges what it says.
#[test]
fn no_statement_of_the_store_compares_with_this_clock() {
    let store = |file: &String| file.starts_with("actors/src/auth/store/");
    for (file, code) in sources().iter().filter(|(file, _)| store(file)) {
        for comparison in ["<", ">", "<=", ">="] {
            for with in [":now", "unixepoch()", "CURRENT_TIMESTAMP"] {
                let wrong = format!("{comparison} {with}");
                assert!(!code.contains(&wrong), "{file}: {wrong}; compare with :ended");
            }
        }
    }
}

#[test]
fn every_file_can_be_read_in_one_sitting() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in sources().keys() {
        let lines = fs::read_to_string(root.join(file)).unwrap().lines().count();
        assert!(lines <= 450, "{file} has {lines} lines");
    }
}
