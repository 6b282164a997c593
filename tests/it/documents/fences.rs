//! Blocks of code in pages. What stands behind their language says what is done with them:
//!
//! - `sh`: run against a service; `sh,serves`: commands that go on until they are stopped, whose options are looked at;
//!   `sh,elsewhere`: of another program or another machine
//! - `json`: read; `json,query` `json,batch` `json,exec` `json,mcp`: sent to a service, which answers
//! - `toml`: read as a configuration; `toml,elsewhere`: of another program
//! - `sql`, `yaml`, `text`, `rust` and none: shown

/// A block of a page.
pub(super) struct Fence {
    /// The page, and the line where the block begins: for messages.
    pub(super) place: String,
    /// What stands behind the backticks.
    pub(super) info: String,
    pub(super) text: String,
}

/// What may stand behind the backticks.
const KNOWN: [&str; 14] = [
    "sh",
    "sh,serves",
    "sh,elsewhere",
    "json",
    "json,query",
    "json,batch",
    "json,exec",
    "json,mcp",
    "toml",
    "toml,elsewhere",
    "sql",
    "yaml",
    "text",
    "rust",
];

/// Programs of ours, or asked of a service of ours: commands of theirs can be run here.
const OURS: [&str; 4] = ["portico", "curl", "export", "PAT"];

/// The blocks of `page`, whose text is `text`.
pub(super) fn fences(page: &str, text: &str) -> Vec<Fence> {
    let (mut found, mut open): (Vec<Fence>, Option<Fence>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(info), None) => {
                let place = format!("{page}:{}", number + 1);
                let known = info.is_empty() || KNOWN.contains(&info);
                assert!(known, "{place}: nobody knows what {info:?} is; known are {KNOWN:?}");
                open = Some(Fence { place, info: info.to_owned(), text: String::new() });
            }
            (None, Some(fence)) => fence.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{page}: a block is not closed");
    for fence in &found {
        let elsewhere = fence.info.ends_with(",elsewhere") && fence.info.starts_with("sh");
        let alien = fence.text.lines().any(|line| {
            let first = line.split_whitespace().next().unwrap_or_default();
            !first.is_empty() && !first.starts_with('#') && !OURS.iter().any(|ours| first.starts_with(ours))
        });
        assert!(!elsewhere || alien, "{}: these commands can be run here, so let them be run", fence.place);
    }
    found
}

/// `text` without its blocks.
pub(super) fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let border = line.trim_start().starts_with("```");
        inside ^= border;
        !inside && !border
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `text` without what stands between backticks.
pub(super) fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("")
}
