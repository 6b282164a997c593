//! `[server.tasks]`: long calls of MCP clients that know tasks.

use std::time::Duration;

use super::problem::Problem;
use super::section::Section;
use crate::mcp::extensions::tasks::TaskLimits;

/// Reads the table among the keys of `[server]`.
pub(super) fn read(server: &mut Section<'_>, problems: &mut Vec<Problem>) -> TaskLimits {
    let mut section = server.section("tasks", problems);
    let usual = TaskLimits::default();
    let count = |number: Option<u64>, usual: usize| number.and_then(|n| usize::try_from(n).ok()).unwrap_or(usual);
    let seconds = |number: Option<u64>, usual: Duration| number.map_or(usual, Duration::from_secs);
    let bounds = TaskLimits {
        after: seconds(section.integer("after", 0..=3600, problems), usual.after),
        keep: seconds(section.integer("keep", 1..=86_400, problems), usual.keep),
        per_principal: count(section.integer("per_principal", 0..=1000, problems), usual.per_principal),
        per_connection: count(section.integer("per_connection", 1..=1000, problems), usual.per_connection),
        kept_bytes: count(section.integer("kept_bytes", 1024..=1 << 40, problems), usual.kept_bytes),
    };
    section.finish(problems);
    bounds
}
