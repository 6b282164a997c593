//! Every error code, and every line of the log that an operator may meet, has its place among the troubles.

use std::fs;

use portico_actors::error::Kind;

use super::{root, text};

/// The page without the marks of code, with single spaces.
fn page() -> String {
    text("docs/troubleshooting.md").replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts between quotes of a piece of code, as they are printed.
fn literals(code: &str) -> Vec<String> {
    let (mut found, mut open): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut characters = code.chars().peekable();
    while let Some(each) = characters.next() {
        match (&mut open, each) {
            (None, '"') => open = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => found.extend(open.take()),
            (Some(text), '\\') => match characters.next() {
                // A line that goes on.
                Some('\n') => while characters.next_if(|next| next.is_whitespace()).is_some() {},
                Some(escaped) => text.push(escaped),
                None => {}
            },
            (Some(text), each) => text.push(each),
        }
    }
    found
}

#[test]
fn every_code_has_its_row() {
    let (code, page) = (text("src/http/error.rs"), text("docs/troubleshooting.md"));
    let (_, table) = code.split_once("fn numbers(kind: Kind)").unwrap();
    let table = table.split("\n}\n").next().unwrap();
    let rows: Vec<(&str, &str)> =
        table.split("=> (").skip(1).map(|rest| rest.split(')').next().unwrap().split_once(", ").unwrap()).collect();
    assert!(rows.len() + 1 >= Kind::ALL.len(), "{rows:?}");
    for (code, status) in rows {
        assert!(page.contains(&format!("\n| {code} | {status}")), "{code}, {status} has no row");
    }
}

#[test]
fn every_fault_of_a_source_has_its_row() {
    let page = page();
    let faults = text("actors/sources/src/postgres/connect/connect_error.rs");
    let faults = faults.split_once("fn message(self)").unwrap().1.split("fn remedy").next().unwrap();
    let mut messages = literals(faults);
    let unopened = text("actors/sources/src/sqlite/connect/open_error.rs");
    messages.extend(unopened.split("told(").skip(1).map(|rest| literals(rest)[0].clone()));
    messages.retain(|message| {
        !["the source is unavailable", "the database file cannot be opened or read"].contains(&message.as_str())
    });
    assert!(messages.len() > 22, "{messages:?}");
    for message in messages {
        assert!(page.contains(&message), "{message:?} is told nowhere");
    }
}

#[test]
fn every_warning_of_the_log_has_its_row() {
    let (page, mut seen) = (page(), 0);
    let mut folders = vec![root().join("src"), root().join("actors")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.to_str().unwrap();
            if entry.is_dir() {
                folders.extend((!name.ends_with("/tests")).then_some(entry.clone()));
                continue;
            }
            if entry.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let code = fs::read_to_string(&entry).unwrap();
            let code = code.split("#[cfg(test)]").next().unwrap();
            for macro_name in ["log::warn!(", "log::error!("] {
                for call in code.split(macro_name).skip(1) {
                    let begin = &call[..call.floor_char_boundary(600)];
                    let Some(line) = literals(begin).into_iter().next() else { continue };
                    // What stands between the values.
                    let parts: Vec<String> = line
                        .split('{')
                        .map(|part| part.rsplit('}').next().unwrap_or_default())
                        .map(|part| part.trim_matches(|each: char| !each.is_alphanumeric()).replace('`', ""))
                        .filter(|part| part.len() > 11)
                        .collect();
                    let told = parts.is_empty() || parts.iter().any(|part| page.contains(part.as_str()));
                    assert!(told, "{name}: {line:?} is told nowhere");
                    seen += usize::from(!parts.is_empty());
                }
            }
        }
    }
    assert!(seen > 20, "{seen} lines were found");
}
