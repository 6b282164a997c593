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
    folders.extend(FLOORS.map(|floor| root.join("actors").join(floor).join("src")));
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
    only_in(&sources, "tokio_postgres", &["actors/sources/src/postgres/", "src/config/service/log.rs"]);
    only_in(&sources, "deadpool_postgres", &["actors/sources/src/postgres/"]);
    only_in(&sources, "squawk_", &["actors/sql/src/"]);
    only_in(&sources, "jsonwebtoken", &["actors/auth/src/"]);
    only_in(&sources, "rusqlite", &["actors/sources/src/sqlite/", "actors/auth/src/", "src/sample/"]);
    only_in(&sources, "actix_web", &["src/http/", "src/lib.rs"]);
    only_in(&sources, "askama", &["src/http/pages/", "src/http/public/description/"]);
    only_in(&sources, "reqwest", &["actors/auth/src/", "src/client_metadata.rs", "src/stdio/"]);
    only_in(&sources, "argon2", &["actors/auth/src/"]);
    only_in(&sources, "datafusion::", &["actors/federation/src/"]);
    only_in(&sources, "arrow_array", &["actors/arrow/src/", "actors/federation/src/", "src/encode/formats/arrow.rs"]);
    only_in(&sources, "actix_http", &["src/http/connections/listening.rs", "src/config/service/log.rs"]);
    only_in(&sources, "actix_server", &["src/http/connections/listening.rs", "src/config/service/log.rs"]);
    only_in(&sources, "rustls::", &["src/net/", "src/config/service/tls.rs", "actors/sources/src/postgres/"]);
    only_in(&sources, "prometheus_client", &["src/observe/"]);
    only_in(&sources, "opentelemetry", &["src/observe/"]);
    only_in(&sources, "clap", &["src/cli/", "src/main.rs"]);
    only_in(&sources, "println!", &["src/cli/"]);
}

#[test]
fn a_driver_is_a_folder_and_a_line() {
    let sources = sources();
    for driver in ["postgres", "sqlite"] {
        only_in(
            &sources,
            &format!("crate::{driver}::"),
            &[&format!("actors/sources/src/{driver}/"), "actors/auth/src/store/"],
        );
    }
    // The store has a session of its own with PostgreSQL.
    only_in(&sources, "portico_sources::postgres", &["actors/auth/src/", "actors/src/lib.rs"]);
    only_in(&sources, "portico_sources::sqlite", &["actors/src/lib.rs"]);
    only_in(&sources, "source::postgres", &["src/config/connections/address.rs", "src/config/service/store.rs"]);
    // Who opens a connection takes its driver from there, and no driver knows the others.
    only_in(&sources, "drivers::", &["src/"]);
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
            "src/net/listener.rs",
            // The kernel's own files, which are on no disk.
            "src/observe/process.rs",
            "actors/sources/src/sqlite/session/temporary_files.rs",
            "actors/auth/src/",
            // Where rows that do not fit in memory are kept.
            "actors/federation/src/engine.rs",
            "actors/sources/src/postgres/connect/",
            "actors/sources/src/sqlite/connect/open.rs",
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

/// The floors behind the mailbox, each a crate, the lowest first. Cargo lets none of them look up.
const FLOORS: [&str; 7] = ["core", "sql", "arrow", "sources", "auth", "runtime", "federation"];

/// The crates of the workspace that the one at `folder` is built from.
fn built_from(folder: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let (_, section) = manifest.split_once("\n[dependencies]\n").unwrap();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix("portico-")?.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn the_floors_are_crates_and_only_their_facade_is_seen() {
    assert_eq!(built_from("actors/core"), [""; 0]);
    assert_eq!(built_from("actors/sql"), ["core"]);
    assert_eq!(built_from("actors/arrow"), ["core"]);
    assert_eq!(built_from("actors/sources"), ["core", "sql"]);
    assert_eq!(built_from("actors/auth"), ["core", "sources"]);
    assert_eq!(built_from("actors/runtime"), ["core", "sources", "sql"]);
    assert_eq!(built_from("actors/federation"), ["arrow", "core", "sources", "sql"]);
    assert_eq!(built_from("actors"), ["arrow", "auth", "core", "federation", "runtime", "sources", "sql"]);
    assert_eq!(built_from(""), ["actors"]);
}

/// A row may be of a process whose clock is ahead or behind: `auth::clock::Now` judges what it says.
#[test]
fn no_statement_of_the_store_compares_with_this_clock() {
    let store = |file: &String| file.starts_with("actors/auth/src/store/");
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
