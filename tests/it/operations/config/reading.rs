//! `config.toml`: every problem at once, each with its line, key and remedy.

use std::path::Path;

use portico::config::{Config, Database, Problem, Problems};
use portico_actors::directory::Start;
use portico_actors::source::Access;
use portico_actors::source::postgres::Address;
use secrecy::ExposeSecret;

fn problems(text: &str) -> Vec<(usize, String, String)> {
    let environment = |name: &str| (name == "KNOWN").then(|| "value".to_owned());
    let problems = Config::parse(text, Path::new("/base"), &environment).unwrap_err();
    problems
        .0
        .into_iter()
        .map(|Problem { line, key, message, remedy, .. }| (line, key, format!("{message}; {remedy}")))
        .collect()
}

#[test]
fn the_example_at_the_top_is_valid_and_shows_the_defaults() {
    let environment = |name: &str| (name == "SALES_PASSWORD").then(|| "s3cret".to_owned());
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config.toml")).unwrap();
    let config = Config::parse(&text, Path::new("/base"), &environment).unwrap();
    let sales = config.connection("sales").unwrap();
    let location: &dyn std::any::Any = sales.location.as_ref();
    let address: &Address = location.downcast_ref().unwrap_or_else(|| panic!("{sales:?}"));
    assert!(address.url.expose_secret().contains("app:s3cret@"));
    assert!(!format!("{config:?}").contains("s3cret"), "a password is printed");
    // What the example spells out is what one gets without it.
    let least =
        "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"sales\"\nurl = \"sqlite:x.db\"\n";
    let default = Config::parse(least, Path::new("/base"), &environment).unwrap();
    assert_eq!(format!("{:?}", config.server), format!("{:?}", default.server));
    assert_eq!(format!("{:?}", config.tokens), format!("{:?}", default.tokens));
    assert_eq!(format!("{:?}", config.limits), format!("{:?}", default.limits));
    assert_eq!(format!("{:?}", config.audit), format!("{:?}", default.audit));
    assert_eq!((config.store.place.file(), &config.log), (default.store.place.file(), &default.log));
    let other = &default.connections[0];
    assert_eq!(
        (
            sales.access,
            sales.pool,
            sales.queue,
            sales.queue_timeout,
            sales.connect_timeout,
            sales.max_rows,
            sales.max_bytes,
            sales.usage.start,
            sales.usage.idle_timeout
        ),
        (
            other.access,
            other.pool,
            other.queue,
            other.queue_timeout,
            other.connect_timeout,
            other.max_rows,
            other.max_bytes,
            other.usage.start,
            other.usage.idle_timeout
        )
    );
    assert_eq!(other.access, Access::ReadOnly, "what is not said is not allowed");
}

#[test]
fn what_a_table_says_goes_before_the_defaults_and_those_before_what_is_usual() {
    let table = |number: u128, more: &str| {
        let id = uuid::Uuid::from_u128(number);
        format!("[[connections]]\nid = \"{id}\"\nname = \"c{number}\"\nurl = \"sqlite:x.db\"\n{more}\n")
    };
    let read = |defaults: &str| {
        let text =
            format!("{defaults}\n{}", table(1, "") + &table(2, "start = \"lazy\"") + &table(3, "idle_timeout = 5"));
        let config = Config::parse(&text, Path::new("/base"), &|_| None).unwrap();
        let seconds = |idle: Option<std::time::Duration>| idle.map(|idle| idle.as_secs());
        config.connections.iter().map(|it| (it.usage.start, seconds(it.usage.idle_timeout))).collect::<Vec<_>>()
    };
    let (eager, lazy) = (Start::Eager, Start::Lazy);
    assert_eq!(read(""), [(eager, None), (lazy, Some(600)), (eager, Some(5))]);
    assert_eq!(read("[defaults]\nstart = \"lazy\""), [(lazy, Some(600)), (lazy, Some(600)), (lazy, Some(5))]);
    assert_eq!(read("[defaults]\nidle_timeout = 0"), [(eager, None), (lazy, None), (eager, Some(5))]);
    let text = format!("[defaults]\nstart = \"later\"\npool = 3\n{}", table(1, "idle_timeout = -1"));
    let found = problems(&text);
    let keys: Vec<(usize, &str)> = found.iter().map(|(line, key, _)| (*line, key.as_str())).collect();
    assert_eq!(keys, [(2, "defaults.start"), (3, "defaults.pool"), (8, "connections[0].idle_timeout")]);
    assert!(found[0].2.contains("\"eager\" or \"lazy\""), "{found:?}");
}

#[test]
fn every_problem_is_told_at_once() {
    let text = r#"[server]
listen = "nowhere"
public_url = "ftp://x"
max_body = -1
[stor]
url = "x"
[[connections]]
id = "no-uuid"
name = "a b"
url = "mysql://root:hunter2@h/d"
access = "readonly"
pool = "many"
[[connections]]
name = 5
url = "postgres://u:${UNKNOWN}@h/d"
"#;
    let found = problems(text);
    let keys: Vec<(usize, &str)> = found.iter().map(|(line, key, _)| (*line, key.as_str())).collect();
    assert_eq!(
        keys,
        [
            (2, "server.listen"),
            (3, "server.public_url"),
            (4, "server.max_body"),
            (5, "stor"),
            (8, "connections[0].id"),
            (9, "connections[0].name"),
            (10, "connections[0].url"),
            (11, "connections[0].access"),
            (12, "connections[0].pool"),
            (13, "connections[1].id"),
            (14, "connections[1].name"),
            (15, "connections[1].url"),
        ]
    );
    let words = found.iter().map(|(.., words)| words.as_str()).collect::<Vec<_>>().join("\n");
    assert!(words.contains("did you mean store?") && words.contains("\"read-only\" or \"read-write\""), "{words}");
    assert!(words.contains("no variable UNKNOWN") && !words.contains("hunter2"), "{words}");
}

#[test]
fn an_address_that_cannot_be_honoured_is_told_with_the_rest() {
    let table = |number: u128, url: &str, more: &str| {
        let id = uuid::Uuid::from_u128(number);
        format!("[[connections]]\nid = \"{id}\"\nname = \"c{number}\"\nurl = \"{url}\"\n{more}\n")
    };
    let text = table(1, "postgres://u@h/d?sslmode=strict", "")
        + &table(2, "postgres://u:hunter2@h/d", "password_file = \"x\"")
        + &table(3, "postgres://u@h/d", "password_file = \"x\"\npassword_command = [\"y\"]")
        + &table(4, "postgres://u@h/d?options=-cwork_mem%3D1GB", "pooler = \"transaction\"")
        + &table(5, "postgres://u@h/d", "pooler = \"statement\"\npassword_command = []")
        + &table(6, "sqlite:x.db", "pooler = \"transaction\"")
        + &table(7, "postgres://app@h1,h2:5433/d?target_session_attrs=read-write&sslmode=require", "");
    let found = problems(&text);
    let keys: Vec<&str> = found.iter().map(|(_, key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "connections[0].url",
            "connections[1].url",
            "connections[2].password_command",
            "connections[3].url",
            "connections[4].pooler",
            "connections[4].password_command",
            "connections[5].pooler",
        ]
    );
    let words: Vec<&str> = found.iter().map(|(.., words)| words.as_str()).collect();
    assert!(words[0].contains("parameter sslmode") && words[0].contains("verify-full"), "{words:?}");
    assert!(words[3].contains("ALTER ROLE") && !words.join("").contains("hunter2"), "{words:?}");
}

#[test]
fn two_connections_are_told_apart() {
    let table = |id: u128, name: &str| {
        format!("[[connections]]\nid = \"{}\"\nname = \"{name}\"\nurl = \"sqlite:x\"\n", uuid::Uuid::from_u128(id))
    };
    let found = problems(&(table(1, "a") + &table(1, "b") + &table(2, "A")));
    let keys: Vec<&str> = found.iter().map(|(_, key, _)| key.as_str()).collect();
    assert_eq!(keys, ["connections[1].id", "connections[2].name"]);
}

#[test]
fn what_is_no_toml_names_the_line() {
    let found = problems("[server]\nlisten = \n");
    assert_eq!(found[0].0, 2, "{found:?}");
    assert_eq!(problems("")[0].1, "connections", "a service without connections is a mistake");
}

#[test]
fn the_packaged_example_lacks_nothing_but_a_connection() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/deb/config.toml");
    let found = problems(&std::fs::read_to_string(path).unwrap());
    assert_eq!(found.iter().map(|(_, key, _)| key.as_str()).collect::<Vec<_>>(), ["connections"]);
}

#[test]
fn the_edge_is_read_with_its_remedies() {
    let table = "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"a\"\nurl = \"sqlite:x\"\n";
    let parse = |server: &str| Config::parse(&format!("[server]\n{server}\n{table}"), Path::new("/base"), &|_| None);
    let server =
        parse("listen = [\"unix:p.sock\", \"[::1]:80\"]\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\", \"unix\"]");
    let server = server.unwrap().server;
    let places: Vec<String> = server.listen.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["unix:/base/p.sock", "[::1]:80"]);
    assert_eq!((server.public_url.as_str(), server.trusted_proxies.unix), ("http://localhost", true));
    assert!(server.trusted_proxies.networks.iter().any(|network| network.to_string() == "::1/128"));
    let server = parse("public_url = \"HTTPS://Data.Example.org:443/\"\nallowed_origins = [\"http://127.1:80\"]");
    let server = server.unwrap().server;
    assert_eq!(server.public_url, "https://data.example.org", "as clients write it");
    assert_eq!(server.allowed_origins, ["http://127.0.0.1"]);
    for (server, key, part) in [
        ("listen = \"unix:\"", "server.listen", "unix:/run"),
        ("trusted_proxies = [\"everybody\"]", "server.trusted_proxies", "10.0.0.0/8"),
        ("allowed_hosts = [\"data.example.org:80\"]", "server.allowed_hosts", "the name alone"),
        ("forwarded_header = \"via\"", "server.forwarded_header", "\"x-forwarded-for\""),
        ("[server.tls]\ncertificate = \"none.pem\"", "server.tls.key", "missing"),
        ("[server.tls]\ncertificate = \"none.pem\"\nkey = \"none.key\"", "server.tls.certificate", "none.pem"),
    ] {
        let problems = parse(server).unwrap_err();
        let told = problems.0.iter().any(|problem| problem.key == key && problem.to_string().contains(part));
        assert!(told, "{server}: {problems}");
    }
}

#[test]
fn what_can_be_seen_and_how_much_is_served_is_checked() {
    let text = r#"[server]
metrics = "everybody"
max_header = 10
max_calls = 0
write_timeout = "long"
[server.tasks]
keep = 0
after = "soon"
[log]
format = "xml"
level = "loud"
[[connections]]
id = "6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11"
name = "shop"
url = "sqlite:shop.db"
trace_comments = true
"#;
    let found = problems(text);
    let keys: Vec<(usize, &str)> = found.iter().map(|(line, key, _)| (*line, key.as_str())).collect();
    assert_eq!(
        keys,
        [
            (2, "server.metrics"),
            (3, "server.max_header"),
            (4, "server.max_calls"),
            (5, "server.write_timeout"),
            (7, "server.tasks.keep"),
            (8, "server.tasks.after"),
            (10, "log.format"),
            (11, "log.level"),
            (16, "connections[0].trace_comments"),
        ]
    );
    assert!(found[0].2.contains("\"open\" or \"admin\" or \"off\""), "{found:?}");
    assert!(found[7].2.contains("info"), "{found:?}");
}

#[test]
fn the_store_is_a_file_or_a_database_and_its_password_is_not_repeated() {
    let shop =
        "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"shop\"\nurl = \"sqlite:shop.db\"\n";
    let store = |lines: &str| format!("[store]\n{lines}\n{shop}");
    let read = |lines: &str| Config::parse(&store(lines), Path::new("/base"), &|_| None).unwrap().store;
    let file = read("url = \"sqlite:state/portico.db\"");
    assert_eq!(file.place.file(), Some(Path::new("/base/state/portico.db")));
    assert_eq!(file.control, Path::new("/base/state/portico.control"));
    let database =
        read("url = \"postgres://portico:hunter2@db/portico?search_path=identity\"\ncontrol = \"/run/p.control\"");
    assert_eq!((database.place.file(), database.control.as_path()), (None, Path::new("/run/p.control")));
    assert!(!format!("{database:?}").contains("hunter2"));
    for (lines, key, message) in [
        ("url = \"mysql://root:hunter2@db/portico\"", "store.url", "SQLite file or in a PostgreSQL database"),
        ("url = \"postgres://portico:hunter2@db/portico?sslmod=require\"", "store.url", "sslmod"),
        ("url = \"sqlite:x.db\"\npassword_file = \"p\"", "store.password_file", "for PostgreSQL"),
        ("url = \"postgres://portico@db/portico\"\npooler = \"transaction\"", "store.pooler", ""),
    ] {
        let found = problems(&store(lines));
        let [(_, found_key, text)] = found.as_slice() else { panic!("{lines}: {found:?}") };
        assert_eq!(found_key, key, "{text}");
        assert!(text.contains(message) && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_database_on_the_command_line_is_judged_as_in_a_file() {
    let folder = Path::new("/nowhere");
    let (url, access) = ("postgres://app:${PW}@h/sales", Access::ReadWrite);
    let database = Database { url, name: Some("a b"), access };
    let Problems(problems) = Config::of_database(&database, folder, folder, &|_| None).unwrap_err();
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert!(keys.contains(&"--name") && keys.contains(&"--url"), "{problems:?}");
    let config = |name| {
        let database = Database { url, name, access };
        Config::of_database(&database, folder, folder, &|name| (name == "PW").then(|| "x".to_owned())).unwrap()
    };
    let (made, named) = (config(None), config(Some("Sales")));
    assert_eq!((made.connections[0].name.as_ref(), made.connections[0].access), ("sales", access));
    assert_eq!(made.connections[0].id, named.connections[0].id, "the id is that of the name");
    assert_eq!(made.store.place.file(), Some(Path::new("/nowhere/portico.db")));
}
