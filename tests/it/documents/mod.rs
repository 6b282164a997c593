//! The book in `docs/`: its pages are there and link to what is there, its commands run, its JSON and TOML are taken, and
//! what it lists is what the program has. `PORTICO_BLESS=1` writes the pages that come from the program.

mod book;
mod command_line;
mod containers;
mod fences;
mod run;
mod troubleshooting;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the project.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the project.
#[track_caller]
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the book by their paths in the project, without its table of contents.
fn pages() -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::from("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("SUMMARY.md") {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    assert!(found.len() > 20, "the pages were not found");
    found
}
