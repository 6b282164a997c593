//! What packages carry: bounds that fit each other, and paths that the unit may write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portico::config::{Config, Listen};

use crate::support::configuration::shop;

/// Octets of a connection of a client at most: a head, and what TLS and a stream have.
const CLIENT: u64 = 64 * 1024;
/// Octets of the program itself, its libraries and its allocator's own.
const PROGRAM: u64 = 256 * 1024 * 1024;

fn packaged(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(path)).unwrap()
}

/// The settings of the unit, each with its last value.
fn unit() -> BTreeMap<String, String> {
    let text = packaged("systemd/portico.service");
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A number as systemd has it.
fn number(value: &str) -> u64 {
    let (digits, unit) = value.split_at(value.find(|each: char| !each.is_ascii_digit()).unwrap_or(value.len()));
    let times = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        other => panic!("{other}"),
    };
    digits.parse::<u64>().unwrap() * times
}

/// The packaged configuration with `more` at its end.
fn configured(more: &str) -> Config {
    Config::parse(&format!("{}\n{more}", packaged("deb/config.toml")), Path::new("/etc/portico"), &|_| None).unwrap()
}

#[test]
fn the_unit_has_room_for_what_the_configuration_lets_in() {
    let unit = unit();
    let server = configured(&shop("")).server;
    let bounds = &server.bounds;
    let budgets = bounds.max_bodies + bounds.max_answers + bounds.max_decoding + server.tasks.kept_bytes;
    let clients = number(&unit["LimitNOFILE"]);
    let needed = PROGRAM + budgets as u64 + clients * CLIENT;
    let most = number(&unit["MemoryMax"]);
    assert!(needed <= most && most <= 2 * needed, "MemoryMax={most}, and {needed} are needed");
    // A thread for each call, and as many again for whatever else waits.
    let tasks = number(&unit["TasksMax"]);
    assert!(tasks >= 2 * bounds.max_calls as u64, "TasksMax={tasks}");
    assert!(clients >= 2 * bounds.max_connections as u64, "LimitNOFILE={clients}");
    // What the unit's own words say of these.
    let waits = number(&unit["TimeoutStopSec"]);
    assert_eq!(waits, server.shutdown_timeout.as_secs() + 15);
}

#[test]
fn relative_paths_lead_to_where_the_unit_may_write() {
    let unit = unit();
    assert_eq!(unit["ProtectSystem"], "strict");
    let places = [("StateDirectory", "/var/lib"), ("RuntimeDirectory", "/run")];
    let writable: Vec<PathBuf> = places.map(|(name, above)| Path::new(above).join(&unit[name])).to_vec();
    let more = shop("") + "[audit]\nfile = \"audit.jsonl\"\n";
    let plain = configured(&more);
    let text = packaged("deb/config.toml");
    // With a store that is no file, and a socket beside the port.
    let changed = text.replace("sqlite:portico.db", "postgres://portico@db/portico");
    let changed = changed.replace("\"127.0.0.1:8787\"", "[\"127.0.0.1:8787\", \"unix:portico.sock\"]");
    let other = Config::parse(&format!("{changed}\n{more}"), Path::new("/etc/portico"), &|_| None).unwrap();
    for config in [plain, other] {
        let mut written = vec![config.store.control.clone(), config.audit.file.clone().unwrap()];
        written.extend(config.store.place.file().map(Path::to_owned));
        written.extend(config.connections.iter().map(|connection| connection.location.file().unwrap().to_owned()));
        written.extend(config.server.listen.iter().filter_map(|listen| match listen {
            Listen::Unix(path) => Some(path.clone()),
            Listen::Tcp(_) => None,
        }));
        assert_eq!(written.len(), 4, "{written:?}");
        for path in written {
            assert!(writable.iter().any(|place| path.starts_with(place)), "{} is not to be written", path.display());
        }
    }
}

#[test]
fn the_manual_says_of_watchdog_and_alerts_what_packages_carry() {
    let page = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let (manual, observing) = (page("docs/operating.md"), page("docs/observing.md"));
    let words = manual.split_whitespace().collect::<Vec<_>>().join(" ");
    let half = number(&unit()["WatchdogSec"]) / 2;
    assert!(words.contains(&format!("has to have turned within half of `WatchdogSec=` ({half} s)")));
    let stuck = portico::health::STUCK_AFTER.as_secs();
    assert!(words.contains(&format!("when one of them has not turned for {stuck} s")));
    let (rules, tried) = (packaged("prometheus/alerts.yml"), packaged("prometheus/alerts_test.yml"));
    let names = |text: &str, before: &str, after: char| -> BTreeSet<String> {
        let behind = text.split(before).skip(1).map(|rest| rest.split(after).next().unwrap().to_owned());
        behind.filter(|name| name.starts_with("Portico")).collect()
    };
    let rules = names(&rules, "- alert: ", '\n');
    assert!(rules.len() > 8);
    assert_eq!(names(&tried, "alertname=\"", '"'), rules, "each fires in its own test");
    assert_eq!(names(&observing, "| `", '`'), rules, "and the manual says what to do about it");
}
