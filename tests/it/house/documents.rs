//! What the documents name is there: each file, and each function that stands behind a file's name.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use portico_actors::auth::store::Change;

const DOCUMENTS: [&str; 6] = [
    "docs/architecture.md",
    "docs/extending.md",
    "docs/glossary.md",
    "docs/performance.md",
    "CONTRIBUTING.md",
    "README.md",
];

/// Where a name in a document starts.
const ROOTS: [&str; 3] = ["", "src", "actors/runtime/src"];

fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let floor = name.split_once('/').map(|(floor, rest)| root.join("actors").join(floor).join("src").join(rest));
    ROOTS.into_iter().map(|start| root.join(start).join(name)).chain(floor).find(|path| path.exists())
}

/// Puts every word of the code under `folder` among `words`.
fn read_words(folder: &Path, words: &mut HashSet<String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            read_words(&path, words);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(path).unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            words.extend(code.flat_map(|line| line.split(|each: char| !is_of_a_name(each))).map(str::to_owned));
        }
    }
}

fn is_of_a_name(each: char) -> bool {
    each.is_ascii_alphanumeric() || each == '_'
}

/// What stands between backticks in the first cell of each row of the table in `text` that begins with `head`.
fn first_cells<'a>(text: &'a str, head: &str) -> Vec<&'a str> {
    let rows = text.split_once(head).expect("the table").1.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_action_of_a_change_is_documented() {
    let text = fs::read_to_string(find("docs/audit.md").unwrap()).unwrap();
    let documented = first_cells(&text, "| Action | By |\n");
    let actions: BTreeSet<&str> = Change::ACTIONS.into_iter().collect();
    assert_eq!(documented.iter().copied().collect::<BTreeSet<&str>>(), actions);
    assert_eq!((documented.len(), actions.len()), (Change::ACTIONS.len(), Change::ACTIONS.len()), "each once");
}

#[test]
fn the_documents_name_what_is_there() {
    let (mut files, mut functions) = (0, 0);
    for document in DOCUMENTS {
        let text = fs::read_to_string(find(document).unwrap()).unwrap();
        let mut last: Option<String> = None;
        // Every second piece stands between backticks.
        for (number, piece) in text.split('`').enumerate() {
            if number % 2 == 0 {
                last = last.filter(|_| piece == " ");
                continue;
            }
            let is_name = |each: char| each.is_ascii_alphanumeric() || "/_.".contains(each);
            if Path::new(piece).extension().is_some_and(|extension| extension == "rs")
                && piece.contains('/')
                && piece.chars().all(is_name)
            {
                let path = find(piece).unwrap_or_else(|| panic!("{document} names {piece}, which is not there"));
                last = Some(fs::read_to_string(path).unwrap());
                files += 1;
            } else if let Some(code) = last.take()
                && piece.chars().all(|each| each.is_ascii_lowercase() || each == '_')
            {
                assert!(
                    code.contains(&format!("fn {piece}")),
                    "{document} names a function {piece}, which is not there"
                );
                functions += 1;
            }
        }
    }
    assert!(files > 30 && functions >= 8, "{files} files and {functions} functions were found");
}

#[test]
fn the_documents_name_types_constants_and_functions_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut words = HashSet::new();
    for folder in ["src", "actors", "tests", "examples"] {
        read_words(&root.join(folder), &mut words);
    }
    let mut found = 0;
    for document in ["docs/architecture.md", "docs/extending.md", "docs/glossary.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        // Every second piece of a line stands between backticks.
        for name in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            if name.split("::").all(|word| !word.is_empty() && word.chars().all(is_of_a_name)) {
                let unknown = name.split("::").find(|word| !words.contains(*word));
                assert_eq!(unknown, None, "{document} names {name}, of which the code has a part nowhere");
                found += 1;
            }
        }
    }
    assert!(found > 100, "{found} names were found");
}
