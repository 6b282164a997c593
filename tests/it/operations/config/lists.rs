//! Absent and empty are told apart in every list and table of names that `config.toml` has: an empty one means
//! none, an absent one the default.

use std::collections::BTreeSet;
use std::path::Path;

use portico::config::{Config, FILE, Kind, Setting};
use portico_actors::auth::TrustedIssuer;

const SHOP: &str = "[[connections]]\nid = \"6f0b1a52-8d0e-4c57-9d1b-6a7f3f0c2b11\"\nname = \"shop\"\n";
const KEY: &str =
    "-----BEGIN PUBLIC KEY-----MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=-----END PUBLIC KEY-----";

/// One list: its key, a file with a place for it, and what it means when it is absent and when it is empty.
struct List {
    key: &'static str,
    file: String,
    /// What the configuration says, in a word of the test's.
    read: fn(&Config) -> String,
    absent: &'static str,
    /// What an empty one means; or the key that is refused then.
    empty: Result<&'static str, &'static str>,
}

fn list(
    key: &'static str,
    file: &str,
    read: fn(&Config) -> String,
    absent: &'static str,
    empty: Result<&'static str, &'static str>,
) -> List {
    List { key, file: file.to_owned(), read, absent, empty }
}

/// A connection, with more keys.
fn sqlite(more: &str) -> String {
    format!("{SHOP}url = \"sqlite:x.db\"\n{more}\n")
}

fn postgres(more: &str) -> String {
    format!("{SHOP}url = \"postgres://app@localhost/x\"\n{more}\n")
}

fn issuer(more: &str) -> String {
    sqlite(&format!("[[issuers]]\nissuer = \"a\"\npublic_key = \"{KEY}\"\n{more}"))
}

fn server(more: &str) -> String {
    format!("[server]\n{more}\n{}", sqlite(""))
}

fn tool(more: &str) -> String {
    sqlite(&format!("[[connections.tools]]\nname = \"t\"\ndescription = \"d\"\nsql = \"SELECT 1\"\n{more}"))
}

fn prompt(more: &str) -> String {
    sqlite(&format!("[[connections.prompts]]\nname = \"p\"\n{more}"))
}

fn workspace() -> String {
    sqlite("[[workspaces]]\nname = \"w\"\nassets = [{ table = \"shop.main.orders\" }]\nLIST")
}

fn count(number: usize) -> String {
    if number == 0 { "none".to_owned() } else { number.to_string() }
}

fn mapping(config: &Config) -> &portico_actors::identity::Mapping {
    config.connections[0].identity.as_ref().unwrap()
}

fn exposure(config: &Config) -> &portico_actors::source::Exposure {
    &config.connections[0].exposure
}

fn reach(config: &Config) -> String {
    config.issuers[0].reach.list().map_or_else(|| "all".to_owned(), |list| count(list.len()))
}

fn usual(is_usual: bool, number: usize) -> String {
    if is_usual { "usual".to_owned() } else { count(number) }
}

/// Every list and table of names there is; `LIST` stands for the line with it.
fn lists() -> Vec<List> {
    vec![
        list("listen", &server("LIST"), |c| usual(c.server.address().is_some(), 0), "usual", Err("server.listen")),
        list("allowed_origins", &server("LIST"), |c| count(c.server.allowed_origins.len()), "none", Ok("none")),
        list(
            "trusted_proxies",
            &server("LIST"),
            |c| count(c.server.trusted_proxies.networks.len()),
            "none",
            Ok("none"),
        ),
        list("allowed_hosts", &server("LIST"), |c| count(c.server.allowed_hosts.len()), "none", Ok("none")),
        list("connections", &issuer("LIST"), reach, "all", Ok("none")),
        list(
            "typ",
            &issuer("LIST"),
            |c| usual(c.issuers[0].types == TrustedIssuer::DEFAULT_TYPES, c.issuers[0].types.len()),
            "usual",
            Ok("none"),
        ),
        list(
            "claims",
            &issuer("[issuers.identity]\nLIST"),
            |c| count(c.issuers[0].identity.as_ref().unwrap().claims.len()),
            "none",
            Ok("none"),
        ),
        list("issuers", "LIST\nCONNECTION", |c| count(c.issuers.len()), "none", Ok("none")),
        list("connections", "LIST\n", |c| count(c.connections.len()), "refused", Err("connections")),
        list("workspaces", &issuer("LIST"), reach, "all", Ok("none")),
        list("workspaces", "LIST\nCONNECTION", |c| count(c.workspaces.len()), "none", Ok("none")),
        list(
            "assets",
            &sqlite("[[workspaces]]\nname = \"w\"\nLIST"),
            |_| String::new(),
            "refused",
            Err("workspaces[0].assets"),
        ),
        list("views", &workspace(), |c| count(c.workspaces[0].views.len()), "none", Ok("none")),
        list("relations", &workspace(), |c| count(c.workspaces[0].relations.len()), "none", Ok("none")),
        list("procedures", &sqlite("LIST"), |c| count(c.connections[0].procedures.len()), "none", Ok("none")),
        list("tools", &sqlite("LIST"), |c| count(c.connections[0].tools.len()), "none", Ok("none")),
        list("parameters", &tool("LIST"), |c| count(c.connections[0].tools[0].parameters.len()), "none", Ok("none")),
        list("prompts", &sqlite("LIST"), |c| count(c.connections[0].prompts.len()), "none", Ok("none")),
        list(
            "arguments",
            &prompt("text = \"x\"\nLIST"),
            |c| count(c.connections[0].prompts[0].arguments.len()),
            "none",
            Ok("none"),
        ),
        list(
            "messages",
            &prompt("text = \"x\"\nLIST"),
            |c| count(c.connections[0].prompts[0].messages.len()),
            "1",
            Ok("1"),
        ),
        list(
            "values",
            &prompt("text = \"x\"\n[[connections.prompts.arguments]]\nname = \"a\"\nLIST"),
            |c| {
                let values = &c.connections[0].prompts[0].arguments[0].values;
                values.as_ref().map_or("not completed".to_owned(), |values| count(values.len()))
            },
            "not completed",
            Ok("none"),
        ),
        list(
            "types",
            &sqlite("[connections.disabled]\nLIST"),
            |c| count(c.connections[0].switches.types.len()),
            "none",
            Ok("none"),
        ),
        list(
            "operations",
            &sqlite("[connections.disabled]\nLIST"),
            |c| count(c.connections[0].switches.operations.len()),
            "none",
            Ok("none"),
        ),
        list(
            "tools",
            &sqlite("[connections.disabled]\nLIST"),
            |c| count(c.connections[0].switches.tools.len()),
            "none",
            Ok("none"),
        ),
        list(
            "schemas",
            &sqlite("[connections.exposed]\nLIST"),
            |c| exposure(c).schemas.shown.as_ref().map_or("all".to_owned(), |shown| count(shown.len())),
            "all",
            Ok("none"),
        ),
        list(
            "tables",
            &sqlite("[connections.exposed]\nLIST"),
            |c| exposure(c).tables.shown.as_ref().map_or("all".to_owned(), |shown| count(shown.len())),
            "all",
            Ok("none"),
        ),
        list(
            "procedures",
            &sqlite("[connections.exposed]\nLIST"),
            |c| exposure(c).procedures.shown.as_ref().map_or("all".to_owned(), |shown| count(shown.len())),
            "all",
            Ok("none"),
        ),
        list(
            "tables",
            &sqlite("[connections.hidden]\nLIST"),
            |c| count(exposure(c).tables.hidden.len()),
            "none",
            Ok("none"),
        ),
        list(
            "password_command",
            &postgres("LIST"),
            |_| "the URL's".to_owned(),
            "the URL's",
            Err("connections[0].password_command"),
        ),
        list(
            "principals",
            &postgres("[connections.identity]\nclaim = \"a\"\nLIST"),
            |c| count(mapping(c).principals.len()),
            "none",
            Ok("none"),
        ),
        list(
            "claim_roles",
            &postgres("[connections.identity]\nclaim = \"a\"\nLIST"),
            |c| {
                let roles = &mapping(c).claim.as_ref().unwrap().roles;
                roles.as_ref().map_or("the value itself".to_owned(), |roles| count(roles.len()))
            },
            "the value itself",
            Ok("none"),
        ),
        list(
            "claim_roles",
            &issuer("[issuers.identity]\nclaim = \"a\"\nLIST"),
            |c| {
                let roles = &c.issuers[0].identity.as_ref().unwrap().claim.as_ref().unwrap().roles;
                roles.as_ref().map_or("the value itself".to_owned(), |roles| count(roles.len()))
            },
            "the value itself",
            Ok("none"),
        ),
    ]
}

fn parse(file: &str, line: &str) -> Result<Config, Vec<String>> {
    let text = file.replace("LIST", line).replace("CONNECTION", &sqlite(""));
    Config::parse(&text, Path::new("/base"), &|_| None)
        .map_err(|problems| problems.0.into_iter().map(|problem| problem.key).collect())
}

#[test]
fn an_empty_list_means_none_and_an_absent_one_the_default() {
    for List { key, file, read, absent, empty } in lists() {
        match parse(&file, "") {
            Ok(config) => assert_eq!(read(&config), absent, "no {key} in:\n{file}"),
            Err(problems) => assert_eq!((absent, problems.is_empty()), ("refused", false), "{key}"),
        }
        let nothing = if ["principals", "claim_roles"].contains(&key) { "{}" } else { "[]" };
        let parsed = parse(&file, &format!("{key} = {nothing}"));
        match (parsed, empty) {
            (Ok(config), Ok(empty)) => assert_eq!(read(&config), empty, "empty {key} in:\n{file}"),
            (Err(problems), Err(refused)) => assert_eq!(problems, [refused], "empty {key} in:\n{file}"),
            (parsed, empty) => panic!("empty {key}: {:?} and not {empty:?}", parsed.map(|config| read(&config))),
        }
    }
}

#[test]
fn no_list_of_the_configuration_is_missing_here() {
    fn gather(settings: &'static [Setting], found: &mut BTreeSet<String>) {
        for setting in settings {
            let is_list = matches!(
                setting.kind,
                Kind::Texts | Kind::TextOrTexts | Kind::Words(_) | Kind::Pairs | Kind::Tables(_)
            );
            found.extend(is_list.then(|| setting.name.to_owned()));
            gather(setting.settings(), found);
        }
    }
    let mut declared = BTreeSet::new();
    gather(FILE.settings(), &mut declared);
    let here: BTreeSet<String> = lists().iter().map(|list| list.key.to_owned()).collect();
    assert_eq!(declared, here);
}
