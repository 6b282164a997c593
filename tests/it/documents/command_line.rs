//! The page of the command line is what the program says of itself.

use std::fmt::Write;

use super::{root, text};
use crate::support::process::{finished, program};

const PAGE: &str = "docs/command-line.md";

const HEAD: &str = "# Command line

What `portico help` says of each command. This page is written by the tests (`PORTICO_BLESS=1`).

Every command exits with 0 when it did what it was asked for, with 1 when it did not, and with 2 when its command line is wrong. With `--json` it
prints JSON for programs on standard output, also when it fails: `ok`, `message`, `hint`.
";

/// What `portico help` says of a command, and its own commands.
fn help(words: &[String]) -> (String, Vec<String>) {
    let said = finished(program().args(words).arg("--help"));
    assert!(said.status.success(), "{words:?}");
    let help = String::from_utf8(said.stdout).unwrap();
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    let names = names.filter(|name| *name != "help").map(str::to_owned).collect();
    (help, names)
}

fn write(page: &mut String, words: &[String]) {
    let (said, commands) = help(words);
    let name = std::iter::once("portico").chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    writeln!(page, "\n## {name}\n\n```text\n{}\n```", said.join("\n").trim()).unwrap();
    for command in commands {
        write(page, &[words, &[command]].concat());
    }
}

#[test]
fn the_page_of_the_command_line_is_what_the_program_says() {
    let mut page = HEAD.to_owned();
    write(&mut page, &[]);
    assert!(page.matches("\n## ").count() > 30, "{page}");
    if std::env::var_os("PORTICO_BLESS").is_some() {
        std::fs::write(root().join(PAGE), &page).unwrap();
    }
    assert!(text(PAGE) == page, "{PAGE} is not what the program says; PORTICO_BLESS=1 writes it");
}
