//! No two files name each other, not even by way of others: neither in this tree, nor unnoticed in one
//! that is made for it.

use std::fs;
use std::path::Path;

use super::imports::Graph;

#[test]
fn no_file_is_in_a_circle() {
    let graph = Graph::read(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(graph.files() > 300, "the sources were not found");
    let told: Vec<String> = graph.circles().iter().map(|group| graph.edges_within(group).join("\n")).collect();
    assert!(told.is_empty(), "these files import each other in circles:\n{}", told.join("\n\n"));
}

/// The circles of a tree of these files, each named by its path.
fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let root = tempfile::tempdir().unwrap();
    let manifest = |name: &str| format!("[package]\nname = \"{name}\"\n");
    let manifests = [("Cargo.toml", manifest("house")), ("low/Cargo.toml", manifest("low-floor"))];
    let sources = files.iter().map(|(path, text)| (*path, (*text).to_owned()));
    for (path, text) in manifests.into_iter().chain(sources) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Graph::read(root.path()).circles().into_iter().map(|group| group.into_iter().collect()).collect()
}

/// `a.rs` and `b.rs` in one crate, where `b` defines `Lower` and `lower`, and says `upper` of `a`.
fn of_pair(upper: &str) -> usize {
    let root = "mod a;\nmod b;\npub use b::Lower;\n";
    let a = "use crate::b::Lower;\npub(crate) struct Upper(Lower);\npub(crate) fn upper() {}\npub(crate) const N: usize = 1;\n";
    let b = format!("pub struct Lower;\npub fn lower() {{}}\n{upper}");
    circles(&[("src/lib.rs", root), ("src/a.rs", a), ("src/b.rs", &b)]).len()
}

#[test]
fn a_circle_is_found_however_a_name_is_written() {
    assert_eq!(of_pair(""), 0);
    for upper in [
        "use crate::a::Upper;",
        "use super::a::Upper;",
        "use crate::{a::{self, Upper as Other}};",
        "use crate::a; fn f() { a::upper() }",
        "use crate::a::*; fn f() { upper() }",
        "fn f() { use crate::a::upper; upper() }",
        "fn f() { { use super::a::{N, upper}; } }",
        "fn f() { crate::a::upper() }",
        "fn f(_: &super::a::Upper) {}",
        "fn f() { let _ = [0; super::a::N]; }",
        "fn f() { println!(\"{}\", super::a::N); }",
        "impl From<crate::a::Upper> for Lower { fn from(_: crate::a::Upper) -> Self { Self } }",
        "mod inner { fn f() { super::super::a::upper() } }",
        "#[serde(default = \"crate::a::upper\")] struct Read;",
        "pub use crate::a::Upper;",
        "type Alias = crate::a::Upper;",
    ] {
        assert_eq!(of_pair(upper), 1, "{upper}");
    }
}

#[test]
fn what_is_no_import_makes_no_circle() {
    for upper in [
        "// crate::a::upper()",
        "#[cfg(test)] mod tests { use crate::a::Upper; }",
        "#[cfg(test)] use crate::a::Upper;",
        "use crate::a;",
        "use std::fmt::Display; fn f() { std::mem::drop(1) }",
        "fn a() {} fn f() { a() }",
    ] {
        assert_eq!(of_pair(upper), 0, "{upper}");
    }
}

#[test]
fn names_are_followed_to_the_file_that_defines_them() {
    // By way of two files that only hand the name on.
    let handed_on = [
        ("src/lib.rs", "mod a;\nmod b;\nmod door;\nmod gate;\n"),
        ("src/door.rs", "pub(crate) use crate::gate::*;\n"),
        ("src/gate.rs", "pub(crate) use crate::a::Upper as Renamed;\n"),
        ("src/a.rs", "pub(crate) struct Upper(crate::b::Lower);\n"),
        ("src/b.rs", "use crate::door::Renamed;\npub(crate) struct Lower;\n"),
    ];
    // The files that hand it on name `a.rs`, and nobody defines anything in them.
    assert_eq!(circles(&handed_on), [["src/a.rs", "src/b.rs"]]);
    // A folder's own file counts as any other.
    let own_file = [
        ("src/lib.rs", "mod room;\n"),
        ("src/room/mod.rs", "mod part;\npub(crate) use part::Part;\npub(crate) const SIZE: usize = 1;\n"),
        ("src/room/part.rs", "pub(crate) struct Part([u8; super::SIZE]);\n"),
    ];
    assert_eq!(circles(&own_file), [["src/room/mod.rs", "src/room/part.rs"]]);
    // Crates are followed by their names.
    let crates = [
        ("src/lib.rs", "mod a;\npub fn top() { low_floor::bottom() }\n"),
        ("src/a.rs", "use low_floor::door::Low;\n"),
        ("low/src/lib.rs", "pub mod door;\nmod inner;\npub fn bottom() {}\n"),
        ("low/src/door.rs", "pub use crate::inner::Low;\npub const N: usize = 1;\n"),
        ("low/src/inner.rs", "pub struct Low([u8; crate::door::N]);\n"),
    ];
    assert_eq!(circles(&crates), [["low/src/door.rs", "low/src/inner.rs"]]);
    let between = [
        ("src/lib.rs", "pub use low_floor::Low;\npub struct High;\n"),
        ("low/src/lib.rs", "pub struct Low(house::High);\n"),
    ];
    assert_eq!(circles(&between), [["low/src/lib.rs", "src/lib.rs"]]);
}
