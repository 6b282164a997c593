//! The result of `tools/call`, as JSON text: a table, plain words, or a failure that the agent
//! can mend.

use std::fmt::Write;

use portico_actors::error::{Error, bounded};

use crate::encode::{Table, write_string};

/// Octets that a result is given besides: its envelope adds to it.
const ROOM: usize = 1024;

/// The result is written once, into the buffer that is sent: a large one is held with `structured` alone beside it.
fn result(text: &str, structured: Option<&str>, is_error: bool) -> String {
    let (member, structured) = structured.map_or(("", ""), |structured| (",\"structuredContent\":", structured));
    let escapes = text.bytes().filter(|octet| matches!(octet, b'"' | b'\\' | 0..0x20)).count();
    let mut result = Vec::with_capacity(text.len() + escapes + structured.len() + ROOM);
    result.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
    write_string(&mut result, text);
    let end = if is_error { ",\"isError\":true}" } else { ",\"isError\":false}" };
    for piece in ["}]", member, structured, end] {
        result.extend_from_slice(piece.as_bytes());
    }
    // Only texts were written.
    String::from_utf8(result).unwrap_or_default()
}

/// A table, as `structuredContent` and as text.
pub(in crate::mcp) fn table(table: &Table) -> String {
    result(table.text.as_deref().unwrap_or(&table.json), Some(&table.json), false)
}

/// Plain words, and the same for clients that read what is structured.
pub(in crate::mcp) fn instructions(text: &str) -> String {
    let structured = serde_json::json!({"instructions": text}).to_string();
    result(text, Some(&structured), false)
}

/// A failure, with everything that helps to mend it, a line each.
pub(in crate::mcp) fn error(error: &Error) -> String {
    let mut text = bounded(error.message.clone());
    let mut line = |label: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, "\n{label}: {value}");
        }
    };
    line("SQLSTATE", error.get_sqlstate().map(str::to_owned));
    line("Position", error.get_position().map(|position| position.to_string()));
    line("Detail", error.get_detail().map(str::to_owned));
    line("Hint", error.get_hint().map(str::to_owned));
    line("Retry after", error.get_retry_after().map(|delay| format!("{} s", delay.as_millis().div_ceil(1000).max(1))));
    result(&text, None, true)
}
