//! What `config.toml` and docs/configuration.md say of settings is what `src/config` declares. `PORTICO_BLESS=1` writes
//! both files anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portico::config::{FILE, Kind, Literal, Reload, Setting};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(super) fn file(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// Asserts that the file holds `text`, or writes it.
fn hold(name: &str, text: &str) {
    if std::env::var_os("PORTICO_BLESS").is_some() {
        std::fs::write(path(name), text).unwrap();
    }
    let held = file(name);
    let differs = held.lines().zip(text.lines()).position(|(held, wanted)| held != wanted);
    let line = differs.unwrap_or_else(|| held.lines().count().min(text.lines().count()));
    let (held_line, wanted) = (held.lines().nth(line), text.lines().nth(line));
    assert!(
        held == text,
        "{name} is not what src/config declares: line {} is\n{held_line:?}\nand not\n{wanted:?}\nPORTICO_BLESS=1 writes it",
        line + 1
    );
}

/// How TOML writes it.
fn toml(literal: Literal) -> String {
    match literal {
        Literal::Switch(value) => value.to_string(),
        Literal::Number(value) => value.to_string(),
        Literal::Text(value) => format!("{value:?}"),
        Literal::Texts(values) => format!("{values:?}"),
    }
}

/// Its default, or a value that it may have.
pub(super) fn value(setting: &Setting) -> String {
    setting.default.map_or_else(|| setting.example.to_owned(), toml)
}

fn is_table(setting: &Setting) -> bool {
    matches!(setting.kind, Kind::Pairs | Kind::Table(_) | Kind::OptionalTable(_) | Kind::Tables(_))
}

/// Whether all that it says takes a restart.
fn takes_restart(setting: &Setting) -> bool {
    match setting.kind {
        Kind::Table(settings) | Kind::OptionalTable(settings) => settings.iter().all(takes_restart),
        _ => setting.reload == Reload::Restart,
    }
}

/// The lines of `config.toml`.
#[derive(Default)]
struct Example {
    text: String,
    /// What was said already, and is not repeated.
    said: BTreeSet<&'static str>,
}

impl Example {
    fn comment(&mut self, about: &str, mark: bool, indent: &str) {
        let about = format!("{}{}", about.trim_end(), if mark { " (*)" } else { "" });
        for line in about.lines() {
            self.text += format!("{indent}#{line}").trim_end();
            self.text += "\n";
        }
    }

    /// The settings of one table, and then its tables. `marked`: it is said already that they take a restart.
    fn table(&mut self, path: &str, settings: &'static [Setting], marked: bool, indent: &str) {
        self.keys(settings, marked, false, indent);
        self.tables(path, settings, marked, indent);
    }

    /// `grouped`: they may have been said already, of another table.
    fn keys(&mut self, settings: &'static [Setting], marked: bool, grouped: bool, indent: &str) {
        for setting in settings.iter().filter(|setting| !is_table(setting)) {
            if let Kind::Group(settings) = setting.kind {
                if settings.iter().any(|setting| self.said.contains(setting.about)) {
                    self.comment(setting.about, false, indent);
                }
                self.keys(settings, marked, true, indent);
                continue;
            }
            if self.said.insert(setting.about) || !grouped {
                self.comment(setting.about, !marked && takes_restart(setting), indent);
            }
            let hash = if setting.shown { "" } else { "# " };
            self.text += &format!("{indent}{hash}{} = {}\n", setting.name, value(setting));
        }
    }

    fn tables(&mut self, path: &str, settings: &'static [Setting], marked: bool, indent: &str) {
        for setting in settings.iter().filter(|setting| is_table(setting)) {
            let path = if path.is_empty() { setting.name.to_owned() } else { format!("{path}.{}", setting.name) };
            let mark = !marked && takes_restart(setting);
            let is_example = matches!(setting.kind, Kind::Pairs | Kind::OptionalTable(_))
                || matches!(setting.kind, Kind::Tables(_)) && !setting.shown;
            self.text += format!("{indent}\n").trim_start_matches(' ').trim_end();
            self.text += "\n";
            self.comment(setting.about, mark, indent);
            let indent = if is_example && indent.is_empty() {
                self.text += "#\n";
                "# "
            } else {
                indent
            };
            let header =
                if matches!(setting.kind, Kind::Tables(_)) { format!("[[{path}]]") } else { format!("[{path}]") };
            self.text += &format!("{indent}{header}\n");
            for line in setting.example.lines() {
                self.text += &format!("{indent}{line}\n");
            }
            // What is in a connection takes no restart of the service.
            self.table(&path, setting.settings(), marked || mark || path == "connections", indent);
        }
    }
}

#[test]
fn the_example_configuration_is_what_the_settings_declare() {
    let mut example = Example::default();
    example.comment(FILE.about, false, "");
    example.table("", FILE.settings(), false, "");
    hold("config.toml", &example.text);
}

/// Each setting with its path, and what a reload makes of it.
pub(super) fn all() -> Vec<(String, &'static Setting, &'static str)> {
    fn gather(
        path: &str,
        settings: &'static [Setting],
        of_table: Option<&'static str>,
        found: &mut Vec<(String, &'static Setting, &'static str)>,
    ) {
        for setting in settings {
            let in_connection = path == "connections.";
            let reload = of_table.unwrap_or(match setting.reload {
                Reload::Live => "in force",
                Reload::Renewed => "in force; to add or remove it takes a restart",
                Reload::Restart if in_connection => "the connection anew",
                Reload::Restart => "restart",
            });
            match setting.kind {
                Kind::Group(settings) => {
                    let of_table = if in_connection { Some("the connection anew") } else { of_table };
                    gather(path, settings, of_table, found);
                }
                Kind::Table(settings) | Kind::OptionalTable(settings) if !in_connection => {
                    gather(&format!("{path}{}.", setting.name), settings, of_table, found);
                }
                Kind::Tables(settings) if setting.name == "connections" && path.is_empty() => {
                    gather("connections.", settings, None, found);
                }
                Kind::Table(settings) | Kind::OptionalTable(settings) | Kind::Tables(settings) => {
                    gather(&format!("{path}{}.", setting.name), settings, Some(reload), found);
                }
                _ => found.push((format!("{path}{}", setting.name), setting, reload)),
            }
        }
    }
    let mut found = Vec::new();
    gather("", FILE.settings(), None, &mut found);
    found
}

/// What it may be, for people.
fn form(kind: Kind) -> String {
    let words = |words: fn() -> Vec<&'static str>| format!("`{}`", words().join("`, `"));
    match kind {
        Kind::Switch => "`true`, `false`".to_owned(),
        Kind::SwitchOrWord(known) => format!("`true`, `false`, {}", words(known)),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::Text => "text".to_owned(),
        Kind::Word(known) => words(known),
        Kind::Texts => "list of texts".to_owned(),
        Kind::TextOrTexts => "text, or a list of them".to_owned(),
        Kind::Words(known) => format!("list of {}", words(known)),
        Kind::Pairs => "table of texts".to_owned(),
        Kind::Scalar => "text, number, `true`, `false`".to_owned(),
        _ => String::new(),
    }
}

#[test]
fn the_guides_table_of_settings_is_what_they_declare() {
    const HEAD: &str = "| Setting | What it is | It may be | Left out | At a reload |\n|---|---|---|---|---|\n";
    let mut table = HEAD.to_owned();
    for (path, setting, reload) in all() {
        let about: Vec<&str> = setting.about.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let about = about.join(" ");
        let first = about.split_inclusive(". ").next().unwrap_or_default().trim_end().trim_end_matches('.');
        let default = setting.default.map_or_else(
            || if setting.required.is_some() { "refused".to_owned() } else { "–".to_owned() },
            |default| format!("`{}`", toml(default)),
        );
        table += &format!("| `{path}` | {first} | {} | {default} | {reload} |\n", form(setting.kind));
    }
    let text = file("docs/configuration.md");
    let (before, rest) =
        text.split_once(HEAD).unwrap_or_else(|| panic!("the guide has no table with the head\n{HEAD}"));
    let rows: usize = rest.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    hold("docs/configuration.md", &format!("{before}{table}{}", &rest[rows..]));
}

#[test]
fn every_setting_says_what_it_is_and_has_a_value() {
    for (path, setting, _) in all() {
        assert!(!setting.about.trim().is_empty(), "{path} has no comment");
        assert!(!value(setting).is_empty(), "{path} has neither a default nor an example");
        let fits = match (setting.kind, setting.default) {
            (_, None) => true,
            (Kind::Switch, Some(Literal::Switch(_))) | (Kind::Texts | Kind::Words(_), Some(Literal::Texts(_))) => true,
            (Kind::Number(least, most), Some(Literal::Number(value))) => (least..=most).contains(&value),
            (Kind::Word(words), Some(Literal::Text(value))) => words().contains(&value),
            (Kind::Text | Kind::TextOrTexts, Some(Literal::Text(_))) => true,
            _ => false,
        };
        assert!(fits, "{path}: {:?} is no default of {:?}", setting.default, setting.kind);
    }
}

/// That one declaration is enough, `config::declared::table` tests; that the files say what is declared, those above.
#[test]
fn the_walkthrough_shows_a_setting_as_it_is_declared() {
    let (text, code) = (file("docs/extending.md"), file("src/config/service/server.rs"));
    let (_, rest) = text.split_once("**A setting.**").unwrap();
    let shown = rest.split("```").nth(1).unwrap().trim_start_matches("rust");
    assert!(shown.lines().count() > 2, "{shown}");
    for line in shown.lines() {
        assert!(code.contains(line), "src/config/service/server.rs has not {line:?}");
    }
}
