//! The pages and their links.

use std::collections::BTreeSet;
use std::path::Path;

use super::fences::{prose, without_code};
use super::{pages, root, text};

/// Documents beside the book whose links are looked at too.
const BESIDE: [&str; 3] = ["README.md", "SECURITY.md", "CONTRIBUTING.md"];

/// The targets of the links of a document.
fn links(document: &str) -> Vec<String> {
    let text = without_code(&prose(&text(document)));
    let behind = text.split("](").skip(1);
    behind.map(|rest| rest.split(')').next().unwrap().to_owned()).collect()
}

/// The anchors that the headings of a page have, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let text = prose(&text(page));
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = heading.chars().filter(|each| each.is_alphanumeric() || " -_".contains(*each));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

#[test]
fn the_table_of_contents_has_every_page() {
    let listed: BTreeSet<String> =
        links("docs/SUMMARY.md").into_iter().map(|target| format!("docs/{target}")).collect();
    assert_eq!(listed, pages().into_iter().collect());
    for page in pages() {
        assert!(text(&page).starts_with("# "), "{page} begins with no heading");
    }
}

#[test]
fn links_lead_to_what_is_there() {
    let mut looked_at = 0;
    for document in pages().iter().map(String::as_str).chain(BESIDE).chain(["docs/SUMMARY.md"]) {
        for link in links(document).into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let folder = Path::new(document).parent().unwrap();
            let target = if path.is_empty() { Path::new(document).to_owned() } else { folder.join(path) };
            assert!(root().join(&target).exists(), "{document} links to {link}, which is not there");
            let in_book =
                root().join(&target).canonicalize().unwrap().starts_with(root().join("docs").canonicalize().unwrap());
            assert!(
                in_book || !document.starts_with("docs/"),
                "{document} links to {link}, which readers of the book lack"
            );
            if let Some(anchor) = anchor {
                let known = anchors(root().join(&target).canonicalize().unwrap().to_str().unwrap());
                assert!(known.contains(anchor), "{document} links to {link}; there are {known:?}");
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 60, "{looked_at} links were found");
}

#[test]
fn the_readme_is_one_screen() {
    let readme = text("README.md");
    assert!(readme.lines().count() <= 60, "{} lines: what is more belongs into a page", readme.lines().count());
    assert!(readme.contains("bash tests/run.sh"), "it says how the tests are run");
}
