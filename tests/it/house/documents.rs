//! What the documents name is there: each file, and each function that stands behind a file's name.

use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 3] = ["docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md"];

/// Where a name in a document starts.
const ROOTS: [&str; 3] = ["", "src", "actors/runtime/src"];

fn find(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let floor = name.split_once('/').map(|(floor, rest)| root.join("actors").join(floor).join("src").join(rest));
    ROOTS.into_iter().map(|start| root.join(start).join(name)).chain(floor).find(|path| path.exists())
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
