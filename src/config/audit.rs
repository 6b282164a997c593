//! `[audit]`: where the trail is written, and what of a call it keeps.

use std::path::Path;

use super::problem::Problem;
use super::section::Section;
use crate::audit::{Detail, OnFailure, Settings};

/// Reads the table.
pub(super) fn read(root: &mut Section<'_>, base: &Path, problems: &mut Vec<Problem>) -> Settings {
    let mut section = root.section("audit", problems);
    let usual = Settings::default();
    let file = section.string("file", problems);
    if file.as_deref() == Some("") {
        let remedy = "write a path, or leave the key out to write no file";
        section.problem("file", "an empty text is no path".to_owned(), remedy, problems);
    }
    let store = section.boolean("store", problems).unwrap_or(usual.store);
    let details =
        [("text", Detail::Text), ("shape", Detail::Shape), ("digest", Detail::Digest), ("nothing", Detail::Nothing)];
    let policies = [("refuse", OnFailure::Refuse), ("continue", OnFailure::Continue)];
    let number = |value: Option<u64>| value.and_then(|value| usize::try_from(value).ok());
    let settings = Settings {
        file: file.map(|file| base.join(file)),
        max_size: section.integer("max_size", 4096..=1 << 40, problems).unwrap_or(usual.max_size),
        keep: section
            .integer("keep", 1..=1000, problems)
            .and_then(|keep| u32::try_from(keep).ok())
            .unwrap_or(usual.keep),
        store,
        store_records: section.integer("store_records", 1..=100_000_000, problems).unwrap_or(usual.store_records),
        statement: section.word("statement", &details, problems).unwrap_or(usual.statement),
        parameters: section.boolean("parameters", problems).unwrap_or(usual.parameters),
        queue: number(section.integer("queue", 1..=1_000_000, problems)).unwrap_or(usual.queue),
        on_failure: section.word("on_failure", &policies, problems).unwrap_or(usual.on_failure),
    };
    section.finish(problems);
    settings
}
