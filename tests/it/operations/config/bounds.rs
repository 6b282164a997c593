//! What docs/configuration.md says of bounds is what the settings declare, and what the code has.

use std::collections::BTreeMap;

use portico::config::Kind;

use super::settings::{all, file, value};

/// Numbers that bound nothing: how far clocks may be apart, how often one looks, and from when on a call is a task.
const NO_BOUNDS: [&str; 3] = ["tokens.clock_skew", "connections.refresh_interval", "server.tasks.after"];

/// The rows of the table behind `heading`, each as its cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let text = file("docs/configuration.md");
    let (_, rest) = text.split_once(heading).unwrap();
    let lines =
        rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    let rows: Vec<Vec<String>> = lines.map(cells).collect();
    for row in &rows {
        assert!(row.len() == 5 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
    rows
}

#[test]
fn the_table_of_bounds_is_what_the_settings_declare() {
    let rows = table("## Bounds\n");
    let told: BTreeMap<String, String> =
        rows.into_iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect();
    let is_bound = |path: &str| !NO_BOUNDS.contains(&path) && !path.starts_with("defaults.");
    let numbers =
        all().into_iter().filter(|(path, setting, _)| matches!(setting.kind, Kind::Number(..)) && is_bound(path));
    let declared: BTreeMap<String, String> = numbers.map(|(path, setting, _)| (path, value(setting))).collect();
    assert_eq!(told, declared);
}

/// What is bounded, the numbers that the table has for it, and where the code has them.
const FIXED: [(&str, &str, &str, &[&str]); 9] = [
    ("requests of strangers", "256, 32", "src/http/middleware/body.rs", &["ShareLimits { each: 32, all: 256 }"]),
    ("streams of HTTP/2", "1000", "src/http/connections/write_timeout.rs", &["MOST_STREAMS: usize = 1_000;"]),
    (
        "passwords that wait to be compared",
        "64, 4",
        "actors/auth/src/accounts/password_limiter.rs",
        &["WAITING: usize = 64;", "WAITING_OF_ADDRESS: usize = 4;"],
    ),
    ("messages of a batch (MCP)", "100", "src/mcp/envelope.rs", &["BATCH: usize = 100;"]),
    (
        "answers kept for `Idempotency-Key`",
        "64 MiB, 8 MiB",
        "src/http/api/idempotency/store.rs",
        &["MOST_BYTES: usize = 64 * 1024 * 1024;", "MOST_BYTES_PER_CALLER: usize = 8 * 1024 * 1024;"],
    ),
    ("one such answer", "1 MiB", "src/http/api/idempotency/store.rs", &["LARGEST: usize = 1024 * 1024;"]),
    ("a row of a source", "64 MiB", "actors/sources/src/sqlite/connect/limits.rs", &["LONGEST: usize = 64 << 20;"]),
    ("lines of the log that wait", "1 MiB", "src/observe/queue.rs", &["CAPACITY: usize = 1024 * 1024;"]),
    ("a member of a line", "1 KiB", "src/observe/lines.rs", &["LONGEST_MEMBER: usize = 1024;"]),
];

#[test]
fn what_nobody_can_set_is_what_the_code_has() {
    let told: Vec<(String, String)> =
        table("And what nobody can set:\n").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let known: Vec<(String, String)> =
        FIXED.iter().map(|(name, value, ..)| ((*name).to_owned(), (*value).to_owned())).collect();
    assert_eq!(told, known);
    for (name, _, place, declarations) in FIXED {
        let code = file(place);
        for declaration in declarations {
            assert!(code.contains(declaration), "{name}: {place} has not {declaration}");
        }
    }
}
