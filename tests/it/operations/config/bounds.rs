//! What docs/operating.md says of bounds is what the settings declare, and what the code has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portico::config::Config;

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Where the settings of a section are declared.
const DECLARED: [(&str, &str); 11] = [
    ("audit", "audit"),
    ("bounds", "server"),
    ("connection", "connections"),
    ("defaults", "connections"),
    ("identity", "connections.identity"),
    ("issuer", "issuers"),
    ("limits", "limits"),
    ("mod", "tokens"),
    ("server", "server"),
    ("store", "store"),
    ("tasks", "server.tasks"),
];

/// Numbers that bound nothing: how far clocks may be apart, how often one looks, and from when on a call is a task.
const NO_BOUNDS: [&str; 3] = ["tokens.clock_skew", "connections.refresh_interval", "server.tasks.after"];

/// Every number of the configuration, as the sources declare it.
fn declared() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let name = entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
        for call in ["integer(", "rate("] {
            for rest in text.split(call).skip(1) {
                // The declaration of the function itself has no name of a key.
                let Some(rest) = rest.trim_start().strip_prefix('"') else { continue };
                let section = DECLARED.iter().find(|(declares, _)| *declares == name);
                let (_, section) = section.unwrap_or_else(|| panic!("{name}.rs declares a number"));
                found.insert(format!("{section}.{}", rest.split('"').next().unwrap()));
            }
        }
    }
    assert!(found.len() > 30, "the declarations were not found");
    found
}

/// The numbers of the example, also those that stand there as comments.
fn example() -> BTreeMap<String, String> {
    let (mut section, mut found) = (String::new(), BTreeMap::new());
    for line in file("config.toml").lines() {
        let line = line.trim_start_matches("# ");
        if let Some(name) = line.strip_prefix('[') {
            let name = name.trim_start_matches('[').split(']').next().unwrap();
            // What holds for each connection whose own table does not say otherwise.
            section = if name == "defaults" { "connections".to_owned() } else { name.to_owned() };
        } else if let Some((key, value)) = line.split_once(" = ")
            && value.bytes().all(|each| each.is_ascii_digit())
        {
            let before = found.insert(format!("{section}.{key}"), value.to_owned());
            assert!(before.is_none_or(|before| before == value), "{section}.{key}");
        }
    }
    found
}

/// The rows of the table behind `heading`, each as its cells.
fn table(heading: &str) -> Vec<Vec<String>> {
    let text = file("docs/operating.md");
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
    let rows = table("### Bounds\n");
    let told: BTreeMap<String, String> =
        rows.into_iter().map(|row| (row[0].trim_matches('`').to_owned(), row[1].clone())).collect();
    let wanted: BTreeSet<String> = declared().into_iter().filter(|key| !NO_BOUNDS.contains(&key.as_str())).collect();
    assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), wanted);
    let example = example();
    for (key, default) in told {
        assert_eq!(example.get(&key), Some(&default), "{key} in config.toml");
    }
    // `config.rs` holds the rest of the example against what one gets without it.
    let set = |name: &str| (name == "SALES_PASSWORD").then(|| "secret".to_owned());
    let spelt = Config::parse(&file("config.toml"), Path::new("/base"), &set).unwrap();
    let least = file("config.toml").split("[audit]").next().unwrap().to_owned()
        + "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"sales\"\nurl = \"sqlite:x.db\"\n";
    let least = Config::parse(&least, Path::new("/base"), &set).unwrap();
    assert_eq!(format!("{:?}", spelt.audit), format!("{:?}", least.audit));
}

/// What is bounded, the numbers that the table has for it, and where the code has them.
const FIXED: [(&str, &str, &str, &[&str]); 9] = [
    ("requests of strangers", "256, 32", "src/http/middleware/body.rs", &["Most { each: 32, all: 256 }"]),
    ("streams of HTTP/2", "1000", "src/http/reception.rs", &["MOST_STREAMS: usize = 1_000;"]),
    (
        "passwords that wait to be compared",
        "64, 4",
        "actors/src/auth/accounts/password_limiter.rs",
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
    ("a row of a source", "64 MiB", "actors/src/source/sqlite/connect/limits.rs", &["LONGEST: usize = 64 << 20;"]),
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
